"""`LatentSpaceDisplay`: the two latent spaces side by side.

As scikit-learn's displays are: data in `__init__`, `from_estimator` computes, `plot`
draws and keeps its artists. matplotlib is imported when something is drawn.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted

GREY = "0.75"


def class_colors(n_classes: int, cmap: Any = None) -> list[Any]:
    """A colour for each class: of a qualitative map as long as that has enough."""
    import matplotlib

    if cmap is None:
        cmap = "tab10" if n_classes <= 10 else "tab20" if n_classes <= 20 else "turbo"
    cmap = matplotlib.colormaps[cmap] if isinstance(cmap, str) else cmap
    if cmap.N < 256 and n_classes <= cmap.N:
        return [cmap(i) for i in range(n_classes)]
    return list(cmap(np.linspace(0, 1, n_classes)))


def reduce_to_plane(Z: NDArray, method: str = "auto", random_state: Any = 0) -> tuple[NDArray, str]:
    """Points in two dimensions, and a word on how they came there.

    Parameters
    ----------
    Z : ndarray of shape (n, n_dimensions)
        One dimension gets a second of zeros, two stay as they are.
    method : {"auto", "umap", "pca"}
        "auto" is "umap" if umap-learn is installed, else "pca".

    Examples
    --------
    >>> import numpy as np
    >>> points, how = reduce_to_plane(np.eye(3), method="pca")
    >>> points.shape, how
    ((3, 2), 'PCA, 100% of variance')
    """
    if method not in ("auto", "umap", "pca"):
        raise ValueError(
            f"method should be 'auto', 'umap' or 'pca'; got {method!r}. Leave it out for the best "
            "that is installed."
        )
    if Z.shape[1] <= 2:
        return np.pad(Z, ((0, 0), (0, 2 - Z.shape[1]))), ""
    if method != "pca":
        try:
            import umap

            # one thread: with more of them the same seed gives other points
            reducer = umap.UMAP(n_components=2, random_state=random_state, n_jobs=1)
            return reducer.fit_transform(Z), "UMAP"
        except ImportError as error:
            if method == "umap":
                raise ImportError(
                    "method='umap' needs the package umap-learn, which is not installed. Install "
                    "it with `pip install umap-learn`, or use method='pca'."
                ) from error
    pca = PCA(2, random_state=random_state)
    points = pca.fit_transform(Z)
    return points, f"PCA, {100 * pca.explained_variance_ratio_.sum():.0f}% of variance"


class LatentSpaceDisplay:
    """r and v of rows, side by side in two dimensions and coloured by class.

    In a good model the classes are apart in r and mixed in v.

    Parameters
    ----------
    invariant, equivariant : ndarray of shape (n, 2)
    codes : ndarray of shape (n,)
        Positions in `classes`; -1 is drawn in grey.
    classes : ndarray of shape (n_classes,)
    prototypes : ndarray of shape (n_classes, 2), optional
    methods : (str, str), default=("", "")
        How two dimensions came about, for the titles.

    Attributes
    ----------
    axes_ : ndarray of two Axes
    figure_ : Figure
    scatters_ : list of two lists of PathCollection
        For each space one collection a class, and one of unlabelled rows if there are any.
    prototypes_artist_ : PathCollection or None
    legend_ : Legend

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
        invariant: NDArray,
        equivariant: NDArray,
        *,
        codes: NDArray,
        classes: NDArray,
        prototypes: NDArray | None = None,
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
        estimator : fitted EquiVAEClassifier or EquiVAETransformer
        X : array-like of the shape seen in `fit`
        y : array-like of shape (n,), optional
            Labels, for the colours; unlabelled rows are grey. Without it, the predicted ones.
        method : {"auto", "umap", "pca"}, default="auto"
            The way to two dimensions; a latent that has two is drawn as it is. "auto" is
            UMAP if it is installed, else PCA.
        random_state : int, RandomState instance or None, default=0
        ax, **kwargs : see `plot`
        """
        check_is_fitted(estimator)
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
        """Draw.

        Parameters
        ----------
        ax : sequence of two Axes, optional
        cmap : str or Colormap, optional
            Where the colours of the classes come from.
        legend : bool, default=True
        **kwargs : dict
            For `Axes.scatter`.
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
            axis.set(xticks=[], yticks=[]) if how else axis.set(xlabel=name[-1] + "0")
            if not how:
                axis.set_ylabel(name[-1] + "1")
        self.prototypes_artist_ = None
        if self.prototypes is not None:
            self.prototypes_artist_ = axes[0].scatter(
                *self.prototypes.T, marker="X", s=70, c=colors, edgecolors="black", linewidths=1
            )
        self.legend_ = self._legend() if legend else None
        return self

    def _scatter(self, axis: Any, points: NDArray, colors: list, style: dict) -> list[Any]:
        artists = []
        if (self.codes < 0).any():  # first, so that it lies below
            x, y = points[self.codes < 0].T
            artists.append(axis.scatter(x, y, label="unlabelled", **{**style, "color": GREY}))
        for code, label in enumerate(self.classes):
            x, y = points[self.codes == code].T
            artists.append(axis.scatter(x, y, label=str(label), **{"color": colors[code], **style}))
        return artists

    def _legend(self) -> Any:
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
