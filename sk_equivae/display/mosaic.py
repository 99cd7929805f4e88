"""Rows in pictures: images as tiles of a mosaic, tabular rows as heat maps."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._optional_dependencies import check_matplotlib_support

TILE = 0.55  # inches of a tile
GAP = 0.12  # between tiles, as a part of their size


def as_images(estimator: Any, X: NDArray) -> NDArray:
    """Rows `(..., *row_shape)` as images `(..., h, w)` or `(..., h, w, 3)`."""
    channels, height, width = estimator.model_.rows.input_shape
    lead = X.shape[: X.ndim - len(estimator.model_.rows.row_shape)]
    if channels not in (1, 3, 4):
        raise ValueError(
            f"Expected images of 1, 3 or 4 channels; got {channels}, which have no colours. Draw "
            "single channels of what the estimator returns."
        )
    return X.reshape(*lead, height, width, *(() if channels == 1 else (channels,)))


def require_images(estimator: Any, display: str, verb: str) -> None:
    """Say what to do for rows that are no images."""
    if not estimator.model_.rows.is_image:
        raise ValueError(
            f"{display} expects an estimator of images; got one of tabular rows of "
            f"{estimator.n_features_in_} features. Use `{verb}` and look at the numbers, or set "
            "`image_shape` before fit if the rows are images."
        )


def value_range(estimator: Any, images: NDArray) -> tuple[float, float]:
    """Black and white: the whole range where the data have one, else what is shown."""
    if estimator.model_.rows.dtype == np.uint8:
        return 0.0, 255.0
    low, high = float(np.min(images)), float(np.max(images))
    # a Gaussian of values in [0, 1] may leave it by a little
    if estimator.model_.rows.likelihood == "bernoulli" or (low >= -0.5 and 0.5 < high <= 1.5):
        return 0.0, 1.0
    return low, high if high > low else low + 1.0


def mosaic(
    tiles: NDArray,
    wide_columns: tuple[int, ...] = (),
    wide_rows: tuple[int, ...] = (),
    gap: int | None = None,
) -> tuple[NDArray, NDArray, NDArray]:
    """One image of a grid of images, NaN in the gaps, and the centres of columns and rows.

    Parameters
    ----------
    tiles : ndarray of shape (n_rows, n_columns, h, w) or (n_rows, n_columns, h, w, c)
    wide_columns, wide_rows : tuple of int
        Columns and rows before which the gap is wide.
    gap : int, optional
        Pixels between tiles.

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


def draw_mosaic(ax: Any, image: NDArray, limits: tuple[float, float], cmap: Any, **kw: Any) -> Any:
    """`imshow` of a mosaic: gaps see-through, colours scaled to [0, 1], no frame."""
    low, high = limits
    if image.ndim == 3:
        gaps = np.isnan(image[..., 0])
        image = np.clip((np.nan_to_num(image) - low) / (high - low), 0, 1)
        opaque = image[..., 3] if image.shape[2] == 4 else np.ones(gaps.shape)
        image = np.dstack([image[..., :3], np.where(gaps, 0.0, opaque)])
    style = {"vmin": low, "vmax": high, "cmap": cmap, "interpolation": "nearest", **kw}
    artist = ax.imshow(np.ma.masked_invalid(image) if image.ndim == 2 else image, **style)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0)
    ax.set(xticks=[], yticks=[])
    return artist


def new_axes(ax: Any, n_columns: float, n_rows: float, name: str) -> Any:
    """The given Axes, or new ones with room for so many tiles."""
    check_matplotlib_support(f"{name}.plot")
    import matplotlib.pyplot as plt

    if ax is None:
        size = (max(3.0, TILE * n_columns + 0.8), max(1.5, TILE * n_rows + 0.8))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


class TileDisplay:
    """What the displays of one Axes share."""

    ax_: Any
    figure_: Any
    im_: Any

    def _start(self, ax: Any, n_columns: float, n_rows: float) -> Any:
        ax = new_axes(ax, n_columns, n_rows, type(self).__name__)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def draw_heat_map(
    ax: Any,
    rows: NDArray,
    groups: Sequence[str],
    feature_names: Sequence[str],
    cmap: Any,
    **kw: Any,
) -> Any:
    """Rows of features in equal groups, each feature about the mean of what is shown."""
    n_each = len(rows) // len(groups)
    spread = rows.std(axis=0)
    values = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    limit = max(1.0, float(np.abs(values).max()))
    style = {"cmap": cmap, "vmin": -limit, "vmax": limit, "aspect": "auto", **kw}
    artist = ax.imshow(values, interpolation="nearest", **style)
    for edge in range(n_each, len(rows), n_each):
        ax.axhline(edge - 0.5, color="white", linewidth=2)
    ax.set_yticks((np.arange(len(groups)) + 0.5) * n_each - 0.5, groups)
    every = max(1, len(feature_names) // 20)
    ax.set_xticks(range(0, len(feature_names), every), feature_names[::every], rotation=45)
    for label in ax.get_xticklabels():
        label.set(ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)
    ax.figure.colorbar(artist, ax=ax, label="standard deviations from the mean")
    return artist


def feature_names(estimator: Any) -> list[str]:
    """Return the names of the features, or x0, x1, ... without any."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{i}" for i in range(estimator.n_features_in_)]
    return [str(name) for name in names]
