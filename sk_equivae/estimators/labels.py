"""Conversion of labels to the codes 0, ..., K-1, with -1 for unlabelled rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d, gen_even_slices
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets

from .._warnings import warn_user
from ..fitted.compact import code_dtype, count_codes

UNLABELED = -1
Codes = NDArray[np.integer[Any]]
# Labels that are sorted at once.
MANY_LABELS = 2**18


def _as_array(y: Any) -> NDArray[Any]:
    """Return y as a 1-D array, without changing the type of its elements.

    So -1 in ["a", -1] stays a number, and a nullable column keeps its integers.
    """
    is_numpy = isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype)
    to_list = getattr(y, "to_list", getattr(y, "tolist", None))  # of a Series, or of its array
    if not is_numpy and to_list is not None:
        y = np.array(to_list(), dtype=object)
    elif isinstance(y, (list, tuple)) and any(
        isinstance(value, (str, bool)) or is_scalar_nan(value) for value in y
    ):
        y = np.array(y, dtype=object)
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y should hold class labels.")
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError(
            "Input y contains infinity. Expected class labels; mark unlabelled rows with the "
            "value of `unlabeled` (-1 by default), None or NaN."
        )
    return y


def _is_missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of the values that are None, NaN or NA."""
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype != object:
        return np.zeros(len(y), dtype=bool)
    return np.array([v is None or is_scalar_nan(v) or is_pandas_na(v) for v in y], dtype=bool)


def is_unlabeled(y: ArrayLike, unlabeled: Any = UNLABELED) -> NDArray[np.bool_]:
    """Return a mask of the unlabelled rows of y.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    unlabeled : object, default=-1
        The value that marks unlabelled rows, in addition to None, NaN and NA. With None
        every row must be labelled.

    Returns
    -------
    mask : ndarray of shape (n,)
        Whether a row is unlabelled.

    Examples
    --------
    >>> is_unlabeled([2, -1, 0])
    array([False,  True, False])
    >>> is_unlabeled(["cat", -1, None, "dog"])
    array([False,  True,  True, False])
    >>> is_unlabeled([1, -1], unlabeled=None)
    array([False, False])
    """
    if np.ndim(unlabeled):
        raise ValueError(f"unlabeled should be None or a single value; got {unlabeled!r}.")
    y = _as_array(y)
    missing = _is_missing(y)
    if is_scalar_nan(unlabeled) or is_pandas_na(unlabeled):
        return missing  # nothing is equal to them
    if unlabeled is None:
        if missing.any():
            raise ValueError(
                f"Input y contains NaN or None in {missing.sum()} rows, but unlabeled=None says "
                "that every row is labelled. Leave these rows out, or use another `unlabeled`."
            )
        return missing
    if y.dtype == object:
        # True == 1 in Python, but the label True is not the marker 1
        is_flag = isinstance(unlabeled, bool)
        missing[~missing] = [isinstance(v, bool) == is_flag and v == unlabeled for v in y[~missing]]
        return missing
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
    return missing | np.asarray(y == unlabeled)


