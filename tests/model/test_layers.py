"""Layers made fast on a CPU: equal to torch's own."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sk_equivae.model.layers import Conv, UpConv, run_fused
from tests._models import random_rows


@pytest.mark.parametrize("size", [(4, 4), (2, 2), (1, 3), (5, 2)])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [3, 5])
def test_a_convolution_on_a_small_grid_is_a_convolution(size, stride, kernel):
    """Values and gradients, whether it is computed as a product of matrices or not."""
    layer = Conv(3, 4, size, stride, kernel).double()
    assert (layer.taps is None) == (size in [(4, 4), (5, 2)] and stride == 1)
    x = random_rows(6, 3, *size).requires_grad_()
    expected = F.conv2d(x, layer.weight, layer.bias, stride, layer.padding)
    torch.testing.assert_close(layer(x), expected)
    inputs = (x, layer.weight, layer.bias)
    gradients = (torch.autograd.grad(y.square().sum(), inputs) for y in (layer(x), expected))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("height", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("width", [1, 2, 5, 8])
@pytest.mark.parametrize("odd", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("kernel", [3, 5])
def test_upconv_is_a_transposed_convolution(height, width, odd, kernel):
    out_size = (2 * height - odd[0], 2 * width - odd[1])
    layer = UpConv(3, 2, (height, width), out_size, kernel).double()
    x = random_rows(2, 3, height, width).requires_grad_()
    ours = layer(x)
    theirs = F.conv_transpose2d(
        x, layer.weight, layer.bias, 2, kernel // 2, output_padding=(1 - odd[0], 1 - odd[1])
    )
    assert ours.shape == (2, 2, *out_size)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    up = random_rows(*ours.shape, seed=1)
    wanted = (x, layer.weight, layer.bias)
    for mine, own in zip(
        torch.autograd.grad(ours, wanted, up), torch.autograd.grad(theirs, wanted, up), strict=True
    ):
        torch.testing.assert_close(mine, own, rtol=1e-11, atol=1e-11)


def test_batch_norm_is_folded_into_the_convolution_before_it():
    layers = [Conv(3, 4, (9, 8), 1, 5), nn.BatchNorm2d(4), nn.ReLU(), Conv(4, 2, (9, 8), 2, 5)]
    network = nn.Sequential(*layers).double()
    x = random_rows(6, 3, 9, 8)
    network(x)  # statistics of the rows
    with torch.no_grad():
        torch.testing.assert_close(run_fused(network.eval(), x), network(x))
        torch.testing.assert_close(layers[0].fused(x, layers[1]), network[:2](x))
