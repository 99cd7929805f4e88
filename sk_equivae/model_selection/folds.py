"""Cross-validation for data with unlabelled rows: folds, repeated folds, groups, any splitter."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.utils.metadata_routing import get_routing_for_object

from ..estimators.labels import UNLABELED
from .splitter import Rows, SemiSupervisedSplitter


class SemiSupervisedKFold(SemiSupervisedSplitter):
    """K folds of the labelled rows; all unlabelled rows are in every training fold.

    Each labelled row is in one test fold. Use it wherever scikit-learn takes `cv`.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds; at least 2. A class with fewer labelled rows is missing in some test
        folds. With `stratify`, at least one class must have as many.
    stratify : bool, default=True
        Keep the frequencies of the classes in each fold, as `StratifiedKFold` does.
    shuffle : bool, default=False
        Shuffle the labelled rows before they are divided.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling.
    unlabeled : object, default=-1
        The value of y that marks unlabelled rows, as in the estimators.
    labeled_first : bool, default=True
        Training folds begin with the labelled rows, class by class in turns. `learning_curve`
        takes the first rows of a fold: with True its sizes count labelled rows before unlabelled
        ones; with False all unlabelled rows come first, and larger sizes add labels to them.

    See Also
    --------
    RepeatedSemiSupervisedKFold : The same several times, with other folds.
    SemiSupervisedGroupKFold : Folds that keep groups of rows together.
    SemiSupervisedSplit : The same rule with any splitter.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae.model_selection import SemiSupervisedKFold
    >>> y = np.array([0, -1, 0, 1, -1, 1])
    >>> for train, test in SemiSupervisedKFold(n_splits=2).split(y, y):
    ...     print(train, test)
    [2 5 1 4] [0 3]
    [0 3 1 4] [2 5]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        stratify: bool = True,
        shuffle: bool = False,
        random_state: Any = None,
        unlabeled: Any = UNLABELED,
        labeled_first: bool = True,
    ):
        self.n_splits = n_splits
        self.stratify = stratify
        self.shuffle = shuffle
        self.random_state = random_state
        self.unlabeled = unlabeled
        self.labeled_first = labeled_first
        self._inner()  # raises if a value is not valid

    def _inner(self) -> Any:
        kind = StratifiedKFold if self.stratify else KFold
        return kind(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)


