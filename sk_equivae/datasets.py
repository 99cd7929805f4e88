"""Data with few labels."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from .estimators.labels import UNLABELED, encode_labels


def mask_labels(
    y: ArrayLike, n_per_class: int, random_state: Any = None, unlabeled: Any = UNLABELED
) -> NDArray[Any]:
    """Keep the labels of a few random rows per class, and mark the rest as unlabelled.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels. Rows that are marked as unlabelled stay so.
    n_per_class : int
        Number of labels per class to keep.
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
    >>> from sk_equivae.datasets import mask_labels
    >>> mask_labels([0, 0, 0, 1, 1, 1], 1, random_state=0)
    array([-1, -1,  0, -1, -1,  1])
    >>> mask_labels(["cat", "cat", "dog"], 1, random_state=0)
    array([-1, 'cat', 'dog'], dtype=object)
    """
    if unlabeled is None:
        raise ValueError(
            "unlabeled should be a marker, such as -1; got None, which says that every row is "
            "labelled. Leave it out for -1."
        )
    if int(n_per_class) != n_per_class or n_per_class < 1:
        raise ValueError(
            f"n_per_class should be an int of at least 1; got {n_per_class!r}. Pass the number of "
            "labels per class to keep."
        )
    codes, classes = encode_labels(y, unlabeled)
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    if (counts < n_per_class).any():
        few = {str(c): int(n) for c, n in zip(classes, counts, strict=True) if n < n_per_class}
        raise ValueError(
            f"Expected at least n_per_class={n_per_class} labelled rows of each class; got {few}. "
            "Lower n_per_class, or leave these classes out."
        )
    rng = check_random_state(random_state)
    kept = np.concatenate(
        [
            rng.permutation(np.flatnonzero(codes == code))[:n_per_class]
            for code in range(len(classes))
        ]
    )
    masked = np.full(len(codes), unlabeled, dtype=_common_dtype(classes, unlabeled))
    masked[kept] = classes[codes[kept]]
    return masked


def _common_dtype(classes: NDArray[Any], unlabeled: Any) -> np.dtype[Any]:
    """Return the dtype of labels if the marker fits into it, else one that holds both."""
    marker = np.asarray(unlabeled)
    numbers = "iuf"
    if classes.dtype.kind in numbers and marker.dtype.kind in numbers:
        fits = np.can_cast(np.min_scalar_type(unlabeled), classes.dtype)
        return classes.dtype if fits else np.result_type(classes, np.min_scalar_type(unlabeled))
    if classes.dtype.kind == marker.dtype.kind == "U":
        return np.result_type(classes, marker)
    return np.dtype(object)


def load_few_digits(
    n_per_class: int | None = 10, test_size: float = 0.3, random_state: Any = 0
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Load the 8x8 digits of scikit-learn, with few labels in the training part.

    Parameters
    ----------
    n_per_class : int or None, default=10
        Number of labels per class in the training part; None keeps all.
    test_size : float, default=0.3
        Fraction of the 1797 images in the test part, stratified by class.
    random_state : int, RandomState instance or None, default=0
        Seed of the split and of the draw of labels.

    Returns
    -------
    X_train : ndarray of shape (n_train, 8, 8)
        Training images, with values in [0, 1].
    y_train : ndarray of shape (n_train,)
        Their labels; -1 for unlabelled images.
    X_test : ndarray of shape (n_test, 8, 8)
        Test images.
    y_test : ndarray of shape (n_test,)
        Their labels.

    Examples
    --------
    >>> from sk_equivae.datasets import load_few_digits
    >>> X_train, y_train, X_test, y_test = load_few_digits(n_per_class=5)
    >>> X_train.shape, int((y_train >= 0).sum()), X_test.shape
    ((1257, 8, 8), 50, (540, 8, 8))
    """
    rng = check_random_state(random_state)
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X.reshape(-1, 8, 8) / 16, y, test_size=test_size, stratify=y, random_state=rng
    )
    if n_per_class is not None:
        y_train = mask_labels(y_train, n_per_class, rng)
    return X_train, y_train, X_test, y_test
