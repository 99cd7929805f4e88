"""Sums over the processes of one machine, through memory that they share.

PyTorch's collective calls for CPUs send everything through sockets, even on one machine. For the
gradients of all weights this takes as long as a good part of a training step.
"""

import os
import tempfile
from pathlib import Path

import torch
from torch import Tensor

# Files here are in memory. Where there is no such folder, nothing is shared.
FOLDER = Path("/dev/shm")
# Places begin at multiples of this number of values.
ALIGNMENT = 64


class SharedMemory:
    """Places for the values of each process, which all processes can read.

    Every process writes to its place, waits for the others, and adds up all places, in the same
    order, so that all have the same bits. There are two sets of places, used in turns: whoever
    waits for the next sum has read the last one, so that a single wait per sum is enough.

    Parameters
    ----------
    path : Path
        The file; see `make_file`.
    n_values : int
        Number of values per process.
    rank, n_processes : int
        The number of this process, and of all.
    like : Tensor
        A tensor with the dtype of the values.
    """

    def __init__(self, path: Path, n_values: int, rank: int, n_processes: int, like: Tensor):
        shape = 2, n_processes, _aligned(n_values)
        mapped = torch.from_file(
            str(path), shared=True, size=shape[0] * shape[1] * shape[2], dtype=like.dtype
        )
        self.places = mapped.view(shape)[..., :n_values]
        self.rank = rank
        self.turn = 0

    def write(self, parts: list[Tensor]) -> None:
        """Write the values of this process, given in parts."""
        torch.cat(parts, out=self.places[self.turn, self.rank])

    def read(self) -> Tensor:
        """Return the sum over all processes, which must have written before."""
        places = self.places[self.turn]
        self.turn = 1 - self.turn
        total = places[0] + places[1]
        for place in places[2:]:
            total += place
        return total


def _aligned(n_values: int) -> int:
    return -(-n_values // ALIGNMENT) * ALIGNMENT


def make_file(n_values: int, n_processes: int, like: Tensor) -> Path | None:
    """Return a file in memory with room for all processes, or None if there is no room."""
    n_bytes = 2 * n_processes * _aligned(n_values) * like.element_size()
    try:
        handle, name = tempfile.mkstemp(prefix="sk_equivae", dir=FOLDER)
    except OSError:
        return None
    try:
        os.posix_fallocate(handle, 0, n_bytes)  # a file without room would end the process later
    except (AttributeError, OSError):
        os.unlink(name)
        return None
    finally:
        os.close(handle)
    return Path(name)
