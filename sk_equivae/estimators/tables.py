"""Validation of tables with categories and missing values, and their scaling."""

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._warnings import warn_user
from ..fitted.columns import Column, Columns
from ..fitted.rows import RowSpec
from .frames import (
    MAX_CATEGORIES,
    column_values,
    frame_columns,
    frame_library,
    frame_to_matrix,
    matrix_to_frame,
)

Mask = NDArray[np.bool_]

# -------------------------------------------------------------------- the user's table


def read_frame(
    estimator: Any, X: Any, spec: RowSpec | None, **checks: Any
) -> tuple[NDArray[np.float64], Columns] | None:
    """Return a frame as a matrix, with its columns; None if X is not read as a frame.

    Parameters
    ----------
    estimator : object
        The estimator. Names and number of features are checked, and stored in `fit`.
    X : object
        What the user passed.
    spec : RowSpec or None
        The rows of `fit`; None in `fit` itself.
    **checks : dict
        Keyword arguments for `check_array`.
    """
    columns = None if spec is None else spec.columns
    if frame_library(X) is None:
        _check_array_will_do(X, columns)
        return None
    if estimator.image_shape is not None or (spec is not None and columns is None):
        return None
    if columns is not None and columns.library is None:
        return None
    validate_data(estimator, X, reset=spec is None, skip_check_array=True)
    if columns is None:
        names = [str(name) for name in X.columns]
        mask = _categorical_mask(estimator.categorical_features, len(names), names)
        columns = frame_columns(X, mask)
    matrix = frame_to_matrix(X, columns)
    return check_array(matrix, ensure_all_finite="allow-nan", input_name="X", **checks), columns


def _check_array_will_do(X: Any, columns: Columns | None) -> None:
    """Raise if X is no frame, but the categories of `fit` came from one."""
    if columns is not None and columns.library is not None and columns.has_categories:
        names = [c.name for c in columns.columns if c.categories is not None]
        raise ValueError(
            f"Expected a DataFrame with the columns of fit, of which {names} hold categories; got "
            f"{type(X).__name__}. The codes of an array would be ambiguous: pass a DataFrame."
        )


def check_gaps(X: NDArray[Any], spec: RowSpec) -> None:
    """Raise if columns that had no missing values in the first fit have some now."""
    if spec.is_image or X.dtype.kind != "f" or not np.isnan(X.min()):
        return
    new = np.isnan(X).any(axis=0)
    if spec.columns is not None:
        marked = (c.has_gaps or c.categories is not None for c in spec.columns.columns)
        new &= ~np.fromiter(marked, dtype=bool)
    if new.any():
        raise ValueError(
            "warm_start=True goes on with the networks of the last fit, which expect missing "
            f"values only where X had some; got new ones in the columns {np.flatnonzero(new)}. "
            "Set warm_start=False."
        )


def read_array(
    X: NDArray[Any], categorical_features: Any, columns: Columns | None, first: bool
) -> tuple[NDArray[Any], Columns | None]:
    """Return an array as a matrix, and its columns if it has categories or, in `fit`, gaps.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Numbers and NaN.
    categorical_features : object
        The parameter of the estimator.
    columns : Columns or None
        The columns of `fit`.
    first : bool
        Whether this is `fit`.

    Returns
    -------
    matrix : ndarray of shape (n, n_features)
        X with the values of categories replaced by their positions.
    columns : Columns or None
        None if a row is a row of plain numbers.
    """
    if first:
        mask = _categorical_mask(categorical_features, X.shape[1], None)
        if mask is not None and mask.any():
            columns = Columns(tuple(_array_column(X, i, mask[i]) for i in range(X.shape[1])))
        elif X.dtype.kind == "f" and np.isnan(X.min()):
            columns = array_columns(X)
    if columns is None or columns.library is not None or not columns.has_categories:
        return X, columns
    X = X.astype(np.float64) if X.dtype.kind != "f" else X.copy()
    for i, column in enumerate(columns.columns):
        if column.categories:
            known = np.asarray(column.categories)
            place = np.searchsorted(known, X[:, i]).clip(max=len(known) - 1)
            X[:, i] = np.where(known[place] == X[:, i], place, np.nan)
    return X, columns


def array_columns(X: NDArray[Any]) -> Columns:
    """Return the columns of an array of numbers."""
    return Columns(tuple(Column(i, dtype=X.dtype.name) for i in range(X.shape[1])))


def _array_column(X: NDArray[Any], i: int, is_categorical: bool) -> Column:
    if not is_categorical:
        return Column(i, dtype=X.dtype.name)
    categories = np.unique(X[:, i])
    categories = categories[~np.isnan(categories)]
    if len(categories) > MAX_CATEGORIES:
        raise ValueError(
            f"Expected at most {MAX_CATEGORIES} categories per column; got {len(categories)} in "
            f"the column {i}. Leave it out of categorical_features, or merge rare categories."
        )
    return Column(i, dtype=X.dtype.name, categories=tuple(categories.tolist()))


