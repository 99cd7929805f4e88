"""Which network sees what, and where gradients go."""

import pytest
import torch
from torch import nn

from sk_equivae.model.randomness import dropout, private_global_generator
from tests._models import has_gradient, random_rows, seeded, tiny_module


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


def test_called_it_gives_the_logits_of_the_label_posterior():
    module, x = tiny_module(), random_rows(6, 4)
    torch.testing.assert_close(module(x), module.classify(x))


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


@pytest.mark.parametrize("first", [-3.0, -1.0])
def test_v_starts_with_little_noise(first):
    """And of a variance that depends on x and r, around it."""
    module = tiny_module(n_latents=(16, 16), first_log_variance=first)
    q_v = module.encode(random_rows(200, 4), random_rows(200, 16))
    assert abs(q_v.variance.log().mean() - first) < 1
    assert q_v.variance.std(dim=0).min() > 0


def test_dropout_only_with_a_generator():
    module, x = tiny_module(), random_rows(50, 4)
    plain = module.classify(x)
    assert torch.equal(plain, module.train().classify(x))
    one, same, other = (module.classify(x, generator=seeded(s)) for s in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.allclose(one, other)
    assert not torch.allclose(one, plain)


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_dropout_keeps_the_expectation(probability):
    dropped = dropout(torch.ones(4000, 64), probability, seeded())
    assert abs(dropped.mean() - 1) < 0.01
    assert abs((dropped == 0).double().mean() - probability) < 0.01


def test_dropout_of_probability_0_draws_nothing():
    generator, h = seeded(), torch.ones(3, 4)
    before = generator.get_state()
    assert dropout(h, 0.0, generator) is h
    assert torch.equal(generator.get_state(), before)


def test_private_noise_leaves_the_global_generator_as_it_was():
    before = torch.get_rng_state()
    drawn = []
    for seed in (0, 0, 1):
        with private_global_generator(seed):
            drawn.append(torch.rand(3).tolist())
    assert drawn[0] == drawn[1] != drawn[2]
    assert torch.equal(torch.get_rng_state(), before)


def test_likelihood_has_one_learnt_scale():
    module, r, v = tiny_module(), random_rows(5, 3), random_rows(5, 2)
    torch.testing.assert_close(module.decode(r, v).stddev, torch.ones(5, 4).double())
    with torch.no_grad():
        module.decoder.log_scale.fill_(0.05)
    assert torch.allclose(module.decode(r, v).stddev, torch.tensor(0.5).exp().double())
    bernoulli = tiny_module(likelihood="bernoulli").decode(r, v).mean
    assert ((bernoulli > 0) & (bernoulli < 1)).all()


@pytest.mark.parametrize("min_scale", [0.1, 0.3])
def test_gaussian_never_gets_narrower_than_the_smallest_scale(min_scale):
    module = tiny_module(min_scale=min_scale)
    with torch.no_grad():
        module.decoder.log_scale.fill_(-50.0)
    p_x = module.decode(random_rows(2, 3), random_rows(2, 2))
    torch.testing.assert_close(p_x.stddev, torch.full((2, 4), min_scale).double())


def test_the_scale_moves_by_the_rate_of_its_logarithm():
    module = tiny_module(log_scale_rate=2.0)
    with torch.no_grad():
        module.decoder.log_scale.fill_(0.5)
    torch.testing.assert_close(module.decoder.scale.detach(), torch.ones(()).double().exp())


def test_device_and_sizes_can_be_asked_for():
    module = tiny_module()
    assert module.like.dtype == torch.float64
    assert module.float().like.dtype == torch.float32
    assert module.n_hidden == module.invariant.embed(torch.zeros(1, 4)).shape[1]


def test_weights_come_from_the_seed():
    """The global generator, which layers of torch draw from first, is elsewhere each time."""
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
