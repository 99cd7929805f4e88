"""Which network sees what, and where gradients go."""

import pytest
import torch
from tests._models import random_rows, seeded, tiny_module
from torch import nn

from sk_equivae._module import FIRST_LOG_VARIANCE, _dropout


def has_gradient(network):
    return any(p.grad is not None and bool(p.grad.any()) for p in network.parameters())


@pytest.mark.parametrize("shape", [(4,), (1, 8, 8)])
def test_label_posterior_sends_no_gradient_into_f_inv(shape):
    module = tiny_module(shape)
    module.classify(random_rows(5, *shape)).log_softmax(dim=1)[:, 0].sum().backward()
    assert has_gradient(module.posterior)
    assert not has_gradient(module.invariant)


def test_label_posterior_sees_f_inv_and_its_own_embedding():
    module, x = tiny_module(), random_rows(5, 4)
    f_inv = module.f_inv(x)
    torch.testing.assert_close(module.classify(x), module.classify(x, f_inv))
    assert not torch.allclose(module.classify(x), module.classify(x, f_inv + 1))
    assert not torch.allclose(module.classify(x), module.classify(x + 1, f_inv))


@pytest.mark.parametrize(
    "n_latents, hidden",
    [((8, 8), (64, 32)), ((2, 8), (64, 32)), ((16, 16), (128, 64)), ((8, 9), (128, 64))],
)
def test_dense_layers_are_halved_for_8_latents(n_latents, hidden):
    module = tiny_module((1, 8, 8), n_latents=n_latents)
    invariant, equivariant = module.invariant, module.equivariant
    assert (invariant.dense.out_features, invariant.hidden.out_features) == hidden
    assert invariant.output.out_features == n_latents[0]
    assert (equivariant.dense.out_features, equivariant.dense_r.out_features) == hidden
    assert equivariant.hidden_mean.out_features == hidden[1]
    assert equivariant.mean.out_features == equivariant.log_variance.out_features == n_latents[1]
    assert tuple(layer.out_features for layer in module.posterior.hidden) == hidden
    assert module.decoder.dense_r.out_features == module.decoder.dense_v.out_features == hidden[1]
    assert module.decoder.dense.out_features == hidden[0]


def test_mean_over_complements_lies_between_the_embedding_and_the_head():
    module, x = tiny_module(), random_rows(6, 4)
    h = module.invariant.embed(x)
    torch.testing.assert_close(module.f_inv(x), module.invariant.head(h))
    assert (h >= 0).all()  # after the first dense layer and its rectifier
    r = module.invariant.head(h.mean(dim=0, keepdim=True))
    assert not torch.allclose(r, module.f_inv(x).mean(dim=0, keepdim=True))


def test_normalize_and_back():
    shift, scale = torch.tensor([1.0, -2.0, 0.0, 100.0]), torch.tensor([1.0, 10.0, 0.1, 7.0])
    module, x = tiny_module(shift=shift, scale=scale), random_rows(6, 4)
    torch.testing.assert_close(module.denormalize(module.normalize(x)), x)
    torch.testing.assert_close(module.normalize(x), (x - shift) / scale)
    torch.testing.assert_close(module(x), module.classify(module.normalize(x)))


def test_normalize_takes_bytes_and_channels():
    shift = torch.tensor([1.0, 2.0])[:, None, None]
    module = tiny_module((2, 8, 8), shift=shift, scale=torch.tensor(255.0))
    x = torch.full((3, 2, 8, 8), 255, dtype=torch.uint8)
    torch.testing.assert_close(module.normalize(x), (x.double() - shift) / 255)


def test_the_end_of_the_world_is_finite():
    module = tiny_module()
    x = module.normalize(torch.tensor([[1e300, -1e300, 1e38, 0.0]]))
    assert module.f_inv(x).isfinite().all()
    assert module.classify(x).isfinite().all()


@pytest.mark.parametrize("shape", [(4,), (2, 9, 8)])
def test_encoder_and_decoder_use_both_inputs(shape):
    module, x, r, v = tiny_module(shape), *(random_rows(5, *s) for s in (shape, (3,), (2,)))
    q_v, p_x = module.encode(x, r), module.decode(r, v)
    assert q_v.mean.shape == (5, 2)
    assert p_x.mean.shape == (5, *shape)
    assert p_x.log_prob(x).shape == (5,)
    assert not torch.allclose(q_v.mean, module.encode(x + 1, r).mean)
    assert not torch.allclose(q_v.mean, module.encode(x, r + 1).mean)
    assert not torch.allclose(p_x.mean, module.decode(r + 1, v).mean)
    assert not torch.allclose(p_x.mean, module.decode(r, v + 1).mean)


def test_v_starts_with_little_noise():
    """And of a variance that depends on x and r, around it."""
    q_v = tiny_module(n_latents=(16, 16)).encode(random_rows(200, 4), random_rows(200, 16))
    assert abs(q_v.variance.log().mean() - FIRST_LOG_VARIANCE) < 1
    assert q_v.variance.std(dim=0).min() > 0


def test_dropout_only_with_a_generator():
    module, x = tiny_module(), random_rows(50, 4)
    plain = module.classify(x)
    assert torch.equal(plain, module.train().classify(x))
    one, same, other = (module.classify(x, generator=seeded(s)) for s in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.allclose(one, other)
    assert not torch.allclose(one, plain)


def test_dropout_keeps_the_expectation():
    dropped = _dropout(torch.ones(4000, 64), seeded())
    assert abs(dropped.mean() - 1) < 0.01
    assert abs((dropped == 0).double().mean() - 0.1) < 0.01


def test_likelihood_has_one_learnt_scale():
    module, r, v = tiny_module(), random_rows(5, 3), random_rows(5, 2)
    torch.testing.assert_close(module.decode(r, v).stddev, torch.ones(5, 4).double())
    with torch.no_grad():
        module.decoder.log_scale.fill_(0.05)
    assert torch.allclose(module.decode(r, v).stddev, torch.tensor(0.5).exp().double())
    bernoulli = tiny_module(likelihood="bernoulli").decode(r, v).mean
    assert ((bernoulli > 0) & (bernoulli < 1)).all()


def test_weights_come_from_the_generator():
    """The global one, which layers of torch draw from first, is elsewhere each time."""
    one = tiny_module((1, 8, 8)).state_dict()
    same, other = tiny_module((1, 8, 8)).state_dict(), tiny_module((1, 8, 8), seed=1).state_dict()
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["decoder.dense.weight"], other["decoder.dense.weight"])


def test_networks_that_are_given_keep_their_weights():
    """They may be pre-trained; what a function returns, too."""
    given = nn.Linear(4, 6)
    module = tiny_module(
        invariant_body=given, posterior_body=lambda _: given, decoder=nn.Linear(64, 4)
    )
    for kept in (module.invariant.body[0], module.posterior.body[0]):
        assert kept is not given
        assert torch.equal(kept.weight, given.weight.double())
    assert tiny_module(posterior_body=given).posterior.dense.in_features == 6


def test_batch_norm_is_in_what_classifies_only():
    module = tiny_module((1, 8, 8), batch_norm=True)

    def count(network):
        return sum(isinstance(m, nn.BatchNorm2d) for m in network.modules())

    assert [count(part) for part in (module.invariant, module.posterior)] == [5, 5]
    assert [count(part) for part in (module.equivariant, module.decoder)] == [0, 0]
    assert count(tiny_module((1, 8, 8))) == 0
