"""Arrays with one entry per row, kept small: X may be on disk, but these are in memory.

Indexing with an array converts all indices to 64 bits, and `np.flatnonzero` returns 64 bits. Here
both are done part by part.
"""

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Entries that are processed at once.
PART = 2**17
# Larger arrays of `spacious_zeros` are in a file.
LARGE_BYTES = 2**23

Positions = NDArray[np.signedinteger[Any]]


def code_dtype(n_classes: int) -> np.dtype[Any]:
    """Return the dtype of class codes."""
    return np.dtype(np.int16 if n_classes < 2**15 else np.int32)


def position_dtype(n_rows: int) -> np.dtype[Any]:
    """Return the dtype of positions of rows."""
    return np.dtype(np.int32 if n_rows < 2**31 else np.int64)


def parts(n: int, size: int = PART) -> Iterator[slice]:
    """Yield slices of at most `size` entries; scikit-learn's `gen_batches`, also for n = 0."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def spacious_zeros(shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return an array of float32; a large one is in a temporary file rather than in memory.

    The file has no name, and goes with the array. Copies and pickles are ordinary arrays. Without
    room on the disk the array is in memory.

    Examples
    --------
    >>> spacious_zeros((2, 3)).sum()
    np.float32(0.0)
    """
    n_bytes = 4 * shape[0] * shape[1]
    if n_bytes > LARGE_BYTES:
        with tempfile.TemporaryFile() as file:
            try:
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            except (AttributeError, OSError):
                return np.zeros(shape, dtype=np.float32)
            return np.memmap(file, np.float32, "r+", shape=shape).view(np.ndarray)
    return np.zeros(shape, dtype=np.float32)


def positions(mask: NDArray[np.bool_]) -> Positions:
    """Return the positions where a mask is true.

    Examples
    --------
    >>> positions(np.array([False, True, True]))
    array([1, 2], dtype=int32)
    """
    found = np.empty(np.count_nonzero(mask), dtype=position_dtype(len(mask)))
    start = 0
    for part in parts(len(mask)):
        some = np.flatnonzero(mask[part])
        found[start : start + len(some)] = some + part.start
        start += len(some)
    return found


def count_codes(codes: NDArray[np.integer[Any]], n_classes: int = 1) -> NDArray[np.intp]:
    """Return the number of rows per class, of at least `n_classes` classes."""
    counts = np.zeros(max(n_classes, int(codes.max(initial=-1)) + 1), dtype=np.intp)
    for part in parts(len(codes)):
        counts += np.bincount(codes[part][codes[part] >= 0], minlength=len(counts))
    return counts


def take(values: NDArray[Any], rows: Positions) -> NDArray[Any]:
    """Return `values[rows]`.

    Examples
    --------
    >>> take(np.array([3.0, 4.0, 5.0]), np.array([2, 0], dtype=np.int32))
    array([5., 3.])
    """
    taken = np.empty(len(rows), dtype=values.dtype)
    for part in parts(len(rows)):
        taken[part] = values[rows[part]]
    return taken


def put(values: NDArray[Any], rows: Positions, new: NDArray[Any]) -> None:
    """Set `values[rows] = new`.

    Examples
    --------
    >>> values = np.zeros(3)
    >>> put(values, np.array([2, 0], dtype=np.int32), np.array([7.0, 8.0]))
    >>> values
    array([8., 0., 7.])
    """
    for part in parts(len(rows)):
        values[rows[part]] = new[part]


def by_code(codes: NDArray[np.integer[Any]], counts: NDArray[np.intp]) -> Positions:
    """Return the positions of the labelled rows, one class after the other.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class codes; -1 for unlabelled rows.
    counts : ndarray of shape (n_classes,)
        Number of rows per class.

    Examples
    --------
    >>> by_code(np.array([1, 0, -1, 1, 0]), np.array([2, 2]))
    array([1, 4, 0, 3], dtype=int32)
    """
    sorted_rows = np.empty(counts.sum(), dtype=position_dtype(len(codes)))
    start = np.cumsum(counts) - counts  # where the next row of a class belongs
    for part in parts(len(codes)):
        rows = np.flatnonzero(codes[part] >= 0)
        own = codes[part][rows]
        order = np.argsort(own, kind="stable")
        some = np.bincount(own, minlength=len(counts))
        first = np.cumsum(some) - some
        place = np.arange(len(rows)) + np.repeat(start - first, some)
        sorted_rows[place] = rows[order] + part.start
        start += some
    return sorted_rows


class Taken:
    """Some entries of an array, which are copied when they are indexed.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The array.
    rows : ndarray of int
        The positions of the entries.
    """

    def __init__(self, values: NDArray[Any], rows: Positions):
        self.values = values
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: slice) -> NDArray[Any]:
        return np.asarray(self.values[self.rows[index]])


def split_evenly(values: NDArray[Any], n_parts: int) -> Iterator[NDArray[Any]]:
    """Yield the parts of `np.array_split` one by one.

    Examples
    --------
    >>> [part.tolist() for part in split_evenly(np.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    size, rest = divmod(len(values), n_parts)
    start = 0
    for i in range(n_parts):
        stop = start + size + (i < rest)
        yield values[start:stop]
        start = stop
