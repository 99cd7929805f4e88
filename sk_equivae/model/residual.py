"""A small residual network (He et al. 2016), the body that classifies photographs.

It is not in the paper. Its layers are convolutions, batch normalisation, rectifiers, sums and
one mean over a grid.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import Conv, run_fused

Grid = tuple[int, int]

# The grid is halved as long as it is larger than this. At last it is pooled to `POOLED`.
SMALLEST_GRID, POOLED = 4, 2


def _halved(grid: Grid) -> tuple[int, Grid]:
    """Return the stride of the next layer, 2 as long as the grid is large, and its grid."""
    if min(grid) <= SMALLEST_GRID:
        return 1, grid
    return 2, (math.ceil(grid[0] / 2), math.ceil(grid[1] / 2))


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions, added to the input or to a 1x1 convolution of it.

    Parameters
    ----------
    in_channels, out_channels : int
        Number of channels.
    in_size : (int, int)
        Height and width of the input.
    stride : int
        Stride of the first convolution.
    """

    def __init__(self, in_channels: int, out_channels: int, in_size: Grid, stride: int):
        super().__init__()
        out_size = tuple(math.ceil(size / stride) for size in in_size)
        self.branch = nn.Sequential(
            Conv(in_channels, out_channels, in_size, stride, 3),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
            Conv(out_channels, out_channels, out_size, 1, 3),
            nn.BatchNorm2d(out_channels),
        )
        self.shortcut = nn.Sequential()
        if stride > 1 or in_channels != out_channels:
            self.shortcut = nn.Sequential(
                Conv(in_channels, out_channels, in_size, stride, 1), nn.BatchNorm2d(out_channels)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output, of shape (n, out_channels, h / stride, w / stride)."""
        if self.training or torch.is_grad_enabled():
            return F.relu(self.branch(x) + self.shortcut(x))
        return run_fused(self.branch, x).add_(run_fused(self.shortcut, x)).relu_()


class ResidualBody(nn.Sequential):
    """A convolution, stages of residual blocks, and the mean over the quarters of the image.

    The first convolution and every stage but the first halve the image, as long as it has more
    than 4 pixels.

    Parameters
    ----------
    input_shape : tuple
        `(channels, height, width)`.
    widths : tuple of int
        Number of channels of the first convolution and of each stage.
    depth : int, default=1
        Number of blocks in each stage.
    """

    def __init__(self, input_shape: tuple[int, ...], widths: tuple[int, ...], depth: int = 1):
        n_channels, height, width = input_shape
        first, *stages = widths
        stride, grid = _halved((height, width))
        layers: list[nn.Module] = [
            Conv(n_channels, first, (height, width), stride, 3),
            nn.BatchNorm2d(first),
            nn.ReLU(),
        ]
        n_channels = first
        for stage, n_filters in enumerate(stages):
            stride, smaller = _halved(grid) if stage else (1, grid)
            for block in range(depth):
                layers.append(ResidualBlock(n_channels, n_filters, grid, 1 if block else stride))
                n_channels, grid = n_filters, smaller
        if max(grid) > POOLED:
            layers.append(nn.AdaptiveAvgPool2d(tuple(min(size, POOLED) for size in grid)))
        super().__init__(*layers, nn.Flatten())

    def forward(self, x: Tensor) -> Tensor:
        """Return the features of each row as a vector."""
        if self.training or torch.is_grad_enabled():
            return super().forward(x)  # type: ignore[no-untyped-call]
        return run_fused(self, x)
