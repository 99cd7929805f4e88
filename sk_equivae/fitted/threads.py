"""How many threads to compute with."""

import contextlib
import math
import os
from collections.abc import Iterator

import torch

from .rows import RowSpec

# Dense layers of rows with at most this many features do not gain from a second thread, and
# lose up to ten times on a busy machine, where the threads wait for each other.
SMALL_ROW = 1024

_PROCESS = os.getpid()


@contextlib.contextmanager
def compute_threads(spec: RowSpec) -> Iterator[None]:
    """Compute with one thread inside where more do not help; restore the number after.

    In a process that was forked from one that has computed, OpenMP's threads are gone and
    waiting for them would hang for ever. One thread does not wait.
    """
    before = torch.get_num_threads()
    is_small = not spec.is_image and math.prod(spec.input_shape) <= SMALL_ROW
    if before == 1 or not (is_small or os.getpid() != _PROCESS):
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
