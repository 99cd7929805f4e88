"""Training that goes on from an earlier fit: parameters that cannot change then."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..fitted.model import FittedModel
from ..training.settings import n_latents
from .parameters import Parameters

# Parameters that shape the networks, beside those of `networks` and `objective.teacher_decay`.
SHAPE_NETWORKS = ("image_shape", "likelihood", "dtype")
# Fields of `networks` that do not shape them.
RUNNING = ("amp", "compile")
# Parameters of a whole training, which `partial_fit` does not go by.
WHOLE_TRAINING = ("max_epochs", "validation_fraction", "n_iter_no_change", "random_state")
WHOLE_OBJECTIVE = ("kl_warmup", "lr_decay", "max_batch_size", "graph", "discriminant")


def fixed_parameters(estimator: Parameters, incremental: bool) -> dict[str, Any]:
    """Return the parameters that have no effect in a warm start, or in `partial_fit`."""
    objective, networks = (
        estimator._nested(name).get_params(deep=False) for name in ("objective", "networks")
    )
    names = SHAPE_NETWORKS + (WHOLE_TRAINING if incremental else ())
    fixed = {name: getattr(estimator, name) for name in names}
    fixed["latent_dim"] = n_latents(estimator.latent_dim)
    fixed |= {f"networks__{name}": networks[name] for name in networks if name not in RUNNING}
    names = ("teacher_decay", *(WHOLE_OBJECTIVE if incremental else ()))
    return fixed | {f"objective__{name}": objective[name] for name in names}


def _differ(a: Any, b: Any) -> bool:
    """Return whether two values differ; nested settings are compared by their fields."""
    if isinstance(a, BaseEstimator) and isinstance(b, BaseEstimator):
        return repr(a) != repr(b)
    return a is not b and bool(a != b)


def check_can_go_on(
    estimator: Parameters, model: FittedModel, trained_with: dict[str, Any], incremental: bool
) -> None:
    """Raise if a parameter was changed that has no effect now, or if classes were added."""
    how, remedy = "warm_start=True", "set warm_start=False"
    if incremental:
        how, remedy = "partial_fit", "call `fit`"
    for name, value in fixed_parameters(estimator, incremental).items():
        if _differ(trained_with[name], value):
            raise ValueError(
                f"{how} goes on with the networks and the training of the last fit, where {name} "
                f"was {trained_with[name]!r}; got {value!r}, which would have no effect. Set it "
                f"back, or {remedy} to start anew."
            )
    if len(model.trained) < len(model.classes):
        added = np.delete(model.classes, model.trained).tolist()
        raise ValueError(
            f"Training can go on only with the classes it started with; {added} came by "
            "`add_classes` after it, and q(y | x) has no output for them. Call `fit` with "
            "warm_start=False on rows of all classes."
        )
