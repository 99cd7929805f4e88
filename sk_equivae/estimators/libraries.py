"""What `frames` does differently with pandas and with polars."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fitted.columns import Column

Floats = NDArray[np.float64]
# What pandas finds in a column of Python objects, and what it is to us.
INFERRED = {
    "string": "text", "mixed": "text", "mixed-integer": "text", "categorical": "text",
    "boolean": "boolean", "integer": "number", "floating": "number",
    "mixed-integer-float": "number", "empty": "empty", "interval": "text",
}  # fmt: skip


class Pandas:
    """Columns of pandas frames."""

    def names(self, X: Any) -> list[Any]:
        """Return the names of the columns; raise if two are equal."""
        names = X.columns.tolist()
        if len(set(names)) < len(names):
            twice = sorted({str(name) for name in names if names.count(name) > 1})
            raise ValueError(f"Expected columns with different names; got {twice} more than once.")
        return names

    def kind(self, series: Any) -> str:
        """Return "number", "boolean", "text", "empty", or the name of another dtype."""
        import pandas as pd

        dtype = series.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            dtype = dtype.categories.dtype
            series = series.cat.categories
        if pd.api.types.is_bool_dtype(dtype):
            return "boolean"
        if pd.api.types.is_numeric_dtype(dtype) and dtype.kind in "iuf":
            return "number"
        inferred = pd.api.types.infer_dtype(series, skipna=True)
        container = _container(series) if inferred.startswith("mixed") else None
        return container or INFERRED.get(inferred, str(dtype))

    def describe(self, series: Any) -> dict[str, Any]:
        """Return what `Column` keeps of a dtype, and declared categories."""
        import pandas as pd

        dtype = series.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            return {
                "dtype": "category",
                "declared": dtype.categories.tolist(),
                "category_dtype": _pandas_name(dtype.categories.dtype),
                "ordered": bool(dtype.ordered),
            }
        inferred = pd.api.types.infer_dtype(series, skipna=True)
        return {"dtype": _pandas_name(dtype), "is_integer": inferred == "integer"}

    def numbers(self, series: Any) -> Floats:
        """Return numbers, NaN where missing."""
        return series.to_numpy(dtype=np.float64, na_value=np.nan)

    def distinct(self, series: Any) -> list[Any]:
        """Return the values that occur, without missing ones."""
        return series.dropna().unique().tolist()

    def positions(self, series: Any, categories: Sequence[Any]) -> Floats:
        """Return positions among the categories, NaN where missing or unknown."""
        import pandas as pd

        known = pd.Index(list(categories), dtype=object)
        places = known.get_indexer(pd.Index(series.astype(object)))
        return np.where(places < 0, np.nan, places)

    def missing(self, X: Any) -> NDArray[np.bool_]:
        """Return which values are missing, of shape (n, n_columns)."""
        return X.isna().to_numpy()

    def frame(self, series: list[Any], like: Any = None) -> Any:
        """Return a frame of series, with the row labels of `like`."""
        import pandas as pd

        frame = pd.concat(series, axis=1)
        return frame if like is None else frame.set_axis(like.index)

    def series(self, values: Any, column: Column) -> Any:
        """Return a series of the dtype of a column; None and NaN are missing."""
        import pandas as pd

        if column.dtype == "category" and not _is_numbers_of_category(column):
            categories = pd.Index(list(column.categories or ()), dtype=column.category_dtype)
            dtype = pd.CategoricalDtype(categories, column.ordered)
            return pd.Series(pd.Categorical(values, dtype=dtype), name=column.name)
        if column.categories is not None:
            return pd.Series(values, name=column.name, dtype=object).astype(column.dtype)
        dtype = column.category_dtype or column.dtype
        if pd.api.types.is_integer_dtype(dtype) and not np.isnan(values).any():
            found = pd.api.types.pandas_dtype(dtype)
            values = _integers(values, getattr(found, "numpy_dtype", found))
        return pd.Series(values, name=column.name).astype(dtype)

    def fill(self, series: Any, missing: NDArray[np.bool_], values: Any, column: Column) -> Any:
        """Return a series with missing values replaced by those of another one.

        The dtype is the first that holds all values: that of the series, that of `values`, or a
        wider one. But numbers need not be categories: where `fit` took those of a category
        column for numbers, numbers come back.
        """
        import pandas as pd

        filled = series.astype(object).mask(missing, values.set_axis(series.index).astype(object))
        dtypes = [series.dtype, values.dtype, _wider(series.dtype, values.dtype)]
        if isinstance(series.dtype, pd.CategoricalDtype) and _is_numbers_of_category(column):
            del dtypes[0]
        for dtype in dtypes:
            cast = self._cast(filled, missing, dtype)
            if cast is not None:
                return cast
        return filled

    def _cast(self, filled: Any, missing: NDArray[np.bool_], dtype: Any) -> Any:
        """Return objects as a dtype; None if it cannot hold them. New floats may be rounded."""
        import pandas as pd

        if pd.api.types.is_object_dtype(dtype):
            return filled
        known = filled.notna().to_numpy()
        if isinstance(dtype, pd.CategoricalDtype):  # `astype` would turn others into NaN
            places = self.positions(filled, dtype.categories)
            if np.isnan(places[known]).any():
                return None
            codes = np.where(known, places, -1).astype(np.intp)
            found = pd.Categorical.from_codes(codes, dtype=dtype)
            return pd.Series(found, filled.index, name=filled.name)
        try:
            cast = filled.astype(dtype)
        except (TypeError, ValueError, ArithmeticError, NotImplementedError):
            return None
        # pandas turns text into numbers, numbers into text and, with pyarrow, 3.7 into 3
        same = (cast[known].astype(object) == filled[known]).to_numpy(dtype=bool, copy=True)
        if pd.api.types.is_float_dtype(dtype):
            is_text = np.array([isinstance(value, str) for value in filled[known]], dtype=bool)
            same |= missing[known] & ~is_text
        return cast if same.all() else None


def _is_numbers_of_category(column: Column) -> bool:
    """Return whether the numbers of a pandas category column were taken for numbers in `fit`."""
    return column.dtype == "category" and column.categories is None and not column.is_empty


def _wider(given: Any, fitted: Any) -> Any:
    """Return a dtype of pandas for the values of two others, which do not hold each other's."""
    import pandas as pd

    if not all(isinstance(dtype, pd.CategoricalDtype) for dtype in (given, fitted)):
        return np.dtype(np.float64)
    return pd.CategoricalDtype(_union(given.categories.tolist(), fitted.categories.tolist()))


