"""The networks of Appendix B: equal to torch's own layers, of the right size and scale."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sk_equivae.model.layers import initialize, output_layer
from sk_equivae.model.module import Decoder, EquiVAEModule
from sk_equivae.model.networks import (
    Architecture,
    ConvBody,
    ConvDecoderBody,
    DenseBody,
    DenseDecoderBody,
    make_body,
    make_decoder_body,
    strides,
)
from sk_equivae.training.settings import NETWORKS
from tests._models import random_rows, seeded, tiny_module

SIZES = Architecture()
LAYERS = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)


@pytest.mark.parametrize(
    "shape",
    [(1, 8, 8), (3, 8, 8), (2, 9, 11), (1, 13, 8), (1, 15, 15), (1, 17, 31), (3, 33, 32),
     (5, 8, 40), (1, 45, 70), (3, 64, 64)],
)  # fmt: skip
@pytest.mark.parametrize("batch_norm", [False, True])
def test_images_of_any_size_go_in_and_come_out(shape, batch_norm):
    body, n_features = make_body(None, shape, SIZES, batch_norm)
    h = body(torch.rand(2, *shape))
    assert h.shape == (2, n_features)
    assert n_features <= SIZES.filters[-1] * 2 * 2
    assert make_decoder_body(None, 10, shape, SIZES)(torch.rand(2, 10)).shape == (2, *shape)


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 8, 9), (2, 40, 40)])
def test_inference_gives_what_the_layers_give(shape, batch_norm):
    body = ConvBody(shape, SIZES, batch_norm).double()
    x = random_rows(5, *shape)
    body(x)  # statistics of the rows
    with torch.no_grad():
        for layer in body:
            if isinstance(layer, nn.BatchNorm2d):
                nn.init.uniform_(layer.weight), nn.init.uniform_(layer.bias)
        before = x.clone()
        torch.testing.assert_close(body.eval()(x), nn.Sequential(*body)(x))
    torch.testing.assert_close(x, before, rtol=0, atol=0)


def test_bodies_follow_appendix_b():
    convolutions = [m for m in ConvBody((1, 28, 28), SIZES).modules() if isinstance(m, nn.Conv2d)]
    assert [c.out_channels for c in convolutions] == [8, 16, 32, 64, 64]
    assert [c.stride[0] for c in convolutions] == [1, 2, 2, 2, 2]
    assert [c.kernel_size for c in convolutions[:4]] == [(5, 5)] * 4
    mirror = [
        m for m in ConvDecoderBody(9, (3, 28, 28), SIZES).modules() if isinstance(m, LAYERS[:2])
    ]
    assert [c.out_channels for c in mirror] == [64, 32, 16, 8, 3]
    assert [c.stride[0] for c in mirror] == [2, 2, 2, 2, 1]


@pytest.mark.parametrize(
    "shape, n_latents", [((1, 28, 28), 16), ((1, 28, 28), 8), ((3, 32, 32), 16)]
)
def test_the_paper_has_the_layers_of_appendix_b(shape, n_latents):
    """Layer by layer, in order: kind, inputs, outputs, kernel and stride."""
    sizes = NETWORKS["paper"]().architecture((n_latents, n_latents))
    module = EquiVAEModule(shape, 10, (n_latents, n_latents), "bernoulli", sizes)
    first, second = (128, 64) if n_latents == 16 else (64, 32)
    filters = (shape[0], 8, 16, 32, 64, 64)
    body = [
        ("conv", *filters[i : i + 2], stride) for i, stride in enumerate((1, 2, 2, 2, 2))
    ]  # fmt: skip
    block = [*body, ("dense", 64 * 2 * 2, first)]  # 5-CNN, 1-dense
    assert layers_of(module.invariant) == [
        *block, ("dense", first, second), ("dense", second, n_latents),
        ("dense", n_latents, 10),  # linear(f_inv), which has weight 0 in the paper's objective
    ]  # fmt: skip
    assert layers_of(module.equivariant) == [
        *block, ("dense", n_latents, second),
        ("dense", first + second, second), ("dense", second, n_latents),  # mean
        ("dense", first + second, second), ("dense", second, n_latents),  # variance
    ]  # fmt: skip
    assert layers_of(module.posterior) == [
        *block, ("dense", first + n_latents, 128), ("dense", 128, 64), ("dense", 64, 10),
    ]  # fmt: skip
    start = first // 4  # a hidden layer becomes an image of 2 x 2 pixels
    up = [("up", a, b, 2) for a, b in ((start, 64), (64, 32), (32, 16), (16, 8))]
    assert layers_of(module.decoder) == [
        ("dense", n_latents, second), ("dense", n_latents, second), ("dense", 2 * second, first),
        *up, ("conv", 8, shape[0], 1),
    ]  # fmt: skip
    assert sum(p.numel() for p in module.parameters()) < 1e6
    assert not [m for m in module.modules() if isinstance(m, nn.BatchNorm2d)]
    decoded = module.decode(torch.zeros(2, n_latents), torch.zeros(2, n_latents))
    assert decoded.mean.shape == (2, *shape)


def layers_of(network):
    """Return the layers with weights, as they are used."""
    found = []
    for layer in network.modules():
        if isinstance(layer, nn.Linear):
            found.append(("dense", layer.in_features, layer.out_features))
        elif isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            kind = "up" if isinstance(layer, nn.ConvTranspose2d) else "conv"
            found.append((kind, layer.in_channels, layer.out_channels, layer.stride[0]))
    return found


def test_a_start_that_does_not_fill_the_image_is_an_error():
    with pytest.raises(ValueError, match="multiple of 4"):
        make_decoder_body(None, 10, (1, 28, 28), Architecture(decoder_dense=False))


def test_sizes_are_those_of_the_architecture():
    sizes = Architecture(filters=(4, 6, 10), kernel_size=7, dense=20)
    convolutions = [m for m in ConvBody((1, 28, 28), sizes) if isinstance(m, nn.Conv2d)]
    assert [c.out_channels for c in convolutions] == [4, 6, 10]
    assert {c.kernel_size for c in convolutions} == {(7, 7)}
    mirror = [m for m in ConvDecoderBody(9, (3, 28, 28), sizes).modules() if isinstance(m, LAYERS)]
    assert [m.weight.numel() for m in mirror[1:]] == [10 * 6 * 49, 6 * 4 * 49, 4 * 3 * 49]
    for network in (DenseBody((5,), sizes), DenseDecoderBody(5, (9,), sizes)):
        assert network[0].out_features == 20
    small = [m for m in ConvBody((1, 8, 8), sizes) if isinstance(m, nn.Conv2d)]
    assert {c.kernel_size for c in small} == {(3, 3)}  # of at most 3 for small images


@pytest.mark.parametrize("n_layers", [2, 3, 4, 7])
@pytest.mark.parametrize("shape", [(1, 8, 8), (2, 17, 31), (3, 40, 40)])
def test_any_number_of_layers(shape, n_layers):
    sizes = Architecture(filters=(8,) * n_layers)
    body, n_features = make_body(None, shape, sizes)
    assert body(torch.rand(2, *shape)).shape == (2, n_features)
    assert make_decoder_body(None, 10, shape, sizes)(torch.rand(2, 10)).shape == (2, *shape)


def test_no_image_is_halved_away():
    for size in range(8, 70):
        assert strides(size, size)[0] == 1
        last = size
        for stride in strides(size, size):
            last = -(-last // stride)
        assert last >= 2


@pytest.mark.parametrize(
    "shape", [(1, 8, 8), (1, 28, 28), (3, 32, 32), (3, 64, 64), (1, 130, 100), (4,), (784,)]
)
def test_under_a_million_parameters(shape):
    module = tiny_module(shape, 10, (16, 16), batch_norm=True)
    assert sum(p.numel() for p in module.parameters()) < 1_000_000


def gains(network, *inputs):
    """E[output^2] of each layer that computes, over 2 E[x^2] of what went into the network."""
    seen = []
    hooks = [
        layer.register_forward_hook(lambda *a: seen.append(a[2].square().mean().item()))
        for layer in network.modules()
        if isinstance(layer, LAYERS)
    ]
    with torch.no_grad():
        network(*inputs)
    for hook in hooks:
        hook.remove()
    start = torch.cat([x.flatten() for x in inputs]).square().mean().item()
    return torch.tensor(seen) / (2 * start)


def make_network(part, shape):
    if part == "body":
        return ConvBody(shape, SIZES), (random_rows(64, *shape).float(),)
    decoder = Decoder(shape, SIZES, (16, 16))
    return decoder, (random_rows(64, 16).float(), random_rows(64, 16, seed=1).float())


@pytest.mark.parametrize("part", ["body", "decoder"])
@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 28, 28)])
def test_initialisation_keeps_the_scale(part, shape):
    several = []
    for seed in range(4):
        network, inputs = make_network(part, shape)
        initialize(network, seeded(seed))
        several.append(gains(network, *inputs))
    mean = torch.stack(several).mean(dim=0)
    assert len(mean) == (5 if part == "body" else 9)
    assert (mean > 1 / 3).all()
    assert (mean < 3).all()


@pytest.mark.parametrize("part", ["body", "decoder"])
@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28)])
def test_the_default_of_torch_would_not_keep_the_scale(part, shape):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network, inputs = make_network(part, shape)
    assert gains(network, *inputs)[-1] < 0.1


def test_a_layer_without_a_rectifier_keeps_the_scale_too():
    layer = output_layer(200, 200)
    initialize(layer, seeded())
    assert layer(random_rows(100, 200).float()).var().item() == pytest.approx(1, rel=0.1)


def test_initialisation_comes_from_the_generator():
    one, same, other = (DenseBody((4,), SIZES) for _ in range(3))
    for body, seed in zip((one, same, other), (0, 0, 1), strict=True):
        initialize(body, seeded(seed))
    assert torch.equal(one[0].weight, same[0].weight)
    assert not torch.equal(one[0].weight, other[0].weight)


# -------------------------------------------------------------------- a user's own


class Pooled(nn.Module):
    """Gives (n, c, 2, 2), not flat."""

    def __init__(self, input_shape):
        super().__init__()
        self.input_shape = input_shape

    def forward(self, x):
        return F.adaptive_avg_pool2d(x, 2)


def test_a_class_is_called_with_the_shape_and_its_output_flattened():
    body, n_features = make_body(Pooled, (3, 9, 8), SIZES)
    assert body[0].input_shape == (3, 9, 8)
    assert n_features == 12
    assert body(torch.rand(5, 3, 9, 8)).shape == (5, 12)


def test_a_module_is_copied():
    given = nn.Linear(4, 6)
    body, n_features = make_body(given, (4,), SIZES)
    assert n_features == 6
    assert body[0] is not given
    assert torch.equal(body[0].weight, given.weight)
    decoder = make_decoder_body(given, 4, (6,), SIZES)
    assert decoder is not given
    assert torch.equal(decoder.weight, given.weight)


def test_trying_a_body_out_leaves_its_statistics_alone():
    given = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 4))
    for own in (make_body(given, (4,), SIZES)[0][0], make_decoder_body(given, 4, (4,), SIZES)):
        assert own[1].num_batches_tracked == 0
        assert torch.equal(own[1].running_mean, given[1].running_mean)
        assert own.training


def test_a_decoder_is_called_with_inputs_and_shape():
    class Wide(nn.Sequential):
        def __init__(self, n_inputs, output_shape):
            super().__init__(nn.Linear(n_inputs, 12), nn.Unflatten(1, output_shape))

    assert make_decoder_body(Wide, 5, (3, 2, 2), SIZES)(torch.rand(7, 5)).shape == (7, 3, 2, 2)


class Gives(nn.Module):
    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, x):
        return self.output


@pytest.mark.parametrize(
    "body, message",
    [
        (
            nn.Linear(5, 2),
            r"Linear should map a tensor of shape \(2, 4\) to \(2, \.\.\.\); it raised",
        ),
        (Gives(torch.zeros(2)), r"one row per row of its input.*got \(2,\)"),
        (Gives(torch.zeros(3, 2)), r"got \(3, 2\)"),
        (Gives((torch.zeros(2, 2),)), "got tuple"),
    ],
)
def test_bodies_that_do_not_fit(body, message):
    with pytest.raises(ValueError, match=message):
        make_body(body, (4,), SIZES)


@pytest.mark.parametrize(
    "body, message",
    [
        (nn.Linear(5, 4), r"shape \(2, 3\) to \(2, 4\); it raised"),
        (nn.Linear(3, 5), r"shape \(2, 3\) to \(2, 4\); got \(2, 5\)"),
    ],
)
def test_decoders_that_do_not_fit(body, message):
    with pytest.raises(ValueError, match=message):
        make_decoder_body(body, 3, (4,), SIZES)
