"""The user's labels and the codes 0, ..., K-1, with -1 for unlabelled rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets

UNLABELED = -1


def _as_array(y: ArrayLike) -> NDArray:
    """y as a 1-D array; lists keep their objects, so that ["a", -1] holds the number -1."""
    if isinstance(y, (list, tuple)) and any(isinstance(value, str) for value in y):
        y = np.array(y, dtype=object)
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y should hold class labels.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        what = "NaN" if np.isnan(y).any() else "infinity"
        raise ValueError(
            f"Input y contains {what}. Expected class labels; mark unlabelled rows with the "
            "value of `unlabeled` (-1 by default), or use None in an array of objects."
        )
    return y


def is_unlabeled(y: ArrayLike, unlabeled: Any = UNLABELED) -> NDArray[np.bool_]:
    """Which rows of y carry no label.

    Parameters
    ----------
    y : array-like of shape (n,)
    unlabeled : object, default=-1
        The marker. None says that every row is labelled. In an array of objects
        None, NaN and NA count as unlabelled too.

    Examples
    --------
    >>> is_unlabeled([2, -1, 0])
    array([False,  True, False])
    >>> is_unlabeled(["cat", -1, None, "dog"])
    array([False,  True,  True, False])
    >>> is_unlabeled([1, -1], unlabeled=None)
    array([False, False])
    """
    y = _as_array(y)
    if unlabeled is None:
        return np.zeros(len(y), dtype=bool)
    if y.dtype == object:
        return np.array(
            [
                value is None
                or is_scalar_nan(value)
                or is_pandas_na(value)
                # True == 1 in Python, but a label True is no marker 1
                or (isinstance(value, bool) == isinstance(unlabeled, bool) and value == unlabeled)
                for value in y
            ],
            dtype=bool,
        )
    if y.dtype.kind in "US" and not isinstance(unlabeled, str):
        if np.any(y == str(unlabeled)):
            raise ValueError(
                f"y is an array of strings and holds '{unlabeled}'. Expected the number "
                f"{unlabeled} for unlabelled rows, which an array of strings cannot hold: pass "
                f"a list, a Series or an array of dtype object, or set unlabeled='{unlabeled}'."
            )
        return np.zeros(len(y), dtype=bool)
    if y.dtype.kind == "b" and not isinstance(unlabeled, bool):
        return np.zeros(len(y), dtype=bool)
    return np.asarray(y == unlabeled)


def encode_labels(
    y: ArrayLike, unlabeled: Any = UNLABELED, classes: ArrayLike | None = None
) -> tuple[NDArray[np.int64], NDArray]:
    """Codes of y and the sorted classes.

    Parameters
    ----------
    y : array-like of shape (n,)
    unlabeled : object, default=-1
    classes : array-like, optional
        The classes, where they are known already; another label is an error.

    Returns
    -------
    codes : ndarray of shape (n,)
        Positions in `classes`, -1 for unlabelled rows.
    classes : ndarray of shape (n_classes,)

    Examples
    --------
    >>> codes, classes = encode_labels(["b", -1, "a"])
    >>> codes, classes
    (array([ 1, -1,  0]), array(['a', 'b'], dtype=object))
    """
    y = _as_array(y)
    missing = is_unlabeled(y, unlabeled)
    labels = y[~missing]
    if labels.dtype == object and not any(isinstance(value, str) for value in labels):
        labels = np.array(list(labels))  # numbers that shared an array with None
    if len(labels):
        check_classification_targets(labels)
    codes = np.full(len(y), UNLABELED, dtype=np.int64)
    if classes is None:
        found, codes[~missing] = _unique(labels)
        return codes, found
    known = np.unique(np.asarray(classes))
    unknown = set(np.unique(labels).tolist()) - set(known.tolist())
    if unknown:
        raise ValueError(
            f"y holds labels {sorted(unknown, key=str)} that are not among the classes "
            f"{known.tolist()}. Name all classes at the first call, or use `add_classes`."
        )
    codes[~missing] = np.searchsorted(known, labels)
    return codes, known


def _unique(labels: NDArray) -> tuple[NDArray, NDArray[np.int64]]:
    try:
        found, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(value).__name__ for value in labels})
        raise TypeError(
            f"Labels of y should be all of one type; got {', '.join(kinds)}. "
            "Encode target labels uniformly, for example with `astype(str)`."
        ) from error
    return found, codes
