"""Layers and functions of PyTorch as steps of `network.js`.

In the page the channels of an image come last, and weights have the shape (taps, outputs, inputs).
"""

import operator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights, fuse_linear_bn_weights

from ..model.layers import Conv, UpConv

# A part of the JSON in the page.
Description = dict[str, Any]
Shape = tuple[int, ...]

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
# Layers that a batch normalisation after them can be folded into.
FOLDABLE = (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)
POOLS = (nn.AdaptiveAvgPool2d, nn.AvgPool2d, nn.MaxPool2d)
# Functions of a single value, by the name that `network.js` knows them by.
ELEMENTWISE: dict[Any, str] = {
    nn.ReLU: "relu", F.relu: "relu", torch.relu: "relu", "relu": "relu", "relu_": "relu",
    nn.Sigmoid: "sigmoid", torch.sigmoid: "sigmoid", "sigmoid": "sigmoid",
    nn.Tanh: "tanh", torch.tanh: "tanh", "tanh": "tanh",
    nn.SiLU: "silu", F.silu: "silu", nn.GELU: "gelu", F.gelu: "gelu",
}  # fmt: skip
ADDITIONS: tuple[Any, ...] = (operator.add, operator.iadd, torch.add, "add", "add_")
RESHAPES: tuple[Any, ...] = (torch.flatten, "flatten", "reshape", "view", "unflatten")


def shape_of(node: Any) -> Shape:
    """Return the shape of a row of a traced value, with channels first."""
    return tuple(node.meta["tensor_meta"].shape[1:])


def describe_layer(layer: nn.Module, norm: Any, before: Shape, after: Shape) -> Description | None:
    """Describe a layer.

    Parameters
    ----------
    layer : Module
        The layer.
    norm : BatchNorm1d, BatchNorm2d or None
        A batch normalisation after it, to be folded into it.
    before, after : tuple of int
        Shapes of a row that goes in, and of one that comes out.

    Returns
    -------
    step : dict or None
        The step, with a tensor as its weight; None if the page has no such step.
    """
    kind = type(layer)
    if kind in ELEMENTWISE:
        return (
            {"op": ELEMENTWISE[kind]} if getattr(layer, "approximate", "none") == "none" else None
        )
    if kind in (nn.Flatten, nn.Unflatten):
        return _reshape(before, after)
    if kind in NORMS:
        return _affine(layer)
    if kind in POOLS:
        return _pool(layer, before, after)
    if kind is nn.Upsample:
        return _nearest(before, after) if getattr(layer, "mode") == "nearest" else None  # noqa: B009
    if kind is nn.Linear and len(before) == 1:
        weight, bias = _folded(layer, norm)
        return {"op": "linear", "weight": weight[None], "bias": bias}
    if kind in (nn.Conv2d, Conv, nn.ConvTranspose2d, UpConv):
        return _convolution(layer, norm, before, after)
    return None


def describe_function(node: fx.Node) -> Description | None:
    """Describe a call of a function or of a method of a tensor, or return None.

    Parameters
    ----------
    node : Node
        The call.

    Returns
    -------
    step : dict or None
        The step; None if the page has no such step.
    """
    target, first = node.target, node.args[0]
    if target in ELEMENTWISE:
        return {"op": ELEMENTWISE[target]} if not node.kwargs.get("approximate") else None
    if target in ADDITIONS and all(isinstance(arg, fx.Node) for arg in node.args[:2]):
        same = shape_of(node.args[0]) == shape_of(node.args[1])
        return {"op": "add"} if same and not node.kwargs else None
    if target is torch.cat:
        dim = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else 0)
        flat = len(shape_of(node)) == 1
        return {"op": "concat"} if dim in ((1, -1) if flat else ()) else None
    if target in RESHAPES:
        return _reshape(shape_of(first), shape_of(node))
    if target is F.interpolate and node.kwargs.get("mode", "nearest") == "nearest":
        return _nearest(shape_of(first), shape_of(node))
    if target in (torch.mean, "mean") and len(shape_of(first)) == 3 and len(shape_of(node)) == 1:
        return _pool(nn.AdaptiveAvgPool2d(1), shape_of(first), (*shape_of(node), 1, 1))
    return None


