"""Times of two ways of doing the same thing, taken in turns.

Other work on the machine slows both ways alike, so a ratio of two medians means something
where a time alone does not.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Split

SMOKE_REPETITIONS = 2


@dataclass
class Bench:
    """What the measurements share.

    Parameters
    ----------
    split : Split
        Images of 28x28, uint8, and labels.
    smoke : bool
        Little of everything, to see that it runs.
    seed : int
    minutes : float
        The longest that a training may take until it reaches the paper's error.
    sizes : sequence of int
        Numbers of images of which memory is measured.
    """

    split: Split
    smoke: bool = False
    seed: int = 0
    minutes: float = 30.0
    sizes: tuple[int, ...] = (50_000, 200_000, 800_000)
    trained: dict[int, Any] = field(default_factory=dict, repr=False)

    def repetitions(self, n: int) -> int:
        return SMOKE_REPETITIONS if self.smoke else n

    def few(self, n: int, smoke: int) -> int:
        """A number of rows or epochs: `smoke` of them in a smoke run."""
        return smoke if self.smoke else n


Side = Callable[[], float]


def timed(function: Callable[[], Any]) -> Side:
    """A function that returns how many seconds `function` took."""

    def seconds() -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    return seconds


def alternate(sides: dict[str, Side], n: int, warm_up: int = 1) -> dict[str, NDArray]:
    """Seconds of each side, n times, one after the other: A, B, A, B, ...

    Parameters
    ----------
    sides : dict of callables
        Each returns its own seconds; see `timed`.
    n : int
    warm_up : int
        Rounds before, which do not count.
    """
    rounds = [[side() for side in sides.values()] for _ in range(warm_up + n)]
    return dict(zip(sides, np.array(rounds[warm_up:]).T, strict=True))


def quartiles(values: NDArray) -> dict[str, float]:
    """The median, and the quartiles to both sides of it."""
    lower, median, upper = np.percentile(values, [25, 50, 75])
    return {"median": float(median), "lower": float(lower), "upper": float(upper)}


def compare(seconds: dict[str, NDArray], slow: str, quick: str) -> dict[str, Any]:
    """How many times as long one side takes as another.

    Returns
    -------
    figures : dict
        `ratio` of the medians; the quartiles of the ratios of single rounds; the quartiles of
        the seconds of both sides.
    """
    by_round = quartiles(seconds[slow] / seconds[quick])
    return {
        "ratio": float(np.median(seconds[slow]) / np.median(seconds[quick])),
        "ratio_lower": by_round["lower"],
        "ratio_upper": by_round["upper"],
        "seconds": {side: quartiles(seconds[side]) for side in (slow, quick)},
        "n": len(seconds[slow]),
    }
