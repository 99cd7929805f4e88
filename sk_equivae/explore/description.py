"""What the page knows of a model: its decoder, directions of v, classes and rows."""

import base64
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..display.mosaic import as_images, feature_names, value_range
from ..estimators.generative import make_generators
from ..model.layers import Conv, UpConv
from ..model.networks import ConvDecoderBody
from ..model.rules import to_float64

# Classes in which the effect of a direction is measured; the first few say enough.
MAX_CLASSES = 20
# A bar of a tabular feature is full at this many standard deviations.
REACH = 3.0

# ---------------------------------------------------------------- the decoder


def _base64(values: Any, dtype: str = "<f4") -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


class _Weights:
    """Tensors one after the other in one array; layers keep their place and size."""

    def __init__(self) -> None:
        self.parts: list[NDArray] = []
        self.size = 0

    def add(self, tensor: Tensor) -> list[int]:
        values = tensor.detach().cpu().numpy().ravel()
        place = [self.size, len(values)]
        self.parts.append(values)
        self.size += len(values)
        return place

    def layer(self, op: str, layer: Any, relu: bool, **sizes: Any) -> dict:
        place = {"weight": self.add(layer.weight), "bias": self.add(layer.bias)}
        return {"op": op, "relu": relu, **place, **sizes}


def describe_decoder(estimator: Any) -> dict[str, Any]:
    """Layers, weights and units of p(x | r, v), as `decoder.js` reads them."""
    module, spec, weights = estimator.model_.module, estimator.model_.rows, _Weights()
    decoder = module.decoder
    layers = [weights.layer("linear", decoder.dense, relu=True)]
    body = decoder.body
    if isinstance(body, ConvDecoderBody):
        layers += _conv_layers(body, weights)
    else:
        stack = list(body)
        layers += [
            weights.layer("linear", layer, relu=layer is not stack[-1])
            for layer in stack
            if isinstance(layer, nn.Linear)
        ]
    model = {
        "kind": "image" if spec.is_image else "tabular",
        "shape": list(spec.input_shape),
        "likelihood": spec.likelihood,
        "bytes": spec.dtype == np.uint8,
        "reach": REACH,
        "dense_r": weights.layer("linear", decoder.dense_r, relu=True),
        "dense_v": weights.layer("linear", decoder.dense_v, relu=True),
        "layers": layers,
    }
    for name in ("shift", "scale"):
        values = np.ravel(getattr(spec, name))
        model[name] = np.broadcast_to(values, spec.input_shape[:1]).tolist()
    model["weights"] = _base64(np.concatenate(weights.parts))
    return model


def _conv_layers(body: ConvDecoderBody, weights: _Weights) -> list[dict]:
    layers = [weights.layer("linear", body.dense, relu=True)]
    # torch itself says where each pixel comes from: it rounds in its own way
    rows, columns = (
        nn.functional.interpolate(torch.arange(n).float()[None, None], size=m).long().ravel()
        for n, m in zip(body.start[1:], body.grid, strict=True)
    )
    channels, *in_size = body.start
    source = {"rows": rows.tolist(), "columns": columns.tolist()}
    layers.append({"op": "grid", "channels": channels, "in_size": in_size, **source})
    size: tuple = body.grid
    stack = list(body.layers)
    for layer in stack:
        if not isinstance(layer, Conv | UpConv):
            continue
        out_size = layer.out_size if isinstance(layer, UpConv) else size
        layers.append(
            weights.layer(
                "upconv" if isinstance(layer, UpConv) else "conv",
                layer,
                relu=layer is not stack[-1],
                n_in=layer.in_channels,
                n_out=layer.out_channels,
                kernel=layer.kernel_size,
                in_size=size,
                out_size=out_size,
            )
        )
        size = out_size
    return layers


# ---------------------------------------------------------------- directions of v


