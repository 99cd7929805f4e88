"""Displays of generated rows: samples of each class, and interpolations between rows.

Images are drawn as tiles of one mosaic, tabular rows as a heat map.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import check_estimator
from .mosaic import (
    TileDisplay,
    as_images,
    as_rows,
    category_names,
    draw_heat_map,
    draw_mosaic,
    feature_names,
    mosaic,
    value_range,
)


class SamplesDisplay(TileDisplay):
    """Generated rows of each class: images in one column per class, or a heat map.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_classes, h, w), (n_samples, n_classes, h, w, c) \
or (n_samples, n_classes, n_features)
        The generated rows.
    classes : array-like of shape (n_classes,)
        Labels of the classes.
    limits : tuple of (float, float), default=(0, 1)
        Values of black and white.
    names : sequence of str, default=None
        Names of the features of tabular rows. None stands for x0, x1, ...
    categories : dict of int to list of str, default=None
        Names of the categories of some features, which are given by their positions.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the rows.
    figure_ : matplotlib Figure
        Figure that contains the Axes.
    im_ : matplotlib AxesImage
        The mosaic or the heat map.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae import SamplesDisplay
    >>> SamplesDisplay(np.zeros((4, 2, 8, 8)), classes=["a", "b"]).samples.shape
    (4, 2, 8, 8)
    """

    def __init__(
        self,
        samples: NDArray[Any],
        *,
        classes: Any,
        limits: tuple[float, float] = (0.0, 1.0),
        names: Sequence[str] | None = None,
        categories: dict[int, list[str]] | None = None,
    ):
        self.samples = samples
        self.classes = classes
        self.limits = limits
        self.names = names
        self.categories = categories

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
        """Sample each class and draw the samples.

        Parameters
        ----------
        estimator : EquiVAEClassifier or EquiVAETransformer
            A fitted estimator.
        n_samples : int, default=8
            Number of samples per class.
        classes : array-like of shape (n_classes,), default=None
            Labels of the classes to sample. None takes all.
        random_state : int, RandomState instance or None, default=None
            Seed of the samples.
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        **kwargs : dict
            Keyword arguments for `plot`.

        Returns
        -------
        display : SamplesDisplay
            The display that was drawn.
        """
        check_estimator(estimator, cls.__name__)
        shown = estimator.classes_ if classes is None else np.asarray(classes)
        X, _ = estimator.sample(n_samples * len(shown), np.tile(shown, n_samples), random_state)
        X = as_rows(estimator, X, n_samples, len(shown))
        if not estimator.model_.rows.is_image:
            names, categories = feature_names(estimator), category_names(estimator)
            display = cls(X, classes=shown, names=names, categories=categories)
        else:
            images = as_images(estimator, X)
            display = cls(images, classes=shown, limits=value_range(estimator, images))
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, cmap: Any = None, **kwargs: Any) -> "SamplesDisplay":
        """Draw the samples.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        cmap : str or matplotlib Colormap, default=None
            Colours. None is "gray_r" for grey images and "RdBu_r" for tabular rows.
        **kwargs : dict
            Keyword arguments for `Axes.imshow`.

        Returns
        -------
        display : SamplesDisplay
            The display itself.
        """
        n_samples, n_classes = self.samples.shape[:2]
        labels = [str(label) for label in self.classes]
        if self.samples.ndim == 3:
            ax = self._start(ax, 9, 0.4 * n_samples * n_classes)
            rows = self.samples.swapaxes(0, 1).reshape(n_samples * n_classes, -1)
            names = self.names or [f"x{i}" for i in range(rows.shape[1])]
            colours = cmap or "RdBu_r"
            self.im_ = draw_heat_map(ax, rows, labels, names, colours, self.categories, **kwargs)
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
    """Interpolations between rows, one pair of rows per line (Figure 4, middle).

    For images, the originals are shown at the two ends, separate from the decoded steps.

    Parameters
    ----------
    steps : ndarray of shape (n_pairs, n_steps, h, w), (n_pairs, n_steps, h, w, c) \
or (n_pairs, n_steps, n_features)
        The decoded steps.
    start, end : ndarray of shape (n_pairs, ...), default=None
        The originals.
    limits : tuple of (float, float), default=(0, 1)
        Values of black and white.
    names : sequence of str, default=None
        Names of the features of tabular rows. None stands for x0, x1, ...
    categories : dict of int to list of str, default=None
        Names of the categories of some features, which are given by their positions.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the steps.
    figure_ : matplotlib Figure
        Figure that contains the Axes.
    im_ : matplotlib AxesImage
        The mosaic or the heat map.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae import InterpolationDisplay
    >>> InterpolationDisplay(np.zeros((4, 6, 8, 8))).steps.shape  # four pairs, six steps
    (4, 6, 8, 8)
    """

    def __init__(
        self,
        steps: NDArray[Any],
        *,
        start: NDArray[Any] | None = None,
        end: NDArray[Any] | None = None,
        limits: tuple[float, float] = (0.0, 1.0),
        names: Sequence[str] | None = None,
        categories: dict[int, list[str]] | None = None,
    ):
        self.steps = steps
        self.start = start
        self.end = end
        self.limits = limits
        self.names = names
        self.categories = categories

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
        """Interpolate between rows and draw the steps.

        Parameters
        ----------
        estimator : EquiVAEClassifier or EquiVAETransformer
            A fitted estimator.
        A, B : array-like of the shape seen in `fit`
            First and last rows, paired.
        n_steps : int, default=8
            Number of steps per pair, the ends included.
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        **kwargs : dict
            Keyword arguments for `plot`.

        Returns
        -------
        display : InterpolationDisplay
            The display that was drawn.
        """
        check_estimator(estimator, cls.__name__)
        steps = as_rows(estimator, estimator.interpolate(A, B, n_steps), -1, n_steps)
        start, end = (as_rows(estimator, rows, -1) for rows in (A, B))
        if not estimator.model_.rows.is_image:
            names, categories = feature_names(estimator), category_names(estimator)
            display = cls(steps, start=start, end=end, names=names, categories=categories)
        else:
            steps, start, end = (as_images(estimator, rows) for rows in (steps, start, end))
            display = cls(steps, start=start, end=end, limits=value_range(estimator, steps))
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, cmap: Any = None, **kwargs: Any) -> "InterpolationDisplay":
        """Draw the steps.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        cmap : str or matplotlib Colormap, default=None
            Colours. None is "gray_r" for grey images and "RdBu_r" for tabular rows.
        **kwargs : dict
            Keyword arguments for `Axes.imshow`.

        Returns
        -------
        display : InterpolationDisplay
            The display itself.
        """
        n_pairs, n_steps = self.steps.shape[:2]
        if self.steps.ndim == 3:
            ax = self._start(ax, 9, 0.4 * n_pairs * n_steps)
            rows = self.steps.reshape(n_pairs * n_steps, -1)
            groups = [f"pair {i}" for i in range(n_pairs)]
            names = self.names or [f"x{i}" for i in range(rows.shape[1])]
            colours = cmap or "RdBu_r"
            self.im_ = draw_heat_map(ax, rows, groups, names, colours, self.categories, **kwargs)
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
