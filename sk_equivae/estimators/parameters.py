"""The parameters of both estimators: their meaning and their valid values."""

import inspect
from dataclasses import fields
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ..model.rules import RULES
from ..training.augment import NAMED_AUGMENTS
from ..training.device import resolve_device
from ..training.settings import (
    NETWORKS,
    OBJECTIVES,
    NestedSettings,
    Networks,
    Objective,
    TrainingSettings,
)
from ..training.terms import SCORES

_POSITIVE = Interval(Integral, 1, None, closed="left")

CONSTRAINTS: dict[str, Any] = {
    "latent_dim": [_POSITIVE, tuple, list],
    "m_max": [_POSITIVE],
    "image_shape": [None, tuple, list],
    "likelihood": [StrOptions({"auto", "bernoulli", "gaussian"})],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "unlabeled": "no_validation",
    "class_weight": [None, StrOptions({"balanced"}), dict],
    "predict_with": [StrOptions(set(RULES))],
    "representation": [StrOptions({"invariant", "equivariant", "both", "latent"})],
    "reject": [None, Interval(Real, 0, 1, closed="neither")],
    "rejected": "no_validation",
    "objective": [StrOptions(set(OBJECTIVES)), Objective],
    "networks": [StrOptions(set(NETWORKS)), Networks],
    "augment": [None, StrOptions({"auto", *NAMED_AUGMENTS}), callable],
    "max_epochs": [StrOptions({"auto"}), _POSITIVE],
    "batch_size": [Interval(Integral, 2, None, closed="left")],
    "lr": [Interval(Real, 0, None, closed="neither")],
    "early_stopping": ["boolean", StrOptions(set(SCORES))],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [_POSITIVE],
    "callbacks": [None, list],
    "checkpoint": [None, str, PathLike],
    "memory": [None, str, PathLike, HasMethods(["cache"])],
    "warm_start": ["boolean"],
    "device": [str],
    "dtype": [StrOptions({"float32", "float64"})],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


def new_seed(random_state: Any) -> int:
    """Return a seed; for None from the system, without using NumPy's global generator."""
    rng = np.random.RandomState() if random_state is None else check_random_state(random_state)
    return int(rng.randint(np.iinfo(np.int32).max))


class Parameters(NestedSettings):
    """The parameters of both estimators, and their documentation.

    Parameters
    ----------
    latent_dim : int or (int, int), default=16
        **Start here.** Number of dimensions of r_y and v, or a pair for the two. Use 2 to plot
        the latent space, and more than 16 for rows with much variety.

    m_max : int, default=7
        **Start here.** In training r_y is computed from m other rows of the class, and m is
        drawn from 1, ..., m_max in each step. Decrease it if classes have few labelled rows.

    image_shape : tuple, default=None
        **Data.** Shape (h, w) or (h, w, c) of images, if the rows of a 2-D X are flattened
        images. Not needed for X of shape (n, h, w) or (n, h, w, c). Otherwise rows are tabular,
        and the networks have dense layers instead of convolutions.

    likelihood : {"auto", "bernoulli", "gaussian"}, default="auto"
        **Data.** Distribution of a pixel or feature, p(x|r_y,v). "bernoulli" expects values in
        [0, 1] or uint8. "gaussian" standardises each feature, or each channel of images. "auto"
        is "bernoulli" for values that are nearly binary, as in handwriting but not in
        photographs, else "gaussian". In a table with categories or missing values each column
        has its own distribution: categorical for categories and booleans, by "auto" also for
        numbers that are 0 or 1; else "gaussian".

    categorical_features : array-like or None, default="from_dtype"
        **Data.** The categorical columns of a table: a mask, positions or names. "from_dtype"
        takes the columns of a DataFrame that hold categories, strings or booleans. None takes
        none. A column has at most 255 categories; categories that were not in `fit` count as
        missing. Missing values (NaN, None, pandas.NA, null) may be in any column of a table.

    unlabeled : object, default=-1
        **Data.** The value of y that marks unlabelled rows, in addition to None and NaN. With
        None every row must be labelled, and -1 may be a class.

    class_weight : dict, "balanced" or None, default=None
        **Data.** Weights of the classes, which multiply those of the labelled rows in the
        objective. A dict maps labels to weights above 0; other classes have the weight 1.
        "balanced" gives rows of rare classes more weight, `n_labeled / (n_classes * n_y)` for n_y
        labelled rows of class y. Probabilities by distance and by the bound are multiplied by
        these weights too. `class_prior_` stays that of the data, and so do the classes that
        `sample` draws. `partial_fit` does not take "balanced".

    predict_with : {"prototype", "posterior", "likelihood"}, default="prototype"
        **Answers.** How class probabilities are computed: by softmax(-||f_inv(x) - r_y||^2), by
        q(y|x), or from the bound on log p(x, y) (Eq. 4), in which p(v) is replaced by the
        distribution of v within the class unless `Objective(calibrate=False)`. Each is divided by
        its number in `temperature_` before the softmax. Can be changed after `fit`.

    representation : {"invariant", "equivariant", "both", "latent"}, default="invariant"
        **Answers.** What `transform` returns: f_inv(x), v relative to its class, or both side by
        side. Relative to its class, v is distributed in nearly the same way in every class, so
        that it hardly tells the class. "latent" gives r_y and v as the decoder takes them. Can be
        changed after `fit`.

    reject : float in (0, 1) or None, default=None
        **Answers.** If not None, `predict` returns `rejected` for rows that seem to belong to no
        class. The number is the share of rows of known classes that may be lost that way. In
        `fit` it also means that unlabelled rows may be of classes without any label: such rows
        are found, and not taken for other classes. A part of the unlabelled rows is not learnt
        from, to find out which scores are usual. Can be changed after `fit`, but what was
        learnt stays as it is.

    rejected : object, default=-1
        **Answers.** What `predict` and `transduction_` hold for rows that are rejected.

    objective : {"auto", "paper"} or Objective, default="auto"
        **Learning.** The function that training maximises. "paper" is the paper's objective. See
        `Objective` for its fields, which can be set by names such as `objective__label_weight`.

    networks : {"auto", "paper"} or Networks, default="auto"
        **Learning.** Sizes of the networks, or your own networks. "paper" is Appendix B of the
        paper, and "auto" uses residual networks to classify photographs: images of three or more
        channels and at least 16 pixels. See `Networks` for its fields, which can be set by names
        such as `networks__dropout`.

    augment : {"auto", "affine", "photographic", "swap", None} or callable, default="auto"
        **Learning.** Random changes to the inputs of f_inv and q(y|x) in training. "affine" or
        a `RandomAffine` rotates, scales, shears and shifts images. "photographic" or a
        `Photographic` also changes colours, exchanges light and dark, and covers a part. "swap"
        or a `SwapFeatures` replaces features of tabular rows by those of other rows. Any other
        callable takes and returns a batch, a tensor of shape (n, c, h, w) or (n, n_features).
        "auto" is "photographic" for photographs and "affine" for other images, "swap" for
        tabular rows if some are unlabelled, else None. Set it to None if such changes would turn
        one class into another.

    max_epochs : int or "auto", default="auto"
        **Learning.** Number of passes over the data (over the unlabelled rows, if there are any).
        "auto" is 15. For few rows it is more, at most 500, until 20,000 rows have been seen (5,000
        if rows are tabular and all labelled). For many rows it is fewer, at least 2, so that at
        most 500,000 rows are seen (700,000 photographs). Not used by `partial_fit`.

    batch_size : int, default=64
        **Learning.** Rows per batch at the start. It grows up to `Objective.max_batch_size`.

    lr : float, default=3e-3
        **Learning.** Learning rate of Adam. Decrease it if training diverges.

    early_stopping : bool, "accuracy" or "log_loss", default=False
        **Learning.** Set part of the labelled rows aside for validation, or use `X_val` and
        `y_val` of `fit`. Stop when the objective on these rows has not improved for
        `n_iter_no_change` epochs, and restore the weights of the best epoch. "accuracy" and
        "log_loss" go by that score of q(y|x), whatever `predict_with` is, since r_y is known only
        after training. Needs many labels.

    validation_fraction : float, default=0.1
        **Learning.** Fraction of the labelled rows that is set aside for early stopping,
        stratified by class; at least one row per class. Not used with `X_val`.

    n_iter_no_change : int, default=10
        **Learning.** Number of epochs to wait for an improvement in early stopping.

    callbacks : list, default=None
        **Running.** skorch callbacks, or pairs of a name and a callback.

    checkpoint : path-like, default=None
        **Running.** A file for the state of training, written after every epoch and every few
        minutes. If `fit` was stopped, call it again with the same data and parameters: it goes
        on from the file. Not for `partial_fit`.

    memory : str, path-like or object with the interface of joblib.Memory, default=None
        **Running.** A folder for what is computed before training from rows, labels and
        `random_state` alone: the graph of neighbours and what follows from it. In a search, only
        the first candidate of each fold computes it. Processes may share the folder. It grows
        until you delete it.

    warm_start : bool, default=False
        **Running.** Start from the weights of the last `fit`. Parameters that determine the
        networks must not change then.

    device : str, default="auto"
        **Running.** Device to compute on: "cpu", "cuda", "cuda:1", "mps", ... "auto" is the best
        available one.

    dtype : {"float32", "float64"}, default="float32"
        **Running.** Dtype of the weights and of computations.

    random_state : int, RandomState instance or None, default=None
        **Running.** Determines initial weights, batches and random numbers. Pass an int for
        reproducible results.

    verbose : int, default=0
        **Running.** With 1 show a progress bar; with 2 also print a line per epoch: the bound
        per row, and the accuracy of q(y|x) on labelled rows (of validation rows if there are any).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.

    class_count_ : ndarray of shape (n_classes,)
        Total weight of the labelled rows per class.

    class_prior_ : ndarray of shape (n_classes,)
        Class frequencies p(y) among the labelled rows.

    prototypes_ : ndarray of shape (n_classes, n_invariant)
        The invariant representation r_y of each class.

    v_mean_ : ndarray of shape (n_classes, n_equivariant)
        Mean of v within each class.

    v_covariance_ : ndarray of shape (n_classes, n_equivariant, n_equivariant)
        Covariance of v within each class.

    kl_v_ : ndarray of shape (n_equivariant,)
        Mean of KL[q(v|r_y,x) || p(v)] per dimension of v, in nats. The model uses dimensions
        above about 0.2 nats. `history_` has it for each epoch.

    transduction_ : ndarray of shape (n,)
        One label per training row: the given one, or the predicted one for unlabelled rows. With
        `reject`, unlabelled rows of no class are marked by `rejected`. Not available after `load`.

    transduction_proba_ : ndarray of shape (n, n_classes)
        Class probabilities of the training rows; those of labelled rows are 0 and 1. Those of
        millions of rows are in a temporary file. Not available after `load`.

    temperature_ : dict of str to float
        For each rule of `predict_with`, the number that unnormalised log-probabilities are divided
        by. See `Objective.calibrate`.

    offset_ : float
        The score below which `predict` rejects a row; see `novelty_function`.

    evidence_ : dict of dict or None
        What was found out about the unlabelled rows of a table before training. For each
        opinion: its `weight`, whether it learns `from_labels` alone, and its `accuracy` and
        `log_loss` on held-out labels. If unlabelled rows were of no use, all opinions that use
        them have the weight 0, and `unlabeled_share` is 0 in `history_`. None for images and
        if all rows are labelled. Not available after `load`.

    history_ : list of dict
        One dict per epoch, with the terms of the objective for training and validation, and
        accuracy and log-loss of q(y|x) on the labelled rows. They are described in
        `sk_equivae.model.bounds` and `sk_equivae.training.terms`. Use
        `pandas.DataFrame(history_)` for a table.

    n_iter_ : int
        Number of epochs of training.

    n_features_in_ : int
        Number of features of a row, or of a flattened image.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only if X had feature names that are all strings.

    model_ : FittedModel
        The trained networks, and everything else that is needed after `fit`.

    net_ : skorch.NeuralNetClassifier
        The skorch net that was trained. Not available after unpickling or `load`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS
    _named_settings: ClassVar = {
        "objective": OBJECTIVES,
        "networks": NETWORKS,
        "augment": NAMED_AUGMENTS,
    }

    def __init__(
        self,
        latent_dim: Any = 16,
        m_max: int = 7,
        *,
        image_shape: Any = None,
        likelihood: str = "auto",
        categorical_features: Any = "from_dtype",
        unlabeled: Any = -1,
        class_weight: Any = None,
        predict_with: str = "prototype",
        representation: str = "invariant",
        reject: float | None = None,
        rejected: Any = -1,
        objective: Any = "auto",
        networks: Any = "auto",
        augment: Any = "auto",
        max_epochs: Any = "auto",
        batch_size: int = 64,
        lr: float = 3e-3,
        early_stopping: Any = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        callbacks: list[Any] | None = None,
        checkpoint: Any = None,
        memory: Any = None,
        warm_start: bool = False,
        device: str = "auto",
        dtype: str = "float32",
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.latent_dim = latent_dim
        self.m_max = m_max
        self.image_shape = image_shape
        self.likelihood = likelihood
        self.categorical_features = categorical_features
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.predict_with = predict_with
        self.representation = representation
        self.reject = reject
        self.rejected = rejected
        self.objective = objective
        self.networks = networks
        self.augment = augment
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.memory = memory
        self.warm_start = warm_start
        self.device = device
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose

    def _settings(self) -> TrainingSettings:
        """Return the parameters that training uses, checked and resolved."""
        params = self.get_params(deep=False)
        self._check()
        objective, networks = self._resolved("objective"), self._resolved("networks")
        params |= {
            "objective": objective,
            "networks": networks,
            "device": resolve_device(self.device, self.dtype),
            "seed": new_seed(self.random_state),
            "free_seed": self.random_state is None,
        }
        return TrainingSettings(**{f.name: params[f.name] for f in fields(TrainingSettings)})


Class = TypeVar("Class", bound=type)


def with_parameters(cls: Class) -> Class:
    """Replace `{parameters}` in a class docstring by the text of `Parameters`."""
    text = inspect.cleandoc(Parameters.__doc__ or "")
    text = text[text.index("Parameters\n---") :].replace("\n", "\n    ").replace("    \n", "\n")
    cls.__doc__ = (cls.__doc__ or "").replace("{parameters}", text)
    return cls
