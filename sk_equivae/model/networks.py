"""The networks of Appendix B: bodies of the encoders and of the decoder, initialisation.

A *body* turns rows into flat features. Every encoder has its own body, and the decoder ends
in a mirrored one. Users may replace them: :func:`make_body` and :func:`make_decoder_body`
say what such a network must do.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .given import output_for_zeros, own_network
from .layers import Conv, UpConv, run_fused
from .residual import ResidualBody

# The convolutions end in a grid of about this size. Larger grids are pooled to it, so that
# the number of parameters does not grow with the image.
MAX_GRID = 2
# Smaller images get 3x3 kernels: a 5x5 kernel would cover half of the image.
SMALL_IMAGE = 16

Body = nn.Module | Callable[..., nn.Module] | None
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Architecture:
    """Sizes and parts of the networks; `sk_equivae.Networks` describes them in full.

    Parameters
    ----------
    hidden, filters : tuple of int
        Units of the two dense layers after a body, and filters of the convolutions.
    kernel_size, dense : int
        Size of the kernels, and units of the dense bodies for tabular rows.
    batch_norm, dropout : bool and float
        Batch normalisation in the bodies that classify, and dropout in q(y | x).
    first_log_variance, log_scale_rate, min_scale : float
        Initial log-variance of q(v | r_y, x); speed and lower limit of a Gaussian's scale.
    posterior_hidden : tuple of int or None
        Units of the two dense layers of q(y | x) after its embedding; None for `hidden`.
    decoder_dense : bool
        Whether a dense layer precedes the decoder's transposed convolutions.
    body, widths, depth : str, tuple of int and int
        "residual" for a `ResidualBody` in the networks that classify, and its sizes; or "paper".
    invariant_body, equivariant_body, posterior_body, decoder : module, callable or None
        Networks of the user; None for those of the paper.
    """

    hidden: tuple[int, int] = (128, 64)
    filters: tuple[int, ...] = (8, 16, 32, 64, 64)
    kernel_size: int = 5
    dense: int = 128
    batch_norm: bool = False
    dropout: float = 0.1
    first_log_variance: float = -3.0
    log_scale_rate: float = 10.0
    min_scale: float = 0.1
    posterior_hidden: tuple[int, int] | None = None
    decoder_dense: bool = True
    body: str = "paper"
    widths: tuple[int, ...] = (16, 32, 64, 128)
    depth: int = 1
    invariant_body: Body = None
    equivariant_body: Body = None
    posterior_body: Body = None
    decoder: Body = None

    @property
    def has_user_networks(self) -> bool:
        """Whether any network was given by the user."""
        bodies = (self.invariant_body, self.equivariant_body, self.posterior_body, self.decoder)
        return any(body is not None for body in bodies)

    @property
    def is_residual(self) -> bool:
        """Whether the networks that classify have a residual body."""
        return self.body == "residual"


def strides(height: int, width: int, n_layers: int = 5) -> tuple[int, ...]:
    """Return the strides of the convolutions: 1, 2, 2, 2, 2 for 24 pixels or more (Appendix B).

    Smaller images are halved less often; otherwise the last layers would see a single pixel.

    Examples
    --------
    >>> strides(28, 28), strides(16, 16), strides(8, 8)
    ((1, 2, 2, 2, 2), (1, 2, 2, 1, 2), (1, 1, 2, 1, 2))
    """
    n_slots = n_layers - 1
    n_halvings = min(n_slots, round(math.log2(min(height, width) / MAX_GRID)))
    halved = {(i + 1) * n_slots // n_halvings - 1 for i in range(n_halvings)}
    return (1, *(2 if slot in halved else 1 for slot in range(n_slots)))


def _grids(height: int, width: int, n_layers: int) -> list[tuple[int, int]]:
    """Return the size of the image before the convolutions and after each of them."""
    grids = [(height, width)]
    for stride in strides(height, width, n_layers):
        h, w = grids[-1]
        grids.append((math.ceil(h / stride), math.ceil(w / stride)))
    return grids


def _kernel_size(sizes: Architecture, height: int, width: int) -> int:
    return sizes.kernel_size if min(height, width) >= SMALL_IMAGE else min(3, sizes.kernel_size)


class ConvBody(nn.Sequential):
    """Convolutions with the strides of `strides`, each followed by a rectifier."""

    def __init__(self, input_shape: Shape, sizes: Architecture, batch_norm: bool = False):
        channels, height, width = input_shape
        n_layers = len(sizes.filters)
        *grids, last = _grids(height, width, n_layers)
        kernel_size = _kernel_size(sizes, height, width)
        layers: list[nn.Module] = []
        for n_filters, stride, grid in zip(
            sizes.filters, strides(height, width, n_layers), grids, strict=True
        ):
            layers.append(Conv(channels, n_filters, grid, stride, kernel_size))
            if batch_norm:
                layers.append(nn.BatchNorm2d(n_filters))
            layers.append(nn.ReLU())
            channels = n_filters
        if max(last) > MAX_GRID:
            layers.append(nn.AdaptiveAvgPool2d(tuple(min(s, MAX_GRID) for s in last)))
        super().__init__(*layers, nn.Flatten())

    def forward(self, x: Tensor) -> Tensor:
        """Return the features of each row as a vector."""
        if self.training or torch.is_grad_enabled():
            return super().forward(x)  # type: ignore[no-untyped-call]
        return run_fused(self, x)


class ConvDecoderBody(nn.Module):
    """`ConvBody` in reverse: from flat features to an image of logits or means."""

    def __init__(self, n_inputs: int, output_shape: Shape, sizes: Architecture):
        super().__init__()
        channels, height, width = output_shape
        n_filters = sizes.filters[::-1]  # (64, 64, 32, 16, 8)
        grids = _grids(height, width, len(n_filters))[::-1]
        start = tuple(min(s, MAX_GRID) for s in grids[0])
        if sizes.decoder_dense:
            self.start = (n_filters[0], *start)
            self.dense: nn.Module = nn.Linear(n_inputs, math.prod(self.start))
        else:
            self.start = (_channels(n_inputs, start), *start)
            self.dense = nn.Identity()
        self.grid = grids[0]
        kernel_size = _kernel_size(sizes, height, width)
        layers: list[nn.Module] = []
        n_filters = (self.start[0], *n_filters[1:])
        for i, stride in enumerate(strides(height, width, len(n_filters))[:0:-1]):
            before, after = n_filters[i : i + 2]
            if stride == 2:
                layers.append(UpConv(before, after, grids[i], grids[i + 1], kernel_size))
            else:
                layers.append(Conv(before, after, grids[i], 1, kernel_size))
            layers.append(nn.ReLU())
        last = Conv(n_filters[-1], channels, grids[-1], 1, kernel_size)
        self.layers = nn.Sequential(*layers, last)

    def forward(self, h: Tensor) -> Tensor:
        """Return logits or means of shape (n, c, h, w)."""
        x = F.relu(self.dense(h)).unflatten(1, self.start)  # (n, 64, h/16, w/16)
        if self.grid != self.start[1:]:
            x = F.interpolate(x, size=self.grid)
        return self.layers(x)


def _channels(n_inputs: int, grid: tuple[int, ...]) -> int:
    """Return the number of channels if a vector becomes an image of the given size."""
    if n_inputs % math.prod(grid):
        raise ValueError(
            f"Networks(decoder_dense=False) expects the first of `hidden` to be a multiple of "
            f"{math.prod(grid)} for images of this size; got {n_inputs}."
        )
    return n_inputs // math.prod(grid)


class DenseBody(nn.Sequential):
    """Two dense layers, which replace the convolutions for tabular rows."""

    def __init__(self, input_shape: Shape, sizes: Architecture):
        (n_features,) = input_shape
        super().__init__(
            nn.Linear(n_features, sizes.dense),
            nn.ReLU(),
            nn.Linear(sizes.dense, sizes.dense),
            nn.ReLU(),
        )


class DenseDecoderBody(nn.Sequential):
    """`DenseBody` in reverse."""

    def __init__(self, n_inputs: int, output_shape: Shape, sizes: Architecture):
        (n_features,) = output_shape
        super().__init__(
            nn.Linear(n_inputs, sizes.dense), nn.ReLU(), nn.Linear(sizes.dense, n_features)
        )


def make_body(
    body: Body,
    input_shape: Shape,
    sizes: Architecture,
    batch_norm: bool = False,
    residual: bool = False,
) -> tuple[nn.Module, int]:
    """Return a body for rows of shape `input_shape`, and the number of its outputs.

    Parameters
    ----------
    body : torch.nn.Module, callable or None
        A module is copied; a class or function is called with `input_shape`. The network maps
        a float tensor of shape `(n, *input_shape)` to `(n, ...)`, which is flattened. None
        gives the paper's convolutions, or dense layers for tabular rows.
    input_shape : tuple
        `(channels, height, width)` or `(n_features,)`.
    sizes : Architecture
        Sizes of the layers if `body` is None.
    batch_norm, residual : bool
        If `body` is None and rows are images: whether to use batch normalisation, and whether
        to use a `ResidualBody`, which always has it.
    """
    if body is not None:
        own = own_network(body, input_shape)
    elif len(input_shape) == 3 and residual:
        own = ResidualBody(input_shape, sizes.widths, sizes.depth)
    elif len(input_shape) == 3:
        own = ConvBody(input_shape, sizes, batch_norm)
    else:
        own = DenseBody(input_shape, sizes)
    out = output_for_zeros("body", own, input_shape, "(2, ...)")
    if out.ndim < 2 or len(out) != 2:
        raise ValueError(
            f"The body {type(own).__name__} should return one row per row of its input, of "
            f"shape (2, ...) for 2 rows; got {tuple(out.shape)}."
        )
    return nn.Sequential(own, nn.Flatten()), out[0].numel()


def make_decoder_body(
    body: Body, n_inputs: int, output_shape: Shape, sizes: Architecture
) -> nn.Module:
    """Return a decoder body that maps vectors of size `n_inputs` to rows of `output_shape`.

    Parameters
    ----------
    body : torch.nn.Module, callable or None
        A module is copied; a class or function is called with `n_inputs` and `output_shape`.
        The network maps a tensor of shape `(n, n_inputs)` to `(n, *output_shape)`: logits for
        a Bernoulli, means for a Gaussian likelihood.
    n_inputs : int
        Size of the input.
    output_shape : tuple
        `(channels, height, width)` or `(n_features,)`.
    sizes : Architecture
        Sizes of the layers if `body` is None.
    """
    if body is not None:
        own = own_network(body, n_inputs, output_shape)
    elif len(output_shape) == 3:
        own = ConvDecoderBody(n_inputs, output_shape, sizes)
    else:
        own = DenseDecoderBody(n_inputs, output_shape, sizes)
    expected = (2, *output_shape)
    got = tuple(output_for_zeros("decoder", own, (n_inputs,), str(expected)).shape)
    if got != expected:
        raise ValueError(
            f"The decoder {type(own).__name__} should map a tensor of shape (2, {n_inputs}) "
            f"to {expected}; got {got}."
        )
    return own
