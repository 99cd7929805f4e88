"""Checks of the arguments of methods that generate rows, and their generators."""

from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def make_generators(random_state: Any) -> tuple[np.random.RandomState, torch.Generator]:
    """Return a NumPy and a PyTorch generator; for None with a seed from the system."""
    rng = np.random.RandomState() if random_state is None else check_random_state(random_state)
    return rng, torch.Generator().manual_seed(int(rng.randint(np.iinfo(np.int32).max)))


def check_count(value: Any, name: str, least: int) -> int:
    """Return the value as an int; raise if it is not an int of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(
            f"{name} should be an int of at least {least}; got {value!r}. "
            f"Pass, for example, {name}={max(least, 8)}."
        )
    return int(value)


def check_pairs(first: str, A: NDArray[Any], second: str, B: NDArray[Any], hint: str = "") -> None:
    """Raise if A and B do not have the same number of rows."""
    if len(A) != len(B):
        raise ValueError(
            f"Expected as many rows in {second} as in {first}, which go in pairs; got "
            f"{len(A)} in {first} and {len(B)} in {second}. Repeat the rows of one.{hint}"
        )
