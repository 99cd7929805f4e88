"""The parameters of both estimators: what they may be, and what they mean."""

import inspect
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

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

_POSITIVE = Interval(Integral, 1, None, closed="left")

CONSTRAINTS: dict[str, Any] = {
    "latent_dim": [_POSITIVE, tuple, list],
    "m_max": [_POSITIVE],
    "image_shape": [None, tuple, list],
    "likelihood": [StrOptions({"auto", "bernoulli", "gaussian"})],
    "unlabeled": "no_validation",
    "predict_with": [StrOptions(set(RULES))],
    "representation": [StrOptions({"invariant", "equivariant", "both"})],
    "objective": [StrOptions(set(OBJECTIVES)), Objective],
    "networks": [StrOptions(set(NETWORKS)), Networks],
    "augment": [None, StrOptions({"auto", *NAMED_AUGMENTS}), callable],
    "max_epochs": [StrOptions({"auto"}), _POSITIVE],
    "batch_size": [Interval(Integral, 2, None, closed="left")],
    "lr": [Interval(Real, 0, None, closed="neither")],
    "early_stopping": ["boolean", StrOptions({"accuracy"})],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [_POSITIVE],
    "callbacks": [None, list],
    "warm_start": ["boolean"],
    "device": [str],
    "dtype": [StrOptions({"float32", "float64"})],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


def new_seed(random_state: Any) -> int:
    """Return a seed; for None from the system, so that numpy's global generator stays."""
    rng = np.random.RandomState() if random_state is None else check_random_state(random_state)
    return int(rng.randint(np.iinfo(np.int32).max))


class Parameters(NestedSettings):
    """The parameters of both estimators, and the text that documents them.

    Parameters
    ----------
    latent_dim : int or (int, int), default=16
        **Start here.** Size of the two representations, or a pair (invariant, equivariant).
        Fewer for a picture of the latent space, more for rows with much variety.

    m_max : int, default=7
        **Start here.** Each row is reconstructed with an r made of m other rows of its class;
        m is drawn from 1, ..., m_max at each step. Lower it if classes have few labelled rows.

    image_shape : tuple, default=None
        **Data.** (h, w) or (h, w, c): rows of a 2-D X are flattened images. X of shape
        (n, h, w) or (n, h, w, c) needs none. Without either, rows are tabular and the networks
        dense.

    likelihood : {"auto", "bernoulli", "gaussian"}, default="auto"
        **Data.** Of the pixels or features. "bernoulli" takes values in [0, 1] or uint8.
        "gaussian" standardises each feature (each channel of images). "auto" is "bernoulli" for
        values in [0, 1] that are nearly binary (like handwriting, unlike photographs), else
        "gaussian".

    unlabeled : object, default=-1
        **Data.** Marks unlabelled rows in y, as None and NaN do. None: every row is labelled,
        and -1 may be a class.

    predict_with : {"prototype", "posterior", "likelihood"}, default="prototype"
        **Answers.** How a row gets its class: softmax(-||f_inv(x) - r_y||^2); q(y|x); or p(y|x)
        by the bound on p(x, y). Can be changed after `fit`.

    representation : {"invariant", "equivariant", "both"}, default="invariant"
        **Answers.** What `transform` returns: f_inv(x), v, or the two side by side. Can be
        changed after `fit`.

    objective : {"auto", "paper"} or Objective, default="auto"
        **Learning.** What training maximises. "paper" is the paper's objective. See `Objective`
        for its fields, which can be set and searched as `objective__label_weight`.

    networks : {"auto", "paper"} or Networks, default="auto"
        **Learning.** Sizes of the networks, or networks of your own. "paper" is the paper's
        Appendix B. See `Networks` for its fields, as `networks__dropout`.

    augment : {"auto", "affine", "swap", None} or callable, default="auto"
        **Learning.** Random changes to what f_inv and q(y|x) see in training. "affine" or a
        `RandomAffine`: small rotations, scalings, shears and shifts of images. "swap" or a
        `SwapFeatures`: features of tabular rows that come from other rows. Any other callable
        takes and returns a batch tensor (n, c, h, w) or (n, n_features). "auto": "affine" for
        images; "swap" for tabular rows if some are unlabelled. Set it to None if the changes
        would turn one class into another.

    max_epochs : int or "auto", default="auto"
        **Learning.** Passes over the data (over the unlabelled rows, if there are any). "auto"
        is 15; more for few rows, until 20,000 have been seen (5,000 of tabular rows that are
        all labelled) or 500 steps have been made; fewer for many, until 500,000 have been seen
        (150,000 if some are unlabelled), at least 2. `partial_fit` is always one pass.

    batch_size : int, default=64
        **Learning.** Rows per batch at the start; `Objective.max_batch_size` says how it grows.

    lr : float, default=3e-3
        **Learning.** Learning rate of Adam. Lower it if training diverges.

    early_stopping : bool or "accuracy", default=False
        **Learning.** Set a part of the labelled rows aside, stop when the objective on it (or
        the accuracy of q(y|x)) has not improved for `n_iter_no_change` epochs, and keep the best
        epoch's weights. For many labels.

    validation_fraction : float, default=0.1
        **Learning.** The part of the labelled rows that is set aside, stratified; at least one
        row per class.

    n_iter_no_change : int, default=10
        **Learning.** Epochs to wait for an improvement.

    callbacks : list, default=None
        **Running.** skorch callbacks, or pairs of a name and a callback.

    warm_start : bool, default=False
        **Running.** Go on from the weights of the last `fit`. Parameters that shape the networks
        cannot change then.

    device : str, default="auto"
        **Running.** Where to compute: "cpu", "cuda", "cuda:1", "mps", ... "auto" takes the best
        there is.

    dtype : {"float32", "float64"}, default="float32"
        **Running.** Of the weights and of all computations.

    random_state : int, RandomState instance or None, default=None
        **Running.** The one seed: of weights, batches and noise. Pass an int for results that
        can be repeated.

    verbose : int, default=0
        **Running.** 1 shows a progress bar, 2 prints a line per epoch as well.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.

    class_count_ : ndarray of shape (n_classes,)
        Total weight of the labelled rows per class.

    class_prior_ : ndarray of shape (n_classes,)
        Relative frequency of the classes among labelled rows, p(y).

    prototypes_ : ndarray of shape (n_classes, n_invariant)
        r_y of each class.

    v_mean_ : ndarray of shape (n_classes, n_equivariant)
        Mean of v within each class.

    v_covariance_ : ndarray of shape (n_classes, n_equivariant, n_equivariant)
        Covariance of v within each class.

    transduction_ : ndarray of shape (n,)
        A label for each training row: its own, or the predicted one.

    history_ : list of dict
        One dict per epoch, with the terms of the objective for training and validation; see
        `sk_equivae.model.bounds` and `sk_equivae.training.terms` for what they mean.
        `pandas.DataFrame(history_)` is a table.

    n_iter_ : int
        Number of epochs.

    n_features_in_ : int
        Number of features of a row; of a flattened image.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had names.

    model_ : FittedModel
        All that is needed after `fit`.

    net_ : skorch.NeuralNetClassifier
        The net that trained. Pickled estimators come back without it.
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
        unlabeled: Any = -1,
        predict_with: str = "prototype",
        representation: str = "invariant",
        objective: Any = "auto",
        networks: Any = "auto",
        augment: Any = "auto",
        max_epochs: Any = "auto",
        batch_size: int = 64,
        lr: float = 3e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        callbacks: list[Any] | None = None,
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
        self.unlabeled = unlabeled
        self.predict_with = predict_with
        self.representation = representation
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
        self.warm_start = warm_start
        self.device = device
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose

    def _settings(self) -> TrainingSettings:
        """Return the parameters that training goes by."""
        params = self.get_params(deep=False)
        self.check()
        objective, networks = self._resolved("objective"), self._resolved("networks")
        params |= {
            "objective": objective,
            "networks": networks,
            "device": resolve_device(self.device, self.dtype),
            "seed": new_seed(self.random_state),
        }
        return TrainingSettings(**{f.name: params[f.name] for f in fields(TrainingSettings)})


Class = TypeVar("Class", bound=type)


def with_parameters(cls: Class) -> Class:
    """Put the text of `Parameters` in the place of `{parameters}` in a class docstring."""
    text = inspect.cleandoc(Parameters.__doc__ or "")
    text = text[text.index("Parameters\n---") :].replace("\n", "\n    ").replace("    \n", "\n")
    cls.__doc__ = (cls.__doc__ or "").replace("{parameters}", text)
    return cls
