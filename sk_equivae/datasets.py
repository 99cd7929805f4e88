"""Data with few labels, and images from folders."""

from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from .estimators.labels import UNLABELED
from .image_folders import load_image_folder
from .model_selection.labels import hide_labels

__all__ = ["load_few_digits", "load_image_folder", "mask_labels"]


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

    See Also
    --------
    sk_equivae.model_selection.hide_labels : The same, also by a fraction of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae.datasets import mask_labels
    >>> mask_labels([0, 0, 0, 1, 1, 1], 1, random_state=0)
    array([-1, -1,  0, -1, -1,  1])
    """
    return hide_labels(y, n_per_class, random_state=random_state, unlabeled=unlabeled)


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
