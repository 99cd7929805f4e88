"""The parameters of both estimators, and what they may be; see `documentation` for the text."""

from dataclasses import fields
from numbers import Integral, Real
from typing import Any, ClassVar

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
    "early_stopping": ["boolean"],
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
    """The parameters of both estimators."""

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
        objective, networks = self._resolved("objective"), self._resolved("networks")
        objective.check()
        networks.check()
        params |= {
            "objective": objective,
            "networks": networks,
            "device": resolve_device(self.device, self.dtype),
            "seed": new_seed(self.random_state),
        }
        return TrainingSettings(**{f.name: params[f.name] for f in fields(TrainingSettings)})
