"""Tables of text: which columns are numbers, and which labels are.

A first reading tells the columns of numbers, in which NA, null and the like are gaps. All other
columns are read again as the texts that they are, in which only an empty cell is a gap.
"""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.labels import UNLABELED
from ..fitted.rows import RowSpec

# A number with leading zeros is a name, such as the code of a place.
WHOLE = re.compile(r"\s*[+-]?(0|[1-9][0-9]*)(\.0*)?\s*")
NUMBER = re.compile(r"\s*[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


def read_table(path: Path, separator: str, texts: Collection[str]) -> Any:
    """Read a table.

    Parameters
    ----------
    path : Path
        The file.
    separator : str
        What is between two cells.
    texts : collection of str
        Columns that are texts, also if they look like numbers. Others are found.

    Returns
    -------
    frame : DataFrame
        The table.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "Reading tables needs pandas, which is not installed. Install it by `pip install "
            "pandas`, or pass a .npz file."
        ) from error
    try:
        # as a whole: in parts, one column could become both numbers and texts
        frame = pd.read_csv(path, sep=separator, low_memory=False)
    except ValueError as error:  # empty, torn, or not a text
        raise ValueError(
            f"{path} could not be read as a table ({error}). Expected a line of column names, then "
            "a line per row."
        ) from error
    if not len(frame):
        raise ValueError(
            f"{path} has no rows: there is nothing below the column names. Expected a line per row."
        )
    found = {name for name in frame if name in texts or _is_text(frame[name])}
    if not found:
        return frame
    again = pd.read_csv(
        path,
        sep=separator,
        usecols=lambda name: name in found,
        dtype=str,
        keep_default_na=False,
        na_values=[""],
    )
    again.index = frame.index  # names of rows, if the file has them, would be texts as well
    for name in again:
        frame[name] = again[name]
    return frame


def _is_text(column: Any) -> bool:
    """Return whether a column holds other values than numbers, truth values and gaps."""
    from pandas.api.types import infer_dtype

    return column.dtype.kind not in "iufb" and infer_dtype(column, skipna=True) != "boolean"


def text_columns(spec: RowSpec | None) -> set[str]:
    """Return the columns in which a model knows texts."""
    columns = () if spec is None or spec.columns is None else spec.columns.columns
    return {column.name for column in columns if has_texts(column.categories)}


def has_texts(values: Any) -> bool:
    """Return whether there are texts among categories or classes; None has none."""
    return values is not None and any(isinstance(value, str) for value in values)


def table_labels(column: Any, marker: str | None, as_texts: bool) -> NDArray[Any]:
    """Return the labels in a column of texts.

    Parameters
    ----------
    column : Series of str
        The column; empty cells are missing.
    marker : str or None
        A label that marks rows without a label, beside -1.
    as_texts : bool
        Whether labels that look like numbers are texts all the same.

    Returns
    -------
    labels : ndarray of object
        Numbers if all labels are, else texts; None for empty cells.
    """
    cells = [cell if isinstance(cell, str) else None for cell in column]
    # a marker of rows without a label does not make texts of the numbers beside it
    markers = {None, marker, str(UNLABELED)}
    found = {*cells} - markers
    kind = str if as_texts else _kind(found)
    values = {cell: cell if cell in markers else kind(cell) for cell in {*cells}}
    return np.array([values[cell] for cell in cells], dtype=object)


def _kind(texts: set[Any]) -> Any:
    """Return the function that makes labels of texts, without making two of them one."""
    if all(WHOLE.fullmatch(text) for text in texts):
        limits = np.iinfo(np.int64)
        return _whole if all(limits.min <= _whole(t) <= limits.max for t in texts) else str
    if all(NUMBER.fullmatch(text) for text in texts):
        return float
    return "True".__eq__ if texts <= {"True", "False"} else str


def _whole(text: str) -> int:
    return int(text.split(".")[0])
