"""`EquiVAEClassifier`."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length

from .labels import is_unlabeled, labels_of
from .parameters import with_parameters
from .storage import StorableEstimator


@with_parameters
class EquiVAEClassifier(ClassifierMixin, StorableEstimator):
    """Classifier that learns what the rows of a class have in common, from few labels.

    An invariant representation r of the class and an equivariant representation v
    of what varies within it are learnt together; `predict` goes by the distance of a
    row's invariant representation to those of the classes.

    {parameters}

    See Also
    --------
    EquiVAETransformer : The same model, for use before another estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sk_equivae import EquiVAEClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) % 5 == 0, y, -1)  # 30 labels, 120 rows without
    >>> clf = EquiVAEClassifier(latent_dim=4, random_state=0).fit(X, few)
    >>> clf.classes_
    array([0, 1, 2])
    >>> clf.score(X, y) > 0.9
    True
    >>> clf.transform(X).shape
    (150, 4)
    """

    def decision_function(self, X: ArrayLike) -> NDArray[Any]:
        """Return unnormalised log-probabilities of the classes.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.

        Returns
        -------
        decision : ndarray of shape (n, n_classes), or (n,) with two classes
            With two classes, the logit of the second.
        """
        logits = self._logits(X)
        if logits.shape[1] == 2:
            return logits[:, 1] - logits[:, 0]
        return logits

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.

        Returns
        -------
        y : ndarray of shape (n,)
            Labels.
        """
        codes = self._logits(X).argmax(axis=1)
        return self.classes_[codes]

    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Return the probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.

        Returns
        -------
        p : ndarray of shape (n, n_classes)
            Rows sum to 1.
        """
        return softmax(self._logits(X), axis=1)

    def predict_log_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Return the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.

        Returns
        -------
        log_p : ndarray of shape (n, n_classes)
            The logarithms.
        """
        return log_softmax(self._logits(X), axis=1)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on the rows that are labelled.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.
        y : array-like of shape (n,)
            Rows marked as unlabelled do not count.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The share of rows whose class is predicted.
        """
        y_pred = self.predict(X)
        labeled = ~is_unlabeled(y, self.unlabeled)
        if not labeled.any():
            raise ValueError(
                f"score needs labelled rows; all {len(labeled)} rows of y are marked unlabelled "
                f"({self.unlabeled!r})."
            )
        check_consistent_length(labeled, y_pred, sample_weight)
        weight = None if sample_weight is None else np.asarray(sample_weight)[labeled]
        return accuracy_score(labels_of(y, labeled), y_pred[labeled], sample_weight=weight)

    def _logits(self, X: Any) -> NDArray[np.float64]:
        return self.model_.logits(self._validate_rows(X), self.predict_with)