def labels_of(y: ArrayLike, labeled: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the labels of the rows in a mask, as an array of the type of the labels."""
    labels = _as_array(y)[labeled]
    if labels.dtype == object and not any(isinstance(value, str) for value in labels):
        labels = np.array(list(labels))  # numbers from an array that also held None
    return labels


def known_classes(classes: ArrayLike, unlabeled: Any = UNLABELED) -> NDArray[Any]:
    """Return the sorted classes without the marker of unlabelled rows.

    Parameters
    ----------
    classes : array-like
        Labels.
    unlabeled : object, default=-1
        The value that marks unlabelled rows.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> known_classes([2, -1, 0])
    array([0, 2])
    """
    return _unique(labels_of(classes, ~is_unlabeled(classes, unlabeled)))


def encode_labels(
    y: ArrayLike,
    unlabeled: Any = UNLABELED,
    classes: ArrayLike | None = None,
    remedy: str = "Name all classes at the first call, or use `add_classes`.",
    name: str = "y",
) -> tuple[Codes, NDArray[Any]]:
    """Return the codes of y and the sorted classes.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    unlabeled : object, default=-1
        The value that marks unlabelled rows, in addition to None, NaN and NA.
    classes : array-like, optional
        The classes, if they are known; any other label raises an error.
    remedy : str, optional
        End of the error message for such a label: what to do about it.
    name : str, default="y"
        What the message calls the labels.

    Returns
    -------
    codes : ndarray of shape (n,)
        Positions in `classes`; -1 for unlabelled rows.
    classes : ndarray of shape (n_classes,)
        The classes, sorted.

    Examples
    --------
    >>> codes, classes = encode_labels(["b", -1, "a"])
    >>> codes, classes
    (array([ 1, -1,  0], dtype=int16), array(['a', 'b'], dtype=object))
    """
    y = _as_array(y)
    missing = is_unlabeled(y, unlabeled)
    # many numbers part by part, since sorting takes memory
    n_parts = -(-len(y) // MANY_LABELS) if y.dtype.kind in "biuf" else 1
    parts = list(gen_even_slices(len(y), max(1, n_parts))) or [slice(0)]
    given = (labels_of(y[p], ~missing[p]) for p in parts)
    # scikit-learn's check warns of many classes, which is no mistake if they are known
    unique = _check_labels if classes is None else _unique
    found = _unique(np.concatenate([unique(labels) for labels in given]))
    _warn_of_markers(found, unlabeled)
    known = found if classes is None else known_classes(classes, unlabeled)
    unknown = set(found.tolist()) - set(known.tolist())
    if unknown:
        raise ValueError(
            f"{name} holds labels {sorted(unknown, key=str)} that are not among the classes "
            f"{known.tolist()}. {remedy}"
        )
    codes = np.full(len(y), UNLABELED, dtype=code_dtype(len(known)))
    for part in parts:
        labels = labels_of(y[part], ~missing[part])
        codes[part][~missing[part]] = np.searchsorted(known, labels)
    return codes, known


def _check_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted labels, each once; raise if they cannot be classes."""
    found = _unique(labels)
    if len(labels):
        check_classification_targets(labels)
    return found


def _warn_of_markers(found: NDArray[Any], unlabeled: Any) -> None:
    """Warn about class names that look like markers of unlabelled rows."""
    markers = {"", "nan", "none", "unlabeled", "unlabelled"}
    names = [name for name in found.tolist() if isinstance(name, str) and name.lower() in markers]
    for name in names:
        warn_user(
            f"y holds the label {name!r}, which is taken for a class like any other. If it marks "
            f"unlabelled rows, set unlabeled={name!r} (it is {unlabeled!r})."
        )


def check_labeled(
    codes: Codes,
    classes: NDArray[Any],
    unlabeled: Any,
    n_least: int,
    dropped: Codes,
) -> None:
    """Raise if too few classes have labels, and warn about classes with a single label.

    `n_least` is the smallest number of classes, and `dropped` the codes of rows of weight 0.
    """
    n_rows = count_codes(codes, len(classes))
    n_present = int((n_rows > 0).sum())
    if n_present < n_least and (dropped >= 0).any():
        lost = np.setdiff1d(np.unique(dropped[dropped >= 0]), np.flatnonzero(n_rows))
        raise ValueError(
            f"Expected labelled rows of at least {n_least} classes; got {n_present}, since every "
            f"row of the classes {classes[lost].tolist()} has a sample_weight of 0. Give some of "
            "them a weight above 0."
        )
    if n_present == 0 and n_least:
        raise ValueError(
            f"y has no labelled row: all {len(codes)} are marked unlabelled ({unlabeled!r}). "
            f"Expected labels; at least 2 classes in `fit`, at least 1 in `partial_fit`."
        )
    if n_present < n_least:
        hint = " Label rows of another class."
        if unlabeled is not None and (codes < 0).any():
            hint = (
                f" Rows with the label {unlabeled!r} were taken as unlabelled: if "
                f"{unlabeled!r} is a class, set unlabeled=None."
            )
        raise ValueError(
            f"Expected labelled rows of at least {n_least} classes; got 1 class: "
            f"{classes[n_rows > 0].tolist()}.{hint}"
        )
    if n_least == 2 and (n_rows == 1).any():  # `partial_fit` may add more
        warn_user(
            f"Classes {classes[n_rows == 1].tolist()} have a single labelled row each, which "
            "has to stand in for itself: what is particular to it cannot be told from what "
            "the class has in common. Label at least two rows per class."
        )


def _unique(labels: NDArray[Any]) -> NDArray[Any]:
    if labels.dtype.kind in "mM":
        raise ValueError(
            f"Labels of y should be numbers, strings or bools; got {labels.dtype}. Unknown label "
            "type: name the classes, for example with `y.astype(str)`."
        )
    try:
        return np.unique(labels)
    except TypeError as error:
        kinds = sorted({type(value).__name__ for value in labels})
        if len(kinds) == 1:
            raise TypeError(
                f"Labels of y should be numbers, strings or bools; got {kinds[0]}, whose values "
                "cannot be sorted. Name the classes, for example with `[str(label) for label in "
                "y]`, or `label.name` of an Enum."
            ) from error
        raise TypeError(
            f"Labels of y should be all of one type; got {', '.join(kinds)}. "
            "Encode target labels uniformly, for example with `astype(str)`."
        ) from error


# Kinds of labels by NumPy's dtype kind. Labels of different kinds cannot be sorted together.
LABEL_KINDS = {"b": "bool", "i": "numbers", "u": "numbers", "f": "numbers"}


def check_new_classes(
    codes: Codes, new: NDArray[Any], n_rows: int, known: NDArray[Any], unlabeled: Any
) -> None:
    """Raise if the labels of `add_classes` are not new, one per row, and of the known type."""
    if len(codes) != n_rows:
        raise ValueError(
            f"add_classes expects one label per row; got {n_rows} rows of X and {len(codes)} of "
            "y: inconsistent numbers of samples."
        )
    if (codes < 0).any():
        raise ValueError(
            f"add_classes expects one label per row; got {(codes < 0).sum()} rows marked "
            f"unlabelled ({unlabeled!r}). Leave them out."
        )
    kinds = [LABEL_KINDS.get(a.dtype.kind, "strings or objects") for a in (known, new)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"add_classes expects labels of the type of classes_ ({kinds[0]}); got {kinds[1]}: "
            f"{new.tolist()}. Convert y, or fit with labels of that type."
        )
    both = set(known.tolist()).intersection(new.tolist())
    if both:
        raise ValueError(
            f"add_classes expects labels that are not in classes_; got {sorted(both, key=str)}, "
            "which are known already. Leave their rows out, or use `partial_fit` or `fit` to learn "
            "from more rows of a known class."
        )