# ---------------------------------------------------------------- without weights


def _reshape(before: Shape, after: Shape) -> Description | None:
    """From an image to a vector, or back: in the page the channels of an image come last."""
    if before == after:
        return {"op": "same"}
    if (len(before), len(after)) == (3, 1):
        return {"op": "flatten", "channels": before[0]}
    if (len(before), len(after)) == (1, 3):
        return {"op": "unflatten", "channels": after[0]}
    return None


def _nearest(before: Shape, after: Shape) -> Description:
    """Where each pixel of an enlarged image comes from; asked of torch, for its rounding."""
    rows, columns = (
        F.interpolate(torch.arange(n).float()[None, None], size=m).long().ravel().tolist()
        for n, m in zip(before[1:], after[1:], strict=True)
    )
    size = {"in_width": before[2], "channels": before[0]}
    return {"op": "nearest", "rows": rows, "columns": columns, **size}


def _pool(layer: Any, before: Shape, after: Shape) -> Description | None:
    """The range of inputs of each output, along both axes."""
    ranges = []
    for axis in (0, 1):
        n_in, n_out = before[1 + axis], after[1 + axis]
        if isinstance(layer, nn.AdaptiveAvgPool2d):
            ranges.append([[i * n_in // n_out, -(-(i + 1) * n_in // n_out)] for i in range(n_out)])
            continue
        size, stride, padding = (
            value[axis] if isinstance(value, tuple) else value
            for value in (layer.kernel_size, layer.stride, layer.padding)
        )
        mean_of_padding = isinstance(layer, nn.AvgPool2d) and padding
        if layer.ceil_mode or mean_of_padding or getattr(layer, "dilation", 1) not in (1, (1, 1)):
            return None
        starts = [i * stride - padding for i in range(n_out)]
        ranges.append([[max(0, a), min(n_in, a + size)] for a in starts])
    is_max = isinstance(layer, nn.MaxPool2d)
    size = {"in_width": before[2], "channels": before[0]}
    return {"op": "pool", "max": is_max, "rows": ranges[0], "columns": ranges[1], **size}


# ---------------------------------------------------------------- with weights


def _affine(norm: Any) -> Description | None:
    """A batch normalisation that is not folded: a factor and a shift per channel."""
    if norm.running_mean is None:
        return None
    factor = (norm.running_var + norm.eps).rsqrt()
    factor = factor if norm.weight is None else factor * norm.weight
    shift = -norm.running_mean * factor
    return {
        "op": "affine",
        "factor": factor,
        "shift": shift if norm.bias is None else shift + norm.bias,
    }


def _folded(layer: Any, norm: Any) -> tuple[Tensor, Tensor]:
    """Weight and bias of a layer and the batch normalisation after it."""
    if norm is not None:
        statistics = norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
        if isinstance(layer, nn.Linear):
            return fuse_linear_bn_weights(layer.weight, layer.bias, *statistics)
        transposed = isinstance(layer, nn.ConvTranspose2d)
        return fuse_conv_bn_weights(layer.weight, layer.bias, *statistics, transpose=transposed)
    n_out = layer.out_features if isinstance(layer, nn.Linear) else layer.out_channels
    return layer.weight, layer.weight.new_zeros(n_out) if layer.bias is None else layer.bias


def _convolution(layer: Any, norm: Any, before: Shape, after: Shape) -> Description | None:
    transposed = isinstance(layer, nn.ConvTranspose2d)
    plain = layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
    if not plain or layer.dilation != (1, 1) or (transposed and layer.groups > 1):
        return None
    weight, bias = _folded(layer, norm)
    # (out, in, height, width), or (in, out, height, width) of a transposed one
    order = (2, 3, 1, 0) if transposed else (2, 3, 0, 1)
    return {
        "op": "upconv" if transposed else "conv",
        "weight": weight.permute(order).flatten(0, 1),
        "bias": bias,
        "groups": layer.groups,
        "kernel": list(layer.kernel_size),
        "stride": list(layer.stride),
        "padding": list(layer.padding),
        "in_size": list(before[1:]),
        "out_size": list(after[1:]),
    }
