"""The columns of a table as JSON, and back."""

import re
from dataclasses import fields
from typing import Any

import numpy as np

from ..files.errors import ArchiveError
from ..fitted.columns import Column, Columns
from .values import decode_all, encode_all

LIBRARIES = (None, "pandas", "polars")
# Names of dtypes, such as "int64", "Float32", "string[pyarrow]", "category" and "Enum".
DTYPE = re.compile(
    r"(u?int|U?Int|UInt|float|Float)(8|16|32|64|128)?(\[pyarrow\])?|double\[pyarrow\]"
    r"|bool(\[pyarrow\])?|boolean|Boolean|object|str|string\[(python|pyarrow)\]"
    r"|large_string\[pyarrow\]|category|String|Categorical|Enum|Null|Decimal|"
)


def encode_columns(columns: Columns | None) -> dict[str, Any] | None:
    """Return the columns of a table as JSON holds them.

    Raises
    ------
    ValueError
        If a category is neither a string, a number nor a boolean.
    """
    if columns is None:
        return None
    for column in columns.columns:
        values = (column.name, *(column.categories or ()))
        if not all(isinstance(value, str | bool | int | float) for value in values):
            raise ValueError(
                "save expects names and categories that are strings, numbers or booleans; got "
                f"others in the column {column.name!r}. Convert its categories with "
                "`astype(str)` before fit, or use pickle."
            )
    names = [f.name for f in fields(Column)]
    described = [encode_all({name: getattr(c, name) for name in names}) for c in columns.columns]
    return {"library": columns.library, "columns": described}


def decode_columns(content: Any) -> Columns | None:
    """Return the columns of a table behind JSON; None for an archive without them."""
    if content is None:
        return None
    columns = Columns(
        tuple(Column(**decode_all(column, {})) for column in content["columns"]),
        content["library"],
    )
    if columns.library not in LIBRARIES:
        raise ArchiveError(f"The archive has frames of an unknown library, {columns.library!r}.")
    for column in columns.columns:
        _check_column(column)
    return columns


def _check_column(column: Column) -> None:
    """Raise unless a column is one that `fit` describes."""
    names = (column.dtype, column.category_dtype)
    if not all(isinstance(name, str) and DTYPE.fullmatch(name) for name in names):
        raise ArchiveError(f"The archive has a column of an unknown dtype, {column.dtype!r}.")
    flags = (column.ordered, column.is_integer, column.has_gaps)
    ranges = (column.low, column.high)
    values = (column.name, *(column.categories or ()))
    if (
        not all(isinstance(flag, bool) for flag in flags)
        or not all(isinstance(number, float) and not np.isinf(number) for number in ranges)
        or not isinstance(column.categories, tuple | None)
        or not all(isinstance(value, str | bool | int | float) for value in values)
    ):
        raise ArchiveError(f"The column {column.name!r} of the archive is damaged.")
