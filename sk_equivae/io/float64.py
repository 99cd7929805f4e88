"""Graphs in float64, of the operators that onnxruntime has in float64 on a CPU.

Convolutions, mean pooling and resizing are not among them. Matrix products and gathered values
take their place.
"""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._decomp import get_decompositions
from torch.export import ExportedProgram

Sizes = list[int]


def for_float64(program: ExportedProgram) -> ExportedProgram:
    """Return a program without the operators that onnxruntime lacks."""
    aten = torch.ops.aten
    resize = [aten.upsample_nearest2d.vec, aten.upsample_bilinear2d.vec]
    table = torch.export.default_decompositions()
    table.update(get_decompositions([*resize, aten._adaptive_avg_pool2d]))
    table[aten.convolution.default] = convolve
    table[aten.avg_pool2d.default] = mean_pool
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
    kernel = list(weight.shape[2:])
    out = _out_sizes(x, kernel, stride, dilation)
    seen = _gather(x, kernel, stride, dilation).unflatten(1, (groups, -1)).flatten(2, 3)
    matrix = weight.unflatten(0, (groups, -1)).flatten(2)  # (groups, out / groups, in * taps)
    y = (matrix @ seen).flatten(1, 2).unflatten(2, out)
    return y if bias is None else y + bias.reshape(-1, *(1 for _ in axes))


def mean_pool(
    x: Tensor,
    kernel: Sizes,
    stride: Sizes | None = None,
    padding: Sizes | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return means over windows; the arguments are those of PyTorch's operator."""
    if any(padding or ()) or ceil_mode or divisor_override is not None:
        return NotImplemented  # left as it is
    stride, dilation = stride or kernel, [1 for _ in kernel]
    means = _gather(x, kernel, stride, dilation).mean(dim=2)
    return means.unflatten(2, _out_sizes(x, kernel, stride, dilation))


def _out_sizes(x: Tensor, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Sizes:
    return [
        (size - step * (length - 1) - 1) // jump + 1
        for size, length, jump, step in zip(x.shape[2:], kernel, stride, dilation, strict=True)
    ]


def _gather(x: Tensor, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Tensor:
    """Return the values that each tap of a kernel meets, of shape (n, channels, taps, pixels)."""
    places = torch.zeros(1, 1, dtype=torch.int64)  # in a flattened image; (taps, pixels) at last
    for i, length in enumerate(_out_sizes(x, kernel, stride, dilation)):
        taps, starts = torch.arange(kernel[i]) * dilation[i], torch.arange(length) * stride[i]
        # (taps, kernel, pixels, length) to (taps * kernel, pixels * length)
        places = places[:, None, :, None] * x.shape[i + 2] + taps[:, None, None] + starts
        places = places.flatten(2, 3).flatten(0, 1)
    return x.flatten(2).index_select(2, places.flatten()).unflatten(2, places.shape)


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