def _basis(name: str, measure: str, names: list[str], vectors: NDArray, weight: NDArray) -> dict:
    """Orthonormal directions, the one of most weight first."""
    order = np.argsort(-weight, kind="stable")
    total = weight.sum()
    return {
        "name": name,
        "measure": measure,
        "names": names if name == "principal" else [names[i] for i in order],
        "vectors": _base64(vectors[order]),
        "share": (weight[order] / total if total > 0 else np.zeros(len(weight))).tolist(),
    }


def principal_basis(v: NDArray) -> list[dict]:
    """The principal directions of v over rows, if there are rows enough to have some."""
    if len(v) < 3 or v.shape[1] < 2 or not v.std(axis=0).any():
        return []
    variance, vectors = np.linalg.eigh(np.cov(v, rowvar=False))
    directions = vectors.T
    # An eigenvector has no sign of its own; this one makes the page the same each time.
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]
    names = [f"direction {i + 1}" for i in range(v.shape[1])]
    measure = "of the variety"
    return [_basis("principal", measure, names, directions, np.maximum(variance, 0.0))]


def plain_basis(estimator: Any) -> dict:
    """The dimensions of v, by how much a step of each changes what is decoded."""
    model = estimator.model_
    module, n_v = model.module, model.module.n_latents[1]
    r = model.tensor(model.prototypes[model.has_prototype][:MAX_CLASSES])
    effect = np.zeros(n_v)
    with torch.inference_mode():
        for i in range(n_v):
            step = torch.zeros(len(r), n_v, dtype=r.dtype, device=r.device)
            step[:, i] = 1.0
            change = module.decode(r, step).mean - module.decode(r, -step).mean
            effect[i] = float(to_float64(change).square().mean())
    names = [f"v{i}" for i in range(n_v)]
    return _basis("plain", "of the change", names, np.eye(n_v), effect)


# ---------------------------------------------------------------- rows and classes


def in_turn(codes: NDArray, n_rows: int) -> NDArray:
    """The first rows, the classes taking turns."""
    turn = np.zeros(len(codes), dtype=int)
    for code in np.unique(codes):
        of_class = codes == code
        turn[of_class] = np.arange(of_class.sum())
    return np.lexsort((codes, turn))[:n_rows]


def generated_latents(estimator: Any, n_rows: int, random_state: Any) -> tuple[NDArray, NDArray]:
    """Return codes and v of rows to generate, the classes in turn."""
    model = estimator.model_
    codes = np.resize(np.flatnonzero(model.has_prototype), n_rows)
    rng, _ = make_generators(random_state)
    return codes, rng.normal(size=(n_rows, model.module.n_latents[1]))


def describe_rows(
    estimator: Any, codes: NDArray, v: NDArray, rows: NDArray | None, invert: bool | None
) -> dict[str, Any]:
    """Classes, features, and the rows whose style can be taken."""
    model = estimator.model_
    known = np.flatnonzero(model.has_prototype)
    place = {int(code): i for i, code in enumerate(known)}
    labels = [str(label) for label in estimator.classes_]
    styles = {
        "v": _base64(v),
        "classes": [place[int(code)] for code in codes],
        "given": rows is not None,
    }
    described: dict[str, Any] = {
        "n_latents": list(model.module.n_latents),
        "classes": [labels[code] for code in known],
        "prototypes": _base64(estimator.prototypes_[known]),
        "styles": styles,
    }
    if not model.rows.is_image:
        if rows is not None:
            styles["rows"] = _base64(rows)
        return described | {"features": feature_names(estimator)}
    # What black and white are is settled by images that the page will show.
    decoded = model.decode(model.r(codes), v)
    shown = as_images(estimator, decoded if rows is None else np.concatenate([decoded, rows]))
    low, high = value_range(estimator, shown)
    scaled = np.clip((shown.astype(np.float64) - low) / (high - low), 0, 1)
    if rows is not None:
        given = np.round(255 * scaled[len(decoded) :]).reshape(len(rows), *scaled.shape[1:3], -1)
        styles["rows"] = _base64(given.transpose(0, 3, 1, 2), "u1")
    grey = model.rows.input_shape[0] == 1
    dark = bool(scaled.mean() < 0.5) if invert is None else bool(invert)
    return described | {"limits": [low, high], "invert": grey and dark}