def _categorical_mask(given: Any, n_features: int, names: list[str] | None) -> Mask | None:
    """Return which features are categorical; None to decide by dtype.

    Parameters
    ----------
    given : object
        The parameter `categorical_features`.
    n_features : int
        Number of features.
    names : list of str or None
        Names of the features; None for an array.
    """
    if given is None:
        return np.zeros(n_features, dtype=bool)
    if isinstance(given, str):  # "from_dtype"; an array has a single dtype
        return None if names is not None else np.zeros(n_features, dtype=bool)
    values = np.asarray(given).tolist()
    mask = np.zeros(n_features, dtype=bool)
    if values and all(isinstance(value, bool) for value in values):
        if len(values) != n_features:
            raise ValueError(
                f"categorical_features expects a mask of {n_features} values, one per feature; got "
                f"{len(values)}."
            )
        return np.asarray(values)
    for value in values:
        mask[_position(value, n_features, names)] = True
    return mask


def _position(value: Any, n_features: int, names: list[str] | None) -> int:
    """Return the position of a feature that is given by its name or position."""
    if isinstance(value, str):
        if names is None:
            raise ValueError(
                f"categorical_features expects positions for an array; got the name {value!r}. "
                "Pass a DataFrame, or positions of features."
            )
        if value not in names:
            raise ValueError(f"categorical_features expects names among {names}; got {value!r}.")
        return names.index(value)
    if not isinstance(value, Integral) or not -n_features <= int(value) < n_features:
        raise ValueError(
            "categorical_features should be 'from_dtype', None, a mask, or names or positions "
            f"from 0 to {n_features - 1}; got {value!r} in it."
        )
    return int(value)


# -------------------------------------------------------------------- scaling


def make_mixed_spec(X: NDArray[Any], columns: Columns, likelihood: str) -> RowSpec:
    """Return the spec of a table with categories or missing values.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
        Numbers, positions of categories, and NaN.
    columns : Columns
        The columns, with the ranges of X.
    likelihood : {"auto", "bernoulli", "gaussian"}
        The parameter of the estimator.

    Returns
    -------
    spec : RowSpec
        Shape and scaling of rows.
    """
    columns = replace(columns, columns=tuple(_with_likelihood(X, columns, likelihood)))
    layout = columns.layout
    assert layout is not None
    if layout.n_columns == 0:
        raise ValueError("Expected at least one value in X; all of them are missing.")
    empty = [c.name for c in columns.columns if c.is_empty]
    if empty:
        warn_user(
            f"The columns {empty} have no value in X. They are ignored, and stay missing in rows "
            "that are generated or imputed."
        )
    shift, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    numeric = columns.numeric
    if numeric:
        scaler = StandardScaler().fit(np.asarray(X[:, numeric], dtype=np.float64))
        shift[numeric], scale[numeric] = scaler.mean_, scaler.scale_
    return RowSpec(
        row_shape=(X.shape[1],),
        input_shape=(layout.n_inputs,),
        dtype=X.dtype,
        likelihood="mixed",
        max_value=1.0,
        shift=shift,
        scale=scale,
        value_range=(float(np.nanmin(X)), float(np.nanmax(X))),
        columns=columns,
    )


def _with_likelihood(X: NDArray[Any], columns: Columns, likelihood: str) -> Iterator[Column]:
    """Yield the columns; numbers that are all 0 or 1 are two categories, a Bernoulli."""
    for i, column in enumerate(columns.columns):
        is_binary = False
        if column.categories is None and not column.is_empty and likelihood != "gaussian":
            values = X[:, i]
            is_binary = (
                column.low == 0
                and column.high == 1
                and bool(((values == 0) | (values == 1) | np.isnan(values)).all())
            )
            if likelihood == "bernoulli" and not is_binary and column.low < column.high:
                raise ValueError(
                    "likelihood='bernoulli' expects numbers that are 0 or 1 in a table with "
                    f"categories or missing values; got values from {column.low:g} to "
                    f"{column.high:g} in the column {column.name!r}. Use likelihood='auto'."
                )
        yield replace(column, categories=(0, 1)) if is_binary else column


# -------------------------------------------------------------------- generated rows


def to_table(rows: NDArray[Any], columns: Columns | None) -> Any:
    """Return generated rows as the user's kind of table.

    Parameters
    ----------
    rows : ndarray of shape (..., n_columns)
        Numbers and positions of categories.
    columns : Columns or None
        The columns.

    Returns
    -------
    table : DataFrame or ndarray
        A frame if `fit` was given one, with one row after the other; else an array of the shape
        of `rows`.
    """
    if columns is None:
        return rows
    flat = rows.reshape(-1, len(columns.columns))
    if columns.library is not None:
        return matrix_to_frame(flat, columns)
    values = flat.copy()
    for i, column in enumerate(columns.columns):
        if column.categories is not None:
            found = column_values(flat[:, i], column)
            values[:, i] = [np.nan if value is None else value for value in found]
    return values.reshape(rows.shape)
