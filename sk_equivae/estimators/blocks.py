"""Methods with one result per row: a progress bar, and dask arrays by blocks."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from .._progress import loops_shown
from .sources import is_dask_array

Method = TypeVar("Method", bound=Callable[..., Any])


def per_row(method: Method) -> Method:
    """Let a method of an estimator show its progress, and take dask arrays.

    With `verbose` a bar shows the progress if it takes longer than a second. For a dask array the
    result is a dask array too. The method is applied to a block when the block is computed, and
    only then checks its rows.

    Parameters
    ----------
    method : callable
        A method that takes X first and returns an array with one entry per row.

    Returns
    -------
    method : callable
        The method.
    """

    @wraps(method)
    def call(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dask_array(X):
            return _map_blocks(method, self, X, args, kwargs)
        with loops_shown(method.__name__ if self.verbose else None):
            return method(self, X, *args, **kwargs)

    return call  # type: ignore[return-value]


def _map_blocks(
    method: Callable[..., Any], estimator: Any, X: Any, args: Any, kwargs: dict[str, Any]
) -> Any:
    estimator._check_ready()
    # the result for one row gives shape and dtype; rows of zeros, as dask would take, may be odd
    row, shape = estimator.sample(1, random_state=0)[0], X.shape[1:]
    if row.size != int(np.prod(shape)):
        raise ValueError(
            f"Expected rows of shape {row.shape[1:]}, as in fit; got {shape}. Bring X to the "
            "shape it had in fit."
        )
    row = row.reshape(1, *shape).astype(X.dtype)
    example = np.asarray(method(estimator, row, *args, **kwargs))
    rows = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
    return rows.map_blocks(
        lambda block: np.asarray(method(estimator, block, *args, **kwargs)),
        dtype=example.dtype,
        chunks=(rows.chunks[0], *((size,) for size in example.shape[1:])),
        drop_axis=list(range(example.ndim, X.ndim)),
        meta=example[:0],
    )
