"""The loop over batches of rows that all inference uses."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .._progress import loop
from .._warnings import warn_user
from .compact import Taken
from .rows import NormalizedRows, to_device

# Rows per batch.
BATCH_SIZE = 1024

Column = NormalizedRows | Taken | NDArray[Any]


def map_batches(
    function: Callable[..., Any], *columns: Column, like: Tensor, batch_size: int = BATCH_SIZE
) -> Any:
    """Apply a function to rows, batch by batch, in inference mode.

    Parameters
    ----------
    function : callable
        Takes one tensor per column. Returns a tensor or array with one entry per row, a
        tuple of them, or None.
    *columns : NormalizedRows or ndarray
        The arguments of the function, all of the same length.
    like : Tensor
        A tensor with the device, and the dtype of floats, to compute with.
    batch_size : int, default=1024
        Rows per batch.

    Returns
    -------
    values : ndarray, tuple of ndarray or None
        The values of the function for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> map_batches(lambda a: 2 * a, np.arange(5), like=torch.zeros(1), batch_size=2)
    array([0, 2, 4, 6, 8])
    """
    n_rows = len(columns[0])
    values: list[NDArray[Any]] = []
    single = False
    start = 0
    with torch.inference_mode(), loop(n_rows) as report:
        while start < n_rows:
            rows = slice(start, min(start + batch_size, n_rows))
            try:
                parts = function(*(_on_device(column, rows, like) for column in columns))
            except torch.OutOfMemoryError:
                if rows.stop - rows.start == 1:
                    raise
                batch_size = _halved(rows)
                continue
            start = rows.stop
            report(start)
            if parts is None:
                continue
            single = not isinstance(parts, tuple)
            arrays = [_to_numpy(part) for part in ((parts,) if single else parts)]
            if not values:  # filled in place: joining the parts later would take twice the memory
                values = [np.empty((n_rows, *a.shape[1:]), a.dtype) for a in arrays]
            for value, array in zip(values, arrays, strict=True):
                value[rows] = array
    if not values:
        return None
    return values[0] if single else tuple(values)


def _halved(rows: slice) -> int:
    """Return half the size of a batch that did not fit into the memory of the device."""
    size = rows.stop - rows.start
    warn_user(f"Batches of {size} rows do not fit into memory; going on with {size // 2} rows.")
    return size // 2


def _on_device(column: Column, rows: slice, like: Tensor) -> Tensor:
    if isinstance(column, NormalizedRows):
        return column[rows]
    values = np.array(column[rows])  # a writable, contiguous copy
    if values.dtype.kind == "i":
        values = values.astype(np.int64, copy=False)  # codes are stored in fewer bits
    return to_device(torch.from_numpy(values), like)


def _to_numpy(values: Tensor | NDArray[Any]) -> NDArray[Any]:
    return values.cpu().numpy() if isinstance(values, Tensor) else values
