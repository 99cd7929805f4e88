"""`LatentSpaceDisplay`: the two latent spaces side by side."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._optional_dependencies import check_matplotlib_support

from .checks import check_estimator
from .colors import GREY, class_colors, class_markers, is_dark
from .legend import fitting_legend, shortened
from .plane import reduce_to_plane


class LatentSpaceDisplay:
    """Representations r and v of rows, side by side in two dimensions and coloured by class.

    In a good model the classes are separate in r and mixed in v, which is drawn relative to the
    class, as `transform` returns it. Points are drawn in random
    order, so that no class hides another. After ten classes the colours repeat with another
    marker.

    Parameters
    ----------
    invariant, equivariant : ndarray of shape (n, 2)
        r and v of the rows, in the plane.
    codes : ndarray of shape (n,)
        Positions in `classes`; -1 is drawn as a grey ring.
    classes : ndarray of shape (n_classes,)
        Labels of the classes.
    prototypes : ndarray of shape (n_classes, 2), default=None
        r_y of the classes in the plane of `invariant`, marked by their names.
    methods : tuple of (str, str), default=("", "")
        How r and v were reduced to two dimensions, written below the Axes.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib Axes
        Axes of r and of v.
    figure_ : matplotlib Figure
        Figure that contains the Axes.
    scatters_ : list of two matplotlib PathCollection
        The rows that have a class, in the order of `order_`.
    unlabeled_ : list of two matplotlib PathCollection
        The unlabelled rows.
    order_ : ndarray of int
        Positions of the rows with a class, in the order in which they were drawn.
    names_ : list of matplotlib Text
        The names of the classes at their r; empty if there is no room, and crosses are drawn.
    legend_ : matplotlib Legend or None
        The legend; None if the figure has no room for it.

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
        method: str = "pca",
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
            Labels, for the colours; unlabelled rows are grey rings. None takes the predicted
            classes.
        method : {"pca", "umap"}, default="pca"
            How latents are reduced to two dimensions; a latent that has two is drawn as it
            is. UMAP separates more classes, but takes far longer, and needs umap-learn.
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
        v = model.relative.forward(v, predicted)  # as `transform` returns it
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
            Where the colours of the classes come from, then all with the same marker. None is
            a palette for readers with any colour vision.
        legend : bool, default=True
            Draw a legend, if there is room for it.
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
        n_classes = len(self.classes)
        self._colors, self._markers = class_colors(n_classes, cmap), class_markers(n_classes, cmap)
        labeled = np.flatnonzero(self.codes >= 0)
        self.order_ = np.random.RandomState(0).permutation(labeled)
        spaces = [(self.invariant, "r", "invariant r"), (self.equivariant, "v", "equivariant v")]
        self.scatters_: list[Any] = []
        self.unlabeled_: list[Any] = []
        for axis, (points, name, title), how in zip(axes, spaces, self.methods, strict=True):
            self._scatter(axis, points, kwargs)
            axis.set_title(title)
            if how:
                axis.set(xticks=[], yticks=[], xlabel=how)
            else:
                axis.set(xlabel=f"{name}0", ylabel=f"{name}1")
        self.names_: list[Any] = []
        if self.prototypes is not None:
            self.names_ = self._write_names(axes[0], self.prototypes)
        self.legend_ = fitting_legend(axes[1], self._handles()) if legend else None
        return self

    def _scatter(self, axis: Any, points: NDArray[Any], kwargs: dict[str, Any]) -> None:
        """Draw the points of one space: rows without a class below the others."""
        from matplotlib.markers import MarkerStyle

        rings = {"s": 10, "linewidths": 0.5, "alpha": 0.7, **kwargs}
        rings |= {"facecolors": "none", "edgecolors": GREY}
        self.unlabeled_.append(axis.scatter(*points[self.codes < 0].T, **rings))
        # among unlabelled rows, the few others have to be seen
        few = len(self.order_) < 0.5 * len(self.codes)
        style = {"s": 28 if few else 12, "linewidths": 0, "alpha": 0.8, **kwargs}
        codes = self.codes[self.order_]
        if "c" not in style and "color" not in style:
            style["c"] = np.array(self._colors).reshape(-1, 4)[codes]
        drawn = axis.scatter(*points[self.order_].T, **style)
        shapes = [MarkerStyle(marker) for marker in self._markers]
        paths = [shape.get_path().transformed(shape.get_transform()) for shape in shapes]
        if "marker" not in kwargs and len(codes):
            drawn.set_paths([paths[code] for code in codes])
        self.scatters_.append(drawn)

    def _write_names(self, axis: Any, prototypes: NDArray[Any]) -> list[Any]:
        """Write the name of each class at its r; where there is no room, draw crosses."""
        names = [shortened(str(label)) for label in self.classes]
        box = axis.get_window_extent()
        size = 6.0 if len(names) > 20 else 9.0
        pixels = size * axis.figure.dpi / 72
        if (
            sum(pixels * (0.7 * pixels * len(name)) for name in names)
            > 0.3 * box.width * box.height
        ):
            axis.scatter(*prototypes.T, marker="X", s=30, c=self._colors, edgecolors=GREY)
            return []
        texts = []
        for point, name, color in zip(prototypes, names, self._colors, strict=True):
            if np.isnan(point).any():
                continue
            texts.append(
                axis.text(
                    *point, name, ha="center", va="center", clip_on=True, fontsize=size,
                    weight="bold", color="white" if is_dark(color) else "black",
                    bbox={"boxstyle": "round,pad=0.15", "fc": color, "ec": "black", "lw": 0.8},
                )
            )  # fmt: skip
        return texts

    def _handles(self) -> list[Any]:
        """Return what the legend explains."""
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], color=color, marker=marker, linestyle="", label=shortened(str(label)))
            for label, color, marker in zip(self.classes, self._colors, self._markers, strict=True)
        ]
        if (self.codes < 0).any():
            ring: dict[str, Any] = {"marker": "o", "linestyle": "", "markerfacecolor": "none"}
            handles.append(Line2D([], [], color=GREY, label="unlabelled", **ring))
        return handles
