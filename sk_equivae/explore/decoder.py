"""Description of the decoder for the page: its layers, weights and units."""

import base64
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..model.layers import Conv, UpConv
from ..model.networks import ConvDecoderBody

# A part of the JSON in the page.
Description = dict[str, Any]
# Standard deviations at which the bar of a tabular feature is full.
REACH = 3.0


def to_base64(values: Any, dtype: str = "<f4") -> str:
    """Return values in base64, for JSON.

    Parameters
    ----------
    values : array-like
        Numbers.
    dtype : str, default="<f4"
        Their dtype in the page.

    Returns
    -------
    text : str
        The bytes of the values.
    """
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


class _Weights:
    """Tensors concatenated to one array; layers keep their place and size."""

    def __init__(self) -> None:
        self.parts: list[NDArray[Any]] = []
        self.size = 0

    def add(self, tensor: Tensor) -> list[int]:
        """Append a tensor, and return its place and size."""
        values = tensor.detach().cpu().numpy().ravel()
        place = [self.size, len(values)]
        self.parts.append(values)
        self.size += len(values)
        return place

    def layer(self, op: str, layer: Any, relu: bool, **sizes: Any) -> Description:
        """Append the weights of a layer, and return its description."""
        place = {"weight": self.add(layer.weight), "bias": self.add(layer.bias)}
        return {"op": op, "relu": relu, **place, **sizes}


def describe_decoder(estimator: Any) -> Description:
    """Describe p(x | r, v) as `decoder.js` reads it.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator with a decoder of this library.

    Returns
    -------
    model : dict
        Layers, weights and units.
    """
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
    if spec.columns is not None:
        model["columns"] = [
            {"low": c.low, "high": c.high, "integer": c.is_integer} for c in spec.columns.columns
        ]
    model["weights"] = to_base64(np.concatenate(weights.parts))
    return model


def _conv_layers(body: ConvDecoderBody, weights: _Weights) -> list[Description]:
    """Describe the layers of a convolutional body."""
    layers = [weights.layer("linear", body.dense, relu=True)]
    # interpolated by torch, which has a rounding of its own
    rows, columns = (
        nn.functional.interpolate(torch.arange(n).float()[None, None], size=m).long().ravel()
        for n, m in zip(body.start[1:], body.grid, strict=True)
    )
    channels, *in_size = body.start
    source = {"rows": rows.tolist(), "columns": columns.tolist()}
    layers.append({"op": "grid", "channels": channels, "in_size": in_size, **source})
    size: tuple[int, ...] = body.grid
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