def _union(given: list[Any], fitted: list[Any]) -> list[Any]:
    """Return the categories of a column and those that only `fit` had."""
    return list(dict.fromkeys([*given, *fitted]))


def _integers(values: Floats, dtype: Any) -> NDArray[Any]:
    """Return whole numbers as integers: those out of range, by a rounding, are the last ones.

    The largest 64-bit integers have no float of their own, and the next one is too large.
    """
    ends = np.iinfo(dtype)
    fits = (values >= float(ends.min)) & (values < float(ends.max))
    whole = np.where(fits, values, 0).astype(dtype)
    whole[values < float(ends.min)] = ends.min
    whole[values >= float(ends.max)] = ends.max
    return whole


def _container(series: Any) -> str | None:
    """Return the type of a value that cannot be a category, such as a list; None if all can."""
    for value in series:
        try:
            hash(value)
        except TypeError:
            return type(value).__name__
    return None


def _pandas_name(dtype: Any) -> str:
    """Return a name from which pandas makes the same dtype."""
    import pandas as pd

    if isinstance(dtype, pd.StringDtype) and str(dtype) != "str":
        return f"string[{dtype.storage}]"
    return str(dtype)


class Polars:
    """Columns of polars frames."""

    def names(self, X: Any) -> list[Any]:
        """Return the names of the columns."""
        return list(X.columns)

    def kind(self, series: Any) -> str:
        """Return "number", "boolean", "text", "empty", or the name of another dtype."""
        import polars as pl

        if series.dtype == pl.Null:
            return "empty"
        if series.dtype == pl.Boolean:
            return "boolean"
        if series.dtype.is_numeric():
            return "number"
        return "text" if self._is_text(series.dtype) else str(series.dtype)

    def _is_text(self, dtype: Any) -> bool:
        import polars as pl

        return dtype in (pl.String, pl.Categorical, pl.Enum)

    def describe(self, series: Any) -> dict[str, Any]:
        """Return what `Column` keeps of a dtype, and declared categories."""
        import polars as pl

        dtype = series.dtype
        if isinstance(dtype, pl.Enum):
            return {"dtype": "Enum", "declared": dtype.categories.to_list()}
        return {"dtype": str(dtype.base_type()), "is_integer": dtype.is_integer()}

    def numbers(self, series: Any) -> Floats:
        """Return numbers, NaN where missing."""
        import polars as pl

        return series.cast(pl.Float64).fill_null(np.nan).to_numpy()

    def distinct(self, series: Any) -> list[Any]:
        """Return the values that occur, without missing ones."""
        values = self._without_decimals(series).drop_nulls().unique().to_list()
        return [value for value in values if value == value]  # without NaN

    def positions(self, series: Any, categories: Sequence[Any]) -> Floats:
        """Return positions among the categories, NaN where missing or unknown."""
        place = {category: i for i, category in enumerate(categories)}
        values = self._without_decimals(series).to_list()
        return np.array([place.get(value, np.nan) for value in values], dtype=np.float64)

    def _without_decimals(self, series: Any) -> Any:
        """Return a series with floats in place of decimals, which cannot be saved."""
        import polars as pl

        return series.cast(pl.Float64) if series.dtype.is_decimal() else series

    def missing(self, X: Any) -> NDArray[np.bool_]:
        """Return which values are missing, of shape (n, n_columns)."""
        missing = [
            (s.is_null() | s.is_nan()).to_numpy() if s.dtype.is_float() else s.is_null().to_numpy()
            for s in X.get_columns()
        ]
        return np.stack(missing, axis=1)

    def frame(self, series: list[Any], like: Any = None) -> Any:
        """Return a frame of series; polars has no row labels."""
        import polars as pl

        return pl.DataFrame(series)

    def series(self, values: Any, column: Column) -> Any:
        """Return a series of the dtype of a column; None and NaN are missing."""
        import polars as pl

        # the name of a Decimal tells neither its precision nor its scale
        dtype = pl.Float64 if column.dtype == "Decimal" else getattr(pl, column.dtype)
        if column.categories is not None:
            dtype = pl.Enum(list(column.categories)) if column.dtype == "Enum" else dtype
            return pl.Series(column.name, values, dtype=dtype)
        series = pl.Series(column.name, values, dtype=pl.Float64)
        if not series.is_nan().any():
            if dtype.is_integer() and hasattr(np, column.dtype.lower()):  # it has no int128
                series = pl.Series(column.name, _integers(values, column.dtype.lower()))
            return series.cast(dtype)
        return series.cast(dtype) if dtype.is_float() else series.fill_nan(None).cast(dtype)

    def fill(self, series: Any, missing: NDArray[np.bool_], values: Any, column: Column) -> Any:
        """Return a series with missing values replaced by those of another one.

        The dtype is the first that holds all values: that of the series, that of `values`, or a
        wider one.
        """
        import polars as pl

        new, given = pl.Series(missing), series.filter(pl.Series(~missing))
        wider: Any = pl.Float64
        if isinstance(series.dtype, pl.Enum) and isinstance(values.dtype, pl.Enum):
            known, learnt = series.dtype.categories.to_list(), values.dtype.categories.to_list()
            wider = pl.Enum(_union(known, learnt))
        fits = (
            dtype
            for dtype in (series.dtype, values.dtype)
            if self._holds(dtype, values.filter(new), rounded=True) and self._holds(dtype, given)
        )
        dtype = next(fits, wider)
        filled = values.cast(dtype)
        if not len(given):  # nothing of the series is left, and its dtype may have no way to ours
            return filled
        return filled.zip_with(new, series.cast(dtype))

    def _holds(self, dtype: Any, values: Any, rounded: bool = False) -> bool:
        """Return whether a dtype holds values, perhaps rounded to its digits."""
        import polars as pl

        if dtype == values.dtype or not len(values):
            return True
        if self._is_text(dtype) != self._is_text(values.dtype) or dtype.is_temporal():
            return False  # polars would turn 1.5 into "1.5", "1" into 1, and 1 into a date
        try:
            cast = values.cast(dtype)
            rounds = rounded and (dtype.is_float() or dtype.is_decimal())
            return rounds or bool(cast.cast(values.dtype).equals(values))
        except pl.exceptions.PolarsError:
            return False
