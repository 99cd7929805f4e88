"""Convolutions as matrix products, for ONNX graphs in float64.

onnxruntime has no convolution in float64 on a CPU.
"""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.export import ExportedProgram

Sizes = list[int]


def without_convolutions(program: ExportedProgram) -> ExportedProgram:
    """Return a program in which matrix products replace all convolutions."""
    table = torch.export.default_decompositions()
    table[torch.ops.aten.convolution.default] = convolve
    return program.run_decompositions(table)


def convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Tensor:
    """Return a convolution of any number of axes; the arguments are those of PyTorch's operator.

    Examples
    --------
    >>> import torch
    >>> x, kernel = torch.tensor([[[1.0, 2.0, 3.0]]]), torch.tensor([[[1.0, 10.0]]])
    >>> convolve(x, kernel, None, [1], [0], [1], False, [0], 1)
    tensor([[[21., 32.]]])
    """
    axes = range(weight.ndim - 2)
    before, after = padding, list(padding)
    if transposed:
        # a convolution of the rows, with zeros between their values, with a flipped kernel
        x, weight = _insert_zeros(x, stride), _flip(weight, groups)
        before = [dilation[i] * (weight.shape[i + 2] - 1) - padding[i] for i in axes]
        after = [before[i] + output_padding[i] for i in axes]
        stride = [1 for _ in axes]
    x = F.pad(x, [size for i in reversed(axes) for size in (before[i], after[i])])
    kernel, sizes = list(weight.shape[2:]), list(x.shape[2:])
    out = [(sizes[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in axes]
    places = _places(sizes, kernel, out, stride, dilation)  # (taps, pixels)
    seen = x.flatten(2).index_select(2, places.flatten())  # (n, in, taps * pixels)
    seen = seen.unflatten(2, places.shape).unflatten(1, (groups, -1)).flatten(2, 3)
    matrix = weight.unflatten(0, (groups, -1)).flatten(2)  # (groups, out / groups, in * taps)
    y = (matrix @ seen).flatten(1, 2).unflatten(2, out)
    return y if bias is None else y + bias.reshape(-1, *(1 for _ in axes))


def _places(sizes: Sizes, kernel: Sizes, out: Sizes, stride: Sizes, dilation: Sizes) -> Tensor:
    """Return the flat position of the value that each tap meets, for each output pixel."""
    places = torch.zeros(1, 1, dtype=torch.int64)
    for i, size in enumerate(sizes):
        taps = torch.arange(kernel[i]) * dilation[i]
        starts = torch.arange(out[i]) * stride[i]
        here = taps[:, None, None] + starts  # (kernel, 1, out)
        # (taps, 1, pixels, 1) and (kernel, 1, out) to (taps, kernel, pixels, out)
        places = places[:, None, :, None] * size + here
        places = places.flatten(2, 3).flatten(0, 1)
    return places


def _insert_zeros(x: Tensor, stride: Sizes) -> Tensor:
    """Return x with stride - 1 zeros between its values."""
    for axis, step in enumerate(stride, start=2):
        size = (x.shape[axis] - 1) * step + 1
        x = F.pad(x.unsqueeze(axis + 1), (0, 0) * (x.ndim - axis - 1) + (0, step - 1))
        x = x.flatten(axis, axis + 1).narrow(axis, 0, size)
    return x


def _flip(weight: Tensor, groups: int) -> Tensor:
    """Return the kernel of a transposed convolution as that of a convolution."""
    by_group = weight.unflatten(0, (groups, -1)).transpose(1, 2)
    return by_group.flatten(0, 1).flip(list(range(2, weight.ndim)))
