"""Rows that are not in memory: read a batch at a time, from files or data sets.

`find_rows` recognises memory maps, HDF5 and Zarr arrays, Hugging Face data sets, PyTorch data
sets and dask arrays, and returns `LazyRows`. To the rest of the library these look like a 2-D
array. None of the packages is imported here.
"""

import mmap
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset

from .lazy import Index, LazyRows

# Bytes of a memory map that may be in memory before its pages are given back.
MAPPED_BYTES = 2**26
# Bytes that the system may map for a single row, with the pages around it.
SCATTERED_BYTES = 2**21
# Rows of an array on disk are read as one block if the block is at most this many times as long.
BLOCK_RATIO = 8
# Columns of a Hugging Face data set that hold y.
LABEL_COLUMNS = ("label", "labels")


def find_rows(X: Any) -> LazyRows | None:
    """Return the rows of a source that is not in memory; None for anything else.

    Parameters
    ----------
    X : object
        What the user passed as X.

    Returns
    -------
    rows : LazyRows or None
        The rows.
    """
    if isinstance(X, LazyRows):
        return X
    if isinstance(X, np.memmap):
        return _from_memmap(X) if X.ndim > 1 else None
    if isinstance(X, Dataset) and _package(X) != "datasets":
        return _from_torch(X)
    make = {
        "h5py": _from_array_on_disk,
        "zarr": _from_array_on_disk,
        "datasets": _from_hugging_face,
        "dask": _from_dask,
    }.get(_package(X))
    return None if make is None else make(X)


def _package(X: Any) -> str:
    """Return the name of the package that defines the type of X."""
    return type(X).__module__.partition(".")[0]


def is_dask_array(X: Any) -> bool:
    """Return whether X is a dask array."""
    return _package(X) == "dask" and type(X).__name__ == "Array"


