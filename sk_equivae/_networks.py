"""The networks of Appendix B: bodies, heads and the decoder.

A *body* turns rows of X into flat features. Every encoder has one of its own,
and `Decoder` ends in the mirror of one. The user may put other networks in their
places; see :func:`make_body` and :func:`make_decoder_body` for what these must do.
"""

import copy
import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

FILTERS = (8, 16, 32, 64, 64)
KERNEL = 5
SMALL_IMAGE = 16
SMALL_KERNEL = 3
# The convolutions end in a grid of about this size. Images above 32x32 are pooled
# to it, so that the number of parameters does not grow with the image.
MAX_GRID = 2
# Units of the dense layers that take the place of the convolutions for tabular rows.
DENSE = 128
# Convolutions that join so few pairs of an input and an output pixel are matrix products.
MAX_PAIRS = 64

Body = nn.Module | Callable[..., nn.Module] | None


class Taps(nn.Module):
    """Which tap of a kernel joins which pixels, for a convolution on a very small grid.

    There, one product of matrices is several times faster than a convolution, whose code is
    made for large images.

    Parameters
    ----------
    convolve : callable
        Takes `(n, 1, *in_size)` and a kernel `(1, 1, *kernel_size)`.
    """

    index: Tensor

    def __init__(self, convolve: Callable[[Tensor, Tensor], Tensor], in_size: tuple, kernel: tuple):
        super().__init__()
        n_in, n_taps = math.prod(in_size), math.prod(kernel)
        each = torch.eye(n_in).reshape(n_in, 1, *in_size)
        joined = convolve(each, torch.arange(1.0, n_taps + 1).reshape(1, 1, *kernel))
        self.out_size = joined.shape[2:]
        # (n_in, n_out); n_taps, which is a tap of weight 0, where nothing joins them
        index = (joined.flatten(1).round().long() - 1) % (n_taps + 1)
        self.register_buffer("index", index, persistent=False)

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """The convolution of x with a kernel of shape (out, in, height, width)."""
        n_in, n_out = self.index.shape
        taps = F.pad(weight.flatten(2), (0, 1)).index_select(2, self.index.flatten())
        # (out, in, n_in, n_out) to a matrix that takes and gives channels-last pixels
        matrix = taps.unflatten(2, (n_in, n_out)).permute(3, 0, 2, 1).flatten(2).flatten(0, 1)
        y = F.linear(x.permute(0, 2, 3, 1).flatten(1), matrix, bias.repeat(n_out))
        return y.unflatten(1, (*self.out_size, -1)).permute(0, 3, 1, 2)


def _few_taps(convolve: Callable, in_size: tuple, out_size: tuple, kernel: tuple) -> Taps | None:
    few = math.prod(in_size) * math.prod(out_size) <= MAX_PAIRS
    return Taps(convolve, in_size, kernel) if few else None


