"""`read_rows`: from what the user passed as X to flat rows."""

from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ..fitted.columns import Columns
from ..fitted.rows import RowSpec
from .inputs import DTYPES, check_not_single, check_row_shape, flatten, no_strings
from .tables import array_columns, read_array, read_frame


def read_rows(
    estimator: Any, X: Any, spec: RowSpec | None, **checks: Any
) -> tuple[NDArray[Any], tuple[int, ...] | None, Columns | None]:
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
    table = read_frame(estimator, X, spec, **checks)
    if table is not None:
        return table[0], None, table[1]
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
    columns = None if spec is None else spec.columns
    X, columns = read_array(X, estimator.categorical_features, columns, first)
    if first and columns is None and estimator._expects_gaps:
        columns = array_columns(X)
    return X, shape, columns
