"""The loop over batches of rows that all inference uses."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .._warnings import warn_user
from .rows import NormalizedRows, to_device

# Rows per batch.
BATCH_SIZE = 1024

Column = NormalizedRows | NDArray[Any]

_label: ContextVar[str | None] = ContextVar("label", default=None)


@contextlib.contextmanager
def progress(label: str | None) -> Iterator[None]:
    """Show a progress bar for each loop over rows inside the context.

    Parameters
    ----------
    label : str or None
        Text beside the bar; None for no bar.
    """
    token = _label.set(label)
    try:
        yield
    finally:
        _label.reset(token)


def _bar(n_rows: int) -> Any:
    """Return a progress bar, or a context that does nothing."""
    if _label.get() is None:
        return contextlib.nullcontext()
    from tqdm import tqdm

    return tqdm(total=n_rows, desc=_label.get(), unit="row", unit_scale=True, leave=False)


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
    with torch.inference_mode(), _bar(n_rows) as bar:
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
            if bar is not None:
                bar.update(rows.stop - rows.start)
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
    return to_device(torch.from_numpy(np.array(column[rows])), like)  # a writable, contiguous copy


def _to_numpy(values: Tensor | NDArray[Any]) -> NDArray[Any]:
    return values.cpu().numpy() if isinstance(values, Tensor) else values
