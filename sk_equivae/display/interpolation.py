"""`InterpolationDisplay`: paths from one row to another."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import check_estimator
from .colors import gray_map
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


class InterpolationDisplay(TileDisplay):
    """Interpolations between rows, one pair of rows per line (Figure 4, middle).

    The originals are shown at the two ends, separate from the decoded steps. v moves from one
    to the other, and so does r if their classes differ.

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
        The mosaic, or the colours of the table.

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
            Colours. None draws 0 of grey images like the background, and is "RdBu_r" for
            tabular rows.
        **kwargs : dict
            Keyword arguments for `Axes.imshow`.

        Returns
        -------
        display : InterpolationDisplay
            The display itself.
        """
        if self.steps.ndim == 3:
            return self._plot_table(ax, cmap, **kwargs)
        n_pairs, n_steps = self.steps.shape[:2]
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
        self.im_ = draw_mosaic(ax, image, self.limits, cmap or gray_map(ax), **kwargs)
        ticks = []
        if self.start is not None:
            ticks.append((x[0], "from"))
        if self.end is not None:
            ticks.append((x[-1], "to"))
        ax.set_xticks([at for at, _ in ticks], [name for _, name in ticks])
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.set_title("From one row to another, along r and v")
        return self

    def _plot_table(self, ax: Any, cmap: Any, **kwargs: Any) -> "InterpolationDisplay":
        """Draw rows of a table: each path from top to bottom, between its originals."""
        groups, blocks = [], []
        for pair, steps in enumerate(self.steps):
            ends = [None if rows is None else rows[[pair]] for rows in (self.start, self.end)]
            parts = [("from", ends[0]), (f"pair {pair}", steps), ("to", ends[1])]
            for name, rows in parts:
                if rows is not None:
                    groups.append((name, len(rows)))
                    blocks.append(rows)
        table = np.concatenate(blocks)
        names = self.names or [f"x{i}" for i in range(table.shape[1])]
        ax = self._start_figure(ax, *table_size(*table.shape))
        self.im_ = draw_table(ax, table, groups, names, cmap, self.categories, **kwargs)
        ax.set_title("From one row to another, top to bottom")
        return self
