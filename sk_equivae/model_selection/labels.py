"""Few-label problems, made from data with labels, and their division into two parts."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_random_state, indexable

from ..estimators.labels import UNLABELED, encode_labels
from .splitter import labeled_rows


def hide_labels(
    y: ArrayLike,
    n_per_class: int | None = None,
    fraction: float | None = None,
    random_state: Any = None,
    *,
    unlabeled: Any = UNLABELED,
) -> NDArray[Any]:
    """Keep the labels of a few random rows per class, and mark the rest as unlabelled.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels. Rows that are marked as unlabelled stay so.
    n_per_class : int, default=None
        Number of labels per class to keep.
    fraction : float, default=None
        Fraction of the labels of each class to keep; at least one label per class. Pass either
        `n_per_class` or `fraction`.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.
    unlabeled : object, default=-1
        Marker of unlabelled rows, like the parameter `unlabeled` of the estimators.

    Returns
    -------
    y : ndarray of shape (n,)
        Labels and markers. Of dtype object if they fit into no other dtype, like strings
        and -1.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae.model_selection import hide_labels
    >>> hide_labels([0, 0, 0, 1, 1, 1], n_per_class=1, random_state=0)
    array([-1, -1,  0, -1, -1,  1])
    >>> hide_labels(["cat", "cat", "dog"], fraction=0.5, random_state=0)
    array([-1, 'cat', 'dog'], dtype=object)
    """
    if unlabeled is None:
        raise ValueError(
            "unlabeled should be a marker, such as -1; got None, which says that every row is "
            "labelled. Leave it out for -1."
        )
    codes, classes = encode_labels(y, unlabeled)
    if len(classes) == 0:
        raise ValueError(f"y has no label to keep: all {len(codes)} rows are marked unlabelled.")
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    n_kept = _n_kept(counts, classes, n_per_class, fraction)
    rng = check_random_state(random_state)
    kept = np.concatenate(
        [rng.permutation(np.flatnonzero(codes == code))[:n] for code, n in enumerate(n_kept)]
    )
    hidden = np.full(len(codes), unlabeled, dtype=common_dtype(classes, unlabeled))
    hidden[kept] = classes[codes[kept]]
    return hidden


def _n_kept(
    counts: NDArray[Any], classes: NDArray[Any], n_per_class: Any, fraction: Any
) -> NDArray[np.int64]:
    """Return the number of labels to keep for each class."""
    if (n_per_class is None) == (fraction is None):
        raise ValueError(
            "Expected either n_per_class or fraction; got "
            f"n_per_class={n_per_class!r} and fraction={fraction!r}. Pass one of them."
        )
    if fraction is not None:
        if not isinstance(fraction, Real) or not 0 < float(fraction) <= 1:
            raise ValueError(
                f"fraction should be a number above 0, and at most 1; got {fraction!r}. Pass the "
                "fraction of the labels to keep."
            )
        return np.maximum(1, np.rint(float(fraction) * counts)).astype(int)
    if not isinstance(n_per_class, Integral) or int(n_per_class) < 1:
        raise ValueError(
            f"n_per_class should be an int of at least 1; got {n_per_class!r}. Pass the number of "
            "labels per class to keep."
        )
    if (counts < n_per_class).any():
        few = {str(c): int(n) for c, n in zip(classes, counts, strict=True) if n < n_per_class}
        raise ValueError(
            f"Expected at least n_per_class={n_per_class} labelled rows of each class; got {few}. "
            "Lower n_per_class, or leave these classes out."
        )
    return np.full(len(classes), int(n_per_class))


def common_dtype(classes: NDArray[Any], unlabeled: Any) -> np.dtype[Any]:
    """Return the dtype of labels if the marker fits into it, else one that holds both."""
    marker = np.asarray(unlabeled)
    numbers = "iuf"
    if classes.dtype.kind in numbers and marker.dtype.kind in numbers:
        fits = np.can_cast(np.min_scalar_type(unlabeled), classes.dtype)
        return classes.dtype if fits else np.result_type(classes, np.min_scalar_type(unlabeled))
    if classes.dtype.kind == marker.dtype.kind == "U":
        return np.result_type(classes, marker)
    return np.dtype(object)


def semi_supervised_train_test_split(
    X: Any,
    y: Any,
    *arrays: Any,
    test_size: float | int | None = None,
    train_size: float | int | None = None,
    random_state: Any = None,
    shuffle: bool = True,
    stratify: bool = True,
    unlabeled: Any = UNLABELED,
) -> list[Any]:
    """Split data into a training part with all unlabelled rows, and a test part without any.

    Parameters
    ----------
    X : array-like of shape (n, ...)
        The rows.
    y : array-like of shape (n,)
        Their labels; the value of `unlabeled` marks unlabelled rows.
    *arrays : array-likes of length n
        Anything else to divide in the same way, such as weights.
    test_size, train_size : float or int, default=None
        Fraction or number of the *labelled* rows in each part, as in `train_test_split`.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling.
    shuffle : bool, default=True
        Shuffle the labelled rows before they are divided. False needs `stratify=False`.
    stratify : bool, default=True
        Keep the frequencies of the classes in both parts.
    unlabeled : object, default=-1
        The value of y that marks unlabelled rows, as in the estimators.

    Returns
    -------
    parts : list
        X_train, X_test, y_train, y_test, and the two parts of each other array.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae.model_selection import semi_supervised_train_test_split
    >>> X, y = np.arange(6), np.array([0, -1, 0, 1, -1, 1])
    >>> X_train, X_test, y_train, y_test = semi_supervised_train_test_split(
    ...     X, y, test_size=0.5, random_state=0
    ... )
    >>> y_train, y_test
    (array([-1,  0,  1, -1]), array([0, 1]))
    """
    X, y, *rest = indexable(X, y, *arrays)
    labeled, others, labels = labeled_rows(y, unlabeled)
    train, test = train_test_split(
        labeled,
        test_size=test_size,
        train_size=train_size,
        random_state=random_state,
        shuffle=shuffle,
        stratify=labels if stratify else None,
    )
    # the order of X, so that labelled rows do not stand apart
    train, test = np.sort(np.concatenate([train, others])), np.sort(test)
    return [_safe_indexing(a, rows) for a in (X, y, *rest) for rows in (train, test)]
