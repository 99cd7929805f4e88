"""Pickles and deep copies of estimators."""

import copy
from typing import Any, Self

from .._version import __version__
from .._warnings import warn_user
from .parameters import Parameters


class Copyable(Parameters):
    """Pickles without the state of training, and deep copies with it."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without `net_`, which would make it four times as large."""
        state = dict(super().__getstate__(), _sk_equivae_version=__version__)
        state.pop("net_", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        version = state.pop("_sk_equivae_version", "unknown")
        if version != __version__:
            warn_user(
                f"This {type(self).__name__} was pickled with sk_equivae {version} and is read "
                f"with {__version__}: it may fail or answer otherwise. Fit it again, or read it "
                "with the version that wrote it."
            )
        super().__setstate__(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy that includes `net_`, which a pickle leaves out."""
        double = type(self).__new__(type(self))
        memo[id(self)] = double
        double.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return double
