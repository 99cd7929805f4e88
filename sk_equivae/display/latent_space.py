"""`LatentSpaceDisplay`: the two latent spaces side by side."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._optional_dependencies import check_matplotlib_support

from .checks import check_estimator
from .plane import reduce_to_plane

# Colour of unlabelled rows.
GREY = "0.75"


def class_colors(n_classes: int, cmap: Any = None) -> list[Any]:
    """Return one colour per class, from a qualitative map if it has enough colours.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    cmap : str or matplotlib Colormap, default=None
        Where the colours come from. None depends on the number of classes.

    Returns
    -------
    colors : list of tuple
        RGBA values.
    """
    import matplotlib

    if cmap is None:
        cmap = "tab10" if n_classes <= 10 else "tab20" if n_classes <= 20 else "turbo"
    cmap = matplotlib.colormaps[cmap] if isinstance(cmap, str) else cmap
    if cmap.N < 256 and n_classes <= cmap.N:
        return [cmap(i) for i in range(n_classes)]
    return list(cmap(np.linspace(0, 1, n_classes)))


class LatentSpaceDisplay:
    """Representations r and v of rows, side by side in two dimensions and coloured by class.

    In a good model the classes are separate in r and mixed in v.

    Parameters
    ----------
    invariant, equivariant : ndarray of shape (n, 2)
        r and v of the rows, in the plane.
    codes : ndarray of shape (n,)
        Positions in `classes`; -1 is drawn in grey.
    classes : ndarray of shape (n_classes,)
        Labels of the classes.
    prototypes : ndarray of shape (n_classes, 2), default=None
        r_y of the classes in the plane of `invariant`, drawn as crosses.
    methods : tuple of (str, str), default=("", "")
        How r and v were reduced to two dimensions, for the titles.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib Axes
        Axes of r and of v.
    figure_ : matplotlib Figure
        Figure that contains the Axes.
    scatters_ : list of two lists of matplotlib PathCollection
        For each space one collection of unlabelled rows, if there are any, and one per
        class.
    prototypes_artist_ : matplotlib PathCollection or None
        The crosses.
    legend_ : matplotlib Legend or None
        The legend.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae import LatentSpaceDisplay
    >>> display = LatentSpaceDisplay(
    ...     np.eye(2), np.eye(2), codes=np.array([0, 1]), classes=np.array(["a", "b"])
    ... )
    >>> display.invariant.shape
    (2, 2)
    """

    def __init__(
        self,
        invariant: NDArray[Any],
        equivariant: NDArray[Any],
        *,
        codes: NDArray[Any],
        classes: NDArray[Any],
        prototypes: NDArray[Any] | None = None,
        methods: tuple[str, str] = ("", ""),
    ):
        self.invariant = invariant
        self.equivariant = equivariant
        self.codes = codes
        self.classes = classes
        self.prototypes = prototypes
        self.methods = methods

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        method: str = "auto",
        random_state: Any = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> "LatentSpaceDisplay":
        """Encode rows and draw them.

        Parameters
        ----------
        estimator : EquiVAEClassifier or EquiVAETransformer
            A fitted estimator.
        X : array-like of the shape seen in `fit`
            Rows to draw.
        y : array-like of shape (n,), default=None
            Labels, for the colours; unlabelled rows are grey. None takes the predicted
            classes.
        method : {"auto", "umap", "pca"}, default="auto"
            How latents are reduced to two dimensions; a latent that has two is drawn as it
            is. "auto" is UMAP if it is installed, else PCA.
        random_state : int, RandomState instance or None, default=0
            Seed of the method.
        ax : sequence of two matplotlib Axes, default=None
            Axes to draw r and v on. None makes a new figure.
        **kwargs : dict
            Keyword arguments for `plot`.

        Returns
        -------
        display : LatentSpaceDisplay
            The display that was drawn.
        """
        check_estimator(estimator, cls.__name__)
        model, rows = estimator.model_, estimator._validate_rows(X)
        predicted, v = model.latents(rows, estimator.predict_with)
        codes = predicted if y is None else estimator._codes(y, len(predicted))
        r = model.f_inv(rows)
        points, how_r = reduce_to_plane(
            np.concatenate([r, np.nan_to_num(model.prototypes)]), method, random_state
        )
        plane_v, how_v = reduce_to_plane(v, method, random_state)
        prototypes = points[len(r) :].copy()
        prototypes[~model.has_prototype] = np.nan
        display = cls(
            points[: len(r)],
            plane_v,
            codes=codes,
            classes=estimator.classes_,
            prototypes=prototypes,
            methods=(how_r, how_v),
        )
        return display.plot(ax=ax, **kwargs)

    def plot(
        self, ax: Any = None, *, cmap: Any = None, legend: bool = True, **kwargs: Any
    ) -> "LatentSpaceDisplay":
        """Draw r and v.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, default=None
            Axes to draw r and v on. None makes a new figure.
        cmap : str or matplotlib Colormap, default=None
            Where the colours of the classes come from. None depends on the number of
            classes.
        legend : bool, default=True
            Draw a legend.
        **kwargs : dict
            Keyword arguments for `Axes.scatter`.

        Returns
        -------
        display : LatentSpaceDisplay
            The display itself.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
        axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) != 2:
            raise ValueError(
                f"LatentSpaceDisplay.plot expects two Axes, for r and v; got {len(axes)}. Pass "
                "those of `plt.subplots(1, 2)`, or leave ax out."
            )
        self.axes_, self.figure_ = axes, axes[0].figure
        style = {"s": 10, "linewidths": 0, "alpha": 0.8, **kwargs}
        colors = class_colors(len(self.classes), cmap)
        spaces = [(self.invariant, "invariant r"), (self.equivariant, "equivariant v")]
        self.scatters_ = []
        for axis, (points, name), how in zip(axes, spaces, self.methods, strict=True):
            self.scatters_.append(self._scatter(axis, points, colors, style))
            axis.set_title(f"{name} ({how})" if how else name)
            if how:
                axis.set(xticks=[], yticks=[])
            else:
                axis.set(xlabel=name[-1] + "0", ylabel=name[-1] + "1")
        self.prototypes_artist_ = None
        if self.prototypes is not None:
            self.prototypes_artist_ = axes[0].scatter(
                *self.prototypes.T, marker="X", s=70, c=colors, edgecolors="black", linewidths=1
            )
        self.legend_ = self._legend() if legend else None
        return self

    def _scatter(
        self, axis: Any, points: NDArray[Any], colors: list[Any], style: dict[str, Any]
    ) -> list[Any]:
        """Draw the points of one space, and return the artists."""
        artists = []
        if (self.codes < 0).any():  # first, so that it lies below
            x, y = points[self.codes < 0].T
            artists.append(axis.scatter(x, y, label="unlabelled", **{**style, "color": GREY}))
        for code, label in enumerate(self.classes):
            x, y = points[self.codes == code].T
            artists.append(axis.scatter(x, y, label=str(label), **{"color": colors[code], **style}))
        return artists

    def _legend(self) -> Any:
        """Draw the legend beside the second space."""
        from matplotlib.lines import Line2D

        dot: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 6}
        handles = [
            Line2D([], [], color=scatter.get_facecolor()[0], label=scatter.get_label(), **dot)
            for scatter in self.scatters_[0]
        ]
        if self.prototypes is not None:
            cross: dict[str, Any] = {"marker": "X", "linestyle": "", "markersize": 8}
            colors: dict[str, Any] = {"color": "white", "markeredgecolor": "black"}
            handles.append(Line2D([], [], label="r of class", **cross, **colors))
        return self.axes_[1].legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(1.02, 1),
            borderaxespad=0,
            frameon=False,
            ncols=1 + (len(handles) - 1) // 16,
            handletextpad=0.3,
        )
