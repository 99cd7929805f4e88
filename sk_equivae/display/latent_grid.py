"""`LatentGridDisplay`: images decoded over two directions of a latent space."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .checks import check_estimator, check_images
from .colors import gray_map
from .mosaic import TileDisplay, as_images, draw_mosaic, mosaic, value_range

Floats = NDArray[np.floating[Any]]
# Standard deviations of v on both sides of its mean.
RANGE = 2.0


class Sheet(NamedTuple):
    """Points of a latent space to decode: r and v of a grid, and where it lies."""

    r: Floats  # (n_steps * n_steps, n_invariant)
    v: Floats  # (n_steps * n_steps, n_equivariant)
    x: Floats
    y: Floats
    names: tuple[str, str]
    title: str
    prototypes: dict[str, Floats] | None = None


def _axes_of(covariance: Floats, directions: Any) -> tuple[Floats, Floats, tuple[str, str]]:
    """Return two directions, the standard deviations along them, and their names."""
    n_dimensions = len(covariance)
    if directions is None and n_dimensions > 2:
        variances, vectors = np.linalg.eigh(covariance)
        first = vectors[:, ::-1][:, :2].T
        # the sign of an eigenvector is arbitrary: its largest entry is positive
        first = first * np.sign(first[np.arange(2), np.abs(first).argmax(axis=1)])[:, None]
        names = "first principal direction", "second principal direction"
        return first, np.sqrt(np.maximum(variances[::-1][:2], 0.0)), names
    chosen = range(min(2, n_dimensions)) if directions is None else directions
    pair = [int(d) for d in chosen]
    if len(pair) > 2 or not pair or not all(0 <= d < n_dimensions for d in pair):
        raise ValueError(
            f"directions should be two positions from 0 to {n_dimensions - 1}, or None for the "
            f"principal directions; got {directions!r}."
        )
    axes = np.eye(n_dimensions)[pair]
    axes = np.concatenate([axes, np.zeros((2 - len(pair), n_dimensions))])
    deviations = np.sqrt([*np.diag(covariance)[pair], 0.0][:2])
    return axes, deviations, (str(pair[0]), str(pair[-1]))


def _named(names: tuple[str, str], latent: str) -> tuple[str, str]:
    first, second = (latent + n if n.isdigit() else f"{n} of {latent}" for n in names)
    return first, second


def _grid(x: Floats, y: Floats) -> Floats:
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def sheet_of_v(model: Any, code: int, n_steps: int, directions: Any = None) -> Sheet:
    """Vary v around the mean of a class, within two of its standard deviations.

    Parameters
    ----------
    model : FittedModel
        The model.
    code : int
        Code of the class.
    n_steps : int
        Points per direction.
    directions : pair of int, default=None
        Dimensions of v. None takes the principal directions of v within the class.

    Returns
    -------
    sheet : Sheet
        What to decode.
    """
    axes, deviations, names = _axes_of(model.v_covariance[code], directions)
    x = np.linspace(-RANGE, RANGE, n_steps)
    plane = _grid(x, x[::-1])  # upwards, as axes go
    v = model.v_mean[code] + (plane * deviations) @ axes
    title = f"v of class {model.classes[code]}, in its standard deviations"
    r = np.repeat(model.prototypes[[code]], len(v), axis=0)
    return Sheet(r, v, x, x[::-1], _named(names, "v"), title)


def sheet_of_r(model: Any, n_steps: int, directions: Any = None) -> Sheet:
    """Vary r over the range of the prototypes, on a sheet that passes through all of them.

    In the plane of two directions each class has a place. Between these places, what the plane
    leaves of r, and the mean of v, are interpolated by the inverse fourth power of the distance.

    Parameters
    ----------
    model : FittedModel
        The model.
    n_steps : int
        Points per direction.
    directions : pair of int, default=None
        Dimensions of r. None takes the principal directions of the prototypes.

    Returns
    -------
    sheet : Sheet
        What to decode.
    """
    seen = model.has_prototype
    r, v_mean = model.prototypes[seen], model.v_mean[seen]
    centre = r.mean(axis=0)
    covariance = (r - centre).T @ (r - centre) / len(r)
    axes, _, names = _axes_of(covariance, directions)
    is_plain = names[0].isdigit()
    origin = np.zeros_like(centre) if is_plain else centre
    places = (r - origin) @ axes.T
    x, y = np.linspace(places.min(axis=0), places.max(axis=0), n_steps).T
    plane = _grid(x, y[::-1])
    distance = np.linalg.norm(plane[:, None] - places[None], axis=2)
    weight = 1 / np.maximum(distance, 1e-6 * max(distance.max(), 1e-12)) ** 4
    weight /= weight.sum(axis=1, keepdims=True)
    rest = r - (origin + places @ axes)
    labels = map(str, model.classes[seen])
    title = "r between the prototypes, with the mean v of the classes nearby"
    named = dict(zip(labels, places, strict=True))
    sheet_r = origin + plane @ axes + weight @ rest
    return Sheet(sheet_r, weight @ v_mean, x, y[::-1], _named(names, "r"), title, named)


class LatentGridDisplay(TileDisplay):
    """Images decoded over two directions of one latent, with the other one fixed (Figure 5).

    Parameters
    ----------
    images : ndarray of shape (n_steps, n_steps, h, w) or (n_steps, n_steps, h, w, c)
        The decoded images; the first row is at the top, where the second coordinate is
        largest.
    x, y : ndarray of shape (n_steps,)
        Coordinates of the columns and rows.
    latent : {"invariant", "equivariant"}
        The latent that varies.
    directions : tuple of (str, str), default=("", "")
        Names of the two directions.
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
        directions: tuple[str, str] = ("", ""),
        title: str = "",
        prototypes: dict[str, NDArray[Any]] | None = None,
        limits: tuple[float, float] = (0.0, 1.0),
    ):
        self.images = images
        self.x = x
        self.y = y
        self.latent = latent
        self.directions = directions
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
        directions: Any = None,
        n_steps: int = 12,
        ax: Any = None,
        **kwargs: Any,
    ) -> "LatentGridDisplay":
        """Decode a grid of points and draw the images.

        Parameters
        ----------
        estimator : EquiVAEClassifier or EquiVAETransformer
            An estimator fitted on images.
        latent : {"equivariant", "invariant"}, default="equivariant"
            "equivariant" varies v of a class around its mean, by two of its standard deviations
            (`v_mean_`, `v_covariance_`). "invariant" varies r over the range of the prototypes.
        label : label, default=None
            Class for "equivariant". None takes the first class.
        directions : pair of int, default=None
            Dimensions of the latent to vary; the others keep their means. None takes the two
            in which it varies most: principal directions, or all of two dimensions.
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
        model = estimator.model_
        if latent == "equivariant":
            code = 0 if label is None else int(estimator._codes(label, 1)[0])
            sheet = sheet_of_v(model, code, n_steps, directions)
        elif latent == "invariant":
            sheet = sheet_of_r(model, n_steps, directions)
        else:
            raise ValueError(
                f"latent should be 'invariant' or 'equivariant'; got {latent!r}. Pass one of them."
            )
        rows = model.decode(sheet.r, sheet.v)
        images = as_images(estimator, rows.reshape(n_steps, n_steps, *rows.shape[1:]))
        display = cls(
            images,
            x=sheet.x,
            y=sheet.y,
            latent=latent,
            directions=sheet.names,
            title=sheet.title,
            prototypes=sheet.prototypes,
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
            Colours of grey images. None draws 0 like the background.
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
        self.im_ = draw_mosaic(ax, image, self.limits, cmap or gray_map(ax), **kwargs)
        ends_x, ends_y = [0, len(x) - 1], [0, len(y) - 1]
        ax.set_xticks(x[ends_x], [f"{value:.2g}" for value in self.x[ends_x]])
        ax.set_yticks(y[ends_y], [f"{value:.2g}" for value in self.y[ends_y]])
        self.texts_ = []
        for label, (at_x, at_y) in (self.prototypes or {}).items():
            # from coordinates of the latent to pixels; `interp` wants them to rise
            place = np.interp(at_x, self.x, x), np.interp(at_y, self.y[::-1], y[::-1])
            box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "black"}
            style = {"ha": "center", "va": "center", "color": "black", "fontsize": "small"}
            self.texts_.append(ax.text(*place, label, bbox=box, **style))
        ax.set(xlabel=self.directions[0], ylabel=self.directions[1])
        ax.set_title(self.title, wrap=True, fontsize="medium")
        return self
