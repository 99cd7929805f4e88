"""Checks that parameters did not change where training continues from an earlier fit."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..fitted.model import FittedModel
from ..training.settings import n_latents
from .parameters import Parameters

# Parameters that determine the networks, besides `networks` and `objective.teacher_decay`.
SHAPE_NETWORKS = ("image_shape", "likelihood", "categorical_features", "dtype")
# Fields of `networks` that may change.
RUNNING = ("amp", "compile")
# Parameters of `fit` that `partial_fit` does not use.
WHOLE_TRAINING = ("max_epochs", "validation_fraction", "n_iter_no_change", "random_state")
WHOLE_OBJECTIVE = (
    "kl_warmup", "lr_warmup", "lr_decay", "max_batch_size", "graph", "discriminant", "experts",
)  # fmt: skip


def fixed_parameters(estimator: Parameters, incremental: bool) -> dict[str, Any]:
    """Return the parameters that must not change when training continues.

    Parameters
    ----------
    estimator : Parameters
        The estimator.
    incremental : bool
        Whether training continues by `partial_fit`, or else by a warm start.

    Returns
    -------
    fixed : dict of str to object
        The names and values of these parameters.
    """
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
    """Return whether two values differ; settings are compared by their fields."""
    if isinstance(a, BaseEstimator) and isinstance(b, BaseEstimator):
        return repr(a) != repr(b)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return not np.array_equal(a, b)
    if isinstance(a, np.random.RandomState) and isinstance(b, np.random.RandomState):
        return False  # one that was stored and read is another object
    return a is not b and bool(a != b)


def check_can_go_on(
    estimator: Parameters, model: FittedModel, trained_with: dict[str, Any], incremental: bool
) -> None:
    """Raise if a parameter changed that would have no effect, or if classes were added.

    Parameters
    ----------
    estimator : Parameters
        The estimator.
    model : FittedModel
        Its fitted model.
    trained_with : dict of str to object
        The result of `fixed_parameters` at the time of the last training.
    incremental : bool
        Whether training continues by `partial_fit`, or else by a warm start.
    """
    how, remedy = "warm_start=True", "set warm_start=False"
    if incremental:
        how, remedy = "partial_fit", "call `fit`"
    for name, value in fixed_parameters(estimator, incremental).items():
        # a model of an older version may have been trained without the parameter
        if _differ(trained_with.get(name, value), value):
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
