"""`read_rows`: from what the user passed as X to flat rows."""

from typing import Any

from sklearn.utils.validation import validate_data

from ..fitted.columns import Columns
from ..fitted.rows import RowSpec
from .inputs import DTYPES, flatten, no_strings
from .lazy import LazyRows, check_lazy_rows
from .mistakes import check_not_single, check_row_shape, check_rows_given, warn_of_flat_images
from .sources import find_rows
from .tables import array_columns, read_array, read_frame


def read_rows(
    estimator: Any, X: Any, spec: RowSpec | None, **checks: Any
) -> tuple[Any, tuple[int, ...] | None, Columns | None]:
    """Check X, and return it as flat rows.

    Parameters
    ----------
    estimator : BaseEquiVAE
        The estimator. Names and number of features are checked, and stored in `fit`.
    X : array-like
        Tabular rows or images.
    spec : RowSpec or None
        The rows of `fit`; None in `fit` itself.
    **checks : dict
        Keyword arguments for scikit-learn's `check_array`.

    Returns
    -------
    X : ndarray of shape (n, n_features)
        Flat rows; categories as their positions.
    shape : tuple or None
        Shape of an image if X has more than two dimensions.
    columns : Columns or None
        The columns of a frame, or of an array with categories or missing values.
    """
    first = spec is None
    check_rows_given(X)
    table = read_frame(estimator, X, spec, **checks)
    if table is not None:
        return table[0], None, table[1]
    lazy = find_rows(X)
    if lazy is not None:
        return lazy, _check_lazy(estimator, lazy, spec, **checks), None
    with no_strings():
        if spec is not None:
            check_not_single(spec, X)
        X, shape = flatten(X)
        if shape is not None and spec is not None:
            check_row_shape(spec, shape)
        is_image = bool(shape or estimator.image_shape) if spec is None else spec.is_image
        finite = True if is_image else "allow-nan"
        X = validate_data(
            estimator, X, dtype=DTYPES, reset=first, ensure_all_finite=finite, **checks
        )
    if is_image:
        return X, shape, None
    if first:
        warn_of_flat_images(X)
    columns = None if spec is None else spec.columns
    X, columns = read_array(X, estimator.categorical_features, columns, first)
    if first and columns is None and estimator._expects_gaps:
        columns = array_columns(X)
    return X, shape, columns


def _check_lazy(
    estimator: Any, rows: LazyRows, spec: RowSpec | None, **checks: Any
) -> tuple[int, ...] | None:
    """Check rows that are read a batch at a time; return the shape of an image, or None."""
    if spec is not None and spec.columns is not None:
        raise ValueError(
            "Expected rows with the columns of `fit`, which had categories or missing values; got "
            f"{type(rows).__name__}, whose rows are read a batch at a time. Pass a frame or an "
            "array."
        )
    check_lazy_rows(rows, **checks)
    shape = rows.row_shape if len(rows.row_shape) > 1 else None
    if shape is not None and spec is not None:
        check_row_shape(spec, shape)
    validate_data(estimator, rows, reset=spec is None, skip_check_array=True)
    return shape
