"""`StyleTransferDisplay`: the class of one image in the style of another."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import check_estimator, check_images
from .colors import gray_map
from .mosaic import TileDisplay, as_images, draw_mosaic, mosaic, value_range


class StyleTransferDisplay(TileDisplay):
    """Every content with every style, the originals on the margins (Figure 4, right).

    A row of tiles shows one class in many styles, a column one style in many classes.

    Parameters
    ----------
    images : ndarray of shape (n_content, n_style, h, w) or (n_content, n_style, h, w, c)
        The decoded images.
    content : ndarray of shape (n_content, h, w) or (n_content, h, w, c)
        The originals that give r.
    style : ndarray of shape (n_style, h, w) or (n_style, h, w, c)
        The originals that give v.
    limits : tuple of (float, float), default=(0, 1)
        Values of black and white.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the images.
    figure_ : matplotlib Figure
        Figure that contains the Axes.
    im_ : matplotlib AxesImage
        The mosaic.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae import StyleTransferDisplay
    >>> images = np.zeros((2, 3, 8, 8))
    >>> display = StyleTransferDisplay(images, content=images[:, 0], style=images[0])
    >>> display.style.shape
    (3, 8, 8)
    """

    def __init__(
        self,
        images: NDArray[Any],
        *,
        content: NDArray[Any],
        style: NDArray[Any],
        limits: tuple[float, float] = (0.0, 1.0),
    ):
        self.images = images
        self.content = content
        self.style = style
        self.limits = limits

    @classmethod
    def from_estimator(
        cls, estimator: Any, content: ArrayLike, style: ArrayLike, *, ax: Any = None, **kwargs: Any
    ) -> "StyleTransferDisplay":
        """Transfer every style to every content and draw the images.

        Parameters
        ----------
        estimator : EquiVAEClassifier or EquiVAETransformer
            An estimator fitted on images.
        content, style : array-like of the shape seen in `fit`
            Rows that give r, and rows that give v.
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        **kwargs : dict
            Keyword arguments for `plot`.

        Returns
        -------
        display : StyleTransferDisplay
            The display that was drawn.
        """
        check_estimator(estimator, cls.__name__)
        check_images(estimator, cls.__name__, "transfer_style")
        grid = as_images(estimator, estimator.transfer_style(content, style, grid=True))
        rows = [
            np.asarray(given).reshape(-1, *estimator.model_.rows.row_shape)
            for given in (content, style)
        ]
        display = cls(
            grid,
            content=as_images(estimator, rows[0]),
            style=as_images(estimator, rows[1]),
            limits=value_range(estimator, grid),
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, cmap: Any = None, **kwargs: Any) -> "StyleTransferDisplay":
        """Draw the images.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        cmap : str or matplotlib Colormap, default=None
            Colours of grey images. None draws 0 like the background.
        **kwargs : dict
            Keyword arguments for `Axes.imshow`.

        Returns
        -------
        display : StyleTransferDisplay
            The display itself.
        """
        n_content, n_style = self.images.shape[:2]
        empty = np.full((1, 1, *self.images.shape[2:]), np.nan)
        top = np.concatenate([empty, self.style[None]], axis=1)
        tiles = np.concatenate([self.content[:, None], self.images], axis=1)
        tiles = np.concatenate([top, tiles], axis=0)
        ax = self._start(ax, n_style + 1.5, n_content + 1.5)
        image, x, y = mosaic(tiles, (1,), (1,))
        self.im_ = draw_mosaic(ax, image, self.limits, cmap or gray_map(ax), **kwargs)
        ax.set_xticks([x[1:].mean()], ["style: v of these"])
        ax.set_yticks([y[1:].mean()], ["content: r of these"], rotation=90, va="center")
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.set_title("Style transfer")
        return self
