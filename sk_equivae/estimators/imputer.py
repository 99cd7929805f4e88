"""`EquiVAEImputer`: the model as a transformer that fills in missing values."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, _fit_context
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from ..training.settings import Networks, Objective
from .frames import frame_library
from .parameters import CONSTRAINTS
from .transformer import EquiVAETransformer

# Chosen on tables with values removed at random. With a weight of 1, v tells too little of a row.
KL_WEIGHT, HIDDEN_FRACTION = 0.02, 0.35
# Twice the usual width, and a scale that is small enough for columns that follow from others.
NETWORKS: dict[str, Any] = {"dense": 256, "hidden": (256, 128), "min_scale": 0.02}
# Small tables are learnt by heart if they are passed over more often; large ones are learnt
# before they have been passed over as often.
MAX_EPOCHS, MAX_ROWS_SEEN = 300, 200_000


class _Model(EquiVAETransformer):
    """The model of an imputer: one class is enough, and any column may have missing values."""

    _n_least_classes = 1
    _expects_gaps = True

    def save(self, path: Any) -> None:
        """Write the model to a file, from which `load` makes an `EquiVAETransformer`.

        Parameters
        ----------
        path : path-like
            The file.
        """
        usual = EquiVAETransformer()
        usual.__dict__.update(self.__dict__)
        usual.save(path)


class EquiVAEImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Transformer that fills in the missing values of a table.

    It trains the model of `EquiVAEClassifier` for this purpose: a part of the values is hidden from
    the encoder in training, and v may tell more of a row than in the paper. Numbers are replaced
    by expected ones, categories by the most probable ones; see `EquiVAEClassifier.impute`.

    Parameters
    ----------
    use_labels : bool, default=False
        Whether to use y in `fit`, so that rows of a class have an r_y in common. By default y is
        ignored, as by the imputers of scikit-learn, and all rows are of one class.

    latent_dim : int or (int, int), default=16
        Number of dimensions of r_y and v, or a pair for the two.

    categorical_features : array-like or None, default="from_dtype"
        The categorical columns; see `EquiVAEClassifier`.

    unlabeled : object, default=-1
        The value of y that marks unlabelled rows, if labels are used.

    networks : {"auto", "paper"} or Networks, default="auto"
        Sizes of the networks; see `Networks`. "auto" is twice the usual width here.

    max_epochs : int or "auto", default="auto"
        Number of passes over the rows. "auto" is 300, or less so that at most 200,000 rows are
        seen, but at least 2.

    batch_size : int, default=64
        Rows per batch.

    lr : float, default=3e-3
        Learning rate of Adam.

    device : str, default="auto"
        Device to compute on; "auto" is the best available one.

    random_state : int, RandomState instance or None, default=None
        Determines initial weights, batches and random numbers.

    verbose : int, default=0
        With 1 show a progress bar; with 2 also print a line per epoch: the bound
        per row, and the accuracy of q(y|x) on labelled rows (of validation rows if there are any).

    Attributes
    ----------
    estimator_ : EquiVAETransformer
        The fitted model, with `impute(X, n_draws=5)` for multiple imputation, `sample`,
        `score_samples` and others. `load` reads what its `save` has written as an
        `EquiVAETransformer`, whose `impute` gives the same values.

    n_features_in_ : int
        Number of columns.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; only if X had names that are all strings.

    See Also
    --------
    EquiVAEClassifier : Has a method `impute` too, and predicts rows with missing values as they
        are. It needs no imputer before it.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_equivae import EquiVAEImputer
    >>> rng = np.random.RandomState(0)
    >>> a = rng.randn(200)
    >>> X = np.stack([a, 2 * a + 0.1 * rng.randn(200), -a], axis=1)
    >>> gaps = X.copy()
    >>> gaps[::5, 1] = np.nan
    >>> filled = EquiVAEImputer(latent_dim=2, max_epochs=60, random_state=0).fit_transform(gaps)
    >>> bool(np.abs(filled - X)[::5, 1].mean() < 0.5)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "use_labels": ["boolean"],
        **{
            name: CONSTRAINTS[name]
            for name in (
                "latent_dim", "categorical_features", "unlabeled", "networks", "max_epochs",
                "batch_size", "lr", "device", "random_state", "verbose",
            )
        },
    }  # fmt: skip

    estimator_: EquiVAETransformer

    def __init__(
        self,
        use_labels: bool = False,
        *,
        latent_dim: Any = 16,
        categorical_features: Any = "from_dtype",
        unlabeled: Any = -1,
        networks: Any = "auto",
        max_epochs: Any = "auto",
        batch_size: int = 64,
        lr: float = 3e-3,
        device: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.use_labels = use_labels
        self.latent_dim = latent_dim
        self.categorical_features = categorical_features
        self.unlabeled = unlabeled
        self.networks = networks
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Train the model.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows, with or without missing values.
        y : array-like of shape (n,), default=None
            Their labels, if `use_labels` is True; else ignored.

        Returns
        -------
        self : object
            The fitted imputer.
        """
        frame_library(X)  # raises for a lazy frame
        shape = getattr(X, "shape", ())
        if len(shape) > 2:
            raise ValueError(
                f"EquiVAEImputer expects a table of shape (n, n_features); got X of shape {shape}."
            )
        if self.use_labels and y is None:
            raise ValueError(
                "EquiVAEImputer with use_labels=True expects y; got None. Pass labels, with -1 "
                "for unlabelled rows, or set use_labels=False."
            )
        params = self.get_params(deep=False)
        del params["use_labels"]
        n_epochs = self.max_epochs
        if n_epochs == "auto":
            n_epochs = max(2, min(MAX_EPOCHS, MAX_ROWS_SEEN // max(1, _num_samples(X))))
        params |= {"max_epochs": n_epochs, "objective": self._objective()}
        if not self.use_labels:
            params["unlabeled"] = None
        if isinstance(self.networks, str) and self.networks == "auto":
            params["networks"] = Networks(**NETWORKS)
        model = _Model(**params)
        model.fit(X, y if self.use_labels else np.zeros(_num_samples(X), dtype=int))
        validate_data(self, X, skip_check_array=True)
        self.estimator_ = model
        return self

    def _objective(self) -> Objective:
        """Return the objective; without labels the terms that teach classes are left out."""
        objective = Objective(kl_weight=KL_WEIGHT, hidden_fraction=HIDDEN_FRACTION)
        if self.use_labels:
            return objective
        return objective.set_params(
            label_weight=0.0, prototype_weight=0.0, consistency_weight=0.0, alignment=None,
            graph=None, discriminant=None,
        )  # fmt: skip

    def transform(self, X: ArrayLike) -> Any:
        """Fill in missing values.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.

        Returns
        -------
        X : array-like of shape (n, n_features)
            The rows without missing values, as a frame if X is one. Observed values are those of
            X. A column that had no value in `fit` stays missing.
        """
        check_is_fitted(self)
        frame_library(X)  # raises for a lazy frame
        if len(getattr(X, "shape", (0, 0))) == 2:  # else the model says what is wrong
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.estimator_.impute(X)
