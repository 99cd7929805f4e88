"""A legend of classes that fits where it is drawn."""

from collections.abc import Sequence
from typing import Any

# A legend takes at most this part of the width of its figure.
MAX_WIDTH = 0.35
# Characters of a name.
MAX_CHARACTERS = 18


def shortened(name: str, n_characters: int = MAX_CHARACTERS) -> str:
    """Return a name of limited length.

    Examples
    --------
    >>> shortened("Passiflora caerulea alba"), shortened("rose")
    ('Passiflora caeru…', 'rose')
    """
    return name if len(name) <= n_characters else f"{name[: n_characters - 2]}…"


def fitting_legend(ax: Any, handles: Sequence[Any]) -> Any:
    """Draw a legend that stays inside the figure.

    In a figure with constrained layout it stands to the right of the Axes, which makes room for
    it; in others it lies inside the Axes.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes of the legend.
    handles : sequence of artists
        What the legend explains.

    Returns
    -------
    legend : matplotlib Legend or None
        None if there is no room for a legend of legible size.
    """
    figure = ax.figure
    engine = figure.get_layout_engine()
    beside = engine is not None and engine.adjust_compatible is False
    place: dict[str, Any] = {"loc": "best", "framealpha": 0.6}
    if beside:
        place = {"loc": "upper left", "bbox_to_anchor": (1.02, 1), "frameon": False}
    box = figure.bbox if beside else ax.get_window_extent()
    # titles stand beside the upper part of the figure
    share, tall = (MAX_WIDTH, 0.85) if beside else (0.6, 0.6)
    for size in ("medium", "small", "x-small", "xx-small"):
        n_columns = 1
        while True:
            legend = ax.legend(
                handles=handles, fontsize=size, ncols=n_columns, borderaxespad=0.3,
                handletextpad=0.2, columnspacing=0.8, labelspacing=0.3, **place,
            )  # fmt: skip
            extent = legend.get_window_extent()
            if extent.width > share * box.width:
                break
            excess = extent.height / (tall * box.height)
            if excess <= 1:
                return legend
            n_columns += max(1, int(n_columns * (excess - 1)))
    legend.remove()
    return None
