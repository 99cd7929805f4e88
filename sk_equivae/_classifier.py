"""`EquiVAEClassifier`."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length

from ._base import BaseEquiVAE
from ._labels import is_unlabeled, labels_of
from ._parameters import with_parameters
from ._prediction import RULES


@with_parameters
class EquiVAEClassifier(ClassifierMixin, BaseEquiVAE):
    """Classifier that learns what the rows of a class have in common, from few labels.

    An invariant representation r of the class and an equivariant representation v
    of what varies within it are learnt together; `predict` goes by the distance of a
    row's invariant representation to those of the classes.

    {parameters}

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

    _parameter_constraints: ClassVar[dict] = {
        **BaseEquiVAE._parameter_constraints,
        "predict_with": [StrOptions(set(RULES))],
    }

    def __init__(
        self,
        latent_dim=16,
        m_max=7,
        *,
        image_shape=None,
        likelihood="auto",
        representation="invariant",
        predict_with="prototype",
        unlabeled=-1,
        max_epochs="auto",
        batch_size=64,
        max_batch_size="auto",
        lr=3e-3,
        lr_decay="cosine",
        kl_warmup="auto",
        ema_decay=0.99,
        gradient_clip=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        augment="auto",
        complement_pool="confident",
        confidence=0.8,
        distribution_alignment=True,
        label_spreading=True,
        class_threshold=0.01,
        labeled_share="auto",
        label_weight=1.0,
        consistency_weight=1.0,
        prototype_weight="auto",
        batch_norm=True,
        invariant_body=None,
        equivariant_body=None,
        posterior_body=None,
        decoder=None,
        device="auto",
        dtype="float32",
        amp="auto",
        compile=False,
        callbacks=None,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        super().__init__(
            latent_dim=latent_dim,
            m_max=m_max,
            image_shape=image_shape,
            likelihood=likelihood,
            representation=representation,
            unlabeled=unlabeled,
            max_epochs=max_epochs,
            batch_size=batch_size,
            max_batch_size=max_batch_size,
            lr=lr,
            lr_decay=lr_decay,
            kl_warmup=kl_warmup,
            ema_decay=ema_decay,
            gradient_clip=gradient_clip,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            augment=augment,
            complement_pool=complement_pool,
            confidence=confidence,
            distribution_alignment=distribution_alignment,
            label_spreading=label_spreading,
            class_threshold=class_threshold,
            labeled_share=labeled_share,
            label_weight=label_weight,
            consistency_weight=consistency_weight,
            prototype_weight=prototype_weight,
            batch_norm=batch_norm,
            invariant_body=invariant_body,
            equivariant_body=equivariant_body,
            posterior_body=posterior_body,
            decoder=decoder,
            device=device,
            dtype=dtype,
            amp=amp,
            compile=compile,
            callbacks=callbacks,
            warm_start=warm_start,
            random_state=random_state,
            verbose=verbose,
        )
        self.predict_with = predict_with

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Unnormalised log-probabilities of the classes.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`

        Returns
        -------
        decision : ndarray of shape (n, n_classes), or (n,) with two classes
            With two classes, the logit of the second.
        """
        logits = self._logits(X)
        if logits.shape[1] == 2:
            return logits[:, 1] - logits[:, 0]
        return logits

    def predict(self, X: ArrayLike) -> NDArray:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`

        Returns
        -------
        y : ndarray of shape (n,)
        """
        codes = self._logits(X).argmax(axis=1)
        return self.classes_[codes]

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`

        Returns
        -------
        p : ndarray of shape (n, n_classes)
        """
        return softmax(self._logits(X), axis=1)

    def predict_log_proba(self, X: ArrayLike) -> NDArray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`

        Returns
        -------
        log_p : ndarray of shape (n, n_classes)
        """
        return log_softmax(self._logits(X), axis=1)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on the rows that are labelled.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`
        y : array-like of shape (n,)
            Rows marked as unlabelled do not count.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        score : float
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

    def _logits(self, X: Any) -> NDArray:
        return self._map(self._class_logits, self._rows(X))