class RepeatedSemiSupervisedKFold(SemiSupervisedSplitter):
    """`SemiSupervisedKFold` several times, shuffled in another way each time.

    With few labels the estimate of one division depends much on the division.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds; at least 2.
    n_repeats : int, default=10
        Number of divisions.
    stratify : bool, default=True
        Keep the frequencies of the classes in each fold, as `RepeatedStratifiedKFold` does.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling.
    unlabeled : object, default=-1
        The value of y that marks unlabelled rows, as in the estimators.
    labeled_first : bool, default=True
        Training folds begin with the labelled rows; see `SemiSupervisedKFold`.

    Examples
    --------
    >>> from sk_equivae.model_selection import RepeatedSemiSupervisedKFold
    >>> cv = RepeatedSemiSupervisedKFold(n_splits=2, n_repeats=3, random_state=0)
    >>> y = [0, -1, 0, 1, -1, 1]
    >>> cv.get_n_splits(), len(list(cv.split(y, y)))
    (6, 6)
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        n_repeats: int = 10,
        stratify: bool = True,
        random_state: Any = None,
        unlabeled: Any = UNLABELED,
        labeled_first: bool = True,
    ):
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.stratify = stratify
        self.random_state = random_state
        self.unlabeled = unlabeled
        self.labeled_first = labeled_first
        # raises if a value is not valid; the folds themselves are checked only when they are made
        SemiSupervisedKFold(n_splits)
        self._inner()

    def _inner(self) -> Any:
        kind = RepeatedStratifiedKFold if self.stratify else RepeatedKFold
        return kind(
            n_splits=self.n_splits, n_repeats=self.n_repeats, random_state=self.random_state
        )


class SemiSupervisedGroupKFold(SemiSupervisedSplitter):
    """K folds of the labelled rows in which the rows of a group stay together.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds; at least 2, and at most the number of groups with labelled rows.
    stratify : bool, default=True
        Keep the frequencies of the classes as far as the groups allow, as `StratifiedGroupKFold`
        does; otherwise keep the folds equally large, as `GroupKFold` does.
    shuffle : bool, default=False
        Shuffle the groups before they are divided.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling.
    unlabeled : object, default=-1
        The value of y that marks unlabelled rows, as in the estimators.
    labeled_first : bool, default=True
        Training folds begin with the labelled rows; see `SemiSupervisedKFold`.
    transductive : bool, default=True
        Whether a training fold holds the unlabelled rows of the groups that it is tested on. If
        the model will meet groups of which it has seen no row, set it to False.

    Examples
    --------
    >>> from sk_equivae.model_selection import SemiSupervisedGroupKFold
    >>> y = [0, 1, -1, 0, 1, -1]
    >>> groups = ["a", "a", "a", "b", "b", "b"]
    >>> for train, test in SemiSupervisedGroupKFold(2).split(y, y, groups):
    ...     print(train, test)
    [3 4 2 5] [0 1]
    [0 1 2 5] [3 4]
    >>> for train, test in SemiSupervisedGroupKFold(2, transductive=False).split(y, y, groups):
    ...     print(train, test)
    [3 4 5] [0 1]
    [0 1 2] [3 4]
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012

    def __init__(
        self,
        n_splits: int = 5,
        *,
        stratify: bool = True,
        shuffle: bool = False,
        random_state: Any = None,
        unlabeled: Any = UNLABELED,
        labeled_first: bool = True,
        transductive: bool = True,
    ):
        self.n_splits = n_splits
        self.stratify = stratify
        self.shuffle = shuffle
        self.random_state = random_state
        self.unlabeled = unlabeled
        self.labeled_first = labeled_first
        self.transductive = transductive
        self._inner()  # raises if a value is not valid

    def _inner(self) -> Any:
        kind = StratifiedGroupKFold if self.stratify else GroupKFold
        return kind(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)

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
        groups : array-like of shape (n,)
            The group of each row.

        Returns
        -------
        folds : iterator of (ndarray of int, ndarray of int)
            The rows to train on, labelled and unlabelled, and the rows to test on, all of them
            labelled.
        """
        if groups is None:  # not every splitter of scikit-learn says so
            raise ValueError(
                "The 'groups' parameter should not be None. Pass the group of each row."
            )
        return super().split(X, y, groups)

    def _others(self, unlabeled: Rows, test: Rows, groups: NDArray[Any] | None) -> Rows:
        if self.transductive or groups is None:
            return unlabeled
        return unlabeled[~np.isin(groups[unlabeled], groups[test])]


class SemiSupervisedSplit(SemiSupervisedSplitter):
    """Any splitter for the labelled rows; all unlabelled rows are in every training fold.

    Parameters
    ----------
    cv : int or splitter, default=5
        A splitter such as `ShuffleSplit` or `LeaveOneOut`. It sees the labelled rows alone. An
        int is the number of stratified folds.
    unlabeled : object, default=-1
        The value of y that marks unlabelled rows, as in the estimators.
    labeled_first : bool, default=True
        Training folds begin with the labelled rows; see `SemiSupervisedKFold`.

    Examples
    --------
    >>> from sklearn.model_selection import LeaveOneOut
    >>> from sk_equivae.model_selection import SemiSupervisedSplit
    >>> y = [0, -1, 0, 1, -1]
    >>> for train, test in SemiSupervisedSplit(LeaveOneOut()).split(y, y):
    ...     print(train, test)
    [2 3 1 4] [0]
    [0 3 1 4] [2]
    [0 2 1 4] [3]
    """

    def __init__(self, cv: Any = 5, *, unlabeled: Any = UNLABELED, labeled_first: bool = True):
        self.cv = cv
        self.unlabeled = unlabeled
        self.labeled_first = labeled_first
        if isinstance(cv, SemiSupervisedSplitter) or not (
            hasattr(cv, "split") or isinstance(cv, Integral)
        ):
            raise ValueError(
                "cv should be an int, or a splitter of scikit-learn for the labelled rows; got "
                f"{cv!r}. Pass lists of positions to the search itself."
            )

    @property
    def random_state(self) -> Any:
        """The seed of the splitter; successive halving asks for it."""
        return getattr(self.cv, "random_state", 0)

    @property
    def shuffle(self) -> bool:
        """Whether the splitter draws at random; successive halving asks for it."""
        return bool(getattr(self.cv, "shuffle", not isinstance(self.cv, Integral)))

    def get_metadata_routing(self) -> Any:
        """Return the request of the splitter, which may be one for groups.

        Returns
        -------
        routing : MetadataRequest
            The request.
        """
        return get_routing_for_object(self._inner())

    def _inner(self) -> Any:
        return StratifiedKFold(self.cv) if isinstance(self.cv, Integral) else self.cv
