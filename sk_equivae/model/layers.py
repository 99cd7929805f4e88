"""Convolutions that are fast on a CPU, and initial weights. Nothing here is specific to the model.

Every layer returns the same numbers as the PyTorch layer it derives from.
"""

import itertools
import math
from collections.abc import Callable, Iterable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

# A convolution is computed as a matrix product if the number of input pixels times the number
# of output pixels is at most this.
MAX_PAIRS = 64

Size = tuple[int, ...]


class Taps(nn.Module):
    """A convolution on a very small grid, computed as one matrix product.

    On such grids a matrix product is several times faster than a convolution, which is
    optimised for large images. For each pair of an input and an output pixel the matrix
    holds the tap, the kernel weight that connects them.

    Parameters
    ----------
    convolve : callable
        Convolves images of shape `(n, 1, *in_size)` with a kernel of shape `(1, 1, *kernel)`.
    in_size, kernel : tuple of int
        Height and width of the images and of the kernel.
    """

    index: Tensor

    def __init__(self, convolve: Callable[[Tensor, Tensor], Tensor], in_size: Size, kernel: Size):
        super().__init__()
        n_in, n_taps = math.prod(in_size), math.prod(kernel)
        each = torch.eye(n_in).reshape(n_in, 1, *in_size)
        joined = convolve(each, torch.arange(1.0, n_taps + 1).reshape(1, 1, *kernel))
        self.out_size = joined.shape[2:]
        # (n_in, n_out); where no tap connects two pixels the index is n_taps, a tap of weight 0
        index = (joined.flatten(1).round().long() - 1) % (n_taps + 1)
        self.register_buffer("index", index, persistent=False)

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Return the convolution of x with a kernel of shape (out, in, height, width)."""
        n_in, n_out = self.index.shape
        taps = F.pad(weight.flatten(2), (0, 1)).index_select(2, self.index.flatten())
        # (out, in, n_in, n_out) to a matrix between pixels with channels last
        matrix = taps.unflatten(2, (n_in, n_out)).permute(3, 0, 2, 1).flatten(2).flatten(0, 1)
        y = F.linear(x.permute(0, 2, 3, 1).flatten(1), matrix, bias.repeat(n_out))
        return y.unflatten(1, (*self.out_size, -1)).permute(0, 3, 1, 2)


def _small_grid_taps(
    convolve: Callable[..., Tensor], in_size: Size, out_size: Size, kernel: Size
) -> Taps | None:
    is_small = math.prod(in_size) * math.prod(out_size) <= MAX_PAIRS
    return Taps(convolve, in_size, kernel) if is_small else None


class Conv(nn.Conv2d):
    """A convolution with `fan_in`, the mean number of inputs that an output pixel depends on.

    On the smallest grids the outer weights of the kernel only ever meet padding. They are left
    out.
    """

    def __init__(
        self, in_channels: int, out_channels: int, in_size: Size, stride: int, kernel_size: int
    ):
        kernel = tuple(min(kernel_size, 2 * size - 1) for size in in_size)
        padding = tuple(size // 2 for size in kernel)
        super().__init__(in_channels, out_channels, kernel, stride, padding)  # type: ignore[arg-type]
        convolve = partial(F.conv2d, stride=stride, padding=padding)
        seen = convolve(torch.ones(1, 1, *in_size), torch.ones(1, 1, *kernel))
        self.fan_in = in_channels * float(seen.mean())
        self.taps = _small_grid_taps(convolve, in_size, seen.shape[2:], kernel)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.taps is None or bias is None:
            return super()._conv_forward(input, weight, bias)
        return self.taps(input, weight, bias)

    def fused(self, x: Tensor, norm: nn.BatchNorm2d) -> Tensor:
        """Return norm(self(x)), computed as one convolution; for inference only."""
        mean, variance = norm.get_buffer("running_mean"), norm.get_buffer("running_var")
        weight, bias = fuse_conv_bn_weights(
            self.weight, self.bias, mean, variance, norm.eps, norm.weight, norm.bias
        )
        return self._conv_forward(x, weight, bias)


class UpConv(nn.ConvTranspose2d):
    """A transposed convolution of stride 2, computed as a convolution with a smaller kernel.

    The output pixels fall into four phases: even or odd row, even or odd column. Each phase is
    a convolution of the input with part of the kernel: 3x3 weights of a 5x5 kernel, 2x2 of a
    3x3. One convolution with four times the channels, followed by a pixel shuffle, therefore
    gives the same numbers in half the time of PyTorch's transposed convolution on a CPU.
    """

    def __init__(
        self, in_channels: int, out_channels: int, in_size: Size, out_size: Size, kernel_size: int
    ):
        padding = tuple(o - 2 * i + 1 for i, o in zip(in_size, out_size, strict=True))
        half = kernel_size // 2
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride=2,
            padding=half,
            output_padding=padding,  # type: ignore[arg-type]
        )
        self.out_size = tuple(out_size)
        convolve = partial(F.conv_transpose2d, stride=2, padding=half, output_padding=padding)
        one, kernel = torch.ones(1, 1, *in_size), torch.ones(1, 1, kernel_size, kernel_size)
        self.fan_in = in_channels * float(convolve(one, kernel).mean())
        self.taps = _small_grid_taps(convolve, in_size, out_size, self.kernel_size)

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Return the transposed convolution of x; its output size is fixed."""
        assert self.bias is not None
        if self.taps is not None:
            return self.taps(x, self.weight.transpose(0, 1), self.bias)
        n_in, n_out, size = self.weight.shape[:3]
        n_taps = (size + 1) // 2
        before = 1 - n_taps % 2  # aligns the first output with the middle of the kernel
        pad = (before, 1 - before) * 2
        # (in, out, tap, phase, tap, phase), taps in reverse order
        taps = F.pad(self.weight, pad).reshape(n_in, n_out, n_taps, 2, n_taps, 2).flip(2, 4)
        kernel = taps.permute(1, 3, 5, 0, 2, 4).reshape(4 * n_out, n_in, n_taps, n_taps)
        if n_taps % 2 == 0:
            x = F.pad(x, (0, 1, 0, 1))
        x = F.conv2d(x, kernel, self.bias.repeat_interleave(4), padding=(n_taps - 1) // 2)
        x = F.pixel_shuffle(x, 2)  # (n, out, 2h, 2w)
        return x[:, :, : self.out_size[0], : self.out_size[1]]


def run_fused(layers: Iterable[nn.Module], x: Tensor) -> Tensor:
    """Run layers for inference, with batch normalisation folded into the convolutions.

    Rectifiers are applied in place. Both save passes over memory.
    """
    for layer, following in itertools.pairwise([*layers, None]):
        if isinstance(layer, Conv) and isinstance(following, nn.BatchNorm2d):
            x = layer.fused(x, following)
        elif isinstance(layer, nn.ReLU):
            x = x.relu_()
        elif layer is not None and not isinstance(layer, nn.BatchNorm2d):
            x = layer(x)
    return x


def output_layer(n_inputs: int, n_outputs: int) -> nn.Linear:
    """Return a linear layer that is not followed by a rectifier."""
    layer = nn.Linear(n_inputs, n_outputs)
    layer.is_output = True  # type: ignore[assignment]
    return layer


def initialize(module: nn.Module, generator: torch.Generator) -> None:
    r"""Draw the weights by He initialisation, with the actual number of inputs per output.

    The variance of a weight is :math:`2 / n_{in}`, or :math:`1 / n_{in}` in an
    `output_layer`. :math:`n_{in}` counts the inputs that an output depends on: a quarter of
    the kernel in a transposed convolution of stride 2, and less near the border of a small
    grid. Counting the whole kernel would make the decoder's output too small, and the
    posterior would stay collapsed for several epochs.
    """
    for layer in module.modules():
        if isinstance(layer, Conv | UpConv):
            fan_in = layer.fan_in
        elif isinstance(layer, nn.Linear):
            fan_in = layer.in_features
        else:
            continue
        gain = 1.0 if getattr(layer, "is_output", False) else 2.0
        nn.init.normal_(layer.weight, std=math.sqrt(gain / fan_in), generator=generator)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
