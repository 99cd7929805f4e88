"""`LazyRows`: rows that look like an array, and are read when they are indexed."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, gen_batches

from .inputs import CHUNK, DTYPES

Index = slice | NDArray[np.intp]


class LazyRows:
    """Rows that are read when they are indexed. They look like an array of shape (n, n_features).

    Parameters
    ----------
    read : callable
        Takes a slice or an array of positions, and returns an array of rows.
    n_rows : int
        Number of rows.
    row_shape : tuple
        Shape of a row.
    dtype : dtype
        Dtype of what `read` returns. Rows are converted to float64 unless they are float32 or
        uint8.
    labels : callable, optional
        Returns y, if the source holds labels too.
    positions : ndarray of int, optional
        Positions of the rows to use; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    >>> rows = LazyRows(lambda index: images[index], 3, (2, 2), np.uint8)
    >>> rows.shape, rows.max()
    ((3, 4), 11.0)
    >>> rows[np.array([2, 0])]
    array([[ 8,  9, 10, 11],
           [ 0,  1,  2,  3]], dtype=uint8)
    """

    ndim = 2

    def __init__(
        self,
        read: Callable[[Index], Any],
        n_rows: int,
        row_shape: Sequence[int],
        dtype: Any,
        labels: Callable[[], Any] | None = None,
        positions: NDArray[np.intp] | None = None,
    ):
        self.read = read
        self.n_rows = n_rows
        self.row_shape = tuple(int(size) for size in row_shape)
        self.source_dtype = np.dtype(dtype)
        if self.source_dtype.kind not in "biuf":
            raise ValueError(f"Expected numbers in X; got an array of dtype {self.source_dtype}.")
        self.dtype = self.source_dtype if self.source_dtype in DTYPES else np.dtype(np.float64)
        self.labels = labels
        self.positions = positions

    # ---------------------------------------------------------------- as an array

    def __len__(self) -> int:
        return self.n_rows if self.positions is None else len(self.positions)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        return len(self), int(np.prod(self.row_shape, dtype=np.int64))

    @property
    def size(self) -> int:
        """Number of values."""
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        """Size of all rows in memory, if they were read."""
        return self.size * self.dtype.itemsize

    def __getitem__(self, index: Index) -> NDArray[Any]:
        if self.positions is not None:
            index = self.positions[index]
        values = np.asarray(self.read(index))
        if values.shape[1:] != self.row_shape:
            raise ValueError(
                f"Expected all rows of X to have the shape of the first, {self.row_shape}; got "
                f"rows of shape {values.shape[1:]}."
            )
        values = values.reshape(len(values), -1).astype(self.dtype, copy=False)
        if values.dtype.kind == "f" and not np.isfinite(values.sum()):  # quick, if all are finite
            _check_finite(values)
        return values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(dtype or self.dtype)

    def take(self, positions: NDArray[np.intp] | slice) -> "LazyRows":
        """Return some of the rows, without reading them."""
        if isinstance(positions, slice):
            positions = np.arange(len(self))[positions]
        if self.positions is not None:
            positions = self.positions[positions]
        return LazyRows(
            self.read, self.n_rows, self.row_shape, self.source_dtype, self.labels, positions
        )

    @cached_property
    def _range(self) -> tuple[float, float]:
        low, high = np.inf, -np.inf
        for rows in gen_batches(len(self), max(1, CHUNK // max(1, self.shape[1]))):
            values = self[rows]
            low, high = min(low, float(values.min())), max(high, float(values.max()))
        return low, high

    def min(self) -> float:
        """Return the smallest value of all rows."""
        return self._range[0]

    def max(self) -> float:
        """Return the largest value of all rows."""
        return self._range[1]


def _check_finite(values: NDArray[Any]) -> None:
    """Raise if values are missing or infinite."""
    if np.isnan(values).any():
        raise ValueError(
            "Input X contains NaN. Expected rows without missing values from a source that is "
            "read a batch at a time; categories and missing values are known only of arrays and "
            "frames in memory. Pass `np.asarray(X)` if it fits into memory, or fill the gaps "
            "first, for example with SimpleImputer."
        )
    assert_all_finite(values, input_name="X")


def check_lazy_rows(rows: LazyRows, ensure_min_samples: int = 1) -> None:
    """Raise if there are too few rows, no features, or too many dimensions."""
    if len(rows) < ensure_min_samples:
        raise ValueError(
            f"Found array with {len(rows)} sample(s) (shape={rows.shape}) while a minimum of "
            f"{ensure_min_samples} is required."
        )
    if len(rows.row_shape) not in (1, 2, 3) or rows.shape[1] == 0:
        raise ValueError(
            "Expected X of shape (n, n_features), (n, h, w) or (n, h, w, c), with at least one "
            f"feature; got {(len(rows), *rows.row_shape)}. Reshape your data."
        )
