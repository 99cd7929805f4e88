"""`BaseEquiVAE`: parameters, validation and training of both estimators."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context, is_classifier
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import Tensor

from ._batches import OrderedBatches, RowDataset
from ._device import to_device
from ._generation import GenerationMixin
from ._inputs import DTYPES, flatten, make_spec, no_strings
from ._labels import check_labeled, encode_labels, known_classes
from ._module import EquiVAEModule
from ._net import check_callbacks
from ._parameters import CONSTRAINTS
from ._prediction import class_logits
from ._styles import prior_moments
from ._training import INFERENCE_BATCH, class_means, style_moments, train


@contextlib.contextmanager
def _all_or_nothing(estimator: Any) -> Iterator[None]:
    """Put an estimator's attributes back to what they were if anything goes wrong inside."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class BaseEquiVAE(GenerationMixin, TransformerMixin, BaseEstimator):
    """What the classifier and the transformer share."""

    _parameter_constraints: ClassVar[dict] = CONSTRAINTS

    def __init__(
        self,
        latent_dim=16,
        m_max=7,
        *,
        image_shape=None,
        likelihood="auto",
        representation="invariant",
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
        self.latent_dim = latent_dim
        self.m_max = m_max
        self.image_shape = image_shape
        self.likelihood = likelihood
        self.representation = representation
        self.unlabeled = unlabeled
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.max_batch_size = max_batch_size
        self.lr = lr
        self.lr_decay = lr_decay
        self.kl_warmup = kl_warmup
        self.ema_decay = ema_decay
        self.gradient_clip = gradient_clip
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.augment = augment
        self.complement_pool = complement_pool
        self.confidence = confidence
        self.distribution_alignment = distribution_alignment
        self.label_spreading = label_spreading
        self.class_threshold = class_threshold
        self.labeled_share = labeled_share
        self.label_weight = label_weight
        self.consistency_weight = consistency_weight
        self.prototype_weight = prototype_weight
        self.batch_norm = batch_norm
        self.invariant_body = invariant_body
        self.equivariant_body = equivariant_body
        self.posterior_body = posterior_body
        self.decoder = decoder
        self.device = device
        self.dtype = dtype
        self.amp = amp
        self.compile = compile
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    history_: list[dict[str, Any]]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    # ---------------------------------------------------------------- fit

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None):
        """Train the model.

        Parameters
        ----------
        X : array-like of shape (n, n_features), (n, h, w) or (n, h, w, c)
            The rows, labelled and unlabelled.
        y : array-like of shape (n,)
            Their labels; `unlabeled` (-1) marks rows that have none.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows in the objective, in the prototypes and in p(y); rows of
            weight 0 are left out.

        Returns
        -------
        self : object
        """
        go_on = self.warm_start and hasattr(self, "net_")
        known = self.classes_ if go_on else None
        with _all_or_nothing(self):
            self._fit(*self._validate_fit(X, y, sample_weight, known, reset=not go_on))
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ):
        """Train for one epoch on these rows, from where training stands.

        The scaling of the features is that of the first call. Prototypes move
        towards the rows of this call: all the way for a class with many rows here,
        `n / (n + m_max)` of it for a class with n.

        Parameters
        ----------
        X, y, sample_weight : see `fit`
        classes : array-like of shape (n_classes,)
            All classes that will ever come; needed at the first call only. A transformer
            takes those of the first y without it.

        Returns
        -------
        self : object
        """
        first = not hasattr(self, "net_")
        if first and classes is None and is_classifier(self):
            raise ValueError(
                "classes must be passed on the first call to partial_fit: expected all labels "
                "that will ever come, got None."
            )
        if classes is not None:
            classes = known_classes(classes, self.unlabeled)
        if not first and classes is not None and classes.tolist() != self.classes_.tolist():
            raise ValueError(
                f"classes={classes.tolist()} differ from those of the first call, "
                f"{self.classes_.tolist()}. Leave `classes` out, or start with a new estimator."
            )
        known = classes if first else self.classes_
        with _all_or_nothing(self):
            validated = self._validate_fit(X, y, sample_weight, known, first, incremental=True)
            self._fit(*validated, incremental=True)
        return self

    # ---------------------------------------------------------------- validation

    def _validate_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any,
        reset: bool,
        incremental: bool = False,
    ) -> tuple[NDArray, NDArray, NDArray, RowDataset]:
        """X, codes and classes, and the rows to train on: those of a weight above 0."""
        if not reset:
            self._check_can_go_on()
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target "
                "y is None. Expected labels, with -1 for unlabelled rows."
            )
        check_callbacks(self.callbacks)
        X, array_shape = self._validate_array(X, reset, ensure_min_samples=2)
        codes, classes = encode_labels(y, self.unlabeled, classes)
        if len(codes) != len(X):
            raise ValueError(
                f"X and y should have one row each for each sample; got {len(X)} rows of X and "
                f"{len(codes)} of y: inconsistent numbers of samples."
            )
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight is zero for every sample; expected some above 0.")
        # Taken out rather than passed over: they must not enter the scaling either.
        kept = slice(None) if weight.all() else np.flatnonzero(weight)
        n_least = 2 if not incremental else int(reset)
        check_labeled(codes[kept], classes, self.unlabeled, n_least)
        if reset:
            self._spec = make_spec(X[kept], array_shape, self.image_shape, self.likelihood)
        else:
            self._spec.check_values(X[kept])
        data = RowDataset(X[kept], self._spec.input_shape, codes[kept], weight[kept])
        return X, codes, classes, data

    def _validate_array(
        self, X: Any, reset: bool, **checks: Any
    ) -> tuple[NDArray, tuple[int, ...] | None]:
        """Flat rows, and the shape of a row if X had more than two dimensions."""
        with no_strings():
            X, array_shape = flatten(X)
            if array_shape is not None and not reset:
                self._spec.check_row_shape(array_shape)
            X = validate_data(self, X, dtype=DTYPES, reset=reset, **checks)
        return X, array_shape

    def _validate_rows(self, X: Any) -> NDArray:
        """X at prediction: flat rows, of the shape seen in fit."""
        check_is_fitted(self)
        return self._validate_array(X, reset=False)[0]

    # ---------------------------------------------------------------- training

    def _fit(
        self,
        X: NDArray,
        codes: NDArray,
        classes: NDArray,
        data: RowDataset,
        incremental: bool = False,
    ) -> None:
        """Train a net on `data`, and become it."""
        old = getattr(self, "net_", None) if incremental or self.warm_start else None
        labeled = data.codes >= 0
        count = np.zeros(len(classes))
        np.add.at(count, data.codes[labeled], data.weight[labeled])
        if old is not None and incremental:
            count += self.class_count_
        prior = count / count.sum()
        net = train(self, data, prior, old, incremental)
        gathered = class_means(net, data, self.complement_pool, self.confidence)
        if old is not None and incremental:
            self._class_embeddings = gathered.moved_from(self._class_embeddings, self.m_max)
        else:
            self._class_embeddings = gathered.means

        self.net_ = net
        self.prototypes_ = self._head(self._class_embeddings)
        net.check_finite(self.prototypes_[count > 0])
        self.history_ = [*(self.history_ if old is not None else []), *net.take_history()]
        for epoch, row in enumerate(self.history_, start=1):
            row["epoch"] = epoch
        self.n_iter_ = len(self.history_)
        self.classes_, self.class_count_, self.class_prior_ = classes, count, prior
        self._trained = np.arange(len(classes))
        codes = self._transduce(X, codes)
        self.transduction_ = classes[codes]
        if len(data) < len(X):  # rows of weight 0 are labelled, but nothing is learnt from them
            codes = self._transduce(data.X, data.codes)
        self._learn_styles(data.X, codes, go_on=old is not None and incremental)

    def _head(self, embeddings: Tensor) -> NDArray:
        """r_y of class means (Eq. 2)."""
        module = self._module
        with torch.inference_mode():
            r = module.invariant.head(embeddings.to(module.scale.device, module.scale.dtype))
        return r.cpu().numpy()

    def _transduce(self, X: NDArray, codes: NDArray) -> NDArray:
        """The code of each training row: its own, or the predicted one."""
        codes = codes.copy()
        missing = np.flatnonzero(codes < 0)
        if len(missing):
            data = RowDataset(X, self._spec.input_shape, rows=missing)
            codes[missing] = self._map(self._class_logits, data).argmax(axis=1)
        return codes

    def _learn_styles(self, X: NDArray, codes: NDArray, go_on: bool) -> None:
        """The moments of v within each class."""
        prototypes = self._tensor(np.nan_to_num(self.prototypes_))
        data = RowDataset(X, self._spec.input_shape, codes)
        moments = style_moments(self._module, prototypes, data)
        shape = (len(self.classes_), self._module.n_latents[1])
        old = (self.v_mean_, self.v_covariance_) if go_on else prior_moments(*shape)
        self.v_mean_, self.v_covariance_ = moments.moved_from(old)

    # ---------------------------------------------------------------- inference

    @property
    def _module(self) -> EquiVAEModule:
        return self.net_.module_.predictor.eval()

    def _tensor(self, values: ArrayLike) -> Tensor:
        scale = self._module.scale
        return torch.as_tensor(np.asarray(values), dtype=scale.dtype, device=scale.device)

    def _map(self, function: Callable[[Tensor], Tensor], data: RowDataset) -> NDArray:
        """`function` of the normalised rows, a batch at a time."""
        module = self._module
        values = np.empty(0)
        n_done = 0
        with torch.inference_mode():
            for x, _, _ in OrderedBatches(data, INFERENCE_BATCH):
                x = module.normalize(to_device(x, module.scale))
                part = function(x).cpu().numpy()
                if n_done == 0:  # filled in place: parts put together later would take it twice
                    values = np.empty((len(data), *part.shape[1:]), part.dtype)
                values[n_done : n_done + len(part)] = part
                n_done += len(part)
        return values

    def _class_logits(self, x: Tensor) -> Tensor:
        """Unnormalised log-probabilities of the classes of normalised rows, on the CPU."""
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.class_prior_)
        rule = getattr(self, "predict_with", "prototype")
        r, log_prior = self._tensor(self.prototypes_), self._tensor(log_prior)
        return class_logits(self._module, x, r, log_prior, rule, torch.from_numpy(self._trained))

    def _rows(self, X: Any) -> RowDataset:
        return RowDataset(self._validate_rows(X), self._spec.input_shape)

    def _encode(self, x: Tensor) -> Tensor:
        """v of normalised rows: the mean of q(v | r_y, x) at the predicted class y."""
        r = self._tensor(self.prototypes_)[self._class_logits(x).argmax(dim=1).to(x.device)]
        return self._module.encode(x, r).mean

    def transform(self, X: ArrayLike) -> NDArray:
        """The representation of each row.

        Parameters
        ----------
        X : array-like of the shape seen in `fit`

        Returns
        -------
        Z : ndarray of shape (n, n_components)
            f_inv(x) for `representation="invariant"`; for "equivariant" v, the mean of
            q(v | r_y, x) at the predicted class; for "both" the two side by side.
        """
        data = self._rows(X)
        if self.representation == "invariant":
            return self._map(self._module.f_inv, data)
        if self.representation == "equivariant":
            return self._map(self._encode, data)
        return self._map(lambda x: torch.cat([self._module.f_inv(x), self._encode(x)], dim=1), data)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """Names of the columns of `transform`: r0, r1, ... and v0, v1, ...

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self)
        n_r, n_v = self._module.n_latents
        r, v = [f"r{i}" for i in range(n_r)], [f"v{i}" for i in range(n_v)]
        names = {"invariant": r, "equivariant": v, "both": r + v}[self.representation]
        return np.asarray(names, dtype=object)