class MappedReader:
    """Read rows of a memory map, and give its pages back to the system now and then.

    Pages that were read count as memory of the process, although the system could take them
    back at any time. Without this, all of X would count in the end.

    Parameters
    ----------
    X : numpy.memmap
        The rows.
    """

    def __init__(self, X: "np.memmap[Any, Any]"):
        self.X = np.asarray(X)
        mapped = getattr(X, "_mmap", None)
        # pages of a private map ("c") may hold changes that are nowhere else
        can_release = X.mode != "c" and hasattr(mapped, "madvise")
        self.mapped = mapped if can_release and hasattr(mmap, "MADV_DONTNEED") else None
        self.n_bytes = 0

    def __call__(self, index: Index) -> NDArray[Any]:
        """Return a copy of some rows."""
        if isinstance(index, slice):
            values = np.array(self.X[index])
            self._count(values.nbytes)
            return values
        values = np.empty((len(index), *self.X.shape[1:]), self.X.dtype)
        for part in gen_batches(len(index), MAPPED_BYTES // SCATTERED_BYTES):
            values[part] = self.X[index[part]]
            self._count((part.stop - part.start) * SCATTERED_BYTES)
        return values

    def _count(self, n_bytes: int) -> None:
        self.n_bytes += n_bytes
        if self.mapped is not None and self.n_bytes >= MAPPED_BYTES:
            self.mapped.madvise(mmap.MADV_DONTNEED)
            self.n_bytes = 0


def _from_memmap(X: "np.memmap[Any, Any]") -> LazyRows:
    return LazyRows(MappedReader(X), len(X), X.shape[1:], X.dtype)


def _from_array_on_disk(array: Any) -> LazyRows:
    """Return rows of an HDF5 or Zarr array."""
    if getattr(array, "ndim", 0) < 2:
        raise ValueError(
            f"Expected an array of shape (n, n_features), (n, h, w) or (n, h, w, c); got "
            f"{array!r}. Pass one array of the file, such as `file['X']`."
        )

    def read(index: Index) -> NDArray[Any]:
        if isinstance(index, slice):
            return array[index]
        # sorted and without repetition, as HDF5 wants positions
        unique, inverse = np.unique(index, return_inverse=True)
        if len(unique) == 0:
            return array[:0]
        first, last = int(unique[0]), int(unique[-1]) + 1
        if last - first <= BLOCK_RATIO * len(unique):
            return array[first:last][index - first]
        some = array.oindex[unique] if hasattr(array, "oindex") else array[unique]
        return some[inverse]

    return LazyRows(read, array.shape[0], array.shape[1:], array.dtype)


def _from_hugging_face(dataset: Any) -> LazyRows:
    """Return rows of a Hugging Face data set: one column of arrays, or columns of numbers."""
    if not hasattr(dataset, "with_format") or not hasattr(dataset, "__getitem__"):
        raise TypeError(
            "Expected a Hugging Face data set that can be indexed; got "
            f"{type(dataset).__name__}. Pass one split, such as dataset['train'], and use "
            "`partial_fit` for a stream."
        )
    if isinstance(dataset, dict):
        raise TypeError(
            f"Expected one split of a Hugging Face data set; got a dict of {list(dataset)}. Pass "
            f"dataset[{list(dataset)[0]!r}]."
        )
    columns = [name for name in dataset.column_names if name not in LABEL_COLUMNS]
    (label,) = [name for name in dataset.column_names if name in LABEL_COLUMNS][:1] or (None,)
    if not columns:
        raise ValueError(f"Expected columns of X; got only {dataset.column_names}.")
    rows = dataset.with_format("numpy", columns=columns)

    def read(index: Index) -> NDArray[Any]:
        found = rows[index]
        arrays = [np.asarray(found[name]) for name in columns]
        if any(a.dtype == object or (len(columns) > 1 and a.ndim > 1) for a in arrays):
            raise ValueError(
                "Expected one column of arrays of one shape, or columns of numbers, beside a "
                f"column {LABEL_COLUMNS[0]!r}; got the columns {columns}. Choose columns with "
                "`select_columns`, and bring images to one size with `map`."
            )
        return arrays[0] if len(columns) == 1 and arrays[0].ndim > 1 else np.stack(arrays, axis=1)

    example = read(slice(0, 1))
    labels = None if label is None else lambda: np.asarray(dataset.with_format("numpy")[label][:])
    return LazyRows(read, len(dataset), example.shape[1:], example.dtype, labels)


def _from_torch(dataset: "Dataset[Any]") -> LazyRows:
    """Return rows of a PyTorch data set of x, or of pairs (x, y).

    By PyTorch's convention tensors of images are (c, h, w). They become (h, w, c).
    """
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__"):
        raise TypeError(
            f"Expected a PyTorch data set with a length, which can be indexed; got "
            f"{type(dataset).__name__}. Use `partial_fit` for a stream of rows."
        )

    def items(index: Index) -> list[Any]:
        positions = range(len(dataset))[index] if isinstance(index, slice) else index.tolist()
        if hasattr(dataset, "__getitems__"):
            return list(dataset.__getitems__(list(positions)))
        return [dataset[i] for i in positions]

    def x_of(item: Any) -> NDArray[Any]:
        x = item[0] if isinstance(item, (tuple, list)) else item
        if isinstance(x, dict):
            raise TypeError(
                f"Expected a PyTorch data set of x, or of pairs (x, y); got dicts of {list(x)}. "
                "Wrap the data set in one that returns pairs."
            )
        if isinstance(x, Tensor):
            return np.asarray(x.movedim(0, -1) if x.ndim == 3 else x)
        return np.asarray(x)

    def read(index: Index) -> NDArray[Any]:
        rows = [x_of(item) for item in items(index)]
        if len({row.shape for row in rows}) > 1:
            raise ValueError(
                "Expected rows of one shape from the data set; got "
                f"{sorted({row.shape for row in rows})}. Bring images to one size in a transform."
            )
        return np.stack(rows) if rows else np.empty((0, *example.shape), example.dtype)

    first = dataset[0]
    example = x_of(first)
    labels = None
    if isinstance(first, (tuple, list)) and len(first) > 1:
        labels = lambda: np.asarray(  # noqa: E731
            [np.asarray(item[1]).item() for part in _parts(dataset) for item in items(part)]
        )
    return LazyRows(read, len(dataset), example.shape, example.dtype, labels)


def _parts(dataset: Any) -> Any:
    return gen_batches(len(dataset), 1024)


def _from_dask(X: Any) -> LazyRows | None:
    """Return rows of a dask array, computed block by block into a temporary file.

    Training takes random rows, and would compute most blocks anew for every batch.
    """
    if not is_dask_array(X):
        return None
    if X.ndim < 2 or np.isnan(X.shape[0]):
        raise ValueError(
            f"Expected a dask array of at least two dimensions and known length; got {X!r}. Call "
            "`X.compute_chunk_sizes()` first, or `to_dask_array(lengths=True)` of a frame."
        )
    with tempfile.TemporaryFile() as file:  # the map keeps it
        spool = np.memmap(file, X.dtype, "w+", shape=X.shape)
    start = 0
    for i in range(X.numblocks[0]):
        block = np.asarray(X.blocks[i])
        spool[start : start + len(block)] = block
        start += len(block)
    return _from_memmap(spool)
