"""`Delegating`: an estimator that fits another one on some of the rows, and passes calls on."""

import copy
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context, clone
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_method_params, _num_samples, check_is_fitted

from ..estimators.labels import is_unlabeled, labels_of
from .splitter import Rows

PASSED_ON = {
    "predict": "Predict the target of each row.",
    "predict_proba": "Return the probabilities of the classes, in the order of `classes_`.",
    "predict_log_proba": "Return the log-probabilities of the classes.",
    "decision_function": "Return the decision function of each row.",
    "score_samples": "Return the score of each row.",
    "transform": "Transform rows.",
    "inverse_transform": "Transform rows back.",
}
# scikit-learn has no requests of metadata for this method.
NOT_ROUTED = "score_samples"
DOCSTRING = """{summary}

        Parameters
        ----------
        X : array-like
            The rows.
        **params : dict
            Metadata for the method of the estimator.

        Returns
        -------
        result : ndarray
            The result of the estimator.
        """


def _has(name: str) -> Callable[[Any], bool]:
    """Return a check that the estimator, fitted or not, has an attribute."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


def _passed_on(name: str) -> Any:
    """Return a method that calls the method of the same name of the fitted estimator."""

    def method(self: Any, X: ArrayLike, **params: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.estimator_, name)(X, **self._routed(name, params))

    method.__name__, method.__doc__ = name, DOCSTRING.format(summary=PASSED_ON[name])
    method.__qualname__ = f"Delegating.{name}"
    return available_if(_has(name))(method)


class Delegating(MetaEstimatorMixin, BaseEstimator):
    """Fit an estimator on some of the rows, and pass all other calls on to it."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods("fit")],
        "unlabeled": "no_validation",
    }
    estimator: Any
    unlabeled: Any

    def _rows(self, y: ArrayLike) -> Rows:
        """Return the positions of the rows to fit on."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> Self:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            The rows, labelled and unlabelled.
        y : array-like of shape (n,)
            Their labels; the value of `unlabeled` marks unlabelled rows.
        **params : dict
            Metadata for `fit` of the estimator, such as `sample_weight`; one value per row is
            divided like the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None. Expected labels, with a marker for unlabelled rows."
            )
        if get_tags(self.estimator).input_tags.pairwise:
            raise ValueError(
                f"{type(self).__name__} cannot choose rows of a matrix of distances or kernels, "
                f"which {self.estimator!r} expects. Use an estimator of feature vectors."
            )
        X, y = indexable(X, y)
        X, y, params = self._chosen(X, y, self._routed("fit", params))
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        return self

    def _chosen(self, X: Any, y: Any, params: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        """Return the rows to fit on, their labels, and their metadata."""
        rows, used = self._rows(y), np.zeros(_num_samples(y), dtype=bool)
        used[rows] = True
        params = _check_method_params(X, params, indices=rows)
        return _safe_indexing(X, rows), labels_of(y, used), params

    predict = _passed_on("predict")
    predict_proba = _passed_on("predict_proba")
    predict_log_proba = _passed_on("predict_log_proba")
    decision_function = _passed_on("decision_function")
    score_samples = _passed_on("score_samples")
    transform = _passed_on("transform")
    inverse_transform = _passed_on("inverse_transform")

    @available_if(_has("transform"))
    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> Any:
        """Fit the estimator on some of the rows, and transform all of them.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            The rows, labelled and unlabelled.
        y : array-like of shape (n,)
            Their labels; the value of `unlabeled` marks unlabelled rows.
        **params : dict
            Metadata for `fit` of the estimator.

        Returns
        -------
        Z : ndarray of shape (n, ...)
            All rows, transformed.
        """
        return self.fit(X, y, **params).transform(X)

    @available_if(_has("score"))
    def score(self, X: ArrayLike, y: ArrayLike, **params: Any) -> float:
        """Return the score of the estimator on the labelled rows.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            The rows.
        y : array-like of shape (n,)
            Their true labels. Unlabelled rows are ignored.
        **params : dict
            Metadata for `score` of the estimator.

        Returns
        -------
        score : float
            The score.
        """
        check_is_fitted(self)
        X, y = indexable(X, y)
        labeled = self._labeled(y)
        params = _check_method_params(X, self._routed("score", params), np.flatnonzero(labeled))
        X = _safe_indexing(X, np.flatnonzero(labeled))
        return self.estimator_.score(X, labels_of(y, labeled), **params)

    def _labeled(self, y: ArrayLike) -> NDArray[np.bool_]:
        labeled = ~is_unlabeled(y, self.unlabeled)
        if not labeled.any():
            raise ValueError(
                f"{type(self).__name__} needs labelled rows; all {len(labeled)} rows of y are "
                f"marked unlabelled ({self.unlabeled!r})."
            )
        return labeled

    # ---------------------------------------------------------------- what was learnt

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels."""
        return self.estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in `fit`."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features seen in `fit`."""
        return self.estimator_.feature_names_in_

    @available_if(_has("get_feature_names_out"))
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the transformed features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features.

        Returns
        -------
        names : ndarray of str
            The names.
        """
        check_is_fitted(self)
        return self.estimator_.get_feature_names_out(input_features)

    @available_if(_has("set_output"))
    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container of transformed rows, as in scikit-learn.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            The container; None leaves it as it is.

        Returns
        -------
        self : object
            The estimator.
        """
        for estimator in (self.estimator, getattr(self, "estimator_", self.estimator)):
            estimator.set_output(transform=transform)
        return self

    # ---------------------------------------------------------------- scikit-learn's contract

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = copy.deepcopy(get_tags(self.estimator))
        tags.array_api_support = False
        tags.target_tags.required = True
        tags.target_tags.multi_output = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that the methods of the estimator ask for.

        Returns
        -------
        routing : MetadataRouter
            The requests.
        """
        mapping = MethodMapping()
        for name in ("fit", "score", *PASSED_ON):
            if name != NOT_ROUTED:
                mapping.add(caller=name, callee=name)
        mapping.add(caller="fit_transform", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def _routed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the metadata for a method of the estimator; without routing all of it."""
        if not params or not get_config()["enable_metadata_routing"] or method == NOT_ROUTED:
            return params
        return process_routing(self, method, **params).estimator[method]
