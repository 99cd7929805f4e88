"""The number of threads to compute with."""

import contextlib
import math
import os
from collections.abc import Iterator

import torch

from .rows import RowSpec

# With at most this many features, dense layers are no faster with a second thread, and up to ten
# times slower on a busy machine, where threads wait for each other.
SMALL_ROW = 1024

_PROCESS = os.getpid()


@contextlib.contextmanager
def compute_threads(spec: RowSpec) -> Iterator[None]:
    """Use one thread inside the context where more do not help; restore the number afterwards.

    One thread is also used in a forked process: OpenMP's threads do not survive the fork, and
    waiting for them would hang forever.

    Parameters
    ----------
    spec : RowSpec
        Shape of the rows.
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
