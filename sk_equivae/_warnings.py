"""Warnings that point to the user's line."""

import sys
import warnings

OURS = ("sk_equivae", "sklearn")


class InputWarning(UserWarning):
    """The input is probably not what was meant, such as pixels on another scale than in `fit`.

    `warnings.simplefilter("error", InputWarning)` makes it an error, and "ignore" silences it.
    """


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this library, through scikit-learn's wrappers or not."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
