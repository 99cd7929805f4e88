"""What the page knows of a fitted model: networks, classes, styles and units."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..display.mosaic import feature_names
from ..fitted.rows import RowSpec
from .layers import Description
from .network import UnknownLayerError, count_weights, describe_network, pack
from .packing import to_base64

# Characters of all weights together. Above it a weight has three characters instead of four.
MAX_CHARACTERS = 1_800_000


class _Embed(nn.Module):
    """Embedding of a row, or for the invariant encoder f_inv(x)."""

    def __init__(self, part: Any, head: bool = False):
        super().__init__()
        self.part, self.head = part, head

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.part.dense(self.part.body(x)))
        return self.part.head(h) if self.head else h


class _PosteriorV(nn.Module):
    """Mean of q(v | r_y, x), and after it its log-variance where the likelihood needs it."""

    def __init__(self, part: Any, variance: bool):
        super().__init__()
        self.part, self.variance = part, variance

    def forward(self, h: Tensor, r: Tensor) -> Tensor:
        part = self.part
        joint = torch.cat([h, F.relu(part.dense_r(r))], dim=1)
        mean = part.mean(F.relu(part.hidden_mean(joint)))
        if not self.variance:
            return mean
        return torch.cat([mean, part.log_variance(F.relu(part.hidden_variance(joint)))], dim=1)


class _Classify(nn.Module):
    """Logits of q(y | x)."""

    def __init__(self, part: Any):
        super().__init__()
        self.part = part

    def forward(self, x: Tensor, f_inv: Tensor) -> Tensor:
        h = torch.cat([F.relu(self.part.dense(self.part.body(x))), f_inv], dim=1)
        for layer in self.part.hidden:
            h = F.relu(layer(h))
        return self.part.output(h)


def _encoders(module: Any, rule: str) -> dict[str, Description]:
    """Describe the networks that the page encodes and classifies with."""
    n_r, _ = module.n_latents
    shape, n_hidden = module.input_shape, module.equivariant.dense.out_features
    networks = {
        "f_inv": describe_network(_Embed(module.invariant, head=True), shape),
        "embed": describe_network(_Embed(module.equivariant), shape),
        "q_v": describe_network(
            _PosteriorV(module.equivariant, rule == "likelihood"), (n_hidden,), (n_r,)
        ),
    }
    if rule == "posterior":
        networks["q_y"] = describe_network(_Classify(module.posterior), shape, (n_r,))
    return networks


def describe_model(estimator: Any) -> Description:
    """Describe a fitted model as `model.js` reads it.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator with a decoder that the page can run.

    Returns
    -------
    model : dict
        Networks, classes, styles and units. If the page cannot run the encoders, "no_encoder"
        says why.
    """
    fitted = estimator.model_
    module, rule = fitted.module, estimator.predict_with
    try:
        decoder = describe_network(module.decoder, *((n,) for n in module.n_latents))
    except UnknownLayerError as error:
        raise ValueError(
            f"explore expects a decoder that the page knows how to run: {error}. Fit with "
            "networks=Networks(decoder=None), or look at the model with `sample`, `interpolate` "
            "and the displays."
        ) from error
    networks, reason = {"decoder": decoder}, None
    # the bound of a table with gaps has terms of its own
    asked, rule = rule, "prototype" if rule == "likelihood" and fitted.rows.layout else rule
    try:
        networks |= _encoders(module, rule)
    except UnknownLayerError as error:
        reason = str(error)
    n_weights = sum(count_weights(network) for network in networks.values())
    n_digits = 4 if 4 * n_weights <= MAX_CHARACTERS else 3
    model: Description = {
        "n_latents": list(module.n_latents),
        "networks": {name: pack(network, n_digits) for name, network in networks.items()},
        "no_encoder": reason,
        "rule": rule,
        "asked_rule": asked,
        "temperature": temperature_of(estimator, rule),
        "prototype_temperature": temperature_of(estimator, "prototype"),
        "log_scale": to_base64(np.log(np.atleast_1d(module.decoder.scale.detach().cpu().numpy()))),
    }
    return model | _classes(estimator) | _units(estimator, fitted.rows)


def temperature_of(estimator: Any, rule: str) -> float:
    """Return what the logits of a rule are divided by before the softmax; 1 if nothing was set."""
    for owner, name in ((estimator.model_, "temperature"), (estimator, "temperature_")):
        value = getattr(owner, name, None)
        if isinstance(value, Mapping):
            value = value.get(rule)
        if value is not None:
            return float(value)
    return 1.0


def _classes(estimator: Any) -> Description:
    """Describe the classes that have a prototype, and the styles within them."""
    fitted = estimator.model_
    known = np.flatnonzero(fitted.has_prototype)
    place = {int(code): i for i, code in enumerate(known)}
    weight = np.ones(len(fitted.classes)) if fitted.class_weight is None else fitted.class_weight
    return {
        "classes": [str(label) for label in estimator.classes_[known]],
        # of each output of q(y | x), the class; None for a class without a prototype
        "trained": [place.get(int(code)) for code in fitted.trained],
        "log_prior": to_base64(fitted.with_background()[1].cpu().numpy()[known]),
        "log_weight": to_base64(np.log(weight[known])),
        "prototypes": to_base64(fitted.prototypes[known]),
        "v_mean": to_base64(fitted.v_mean[known]),
        "v_lower": to_base64(np.linalg.cholesky(fitted.v_covariance[known])),
        "style_weight": getattr(fitted, "style_weight", None),  # of the likelihood rule
    }


def _units(estimator: Any, rows: RowSpec) -> Description:
    """Describe the shape and the units of rows."""
    units: Description = {
        "kind": "image" if rows.is_image else "tabular",
        "shape": list(rows.input_shape),  # channels first
        "likelihood": rows.likelihood,
        "bytes": rows.dtype == np.uint8,
    }
    n_groups = rows.input_shape[0] if rows.layout is None else len(rows.columns.columns)  # type: ignore[union-attr]
    for name in ("shift", "scale"):
        units[name] = np.broadcast_to(np.ravel(getattr(rows, name)), (n_groups,)).tolist()
    if rows.is_image:
        return units
    units["features"] = feature_names(estimator)
    units["columns"] = _columns(rows)
    if rows.columns is not None and rows.layout is not None:
        units["layout"] = {
            "numeric": rows.columns.numeric,
            "categorical": rows.columns.categorical,
            "sizes": list(rows.layout.sizes),
            "marked": list(rows.layout.marked),
        }
    return units


def _columns(rows: RowSpec) -> list[Description] | None:
    """Describe what the columns of a table can hold."""
    if rows.columns is None:
        if rows.limits is None:
            return None
        low, high, integer = rows.limits.low, rows.limits.high, rows.limits.integer
        ranges = zip(low.tolist(), high.tolist(), integer.tolist(), strict=True)
        return [{"low": a, "high": b, "integer": whole} for a, b, whole in ranges]
    return [
        {
            "low": None if column.is_empty else column.low,
            "high": None if column.is_empty else column.high,
            "integer": column.is_integer,
            "gaps": column.has_gaps,
            "categories": None if column.categories is None else list(map(str, column.categories)),
        }
        for column in rows.columns.columns
    ]