class UpConv(nn.ConvTranspose2d):
    """A transposed convolution of stride 2, computed as a convolution of half its kernel.

    Each of the four phases of the output is a convolution of the input with a part
    of the kernel, 3x3 taps of a 5x5 kernel and 2x2 of a 3x3, so one convolution to four
    times the channels and a pixel shuffle give the same numbers, and are much faster on
    a CPU.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        in_size: tuple,
        out_size: tuple,
        kernel_size: int = KERNEL,
    ):
        padding = tuple(o - 2 * i + 1 for i, o in zip(in_size, out_size, strict=True))
        half = kernel_size // 2
        super().__init__(
            in_channels, out_channels, kernel_size, stride=2, padding=half, output_padding=padding
        )
        self.out_size = tuple(out_size)
        convolve = partial(F.conv_transpose2d, stride=2, padding=half, output_padding=padding)
        one, kernel = torch.ones(1, 1, *in_size), torch.ones(1, 1, kernel_size, kernel_size)
        self.fan_in = in_channels * float(convolve(one, kernel).mean())
        self.taps = _few_taps(convolve, in_size, out_size, self.kernel_size)

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        if self.taps is not None:
            return self.taps(x, self.weight.transpose(0, 1), self.bias)
        n_in, n_out, size = self.weight.shape[:3]
        n_taps = (size + 1) // 2
        before = 1 - n_taps % 2  # output 0 meets the middle of the kernel
        pad = (before, 1 - before) * 2
        # (in, out, tap, phase, tap, phase), taps from the last to the first
        taps = F.pad(self.weight, pad).reshape(n_in, n_out, n_taps, 2, n_taps, 2).flip(2, 4)
        kernel = taps.permute(1, 3, 5, 0, 2, 4).reshape(4 * n_out, n_in, n_taps, n_taps)
        bias = self.bias.repeat_interleave(4) if self.bias is not None else None
        if n_taps % 2 == 0:
            x = F.pad(x, (0, 1, 0, 1))
        x = F.conv2d(x, kernel, bias, padding=(n_taps - 1) // 2)
        x = F.pixel_shuffle(x, 2)  # (n, out, 2h, 2w)
        return x[:, :, : self.out_size[0], : self.out_size[1]]


def strides(height: int, width: int) -> tuple[int, ...]:
    """Strides of the five convolutions: 1, 2, 2, 2, 2 from 24 pixels on (Appendix B).

    Smaller images are halved less often, or the last layers would see one pixel.

    Examples
    --------
    >>> strides(28, 28), strides(16, 16), strides(8, 8)
    ((1, 2, 2, 2, 2), (1, 2, 2, 1, 2), (1, 1, 2, 1, 2))
    """
    n_slots = len(FILTERS) - 1
    n_halvings = min(n_slots, round(math.log2(min(height, width) / MAX_GRID)))
    halved = {(i + 1) * n_slots // n_halvings - 1 for i in range(n_halvings)}
    return (1, *(2 if slot in halved else 1 for slot in range(n_slots)))


def _grids(height: int, width: int) -> list[tuple[int, int]]:
    """The size of the image before the convolutions and after each of them."""
    grids = [(height, width)]
    for stride in strides(height, width):
        h, w = grids[-1]
        grids.append((math.ceil(h / stride), math.ceil(w / stride)))
    return grids


def _kernel(height: int, width: int) -> int:
    """Images below 16 pixels, of which a 5x5 kernel would cover the half, get 3x3 kernels."""
    return KERNEL if min(height, width) >= SMALL_IMAGE else SMALL_KERNEL


class Conv(nn.Conv2d):
    """A convolution that knows how many inputs an output sees on its grid.

    On the smallest grids the outer taps of the kernel fall outside of the image
    always; they are left out.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        in_size: tuple,
        stride: int = 1,
        kernel_size: int = KERNEL,
    ):
        kernel = tuple(min(kernel_size, 2 * size - 1) for size in in_size)
        padding = tuple(size // 2 for size in kernel)
        super().__init__(in_channels, out_channels, kernel, stride, padding)
        convolve = partial(F.conv2d, stride=stride, padding=padding)
        seen = convolve(torch.ones(1, 1, *in_size), torch.ones(1, 1, *kernel))
        self.fan_in = in_channels * float(seen.mean())
        self.taps = _few_taps(convolve, in_size, seen.shape[2:], kernel)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.taps is None or bias is None:
            return super()._conv_forward(input, weight, bias)
        return self.taps(input, weight, bias)

    def normalized(self, x: Tensor, norm: nn.BatchNorm2d) -> Tensor:
        """norm(self(x)) as one convolution; for inference."""
        mean, variance = norm.get_buffer("running_mean"), norm.get_buffer("running_var")
        fused = fuse_conv_bn_weights(
            self.weight, self.bias, mean, variance, norm.eps, norm.weight, norm.bias
        )
        return self._conv_forward(x, *fused)


class ConvBody(nn.Sequential):
    """Five 5x5 convolutions, the first of stride 1, the others of stride 2 (see `strides`)."""

    def __init__(self, input_shape: tuple[int, ...], batch_norm: bool = False):
        channels, height, width = input_shape
        *grids, last = _grids(height, width)
        kernel = _kernel(height, width)
        layers: list[nn.Module] = []
        for n_filters, stride, grid in zip(FILTERS, strides(height, width), grids, strict=True):
            layers.append(Conv(channels, n_filters, grid, stride, kernel))
            if batch_norm:
                layers.append(nn.BatchNorm2d(n_filters))
            layers.append(nn.ReLU())
            channels = n_filters
        if max(last) > MAX_GRID:
            layers.append(nn.AdaptiveAvgPool2d(tuple(min(s, MAX_GRID) for s in last)))
        super().__init__(*layers, nn.Flatten())

    def forward(self, x: Tensor) -> Tensor:
        if self.training or torch.is_grad_enabled():
            return super().forward(x)
        # What is bound by memory in inference goes into the convolutions, or happens in place.
        layers = list(self)
        for layer, following in zip(layers, [*layers[1:], None], strict=True):
            if isinstance(layer, Conv) and isinstance(following, nn.BatchNorm2d):
                x = layer.normalized(x, following)
            elif isinstance(layer, nn.ReLU):
                x = x.relu_()
            elif not isinstance(layer, nn.BatchNorm2d):
                x = layer(x)
        return x


class ConvDecoderBody(nn.Module):
    """The mirror of `ConvBody`: a flat embedding to an image's logits or means."""

    def __init__(self, n_inputs: int, output_shape: tuple[int, ...]):
        super().__init__()
        channels, height, width = output_shape
        grids = _grids(height, width)[::-1]
        self.start = tuple(min(s, MAX_GRID) for s in grids[0])
        self.grid = grids[0]
        self.dense = nn.Linear(n_inputs, FILTERS[-1] * self.start[0] * self.start[1])
        kernel = _kernel(height, width)
        n_filters = FILTERS[::-1]  # (64, 64, 32, 16, 8): the first is that of the start
        layers: list[nn.Module] = []
        for i, stride in enumerate(strides(height, width)[:0:-1]):
            before, after = n_filters[i : i + 2]
            if stride == 2:
                layers += [UpConv(before, after, grids[i], grids[i + 1], kernel), nn.ReLU()]
            else:
                layers += [Conv(before, after, grids[i], kernel_size=kernel), nn.ReLU()]
        last = Conv(n_filters[-1], channels, grids[-1], kernel_size=kernel)
        self.layers = nn.Sequential(*layers, last)

    def forward(self, h: Tensor) -> Tensor:
        x = F.relu(self.dense(h)).unflatten(1, (FILTERS[-1], *self.start))  # (n, 64, h/16, w/16)
        if self.grid != self.start:
            x = F.interpolate(x, size=self.grid)
        return self.layers(x)


class DenseBody(nn.Sequential):
    """Two dense layers in the place of the convolutions, for tabular rows."""

    def __init__(self, input_shape: tuple[int, ...]):
        (n_features,) = input_shape
        super().__init__(
            nn.Linear(n_features, DENSE), nn.ReLU(), nn.Linear(DENSE, DENSE), nn.ReLU()
        )


class DenseDecoderBody(nn.Sequential):
    """The mirror of `DenseBody`."""

    def __init__(self, n_inputs: int, output_shape: tuple[int, ...]):
        (n_features,) = output_shape
        super().__init__(nn.Linear(n_inputs, DENSE), nn.ReLU(), nn.Linear(DENSE, n_features))


def _try_out(network: Callable, *shape: int) -> Tensor:
    """What a network gives for zeros; in eval mode, so that its statistics stay as they are."""
    x = torch.zeros(shape)
    if not isinstance(network, nn.Module):
        return network(x)
    training = network.training
    try:
        with torch.no_grad():
            return network.eval()(x)
    finally:
        network.train(training)


def make_body(
    body: Body, input_shape: tuple[int, ...], batch_norm: bool = False
) -> tuple[nn.Module, int]:
    """A fresh body for rows of `input_shape`, and the number of its outputs.

    Parameters
    ----------
    body : torch.nn.Module, callable or None
        A module is copied; a class or function is called with `input_shape`:
        `(channels, height, width)` or `(n_features,)`. It maps a float tensor
        of shape `(n, *input_shape)` to `(n, ...)`, which is flattened. None
        gives the paper's convolutions, or dense layers for tabular rows.
    batch_norm : bool
        Put batch normalisation into our own convolutions.
    """
    if body is None:
        is_image = len(input_shape) == 3
        body = partial(ConvBody, batch_norm=batch_norm) if is_image else DenseBody
    own = copy.deepcopy(body if isinstance(body, nn.Module) else body(input_shape))
    try:
        out = _try_out(own, 2, *input_shape)
    except Exception as error:
        raise ValueError(
            f"The body {type(own).__name__} should map a tensor of shape (n, "
            f"{', '.join(map(str, input_shape))}) to (n, ...); it raised: {error}"
        ) from error
    if not isinstance(out, Tensor) or out.ndim < 2 or len(out) != 2:
        got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise ValueError(
            f"The body {type(own).__name__} should return a tensor with one row for each "
            f"row of its input, of shape (2, ...) for 2 rows; got {got}."
        )
    return nn.Sequential(own, nn.Flatten()), out[0].numel()


def make_decoder_body(body: Body, n_inputs: int, output_shape: tuple[int, ...]) -> nn.Module:
    """A fresh decoder body from `n_inputs` to rows of `output_shape`.

    Parameters
    ----------
    body : torch.nn.Module, callable or None
        A module is copied; a class or function is called with `n_inputs` and
        `output_shape`. It maps `(n, n_inputs)` to `(n, *output_shape)`: logits
        for a Bernoulli, means for a Gaussian likelihood.
    """
    if body is None:
        body = ConvDecoderBody if len(output_shape) == 3 else DenseDecoderBody
    own = copy.deepcopy(body if isinstance(body, nn.Module) else body(n_inputs, output_shape))
    try:
        got = tuple(_try_out(own, 2, n_inputs).shape)
    except Exception as error:
        raise ValueError(
            f"The decoder {type(own).__name__} should map a tensor of shape (n, {n_inputs}) "
            f"to (n, {', '.join(map(str, output_shape))}); it raised: {error}"
        ) from error
    if got != (2, *output_shape):
        raise ValueError(
            f"The decoder {type(own).__name__} should map a tensor of shape (2, {n_inputs}) "
            f"to {(2, *output_shape)}; got {got}."
        )
    return own


def initialize(module: nn.Module, generator: torch.Generator) -> None:
    r"""He initialisation, with the number of inputs that an output really sees.

    An output of a 5x5 transposed convolution of stride 2 sees a quarter of the
    kernel, and near the border of a small grid much of a kernel sees padding. With
    the whole kernel as its fan the decoder's output is too small, and the posterior
    stays collapsed for several epochs. The variance of a weight is :math:`2 / n_{in}`;
    :math:`1 / n_{in}` in a layer marked `is_output`, which no rectifier follows.
    """
    for layer in module.modules():
        if isinstance(layer, (Conv, UpConv)):
            fan_in = layer.fan_in
        elif isinstance(layer, nn.Linear):
            fan_in = layer.in_features
        else:
            continue
        gain = 1.0 if getattr(layer, "is_output", False) else 2.0
        nn.init.normal_(layer.weight, std=math.sqrt(gain / fan_in), generator=generator)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


def output_layer(n_inputs: int, n_outputs: int) -> nn.Linear:
    """A linear layer with no rectifier after it."""
    layer = nn.Linear(n_inputs, n_outputs)
    layer.is_output = True  # type: ignore[assignment]
    return layer
