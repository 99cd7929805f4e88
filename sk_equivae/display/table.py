"""Drawing of tabular rows: values in their own units, on colours that compare them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .colors import is_dark

# Height of a row and width of a column, in inches.
ROW, COLUMN = 0.22, 0.62
# Values are written where a cell has at least this size, in inches.
LEGIBLE = 0.14, 0.38
MISSING = "-"


def table_size(n_rows: int, n_columns: int) -> tuple[float, float]:
    """Return the size of a figure in inches; at most 24 by 30."""
    return min(24.0, max(5.0, COLUMN * n_columns + 2.5)), min(30.0, max(2.5, ROW * n_rows + 1.6))


def draw_table(
    ax: Any,
    rows: NDArray[Any],
    groups: Sequence[tuple[str, int]],
    feature_names: Sequence[str],
    cmap: Any = None,
    categories: dict[int, list[str]] | None = None,
    **kwargs: Any,
) -> Any:
    """Draw tabular rows in groups, one cell per value.

    The colour of a cell is its distance from the mean of the column, in standard deviations of
    all rows drawn. Values are written into the cells, in their own units, if there is room. The
    cells of categories are blank, and hold their names.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw on.
    rows : ndarray of shape (n_rows, n_features)
        The rows, one group after the other.
    groups : sequence of (str, int)
        Names of the groups, and their numbers of rows.
    feature_names : sequence of str
        Names of the features.
    cmap : str or matplotlib Colormap, default=None
        Colours of the values. None is "RdBu_r".
    categories : dict of int to list of str, default=None
        Names of the categories of some features, which are given by their positions.
    **kwargs : dict
        Keyword arguments for `Axes.imshow`.

    Returns
    -------
    artist : matplotlib AxesImage
        The colours.
    """
    categories = categories or {}
    values = standardized(rows)
    values[:, [*categories]] = 0.0
    limit = max(1.0, float(np.nanmax(np.abs(values), initial=0.0)))
    style = {"cmap": cmap or "RdBu_r", "vmin": -limit, "vmax": limit, "aspect": "auto", **kwargs}
    artist = ax.imshow(np.ma.masked_invalid(values), interpolation="nearest", **style)
    edges = np.cumsum([0, *(n for _, n in groups)])
    for edge in edges[1:-1]:
        ax.axhline(edge - 0.5, color=ax.get_facecolor(), linewidth=2.5)
    ax.set_yticks((edges[:-1] + edges[1:]) / 2 - 0.5, [name for name, _ in groups])
    every = max(1, len(feature_names) // 40)
    ax.set_xticks(range(0, len(feature_names), every), feature_names[::every], rotation=45)
    for label in ax.get_xticklabels():
        label.set(ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.figure.colorbar(artist, ax=ax, label="standard deviations from the mean", shrink=0.8)
    _write_values(ax, artist, rows, categories)
    return artist


def standardized(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return columns with mean 0 and standard deviation 1; constant ones are 0, gaps stay NaN."""
    known = ~np.isnan(rows)
    n_known = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, rows, 0.0).sum(axis=0) / n_known
    spread = np.sqrt((np.where(known, rows - mean, 0.0) ** 2).sum(axis=0) / n_known)
    # of a constant column only rounding errors are left
    is_constant = spread <= 1e-9 * np.maximum(np.abs(mean), 1e-300)
    return np.where(is_constant & known, 0.0, (rows - mean) / np.where(is_constant, 1.0, spread))


def _write_values(
    ax: Any, artist: Any, rows: NDArray[Any], categories: dict[int, list[str]]
) -> None:
    """Write values into the cells that have room for them, and categories into all."""
    box = ax.get_window_extent()
    n_rows, n_columns = rows.shape
    inches = box.height / ax.figure.dpi / n_rows, box.width / ax.figure.dpi / n_columns
    legible = inches[0] >= LEGIBLE[0] and inches[1] >= LEGIBLE[1]
    size = min(9.0, 0.62 * 72 * inches[0], 13 * inches[1])
    colors = artist.to_rgba(np.ma.filled(artist.get_array(), 0.0))
    for i, j in np.ndindex(rows.shape):
        if j not in categories and not legible:
            continue
        missing = np.isnan(rows[i, j])
        text = MISSING if missing else as_text(float(rows[i, j]), categories.get(j))
        background = ax.get_facecolor() if missing else colors[i, j]
        color = "white" if is_dark(background) else "black"
        ax.text(j, i, text, ha="center", va="center", fontsize=max(size, 4.0), color=color)


def as_text(value: float, names: list[str] | None = None) -> str:
    """Return a value as it is written into a cell.

    Examples
    --------
    >>> as_text(1680.0), as_text(0.34123), as_text(1.0, ["red", "green"])
    ('1680', '0.341', 'green')
    """
    if names is not None:
        name = names[int(value)]
        return name if len(name) < 12 else f"{name[:10]}…"
    large = abs(value) >= 1000
    return f"{value:.0f}" if large and abs(value) < 1e6 else f"{value:.3g}"


def category_names(estimator: Any) -> dict[int, list[str]]:
    """Return the names of the categories of each categorical column, by its position."""
    columns = estimator.model_.rows.columns
    named = () if columns is None else enumerate(columns.columns)
    return {i: [str(name) for name in c.categories] for i, c in named if c.categories}
