"""The residual body: its shapes, and the same numbers in inference as layer by layer."""

import pytest
import torch
from torch import nn

from sk_equivae.model.layers import Conv, initialize
from sk_equivae.model.networks import Architecture, ConvBody, make_body
from sk_equivae.model.residual import ResidualBlock, ResidualBody
from tests._models import random_rows, seeded

WIDTHS = (4, 6, 8, 10)


def grids(shape, widths=WIDTHS, depth=1):
    """Height and width after the first convolution and after each block."""
    body, x, found = ResidualBody(shape, widths, depth), torch.rand(2, *shape), []
    for layer in body:
        x = layer(x)
        if isinstance(layer, Conv | ResidualBlock):
            found.append(tuple(x.shape[2:]))
    return found


@pytest.mark.parametrize(
    "shape", [(3, 32, 32), (3, 16, 16), (4, 17, 40), (1, 5, 9), (3, 4, 4), (3, 2, 3), (3, 70, 96)]
)
@pytest.mark.parametrize("depth", [1, 2])
def test_images_of_any_size(shape, depth):
    body, n_features = make_body(
        None, shape, Architecture(widths=WIDTHS, depth=depth), residual=True
    )
    assert isinstance(body[0], ResidualBody)
    assert body(torch.rand(2, *shape)).shape == (2, n_features)
    assert n_features <= WIDTHS[-1] * 2 * 2


def test_the_image_is_halved_down_to_four_pixels():
    assert grids((3, 32, 32)) == [(16, 16), (16, 16), (8, 8), (4, 4)]
    assert grids((3, 16, 24)) == [(8, 12), (8, 12), (4, 6), (4, 6)]
    assert grids((3, 32, 32), depth=2)[1:] == [(16, 16)] * 2 + [(8, 8)] * 2 + [(4, 4)] * 2


def test_widths_and_depth():
    body = ResidualBody((3, 32, 32), WIDTHS, depth=3)
    blocks = [layer for layer in body if isinstance(layer, ResidualBlock)]
    assert [block.branch[0].out_channels for block in blocks] == [6] * 3 + [8] * 3 + [10] * 3
    # a block that changes nothing in shape adds its input as it is
    assert [len(block.shortcut) for block in blocks] == [2, 0, 0] * 3


def test_a_block_is_a_sum():
    block = ResidualBlock(3, 3, (5, 6), 1)
    nn.init.zeros_(block.branch[-1].weight)
    x = torch.randn(4, 3, 5, 6)
    torch.testing.assert_close(block(x), x.relu())


@pytest.mark.parametrize("shape", [(3, 32, 32), (2, 9, 11), (3, 4, 5)])
def test_inference_gives_what_the_layers_give(shape):
    body = ResidualBody(shape, WIDTHS, depth=2).double()
    x = random_rows(5, *shape)
    body(x)  # statistics of the rows
    for layer in body.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.weight), nn.init.uniform_(layer.bias)
    before, body = x.clone(), body.eval()
    expected = body(x)  # with gradient: layer by layer
    with torch.no_grad():
        torch.testing.assert_close(body(x), expected)
    assert expected.requires_grad
    assert torch.equal(x, before)


def test_features_have_a_scale_of_about_one():
    body = ResidualBody((3, 32, 32), (16, 32, 64, 128))
    initialize(body, seeded())
    assert 0.2 < body(torch.randn(32, 3, 32, 32)).square().mean().item() < 5


def test_other_bodies_stay_as_they_are():
    body, _ = make_body(None, (3, 32, 32), Architecture(body="residual"))
    assert isinstance(body[0], ConvBody)
