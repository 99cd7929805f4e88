"""`SamplesDisplay`: generated rows of each class, beside real ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .checks import check_estimator
from .colors import gray_map
from .legend import shortened
from .mosaic import (
    TileDisplay,
    as_images,
    as_rows,
    draw_mosaic,
    feature_names,
    mosaic,
    value_range,
)
from .table import category_names, draw_table, table_size

# Height of a character of an upright name, in tiles.
NAME_HEIGHT = 0.16


def rows_by_class(
    estimator: Any, X: Any, y: Any, codes: NDArray[Any], n_each: int, random_state: Any
) -> NDArray[Any]:
    """Draw real rows of some classes.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator.
    X : array-like of the shape seen in `fit`
        Rows.
    y : array-like of shape (n,)
        Their labels.
    codes : ndarray of int
        Codes of the classes.
    n_each : int
        Rows per class.
    random_state : int, RandomState instance or None
        Seed of the draw.

    Returns
    -------
    rows : ndarray of shape (n_each, n_classes, *row_shape)
        The rows; NaN where a class has fewer.
    """
    rng, rows = check_random_state(random_state), as_rows(estimator, X, -1)
    labels = estimator._codes(y, len(rows))
    drawn = np.full((n_each, len(codes), *rows.shape[1:]), np.nan)
    for place, code in enumerate(codes):
        own = rng.permutation(np.flatnonzero(labels == code))[:n_each]
        drawn[: len(own), place] = rows[own]
    return drawn


class SamplesDisplay(TileDisplay):
    """Generated rows of each class: images in one column per class, or a table of values.

    Real rows are drawn for comparison if there are any.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_classes, h, w), (n_samples, n_classes, h, w, c) \
or (n_samples, n_classes, n_features)
        The generated rows.
    classes : array-like of shape (n_classes,)
        Labels of the classes.
    real : ndarray of shape (n_real, n_classes, ...), default=None
        Real rows of the same classes; NaN where a class has fewer than others.
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
        The mosaic, or the colours of the table.

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
        real: NDArray[Any] | None = None,
        limits: tuple[float, float] = (0.0, 1.0),
        names: Sequence[str] | None = None,
        categories: dict[int, list[str]] | None = None,
    ):
        self.samples = samples
        self.classes = classes
        self.real = real
        self.limits = limits
        self.names = names
        self.categories = categories

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
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
        X : array-like of the shape seen in `fit`, default=None
            Real rows to draw beside the samples. `y` has to be given too.
        y : array-like of shape (n,), default=None
            Labels of X. Unlabelled rows are not drawn.
        n_samples : int, default=8
            Number of samples, and at most as many real rows, per class.
        classes : array-like of shape (n_classes,), default=None
            Labels of the classes to sample. None takes all.
        random_state : int, RandomState instance or None, default=None
            Seed of the samples, and of the choice of real rows.
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
        if (X is None) != (y is None):
            raise ValueError(
                "SamplesDisplay expects both X and y, or none of them; got only "
                f"{'X' if y is None else 'y'}. Pass the labels of the real rows with them."
            )
        shown = estimator.classes_ if classes is None else np.asarray(classes)
        made, _ = estimator.sample(n_samples * len(shown), np.tile(shown, n_samples), random_state)
        made, real = as_rows(estimator, made, n_samples, len(shown)), None
        if X is not None:
            codes = estimator._codes(shown, len(shown))
            real = rows_by_class(estimator, X, y, codes, n_samples, random_state)
        if not estimator.model_.rows.is_image:
            names, categories = feature_names(estimator), category_names(estimator)
            display = cls(made, classes=shown, real=real, names=names, categories=categories)
        else:
            images = as_images(estimator, made)
            real = None if real is None else as_images(estimator, real)
            limits = value_range(estimator, images)
            display = cls(images, classes=shown, real=real, limits=limits)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, cmap: Any = None, **kwargs: Any) -> "SamplesDisplay":
        """Draw the samples.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        cmap : str or matplotlib Colormap, default=None
            Colours. None draws 0 of grey images like the background, and is "RdBu_r" for
            tabular rows.
        **kwargs : dict
            Keyword arguments for `Axes.imshow`.

        Returns
        -------
        display : SamplesDisplay
            The display itself.
        """
        if self.samples.ndim == 3:
            return self._plot_table(ax, cmap, **kwargs)
        tiles, n_real, is_new = self.samples, 0, ax is None
        if self.real is not None:
            n_real = len(self.real)
            tiles = np.concatenate([self.real, tiles])
        names = [shortened(str(label)) for label in self.classes]
        longest = max(map(len, names))
        crowded = len(names) > 12 or longest > 6
        high = NAME_HEIGHT * longest if crowded else 0.0  # names stand upright
        ax = self._start(ax, tiles.shape[1] + 0.5, len(tiles) + 0.5 * bool(n_real) + high)
        image, x, y = mosaic(tiles, wide_rows=(n_real,) if n_real else ())
        self.im_ = draw_mosaic(ax, image, self.limits, cmap or gray_map(ax), **kwargs)
        ax.set_xticks(x, names)
        ax.tick_params("x", rotation=90 * crowded)
        ax.xaxis.tick_top()
        if n_real:
            middle = [y[:n_real].mean(), y[n_real:].mean()]
            ax.set_yticks(middle, ["real", "generated"], rotation=90, va="center")
        ax.tick_params(length=0)
        ax.set_title("Real and generated, by class" if n_real else "Generated, by class")
        if is_new and crowded:  # only a second layout has room for the title above the names
            self.figure_.draw_without_rendering()
        return self

    def _plot_table(self, ax: Any, cmap: Any, **kwargs: Any) -> "SamplesDisplay":
        """Draw rows of a table: for each class the real rows above the generated ones."""
        kinds = [(", generated" if self.real is not None else "", self.samples)]
        if self.real is not None:
            kinds.insert(0, (", real", self.real))
        groups, blocks = [], []
        for place, label in enumerate(self.classes):
            for name, rows in kinds:
                own = rows[:, place]
                own = own[~np.isnan(own).all(axis=1)]
                if len(own):
                    groups.append((f"{label}{name}", len(own)))
                    blocks.append(own)
        table = np.concatenate(blocks)
        names = self.names or [f"x{i}" for i in range(table.shape[1])]
        ax = self._start_figure(ax, *table_size(*table.shape))
        self.im_ = draw_table(ax, table, groups, names, cmap, self.categories, **kwargs)
        ax.set_title("Generated rows" if self.real is None else "Real and generated rows")
        return self
