"""Estimators that fit another one on other rows: labelled ones alone, fewer or more unlabelled."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _num_samples

from ..estimators.frames import frame_library
from ..estimators.labels import UNLABELED, is_unlabeled, known_classes
from .delegating import Delegating
from .labels import common_dtype
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


class WithUnlabeled(Delegating):
    """Fit a semi-supervised estimator on the rows given and on unlabelled rows that it holds.

    For tools that take the marker of unlabelled rows for a class, such as scikit-learn's
    `CalibratedClassifierCV` and the conformal classifiers of MAPIE. They get the labelled rows
    alone and divide them as they like, while the unlabelled rows are in every fit.

    Parameters
    ----------
    estimator : estimator object
        An estimator that learns from unlabelled rows.
    X_unlabeled : array-like of shape (n_unlabeled, ...)
        The unlabelled rows, of the same kind as the rows of `fit`. A clone has a copy of them.
    unlabeled : object, default=-1
        The value of y that marks unlabelled rows, as in the estimator. It must not be None.

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
    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.semi_supervised import LabelSpreading
    >>> from sk_equivae.model_selection import WithUnlabeled
    >>> X, y = load_iris(return_X_y=True)
    >>> model = WithUnlabeled(LabelSpreading(), X_unlabeled=X[1::2])
    >>> calibrated = CalibratedClassifierCV(model, cv=3).fit(X[::2], y[::2])
    >>> calibrated.classes_
    array([0, 1, 2])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Delegating._parameter_constraints,
        "X_unlabeled": "no_validation",
    }

    def __init__(self, estimator: Any, X_unlabeled: Any, *, unlabeled: Any = UNLABELED):
        self.estimator = estimator
        self.X_unlabeled = X_unlabeled
        self.unlabeled = unlabeled

    def _chosen(self, X: Any, y: Any, params: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        if self.unlabeled is None:
            raise ValueError(
                "WithUnlabeled expects a marker of unlabelled rows as `unlabeled`; got None. Pass "
                "the marker of the estimator, -1 by default."
            )
        self._labeled(y)  # raises if there is none
        n_more, n_rows = _num_samples(self.X_unlabeled), _num_samples(y)
        labels = np.full(
            n_rows + n_more,
            self.unlabeled,
            dtype=common_dtype(known_classes(y, self.unlabeled), self.unlabeled),
        )
        labels[:n_rows] = y
        if params.get("sample_weight") is not None:
            weight = np.concatenate([np.asarray(params["sample_weight"]), np.ones(n_more)])
            params = {**params, "sample_weight": weight}
        return _joined(X, self.X_unlabeled), labels, params


def _joined(X: Any, more: Any) -> Any:
    """Return two tables, one below the other."""
    kinds = frame_library(X), frame_library(more)
    if kinds == ("pandas", "pandas"):
        import pandas as pd

        return pd.concat([X, more], ignore_index=True)
    if kinds == ("polars", "polars"):
        import polars as pl

        return pl.concat([X, more])
    if any(kinds):
        raise ValueError(
            "Expected the rows of `fit` and X_unlabeled to be of the same kind; got "
            f"{type(X).__name__} and {type(more).__name__}. Convert one of them."
        )
    X, more = np.asarray(X), np.asarray(more)
    if X.shape[1:] != more.shape[1:]:
        raise ValueError(
            f"Expected rows of the same shape in `fit` and X_unlabeled; got {X.shape[1:]} and "
            f"{more.shape[1:]}."
        )
    return np.concatenate([X, more])
