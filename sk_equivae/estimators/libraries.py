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
        return INFERRED.get(pd.api.types.infer_dtype(series, skipna=True), str(dtype))

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

        if column.dtype == "category":
            categories = pd.Index(list(column.categories or ()), dtype=column.category_dtype)
            dtype = pd.CategoricalDtype(categories, column.ordered)
            return pd.Series(pd.Categorical(values, dtype=dtype), name=column.name)
        if column.categories is None:
            return pd.Series(values, name=column.name).astype(column.dtype)
        return pd.Series(values, name=column.name, dtype=object).astype(column.dtype)

    def fill(self, series: Any, missing: NDArray[np.bool_], values: Any) -> Any:
        """Return a series with missing values replaced by those of another one."""
        values = values.set_axis(series.index)
        filled = series.astype(object).mask(missing, values.astype(object))
        return filled.astype(series.dtype)


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
        is_text = series.dtype in (pl.String, pl.Categorical, pl.Enum)
        return "text" if is_text else str(series.dtype)

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
        values = series.drop_nulls().unique().to_list()
        return [value for value in values if value == value]  # without NaN

    def positions(self, series: Any, categories: Sequence[Any]) -> Floats:
        """Return positions among the categories, NaN where missing or unknown."""
        place = {category: i for i, category in enumerate(categories)}
        return np.array([place.get(value, np.nan) for value in series.to_list()], dtype=np.float64)

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

        dtype = getattr(pl, column.dtype)
        if column.categories is not None:
            dtype = pl.Enum(list(column.categories)) if column.dtype == "Enum" else dtype
            return pl.Series(column.name, values, dtype=dtype)
        series = pl.Series(column.name, values, dtype=pl.Float64)
        if not series.is_nan().any():
            return series.cast(dtype)
        return series.cast(dtype) if dtype.is_float() else series.fill_nan(None).cast(dtype)

    def fill(self, series: Any, missing: NDArray[np.bool_], values: Any) -> Any:
        """Return a series with missing values replaced by those of another one."""
        import polars as pl

        return values.cast(series.dtype).zip_with(pl.Series(missing), series)
