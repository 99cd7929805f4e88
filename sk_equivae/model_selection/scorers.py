"""Scorers for data with unlabelled rows."""

import copy
import inspect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _check_method_params, check_consistent_length

from ..estimators.labels import UNLABELED
from .splitter import labeled_rows


def labeled_scorer(scoring: Any, *, unlabeled: Any = UNLABELED) -> "LabeledScorer":
    """Make a scorer that leaves unlabelled rows out.

    A plain scorer takes the marker of unlabelled rows for a class, which no prediction matches.

    Parameters
    ----------
    scoring : str, callable, list, tuple or dict
        A scorer, as for `GridSearchCV`: a name such as "accuracy", a callable
        `scorer(estimator, X, y)`, or several of them, which give a dict of scores.
    unlabeled : object, default=-1
        The value of y that marks unlabelled rows, as in the estimators.

    Returns
    -------
    scorer : callable
        A function `scorer(estimator, X, y)` for the parameter `scoring`.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.metrics import get_scorer
    >>> from sk_equivae.model_selection import labeled_scorer
    >>> X, y = [[0], [1], [2], [3]], [1, 1, -1, -1]
    >>> model = DummyClassifier(strategy="constant", constant=1).fit(X, y)
    >>> get_scorer("accuracy")(model, X, y), labeled_scorer("accuracy")(model, X, y)
    (0.5, 1.0)
    """
    if scoring is None:
        raise ValueError(
            "scoring should be a name, a scorer or several of them; got None. The estimators of "
            "this package leave unlabelled rows out of their own `score`: pass scoring=None to "
            "the search itself."
        )
    return LabeledScorer(check_scoring(scoring=scoring), unlabeled)


class LabeledScorer:
    """A scorer of the labelled rows; see `labeled_scorer`.

    Parameters
    ----------
    scorer : callable
        The scorer of scikit-learn.
    unlabeled : object
        The value of y that marks unlabelled rows.
    """

    def __init__(self, scorer: Any, unlabeled: Any):
        self.scorer = scorer
        self.unlabeled = unlabeled

    def __repr__(self) -> str:
        return f"labeled_scorer({self.scorer!r}, unlabeled={self.unlabeled!r})"

    def __call__(self, estimator: Any, X: ArrayLike, y: ArrayLike, **params: Any) -> Any:
        """Score the labelled rows.

        Parameters
        ----------
        estimator : object
            The fitted estimator.
        X : array-like of shape (n, ...)
            The rows.
        y : array-like of shape (n,)
            Their labels.
        **params : dict
            Metadata of the scorer, such as `sample_weight`, with one value per row.

        Returns
        -------
        score : float or dict of str to float
            The score, or one for each of several scorers.
        """
        check_consistent_length(X, y)
        rows, _, labels = labeled_rows(y, self.unlabeled)
        params = _check_method_params(X, params, indices=rows)
        scorer = _with_classes(self.scorer, estimator)
        try:
            return scorer(estimator, _safe_indexing(X, rows), labels, **params)
        except (TypeError, ValueError) as error:
            marker = getattr(estimator, "rejected", None)
            is_other_type = np.asarray(marker).dtype.kind != np.asarray(labels.tolist()).dtype.kind
            if getattr(estimator, "reject", None) is None or not is_other_type:
                raise
            raise TypeError(
                f"{self.scorer!r} cannot compare labels with rejected={marker!r}, which marks "
                "refused rows and is of another type. Set `rejected` to a value of the type of the "
                "labels that is no class, or reject=None."
            ) from error

    # ---------------------------------------------------------------- metadata routing

    def get_metadata_routing(self) -> Any:
        """Return the metadata that the scorer asks for.

        Returns
        -------
        routing : MetadataRequest or MetadataRouter
            The request.
        """
        return get_routing_for_object(self.scorer)

    def set_score_request(self, **requests: Any) -> "LabeledScorer":
        """Ask for metadata, as in scikit-learn's own scorers.

        Parameters
        ----------
        **requests : dict
            The names of the metadata, and True, False, None or an alias.

        Returns
        -------
        self : LabeledScorer
            The scorer.
        """
        self.scorer.set_score_request(**requests)
        return self

    def _accept_sample_weight(self) -> bool:
        """Tell scikit-learn whether weights may be passed while routing is disabled."""
        accepts = getattr(self.scorer, "_accept_sample_weight", None)
        return bool(accepts()) if accepts is not None else False


def _with_classes(scorer: Any, estimator: Any) -> Any:
    """Return a scorer of probabilities that knows all classes of the estimator.

    Few labelled rows may lack a class, and a loss of probabilities has to know which one.
    """
    if hasattr(scorer, "_scorers"):  # several
        scorer = copy.copy(scorer)
        named = scorer._scorers.items()
        scorer._scorers = {name: _with_classes(one, estimator) for name, one in named}
        return scorer
    method, function = (
        getattr(scorer, f"_{name}", None) for name in ("response_method", "score_func")
    )
    if function is None or method == "predict" or not hasattr(estimator, "classes_"):
        return scorer
    if "labels" not in inspect.signature(function).parameters or "labels" in scorer._kwargs:
        return scorer
    scorer = copy.copy(scorer)
    scorer._kwargs = {**scorer._kwargs, "labels": estimator.classes_}
    return scorer


def held_out_bound(estimator: Any, X: ArrayLike, y: Any = None, sample_weight: Any = None) -> float:
    """Score an estimator without labels, by the bound on log p(x) of held-out rows.

    It tells how well the model describes rows, not how well it classifies. Compare only models of
    the same `likelihood`.

    Parameters
    ----------
    estimator : object
        A fitted estimator with `score_samples`, or a pipeline that ends in one.
    X : array-like of shape (n, ...)
        The rows.
    y : object
        Ignored; here for compatibility with scorers.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    bound : float
        The mean of `score_samples`, in nats per row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sk_equivae import EquiVAEClassifier
    >>> from sk_equivae.model_selection import held_out_bound
    >>> model = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0)
    >>> scores = cross_val_score(model, *load_iris(return_X_y=True), scoring=held_out_bound, cv=2)
    >>> scores.shape
    (2,)
    """
    return float(np.average(estimator.score_samples(X), weights=sample_weight))
