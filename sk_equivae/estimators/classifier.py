"""`EquiVAEClassifier`."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length

from .blocks import per_row
from .labels import is_unlabeled, labels_of
from .parameters import with_parameters
from .rejection import is_marked
from .storage import StorableEstimator


@with_parameters
class EquiVAEClassifier(ClassifierMixin, StorableEstimator):
    """Classifier that learns from few labels what the rows of a class have in common.

    The model describes a row x of class y by two representations. r_y, shared by all rows of
    the class, is *invariant*: it is computed from other rows of the class. v is *equivariant*: it
    describes what varies within a class, such as the style of handwriting. In the parameters
    and methods below,

    - f_inv(x) is the invariant representation of a single row; it lies close to r_y;
    - p(y) are the class frequencies, and p(v) = N(0, I) is the prior of v;
    - p(x|r_y,v) is the decoder, which generates rows;
    - q(v|r_y,x) and q(y|x) are the encoders, which infer v and the class of a row.

    By default `predict` returns the class whose r_y is nearest to f_inv(x). Equation numbers
    refer to the paper, Feige (2019), "Invariant-equivariant representation learning for
    multi-class data".

    {parameters}

    See Also
    --------
    EquiVAETransformer : The same model as a transformer, for use in a pipeline.

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

    @per_row
    def decision_function(self, X: ArrayLike) -> NDArray[Any]:
        """Return log-probabilities of the classes, or the logit of the second of two.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.

        Returns
        -------
        decision : ndarray of shape (n, n_classes), or (n,) with two classes
            Log-probabilities, so that the values of one class can be compared between rows, as
            `CalibratedClassifierCV` does; with two classes, the logit of the second class. They
            are those of `predict_proba`, but do not depend on how far a row is from those of
            training; see `novelty_function` for that.
        """
        logits = self._logits(X)
        if logits.shape[1] == 2:
            return logits[:, 1] - logits[:, 0]
        return log_softmax(logits, axis=1)

    @per_row
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.

        Returns
        -------
        y : ndarray of shape (n,)
            The most probable class of each row; with `reject`, `rejected` for rows of no class.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = EquiVAEClassifier(latent_dim=2, max_epochs=10, random_state=0).fit(X, y)
        >>> model.predict(X[:2])
        array([0, 0])
        >>> model.set_params(predict_with="posterior").predict(X[:2])  # by another rule
        array([0, 0])
        """
        rows, model = self._validate_rows(X), self.model_
        codes = model.predict_codes(rows, self.predict_with, reject=self.reject)
        return self._labels(codes)

    @per_row
    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Return the probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.

        Returns
        -------
        p : ndarray of shape (n, n_classes)
            Class probabilities, which sum to 1 in each row. Those of rows far from all that
            were seen in `fit` are close to `class_prior_`, as far as the predicted class
            remains the most probable one.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_equivae import EquiVAEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = EquiVAEClassifier(latent_dim=2, max_epochs=10, random_state=0).fit(X, y)
        >>> p = model.predict_proba(X[:5])
        >>> p.shape, bool((p[:, 0] > 0.5).all())
        ((5, 3), True)
        """
        rows, model = self._validate_rows(X), self.model_
        return model.predict_proba(rows, self.predict_with)

    @per_row
    def predict_log_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Return the log-probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.

        Returns
        -------
        log_p : ndarray of shape (n, n_classes)
            Logarithm of the class probabilities.
        """
        rows, model = self._validate_rows(X), self.model_
        return model.predict_log_proba(rows, self.predict_with)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on the labelled rows.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
            The rows.
        y : array-like of shape (n,)
            The true labels. Unlabelled rows are ignored.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The fraction of rows that are classified correctly. A refused row is an error.
        """
        y_pred = np.asarray(self.predict(X))
        labeled = ~is_unlabeled(y, self.unlabeled)
        if not labeled.any():
            raise ValueError(
                f"score needs labelled rows; all {len(labeled)} rows of y are marked unlabelled "
                f"({self.unlabeled!r})."
            )
        check_consistent_length(labeled, y_pred, sample_weight)
        weight = None if sample_weight is None else np.asarray(sample_weight)[labeled]
        y_true, y_pred = labels_of(y, labeled), y_pred[labeled]
        if self.reject is None:
            return accuracy_score(y_true, y_pred, sample_weight=weight)
        # the marker need not be of the type of the labels
        weight = np.ones(len(y_true)) if weight is None else weight
        kept = ~is_marked(y_pred, self.rejected)
        answered = y_pred[kept].astype(self.classes_.dtype), weight[kept]
        right = accuracy_score(
            y_true[kept], answered[0], normalize=False, sample_weight=answered[1]
        )
        return float(right / weight.sum())

    def _logits(self, X: Any) -> NDArray[np.float64]:
        rows = self._validate_rows(X)
        return self.model_.logits(rows, self.predict_with)
