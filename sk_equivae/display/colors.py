"""Colours and markers of classes, for readers with any colour vision and for any style."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Ten colours that remain distinct with each kind of colour blindness, on white and on black:
# Petroff (2021), "Accessible color sequences for data visualization", arXiv:2107.02270.
PALETTE = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
# After every ten classes the colours start again with the next marker.
MARKERS = "osD^vPp*<>"
# Colour of unlabelled rows, on white and on black.
GREY = "#808080"


def class_colors(n_classes: int, cmap: Any = None) -> list[Any]:
    """Return one colour per class.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    cmap : str or matplotlib Colormap, default=None
        Where the colours come from. None is a palette of ten colours, repeated.

    Returns
    -------
    colors : list of tuple
        RGBA values.
    """
    import matplotlib

    if cmap is None:
        return [matplotlib.colors.to_rgba(PALETTE[i % len(PALETTE)]) for i in range(n_classes)]
    cmap = matplotlib.colormaps[cmap] if isinstance(cmap, str) else cmap
    if cmap.N < 256 and n_classes <= cmap.N:
        return [cmap(i) for i in range(n_classes)]
    return list(cmap(np.linspace(0, 1, n_classes)))


def class_markers(n_classes: int, cmap: Any = None) -> list[str]:
    """Return one marker per class: those of classes with the same colour differ.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    cmap : str or matplotlib Colormap, default=None
        What `class_colors` was given. A map of the user has a colour per class, and all
        classes have the same marker.

    Returns
    -------
    markers : list of str
        Markers of matplotlib.

    Examples
    --------
    >>> class_markers(12)[8:]
    ['o', 'o', 's', 's']
    """
    if cmap is not None:
        return [MARKERS[0]] * n_classes
    return [MARKERS[i // len(PALETTE) % len(MARKERS)] for i in range(n_classes)]


def is_dark(color: Any) -> bool:
    """Return whether text on a colour has to be light.

    Parameters
    ----------
    color : colour of matplotlib
        The background. A transparent one counts as white.

    Returns
    -------
    dark : bool
        Whether its relative luminance is low.

    Examples
    --------
    >>> is_dark("black"), is_dark("#ffa90e")
    (True, False)
    """
    from matplotlib.colors import to_rgba

    *rgb, alpha = to_rgba(color)
    visible: NDArray[np.float64] = alpha * np.array(rgb) + (1 - alpha)
    return bool(visible**2.2 @ [0.2126, 0.7152, 0.0722] < 0.3)


def gray_map(ax: Any) -> str:
    """Return the colour map in which the value 0 of grey images is like the background."""
    background = ax.get_facecolor()
    return "gray" if is_dark(background) else "gray_r"
