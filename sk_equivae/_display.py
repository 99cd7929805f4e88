"""Displays of what was learnt: the two latent spaces, and the course of training.

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
        predicted, v = estimator._latents(X)
        codes = predicted if y is None else estimator._codes(y, len(predicted))
        r = estimator._map(estimator._module.f_inv, estimator._rows(X))
        points, how_r = reduce_to_plane(
            np.concatenate([r, np.nan_to_num(estimator.prototypes_)]), method, random_state
        )
        plane_v, how_v = reduce_to_plane(v.numpy(), method, random_state)
        prototypes = points[len(r) :].copy()
        prototypes[~estimator._has_prototype()] = np.nan
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


class LearningCurveDisplay:
    """The bound over training, split into reconstruction and minus KL (Figure 3, right).

    The two parts sum to the bound. KL is that of q(v, y | x) from the prior p(v) p(y);
    for a labelled row its part in y is -log p(y).

    Parameters
    ----------
    history : list of dict
        As `history_` of an estimator.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    lines_ : dict of Line2D
        Keys as "train_elbo", "train_reconstruction", "train_negative_kl", and the same with
        "valid" if there was a validation part.

    Examples
    --------
    >>> from sk_equivae import LearningCurveDisplay
    >>> history = [{"epoch": 1, "train_elbo": -9.0, "train_reconstruction": -7.0}]
    >>> LearningCurveDisplay(history).curves()["train_negative_kl"]
    array([-2.])
    """

    PARTS = (("elbo", "bound"), ("reconstruction", "reconstruction"), ("negative_kl", "-KL"))

    def __init__(self, history: list[dict]):
        self.history = history

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **kwargs: Any
    ) -> "LearningCurveDisplay":
        """Draw the `history_` of a fitted estimator.

        Parameters
        ----------
        estimator : fitted EquiVAEClassifier or EquiVAETransformer
        ax, **kwargs : see `plot`
        """
        check_is_fitted(estimator)
        return cls(estimator.history_).plot(ax=ax, **kwargs)

    def curves(self) -> dict[str, NDArray]:
        """The values of each curve, one an epoch; NaN where an epoch has none."""
        curves = {}
        for side in ("train", "valid"):
            if not any(f"{side}_elbo" in row for row in self.history):
                continue
            for name in ("elbo", "reconstruction"):
                key = f"{side}_{name}"
                curves[key] = np.array([row.get(key, np.nan) for row in self.history])
            curves[f"{side}_negative_kl"] = (
                curves[f"{side}_elbo"] - curves[f"{side}_reconstruction"]
            )
        if not curves:
            raise ValueError(
                "LearningCurveDisplay expects a history with 'train_elbo'; got "
                f"{len(self.history)} epochs without it. Pass `history_` of a fitted estimator."
            )
        return curves

    def plot(self, ax: Any = None, **kwargs: Any) -> "LearningCurveDisplay":
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        **kwargs : dict
            For `Axes.plot`.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt
        from matplotlib.ticker import MaxNLocator

        curves = self.curves()
        if ax is None:
            _, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        epochs = [row.get("epoch", i) for i, row in enumerate(self.history, start=1)]
        single = {"marker": "o", "markersize": 4} if len(epochs) == 1 else {}
        self.lines_ = {}
        for i, (part, name) in enumerate(self.PARTS):
            for side, dashes in (("train", "-"), ("valid", "--")):
                if f"{side}_{part}" not in curves:
                    continue
                label = name if side == "train" else f"{name}, validation"
                style = {"color": f"C{i}", "linestyle": dashes, "label": label, **single, **kwargs}
                (line,) = ax.plot(epochs, curves[f"{side}_{part}"], **style)
                self.lines_[f"{side}_{part}"] = line
        ax.set(xlabel="epoch", ylabel="nats a row", title="The bound and its two parts")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
        return self
