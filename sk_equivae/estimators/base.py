"""`BaseEquiVAE`: `fit` and `partial_fit` of both estimators."""

import contextlib
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin, _fit_context, is_classifier
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..fitted.model import Codes, FittedModel
from ..fitted.transduction import Found, transduce
from ..training.batches import TrainingRows
from ..training.callbacks import check_callbacks
from ..training.net import EquiVAENet
from ..training.pseudo_labels import Report, unlabeled_share
from ..training.summary import Trained
from ..training.train import Previous, train
from .copying import Copyable
from .going_on import check_can_go_on, fixed_parameters
from .inputs import check_bernoulli, make_spec
from .labels import check_labeled, encode_labels, known_classes
from .lazy import LazyRows
from .mistakes import check_units
from .reading import read_rows
from .rejection import RejectingEstimator, check_marker
from .sources import find_rows
from .tables import check_gaps
from .validating import check_class_weight, read_validation


@contextlib.contextmanager
def _all_or_nothing(estimator: Any) -> Iterator[None]:
    """Restore the attributes of an estimator if anything inside the context raises."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class BaseEquiVAE(TransformerMixin, RejectingEstimator, Copyable):
    """Training of both estimators, and their fitted attributes."""

    # Classes that `fit` needs at least, and whether any column of later rows may have gaps.
    _n_least_classes = 2
    _expects_gaps = False

    model_: FittedModel
    net_: EquiVAENet
    history_: list[dict[str, Any]]
    n_iter_: int
    transduction_: NDArray[Any]
    transduction_proba_: NDArray[np.float32]
    evidence_: Report | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = self.image_shape is None
        tags.input_tags.categorical = self.image_shape is None
        tags.transformer_tags.preserves_dtype = []
        return tags

    # ---------------------------------------------------------------- what was learnt

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, sorted."""
        return self.model_.classes

    @property
    def class_count_(self) -> NDArray[np.float64]:
        """Total weight of the labelled rows per class."""
        return self.model_.class_count

    @property
    def class_prior_(self) -> NDArray[np.float64]:
        """Class frequencies p(y) among the labelled rows."""
        return self.model_.class_prior

    @property
    def prototypes_(self) -> NDArray[np.floating]:
        """The invariant representation r_y of each class."""
        return self.model_.prototypes

    @property
    def v_mean_(self) -> NDArray[np.floating]:
        """Mean of v within each class."""
        return self.model_.v_mean

    @property
    def v_covariance_(self) -> NDArray[np.floating]:
        """Covariance of v within each class."""
        return self.model_.v_covariance

    @property
    def kl_v_(self) -> NDArray[np.floating]:
        """Mean of KL[q(v|r_y,x) || p(v)] per dimension of v, in nats."""
        return self.model_.kl_v

    # ---------------------------------------------------------------- fit

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Train the model.

        Parameters
        ----------
        X : array-like of shape (n, n_features), (n, h, w) or (n, h, w, c)
            The rows, labelled and unlabelled. A memory map, an HDF5 or Zarr array, a Hugging
            Face or PyTorch data set is read a batch at a time; a dask array is first computed
            into a temporary file.
        y : array-like of shape (n,)
            Their labels; the value of `unlabeled` (-1 by default) marks unlabelled rows. May be
            left out if X is a data set that holds them.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows in the objective, the prototypes and p(y). Rows with weight 0
            are ignored.
        X_val : array-like of the shape of X, default=None
            Rows for early stopping, instead of a part of X.
        y_val : array-like of shape (n_val,), default=None
            Their labels, among the classes of y. Unlabelled rows are ignored. May be left out if
            X_val is a data set that holds them.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_equivae import EquiVAEClassifier
        >>> X = np.array([[0.0, 1], [1, 0], [9, 8], [8, 9], [0, 0], [9, 9]])
        >>> y = ["low", "low", "high", "high", None, None]  # None and -1: no label
        >>> model = EquiVAEClassifier(latent_dim=2, max_epochs=50, random_state=0).fit(X, y)
        >>> model.transduction_.tolist()
        ['low', 'low', 'high', 'high', 'low', 'high']
        """
        return self._train(X, y, sample_weight, None, False, X_val, y_val)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Continue training for one epoch on the given rows.

        The first call determines the scaling of the features. The prototype of a class with n
        rows in this call is moved towards these rows, by a fraction `n / (n + m_max)`.

        Parameters
        ----------
        X : array-like of shape (n, n_features), (n, h, w) or (n, h, w, c)
            The rows.
        y : array-like of shape (n,)
            Their labels; the value of `unlabeled` (-1 by default) marks unlabelled rows.
        classes : array-like of shape (n_classes,), default=None
            All classes that can occur in any call. Needed in the first call only; a transformer
            uses the labels of the first y by default.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        first = not hasattr(self, "model_")
        if first and classes is None and is_classifier(self):
            raise ValueError(
                "classes must be passed on the first call to partial_fit: expected all labels "
                "that will ever come, got None."
            )
        if classes is not None:
            classes = known_classes(classes, self.unlabeled)
            if not first and classes.tolist() != self.classes_.tolist():
                raise ValueError(
                    f"classes={classes.tolist()} differ from those of the first call, "
                    f"{self.classes_.tolist()}. Leave `classes` out, or start with a new estimator."
                )
        return self._train(X, y, sample_weight, classes, incremental=True)

    def _train(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any,
        incremental: bool,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Train on X and set the fitted attributes; if anything raises, nothing changes."""
        go_on = hasattr(self, "model_") and (incremental or self.warm_start)
        check_callbacks(self.callbacks)
        for name, off in (("early_stopping", False), ("checkpoint", None)):
            if incremental and getattr(self, name) != off:
                raise ValueError(
                    f"partial_fit trains for one epoch and has no use for {name}; got "
                    f"{name}={getattr(self, name)!r}. Set {name}={off}, or use `fit`."
                )
        check_class_weight(self.class_weight, incremental)
        settings = self._settings()
        previous = None
        if go_on:
            check_can_go_on(self, self.model_, self._trained_with, incremental)
            previous = Previous(self.model_, getattr(self, "net_", None))
            classes = self.classes_
        with _all_or_nothing(self):
            X, codes, classes, data = self._validate_fit(
                X, y, sample_weight, classes, reset=not go_on, incremental=incremental
            )
            valid = read_validation(self, X_val, y_val, data.spec, classes)
            trained = train(data, classes, settings, previous, incremental, valid)
            found = trained.codes, trained.probabilities
            if len(data.X) < len(X):  # rows of weight 0 get a label, but are not trained on
                found = transduce(trained.model, X, codes, self.predict_with, self.reject)
            self._become(trained, found, go_on)
        if trained.checkpoint_error is not None:
            raise OSError(
                f"The checkpoint {self.checkpoint} could not be written "
                f"({trained.checkpoint_error}). The estimator is fitted all the same."
            ) from trained.checkpoint_error
        if trained.net.interrupted:
            # raised although a model was fitted, so that a search or a script ends as well
            raise KeyboardInterrupt(
                f"Training was interrupted after {self.n_iter_} epochs. The estimator keeps what "
                "it had learnt by then; set warm_start=True and call `fit` to go on."
            )
        return self

    def _become(self, trained: Trained, found: Found, go_on: bool) -> None:
        history = self.history_ if go_on else []
        self.model_, self.net_ = trained.model, trained.net
        self._trained_with = fixed_parameters(self, incremental=True)
        self.evidence_ = trained.report
        rows = trained.net.take_history()
        if trained.report is not None:
            share = unlabeled_share(trained.report)
            rows = [{**row, "unlabeled_share": share} for row in rows]
        self.history_ = [*history, *rows]
        for epoch, row in enumerate(self.history_, start=1):
            row["epoch"] = epoch
        self.n_iter_ = len(self.history_)
        self.transduction_ = self._labels(found[0])
        self.transduction_proba_ = found[1]

    # ---------------------------------------------------------------- validation

    def _validate_fit(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, reset: bool, incremental: bool
    ) -> tuple[NDArray[Any], Codes, NDArray[Any], TrainingRows]:
        """Return X, codes, classes, and the rows to train on."""
        rows = find_rows(X)
        if rows is not None:
            X, y = rows, rows.labels() if y is None and rows.labels is not None else y
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target "
                "y is None. It learns what the rows of a class have in common: pass y with a few "
                f"labels per class, and the marker unlabeled={self.unlabeled!r} for all other "
                "rows. If no row has a label, use an unsupervised method such as PCA, or "
                "EquiVAEImputer to fill in missing values."
            )
        spec = None if reset else self.model_.rows
        n_rows = 1 if incremental else 2
        X, array_shape, columns = read_rows(self, X, spec, ensure_min_samples=n_rows)
        codes, classes = encode_labels(y, self.unlabeled, classes)
        check_marker(self.rejected, classes, self.reject)
        if len(codes) != len(X):
            raise ValueError(
                "X and y should have the same number of rows; got "
                f"{len(X)} rows of X and {len(codes)} of y: inconsistent numbers of samples."
            )
        weight = np.broadcast_to(1.0, len(X))  # takes no memory
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        if not weight.any():
            raise ValueError("sample_weight is zero for every sample; expected some above 0.")
        # rows of weight 0 are removed, so that they do not enter the scaling either
        kept = slice(None) if weight.all() else np.flatnonzero(weight)
        n_least = self._n_least_classes if not incremental else int(reset)
        check_labeled(codes[kept], classes, self.unlabeled, n_least, dropped=codes[weight == 0])
        used = X
        if not isinstance(kept, slice):
            used = X.take(kept) if isinstance(X, LazyRows) else X[kept]
        if spec is None:
            columns = None if columns is None else columns.learn(used, self._expects_gaps)
            spec = make_spec(used, array_shape, self.image_shape, self.likelihood, columns)
        else:
            if spec.likelihood == "bernoulli":
                check_bernoulli(used, spec.max_value)
            check_units(used, spec)
        if not reset and not incremental and not isinstance(used, LazyRows):
            check_gaps(used, spec)
        return X, codes, classes, TrainingRows(used, spec, codes[kept], weight[kept])

    def _check_ready(self) -> None:
        """Raise if the estimator is not fitted, or if a parameter is not valid."""
        check_is_fitted(self)
        self._validate_params()

    def _validate_rows(self, X: Any) -> NDArray[Any]:
        """Return flat rows, and raise if they do not match those seen in `fit`."""
        self._check_ready()
        X, _, _ = read_rows(self, X, self.model_.rows)
        check_units(X, self.model_.rows)
        return X
