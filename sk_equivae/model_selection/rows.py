"""Estimators that fit another one on a part of the rows: the labelled ones, or fewer unlabelled."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ..estimators.labels import UNLABELED, is_unlabeled
from .delegating import Delegating
from .splitter import Rows


class LabeledOnly(Delegating):
    """Fit a supervised estimator on the labelled rows alone.

    In a pipeline all steps get the same rows. This one lets the steps before it learn from
    unlabelled rows too, while the wrapped step never sees the marker of unlabelled rows.
    All methods are those of the wrapped estimator; `transform` transforms all rows.

    Parameters
    ----------
    estimator : estimator object
        The supervised estimator: a classifier, a regressor or a transformer.
    unlabeled : object, default=-1
        The value of y that marks unlabelled rows, in addition to None and NaN. With None every row
        must be labelled. Set it to NaN for a regressor, whose targets may be -1.

    Attributes
    ----------
    estimator_ : estimator object
        The fitted estimator.
    classes_ : ndarray of shape (n_classes,)
        The class labels, if it is a classifier.
    n_features_in_ : int
        Number of features seen in `fit`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_equivae import EquiVAETransformer
    >>> from sk_equivae.model_selection import LabeledOnly, hide_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> few = hide_labels(y, n_per_class=5, random_state=0)
    >>> transformer = EquiVAETransformer(latent_dim=4, random_state=0)
    >>> pipeline = make_pipeline(transformer, LabeledOnly(LogisticRegression())).fit(X, few)
    >>> pipeline.classes_
    array([0, 1, 2])
    >>> pipeline.score(X, y) > 0.9
    True
    """

    def __init__(self, estimator: Any, *, unlabeled: Any = UNLABELED):
        self.estimator = estimator
        self.unlabeled = unlabeled

    def _rows(self, y: ArrayLike) -> Rows:
        return np.flatnonzero(self._labeled(y))


class SubsampleUnlabeled(Delegating):
    """Fit a semi-supervised estimator on all labelled rows and some of the unlabelled ones.

    `n_unlabeled` can be the resource of `HalvingGridSearchCV`, which would also drop labelled rows
    if its resource were "n_samples", and the parameter of `validation_curve`.

    Parameters
    ----------
    estimator : estimator object
        An estimator that learns from unlabelled rows.
    n_unlabeled : int, default=1000
        Number of unlabelled rows to draw; all of them if there are fewer.
    unlabeled : object, default=-1
        The value of y that marks unlabelled rows, as in the estimators.
    random_state : int, RandomState instance or None, default=0
        Seed of the draw. With the same seed a larger draw holds the smaller one.

    Attributes
    ----------
    estimator_ : estimator object
        The fitted estimator.
    classes_ : ndarray of shape (n_classes,)
        The class labels, if it is a classifier.
    n_features_in_ : int
        Number of features seen in `fit`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.semi_supervised import LabelSpreading
    >>> from sk_equivae.model_selection import SubsampleUnlabeled, hide_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> few = hide_labels(y, n_per_class=5, random_state=0)
    >>> model = SubsampleUnlabeled(LabelSpreading(), n_unlabeled=50).fit(X, few)
    >>> len(model.estimator_.transduction_)
    65
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Delegating._parameter_constraints,
        "n_unlabeled": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        n_unlabeled: int = 1000,
        *,
        unlabeled: Any = UNLABELED,
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.n_unlabeled = n_unlabeled
        self.unlabeled = unlabeled
        self.random_state = random_state

    def _rows(self, y: ArrayLike) -> Rows:
        mask = is_unlabeled(y, self.unlabeled)
        rng = check_random_state(self.random_state)
        drawn = rng.permutation(np.flatnonzero(mask))[: self.n_unlabeled]
        return np.sort(np.concatenate([np.flatnonzero(~mask), drawn]))
