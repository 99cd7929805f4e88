"""Drawing of images as tiles of one mosaic."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._optional_dependencies import check_matplotlib_support

# Size of a tile in inches.
TILE = 0.55
# Width of the gap between tiles, as a fraction of their size.
GAP = 0.12


def drawn_channels(n_channels: int) -> int:
    """Return the number of channels that are drawn of images with `n_channels`.

    Images with 1, 3 or 4 channels are drawn as they are: grey, RGB and RGBA. Other numbers
    of channels have no colours; their mean is drawn in grey.

    Parameters
    ----------
    n_channels : int
        Number of channels of the images.

    Returns
    -------
    n_drawn : int
        1, 3 or 4.

    Examples
    --------
    >>> drawn_channels(3), drawn_channels(5)
    (3, 1)
    """
    return n_channels if n_channels in (3, 4) else 1


def as_images(estimator: Any, X: NDArray[Any]) -> NDArray[Any]:
    """Return rows as images that can be drawn.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator of images.
    X : ndarray of shape (..., *row_shape)
        Rows in the shape seen in `fit`.

    Returns
    -------
    images : ndarray of shape (..., h, w), (..., h, w, 3) or (..., h, w, 4)
        The mean over the channels for images with other than 1, 3 or 4 channels.
    """
    channels, height, width = estimator.model_.rows.input_shape
    lead = X.shape[: X.ndim - len(estimator.model_.rows.row_shape)]
    images = X.reshape(*lead, height, width, channels)
    if channels == 1:
        return images[..., 0]
    return images if drawn_channels(channels) > 1 else images.mean(axis=-1)


def as_rows(estimator: Any, table: Any, *lead: int) -> NDArray[Any]:
    """Return rows that the estimator takes or made, as an array with the given first dimensions.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator.
    table : array-like
        Rows: an array, or a frame of tabular rows.
    *lead : int
        The first dimensions; the last ones are the shape of a row.

    Returns
    -------
    rows : ndarray of shape (*lead, *row_shape)
        The rows; categories as their positions among the categories of the column.
    """
    rows = estimator.model_.rows
    if isinstance(table, np.ndarray):
        table = table.reshape(-1, *rows.row_shape)
    if rows.columns is not None:
        table = estimator._validate_rows(table)
    return np.asarray(table).reshape(*lead, *rows.row_shape)


def feature_names(estimator: Any) -> list[str]:
    """Return the names of the features seen in `fit`.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator.

    Returns
    -------
    names : list of str
        x0, x1, ... if the data had no names.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{i}" for i in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def value_range(estimator: Any, images: NDArray[Any]) -> tuple[float, float]:
    """Return the values to draw in black and white.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator of images.
    images : ndarray
        The images to draw.

    Returns
    -------
    low, high : float
        The whole range where the data have one, else the range of `images`.
    """
    if estimator.model_.rows.dtype == np.uint8:
        return 0.0, 255.0
    low, high = float(np.min(images)), float(np.max(images))
    # a Gaussian of values in [0, 1] may leave it by a little
    if estimator.model_.rows.likelihood == "bernoulli" or (low >= -0.5 and 0.5 < high <= 1.5):
        return 0.0, 1.0
    return low, high if high > low else low + 1.0


def mosaic(
    tiles: NDArray[Any],
    wide_columns: tuple[int, ...] = (),
    wide_rows: tuple[int, ...] = (),
    gap: int | None = None,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Join a grid of images into one image.

    Parameters
    ----------
    tiles : ndarray of shape (n_rows, n_columns, h, w) or (n_rows, n_columns, h, w, c)
        The images.
    wide_columns, wide_rows : tuple of int, default=()
        Columns and rows with a wide gap before them.
    gap : int, default=None
        Pixels between tiles. None depends on the size of the tiles.

    Returns
    -------
    image : ndarray of shape (height, width) or (height, width, c)
        The mosaic, with NaN in the gaps.
    x, y : ndarray of shape (n_columns,) and (n_rows,)
        Centres of the columns and rows, in pixels.

    Examples
    --------
    >>> import numpy as np
    >>> image, x, y = mosaic(np.zeros((2, 3, 8, 8)))
    >>> image.shape, x
    ((17, 26), array([ 3.5, 12.5, 21.5]))
    """
    n_rows, n_columns, height, width = tiles.shape[:4]
    if gap is None:
        gap = max(1, round(GAP * min(height, width)))
    left = np.arange(n_columns) * (width + gap)
    top = np.arange(n_rows) * (height + gap)
    for column in wide_columns:
        left[column:] += 3 * gap
    for row in wide_rows:
        top[row:] += 3 * gap
    image = np.full((top[-1] + height, left[-1] + width, *tiles.shape[4:]), np.nan)
    for i, y in enumerate(top):
        for j, x in enumerate(left):
            image[y : y + height, x : x + width] = tiles[i, j]
    return image, left + (width - 1) / 2, top + (height - 1) / 2


def draw_mosaic(
    ax: Any, image: NDArray[Any], limits: tuple[float, float], cmap: Any, **kwargs: Any
) -> Any:
    """Draw a mosaic without a frame, with transparent gaps.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw on.
    image : ndarray of shape (height, width) or (height, width, c)
        The mosaic, with NaN in the gaps.
    limits : tuple of (float, float)
        Values of black and white.
    cmap : str or matplotlib Colormap
        Colours of grey images.
    **kwargs : dict
        Keyword arguments for `Axes.imshow`.

    Returns
    -------
    artist : matplotlib AxesImage
        The drawn image.
    """
    low, high = limits
    if image.ndim == 3:
        gaps = np.isnan(image[..., 0])
        image = np.clip((np.nan_to_num(image) - low) / (high - low), 0, 1)
        opaque = image[..., 3] if image.shape[2] == 4 else np.ones(gaps.shape)
        image = np.dstack([image[..., :3], np.where(gaps, 0.0, opaque)])
    style = {"vmin": low, "vmax": high, "cmap": cmap, "interpolation": "nearest", **kwargs}
    artist = ax.imshow(np.ma.masked_invalid(image) if image.ndim == 2 else image, **style)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0)
    ax.set(xticks=[], yticks=[])
    return artist


class TileDisplay:
    """Base class of the displays that draw on one Axes."""

    ax_: Any
    figure_: Any
    im_: Any

    def _start(self, ax: Any, n_columns: float, n_rows: float) -> Any:
        """Return the given Axes, or new ones with room for a number of tiles."""
        return self._start_figure(ax, TILE * n_columns + 0.8, TILE * n_rows + 0.8)

    def _start_figure(self, ax: Any, width: float, height: float) -> Any:
        """Return the given Axes, or new ones in a figure of a size in inches."""
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            size = (max(3.0, width), max(1.5, height))
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax
