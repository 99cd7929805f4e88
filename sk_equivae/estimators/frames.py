"""Frames of pandas and polars: their columns, and the way to a float matrix and back.

Neither library is imported unless the user has a frame of it. `sk_equivae.fitted.columns` says
what a matrix holds.
"""

import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..fitted.columns import Column, Columns

Floats = NDArray[np.float64]
# As for scikit-learn's HistGradientBoostingClassifier.
MAX_CATEGORIES = 255


class Library(Protocol):
    """What is done differently by pandas and polars. A series is one column of a frame."""

    def names(self, X: Any) -> list[Any]:
        """Return the names of the columns."""

    def kind(self, series: Any) -> str:
        """Return "number", "boolean", "text", "empty", or the name of a dtype of no use."""

    def describe(self, series: Any) -> dict[str, Any]:
        """Return what `Column` keeps of a dtype, and declared categories if it has any."""

    def numbers(self, series: Any) -> Floats:
        """Return numbers, NaN where missing."""

    def distinct(self, series: Any) -> list[Any]:
        """Return the values that occur, without missing ones."""

    def positions(self, series: Any, categories: Sequence[Any]) -> Floats:
        """Return positions among the categories, NaN where missing or unknown."""

    def missing(self, X: Any) -> NDArray[np.bool_]:
        """Return which values of a frame are missing, of shape (n, n_columns)."""

    def frame(self, series: list[Any], like: Any = None) -> Any:
        """Return a frame of series, with the row labels of `like`."""

    def series(self, values: Any, column: Column) -> Any:
        """Return a series of the dtype of a column; None and NaN are missing."""

    def fill(self, series: Any, missing: NDArray[np.bool_], values: Any, column: Column) -> Any:
        """Return a series with missing values replaced by those of another one.

        It keeps its dtype if that holds the new values.
        """


def frame_library(X: Any) -> str | None:
    """Return "pandas" or "polars" if X is a frame of it, else None.

    Raises
    ------
    ValueError
        If X is a frame that polars has yet to compute.
    """
    for name in ("pandas", "polars"):
        module = sys.modules.get(name)
        if module is not None and isinstance(X, module.DataFrame):
            return name
        if module is not None and name == "polars" and isinstance(X, module.LazyFrame):
            raise ValueError(
                "Expected a DataFrame; got a LazyFrame of polars, whose values are yet to be "
                "computed. Call its method .collect(), and pass what that returns."
            )
    return None


def _library(name: str) -> Library:
    """Return the functions of a library."""
    if name == "pandas":
        from .libraries import Pandas

        return Pandas()
    from .libraries import Polars

    return Polars()


# -------------------------------------------------------------------- columns


def frame_columns(X: Any, is_categorical: NDArray[np.bool_] | None) -> Columns:
    """Describe the columns of a frame.

    Parameters
    ----------
    X : DataFrame
        The frame.
    is_categorical : ndarray of bool or None
        Which columns are categorical; None decides by their dtypes.

    Returns
    -------
    columns : Columns
        The columns, without ranges.
    """
    name = frame_library(X)
    assert name is not None
    library = _library(name)
    names = library.names(X)
    given = [None] * len(names) if is_categorical is None else is_categorical.tolist()
    columns = (
        _column(library, column, X[column], wanted)
        for column, wanted in zip(names, given, strict=True)
    )
    return Columns(tuple(columns), name)


def _column(library: Library, name: Any, series: Any, wanted: bool | None) -> Column:
    kind, described = library.kind(series), library.describe(series)
    if kind not in ("number", "boolean", "text", "empty"):
        raise ValueError(
            f"Expected columns of numbers, booleans, strings or categories; got {kind} in the "
            f"column {name!r}. Convert it, for example to a number, or drop it."
        )
    declared = described.pop("declared", None)
    if wanted is None:
        wanted = declared is not None or kind in ("boolean", "text")
    if not wanted:
        if kind == "text":
            raise ValueError(
                f"Expected numbers in the column {name!r}; got strings or categories. Set "
                "categorical_features='from_dtype', or name the column in categorical_features."
            )
        return Column(name, **described)
    if kind == "boolean":
        declared = [False, True]
    categories = _sorted(library.distinct(series)) if declared is None else list(declared)
    if len(categories) > MAX_CATEGORIES:
        raise ValueError(
            f"Expected at most {MAX_CATEGORIES} categories per column; got {len(categories)} in "
            f"the column {name!r}. Drop it if it identifies rows, or merge rare categories."
        )
    return Column(name, categories=tuple(categories), **described)


def _sorted(values: list[Any]) -> list[Any]:
    """Return values in order; those of different types type by type."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


# -------------------------------------------------------------------- frame to matrix and back


def frame_to_matrix(X: Any, columns: Columns) -> Floats:
    """Return a frame as a float matrix; unknown categories count as missing.

    Parameters
    ----------
    X : DataFrame
        A frame with as many columns as in `fit`.
    columns : Columns
        The columns in `fit`.

    Returns
    -------
    matrix : ndarray of shape (n, n_columns)
        Numbers, positions of categories, and NaN.
    """
    name = frame_library(X)
    assert name is not None
    library = _library(name)
    matrix = np.empty((len(X), len(columns.columns)))
    for i, (now, column) in enumerate(zip(library.names(X), columns.columns, strict=True)):
        series = X[now]
        kind = library.kind(series)
        if kind == "empty" or library.missing(X[[now]]).all():
            matrix[:, i] = np.nan  # a column without values has any dtype
            continue
        _check_kind(kind, column)
        if column.categories is None:
            matrix[:, i] = library.numbers(series)
        else:
            matrix[:, i] = library.positions(series, column.categories)
    return matrix


def _check_kind(kind: str, column: Column) -> None:
    """Raise if the values of a column are of another type than in `fit`."""
    expected = "number"
    if column.categories is not None:
        is_number = all(isinstance(category, bool | int | float) for category in column.categories)
        expected = "number" if is_number else "text"
    got = "number" if kind == "boolean" else kind
    if got != expected and column.categories != ():
        described = {"text": "strings or categories", "number": "numbers or booleans"}
        raise ValueError(
            f"The column {column.name!r} held {described[expected]} in fit; got "
            f"{described.get(got, got)}. Bring it to the dtype that it had in fit."
        )


def matrix_to_frame(matrix: NDArray[Any], columns: Columns) -> Any:
    """Return a matrix as a frame of the library, names, dtypes and categories of `fit`."""
    assert columns.library is not None
    library = _library(columns.library)
    return library.frame([
        library.series(column_values(matrix[:, i], column), column)
        for i, column in enumerate(columns.columns)
    ])  # fmt: skip


def column_values(values: NDArray[Any], column: Column) -> Any:
    """Return the values behind a column of a matrix; None for missing categories."""
    if column.categories is None:
        return values
    return [None if np.isnan(code) else column.categories[int(code)] for code in values]


def missing_values(X: Any) -> NDArray[np.bool_]:
    """Return which values of a frame are missing, of shape (n, n_columns)."""
    name = frame_library(X)
    assert name is not None
    return _library(name).missing(X)


def fill_frame(X: Any, matrix: NDArray[Any], columns: Columns) -> Any:
    """Return a frame with its missing values taken from a matrix; others stay as they are.

    A column keeps its dtype if that holds the new values. A column that had no value in `fit`
    stays as it is.
    """
    name = frame_library(X)
    assert name is not None
    library = _library(name)
    missing = library.missing(X)
    filled = []
    for i, (now, column) in enumerate(zip(library.names(X), columns.columns, strict=True)):
        series = X[now]
        if missing[:, i].any() and not column.is_empty:
            values = library.series(column_values(matrix[:, i], column), column)
            series = library.fill(series, missing[:, i], values, column)
        filled.append(series)
    return library.frame(filled, like=X)
