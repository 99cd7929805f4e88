"""Displays of what is generated: samples of the classes, and ways between rows.

Images lie as tiles of one mosaic in one Axes; tabular rows are drawn as heat maps.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .mosaic import (
    TileDisplay,
    as_images,
    draw_heat_map,
    draw_mosaic,
    feature_names,
    mosaic,
    value_range,
)


class SamplesDisplay(TileDisplay):
    """Generated rows of each class: images in a column a class, or a heat map.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_classes, h, w), (n_samples, n_classes, h, w, c) \
or (n_samples, n_classes, n_features)
    classes : array-like of shape (n_classes,)
    limits : (float, float), default=(0, 1)
        The values of black and white.
    names : sequence of str, optional
        Of the features of tabular rows.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    im_ : AxesImage

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae import SamplesDisplay
    >>> SamplesDisplay(np.zeros((4, 2, 8, 8)), classes=["a", "b"]).samples.shape
    (4, 2, 8, 8)
    """

    def __init__(
        self,
        samples: NDArray,
        *,
        classes: Any,
        limits: tuple[float, float] = (0.0, 1.0),
        names: Sequence[str] | None = None,
    ):
        self.samples = samples
        self.classes = classes
        self.limits = limits
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        n_samples: int = 8,
        classes: ArrayLike | None = None,
        random_state: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> "SamplesDisplay":
        """Sample each class and draw.

        Parameters
        ----------
        estimator : fitted EquiVAEClassifier or EquiVAETransformer
        n_samples : int, default=8
            Of each class.
        classes : array-like, optional
            Which ones; all without it.
        random_state : int, RandomState instance or None, default=None
        ax, **kwargs : see `plot`
        """
        check_is_fitted(estimator)
        shown = estimator.classes_ if classes is None else np.asarray(classes)
        X, _ = estimator.sample(n_samples * len(shown), np.tile(shown, n_samples), random_state)
        X = X.reshape(n_samples, len(shown), *X.shape[1:])
        if not estimator.model_.rows.is_image:
            display = cls(X, classes=shown, names=feature_names(estimator))
        else:
            images = as_images(estimator, X)
            display = cls(images, classes=shown, limits=value_range(estimator, images))
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, cmap: Any = None, **kwargs: Any) -> "SamplesDisplay":
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        cmap : str or Colormap, optional
            "gray_r" without it for grey images, "RdBu_r" for tabular rows.
        **kwargs : dict
            For `Axes.imshow`.
        """
        n_samples, n_classes = self.samples.shape[:2]
        labels = [str(label) for label in self.classes]
        if self.samples.ndim == 3:
            ax = self._start(ax, 9, 0.4 * n_samples * n_classes)
            rows = self.samples.swapaxes(0, 1).reshape(n_samples * n_classes, -1)
            names = self.names or [f"x{i}" for i in range(rows.shape[1])]
            self.im_ = draw_heat_map(ax, rows, labels, names, cmap or "RdBu_r", **kwargs)
            ax.set(ylabel="class", title="Generated rows")
            return self
        ax = self._start(ax, n_classes, n_samples)
        image, x, _ = mosaic(self.samples)
        self.im_ = draw_mosaic(ax, image, self.limits, cmap or "gray_r", **kwargs)
        ax.set_xticks(x, labels)
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.set_title("Generated, by class")
        return self


class InterpolationDisplay(TileDisplay):
    """The way from one row to another, a pair a line (Figure 4, middle).

    For images the originals stand at the two ends, apart from what was decoded.

    Parameters
    ----------
    steps : ndarray of shape (n_pairs, n_steps, h, w), (n_pairs, n_steps, h, w, c) \
or (n_pairs, n_steps, n_features)
    start, end : ndarray of shape (n_pairs, ...), optional
        The originals.
    limits : (float, float), default=(0, 1)
    names : sequence of str, optional
        Of the features of tabular rows.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    im_ : AxesImage

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae import InterpolationDisplay
    >>> InterpolationDisplay(np.zeros((4, 6, 8, 8))).steps.shape  # four pairs, six steps
    (4, 6, 8, 8)
    """

    def __init__(
        self,
        steps: NDArray,
        *,
        start: NDArray | None = None,
        end: NDArray | None = None,
        limits: tuple[float, float] = (0.0, 1.0),
        names: Sequence[str] | None = None,
    ):
        self.steps = steps
        self.start = start
        self.end = end
        self.limits = limits
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        A: ArrayLike,
        B: ArrayLike,
        *,
        n_steps: int = 8,
        ax: Any = None,
        **kwargs: Any,
    ) -> "InterpolationDisplay":
        """Interpolate between rows and draw.

        Parameters
        ----------
        estimator : fitted EquiVAEClassifier or EquiVAETransformer
        A, B : array-like of the shape seen in `fit`
        n_steps : int, default=8
        ax, **kwargs : see `plot`
        """
        check_is_fitted(estimator)
        steps = estimator.interpolate(A, B, n_steps)
        row_shape = estimator.model_.rows.row_shape
        start, end = (np.asarray(rows).reshape(-1, *row_shape) for rows in (A, B))
        if not estimator.model_.rows.is_image:
            display = cls(steps, start=start, end=end, names=feature_names(estimator))
        else:
            steps, start, end = (as_images(estimator, rows) for rows in (steps, start, end))
            display = cls(steps, start=start, end=end, limits=value_range(estimator, steps))
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, cmap: Any = None, **kwargs: Any) -> "InterpolationDisplay":
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        cmap : str or Colormap, optional
            "gray_r" without it for grey images, "RdBu_r" for tabular rows.
        **kwargs : dict
            For `Axes.imshow`.
        """
        n_pairs, n_steps = self.steps.shape[:2]
        if self.steps.ndim == 3:
            ax = self._start(ax, 9, 0.4 * n_pairs * n_steps)
            rows = self.steps.reshape(n_pairs * n_steps, -1)
            groups = [f"pair {i}" for i in range(n_pairs)]
            names = self.names or [f"x{i}" for i in range(rows.shape[1])]
            self.im_ = draw_heat_map(ax, rows, groups, names, cmap or "RdBu_r", **kwargs)
            ax.set_title("From one row to another, top to bottom")
            return self
        whole, wide = [self.steps], []
        if self.start is not None:
            whole.insert(0, self.start[:, None])
            wide.append(1)
        if self.end is not None:
            whole.append(self.end[:, None])
            wide.append(len(wide) + n_steps)
        tiles = np.concatenate(whole, axis=1)
        ax = self._start(ax, tiles.shape[1] + 0.5 * len(wide), n_pairs)
        image, x, _ = mosaic(tiles, tuple(wide))
        self.im_ = draw_mosaic(ax, image, self.limits, cmap or "gray_r", **kwargs)
        ticks = []
        if self.start is not None:
            ticks.append((x[0], "from"))
        if self.end is not None:
            ticks.append((x[-1], "to"))
        ax.set_xticks([at for at, _ in ticks], [name for _, name in ticks])
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.set_title("Along v, from one row to another")
        return self
