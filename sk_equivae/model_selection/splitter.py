"""Cross-validation in which test folds hold labelled rows only.

An unlabelled row cannot be scored, but a model can learn from it. So the labelled rows are divided
by a splitter of scikit-learn, and the unlabelled rows are added to every training fold.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import indexable

from ..estimators.labels import is_unlabeled, labels_of

Rows = NDArray[np.intp]


def labeled_rows(y: ArrayLike | None, unlabeled: Any) -> tuple[Rows, Rows, NDArray[Any]]:
    """Return the positions of labelled and of unlabelled rows, and the labels of the former."""
    if y is None:
        raise ValueError(
            "The 'y' parameter should not be None: its markers tell which rows to test."
        )
    mask = is_unlabeled(y, unlabeled)
    if mask.all():
        raise ValueError(
            f"y has no labelled row to test on: all {len(mask)} are marked unlabelled "
            f"({unlabeled!r})."
        )
    return np.flatnonzero(~mask), np.flatnonzero(mask), labels_of(y, ~mask)


def evenly(labels: NDArray[Any]) -> Rows:
    """Return an order of rows in which every beginning has the classes in proportion.

    The first row of each class comes first, so that no class is missing for long.
    """
    _, codes = np.unique(labels, return_inverse=True)
    place = np.empty(len(codes))
    for code in range(codes.max(initial=-1) + 1):
        members = np.flatnonzero(codes == code)
        place[members] = np.arange(len(members)) / len(members)
    return np.argsort(place, kind="stable")


class SemiSupervisedSplitter(BaseCrossValidator):
    """Splits of the labelled rows, with the unlabelled rows in every training fold."""

    unlabeled: Any
    labeled_first: bool

    def _inner(self) -> Any:
        """Return the splitter of the labelled rows."""
        raise NotImplementedError

    def _others(self, unlabeled: Rows, test: Rows, groups: NDArray[Any] | None) -> Rows:
        """Return the unlabelled rows of a training fold: all of them."""
        return unlabeled

    def split(
        self, X: ArrayLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[Rows, Rows]]:
        """Generate the positions of the rows of each training and test fold.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            The rows.
        y : array-like of shape (n,)
            Their labels; the value of `unlabeled` marks unlabelled rows.
        groups : array-like of shape (n,), default=None
            The group of each row, for splitters that keep groups together.

        Yields
        ------
        train : ndarray of int
            The rows to train on, labelled and unlabelled.
        test : ndarray of int
            The rows to test on, all of them labelled.
        """
        X, y, groups = indexable(X, y, groups)
        labeled, unlabeled, labels = labeled_rows(y, self.unlabeled)
        groups = None if groups is None else np.asarray(groups)
        own_groups = None if groups is None else groups[labeled]
        for train, test in self._inner().split(labeled, labels, own_groups):
            parts = [labeled[train[evenly(labels[train])]]]
            parts.append(self._others(unlabeled, labeled[test], groups))
            yield np.concatenate(parts if self.labeled_first else parts[::-1]), labeled[test]

    def get_n_splits(
        self, X: ArrayLike | None = None, y: ArrayLike | None = None, groups: Any = None
    ) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X : object
            Ignored; here for compatibility.
        y : array-like of shape (n,), default=None
            The labels. Needed if the number depends on the labelled rows.
        groups : array-like of shape (n,), default=None
            The groups. Needed if the number depends on them.

        Returns
        -------
        n_splits : int
            The number of splits.
        """
        if y is None:
            return int(self._inner().get_n_splits())
        labeled, _, labels = labeled_rows(y, self.unlabeled)
        groups = None if groups is None else np.asarray(groups)[labeled]
        return int(self._inner().get_n_splits(labeled, labels, groups))
