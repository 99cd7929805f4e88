"""Displays of grids of images: style transfer, and planes of a latent space."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import check_estimator, check_images
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
            Colours of grey images. None is "gray_r".
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
        self.im_ = draw_mosaic(ax, image, self.limits, cmap or "gray_r", **kwargs)
        ax.set_xticks([x[1:].mean()], ["style: v of these"])
        ax.set_yticks([y[1:].mean()], ["content: r of these"], rotation=90, va="center")
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.set_title("Style transfer")
        return self


class LatentGridDisplay(TileDisplay):
    """Images decoded over a plane of one latent, with the other one fixed (Figure 5).

    Parameters
    ----------
    images : ndarray of shape (n_steps, n_steps, h, w) or (n_steps, n_steps, h, w, c)
        The decoded images; the first row is at the top, where the second coordinate is
        largest.
    x, y : ndarray of shape (n_steps,)
        Coordinates of the columns and rows.
    latent : {"invariant", "equivariant"}
        The latent that varies.
    title : str, default=""
        Title of the Axes.
    prototypes : dict of ndarray of shape (2,), default=None
        Names of classes, and the points of the plane to write them at.
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
    texts_ : list of matplotlib Text
        Names of the classes at their r.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae import LatentGridDisplay
    >>> x = np.linspace(-2, 2, 5)
    >>> display = LatentGridDisplay(np.zeros((5, 5, 8, 8)), x=x, y=x[::-1], latent="equivariant")
    >>> display.images.shape
    (5, 5, 8, 8)
    """

    def __init__(
        self,
        images: NDArray[Any],
        *,
        x: NDArray[Any],
        y: NDArray[Any],
        latent: str,
        title: str = "",
        prototypes: dict[str, NDArray[Any]] | None = None,
        limits: tuple[float, float] = (0.0, 1.0),
    ):
        self.images = images
        self.x = x
        self.y = y
        self.latent = latent
        self.title = title
        self.prototypes = prototypes
        self.limits = limits

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        latent: str = "equivariant",
        label: Any = None,
        n_steps: int = 12,
        ax: Any = None,
        **kwargs: Any,
    ) -> "LatentGridDisplay":
        """Decode a plane and draw the images.

        Parameters
        ----------
        estimator : EquiVAEClassifier or EquiVAETransformer
            An estimator fitted on images, with two dimensions of the latent that varies.
        latent : {"equivariant", "invariant"}, default="equivariant"
            "equivariant" varies v from -2 to 2, two standard deviations of its prior, at the
            r of a class. "invariant" varies r over the range of the prototypes, at v = 0.
        label : label, default=None
            Class that gives r for "equivariant". None takes the first class.
        n_steps : int, default=12
            Number of images per row and per column.
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        **kwargs : dict
            Keyword arguments for `plot`.

        Returns
        -------
        display : LatentGridDisplay
            The display that was drawn.
        """
        check_estimator(estimator, cls.__name__)
        check_images(estimator, cls.__name__, "inverse_transform")
        if latent not in ("invariant", "equivariant"):
            raise ValueError(
                f"latent should be 'invariant' or 'equivariant'; got {latent!r}. Pass one of them."
            )
        model = estimator.model_
        sizes = model.module.n_latents
        if sizes[latent == "equivariant"] != 2:
            remedy = (2, sizes[1]) if latent == "invariant" else (sizes[0], 2)
            raise ValueError(
                f"LatentGridDisplay expects two {latent} dimensions; got "
                f"{sizes[latent == 'equivariant']}. Fit with latent_dim={remedy}."
            )
        prototypes = None
        if latent == "equivariant":
            low, high = np.full(2, -2.0), np.full(2, 2.0)
            code = 0 if label is None else int(estimator._codes(label, 1)[0])
            title = f"v over two standard deviations, at r of {estimator.classes_[code]}"
        else:
            low, high = np.nanmin(estimator.prototypes_, 0), np.nanmax(estimator.prototypes_, 0)
            title = "r over the range of the classes, at v = 0"
            prototypes = dict(zip(map(str, estimator.classes_), estimator.prototypes_, strict=True))
        x, y = np.linspace(low, high, n_steps).T
        y = y[::-1]  # upwards, as axes go
        plane = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        if latent == "equivariant":
            rows = model.decode(model.r(np.full(len(plane), code)), plane)
        else:
            rows = model.decode(plane, np.zeros((len(plane), sizes[1])))
        images = as_images(estimator, rows.reshape(n_steps, n_steps, *rows.shape[1:]))
        display = cls(
            images,
            x=x,
            y=y,
            latent=latent,
            title=title,
            prototypes=prototypes,
            limits=value_range(estimator, images),
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, cmap: Any = None, **kwargs: Any) -> "LatentGridDisplay":
        """Draw the images.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        cmap : str or matplotlib Colormap, default=None
            Colours of grey images. None is "gray_r".
        **kwargs : dict
            Keyword arguments for `Axes.imshow`.

        Returns
        -------
        display : LatentGridDisplay
            The display itself.
        """
        n_rows, n_columns = self.images.shape[:2]
        ax = self._start(ax, n_columns, n_rows)
        image, x, y = mosaic(self.images)
        self.im_ = draw_mosaic(ax, image, self.limits, cmap or "gray_r", **kwargs)
        ends_x, ends_y = [0, len(x) - 1], [0, len(y) - 1]
        ax.set_xticks(x[ends_x], [f"{value:.2g}" for value in self.x[ends_x]])
        ax.set_yticks(y[ends_y], [f"{value:.2g}" for value in self.y[ends_y]])
        self.texts_ = []
        for label, (at_x, at_y) in (self.prototypes or {}).items():
            # from coordinates of the latent to pixels; `interp` wants them to rise
            place = np.interp(at_x, self.x, x), np.interp(at_y, self.y[::-1], y[::-1])
            box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "C3"}
            style = {"ha": "center", "va": "center", "color": "C3", "weight": "bold"}
            self.texts_.append(ax.text(*place, label, bbox=box, **style))
        name = "r" if self.latent == "invariant" else "v"
        ax.set(xlabel=f"{name}0", ylabel=f"{name}1", title=self.title)
        return self
