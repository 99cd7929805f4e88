"""Each density against another way to compute it."""

import numpy as np
import pytest
import torch
from scipy import stats

from sk_equivae.model.distributions import (
    LIKELIHOODS,
    LOG_VARIANCE_RANGE,
    kl_v,
    kl_y,
    likelihood_x,
    posterior_v,
    prior_v,
)
from tests._models import random_rows, seeded


def test_kl_of_v_against_monte_carlo():
    mean, log_variance = random_rows(3, 2, seed=1), random_rows(3, 2, seed=2)
    q_v = posterior_v(mean, log_variance)
    v = mean + (0.5 * log_variance).exp() * random_rows(200_000, 3, 2, seed=3)
    sampled = q_v.log_prob(v) - prior_v(mean).log_prob(v)  # (200_000, 3)
    error = sampled.std(dim=0) / len(sampled) ** 0.5
    assert kl_v(q_v).dtype == torch.float64
    assert ((kl_v(q_v) - sampled.mean(dim=0)).abs() < 4 * error).all()
    assert (error < 0.02 * kl_v(q_v)).all()  # tight enough to tell


def test_kl_of_v_in_closed_form():
    mean, log_variance = random_rows(5, 4, seed=1), random_rows(5, 4, seed=2)
    expected = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(dim=1)
    torch.testing.assert_close(kl_v(posterior_v(mean, log_variance)), expected)


def test_kl_of_the_prior_is_zero():
    zero = torch.zeros(2, 3, dtype=torch.float64)
    torch.testing.assert_close(kl_v(posterior_v(zero, zero)), zero[:, 0])


def test_posterior_is_a_normal_of_this_variance():
    mean, log_variance, v = (random_rows(5, 3, seed=s) for s in range(3))
    expected = stats.norm.logpdf(v, mean, np.exp(0.5 * log_variance.numpy())).sum(axis=1)
    np.testing.assert_allclose(posterior_v(mean, log_variance).log_prob(v), expected)


@pytest.mark.parametrize("log_variance", [-1e30, -11.0, 5.0, 1e30])
def test_log_variance_is_clamped(log_variance):
    q_v = posterior_v(torch.zeros(1, 1), torch.full((1, 1), log_variance))
    end = LOG_VARIANCE_RANGE[int(log_variance > 0)]
    torch.testing.assert_close(q_v.variance.log(), torch.full((1, 1), end))
    assert kl_v(q_v).isfinite().all()


@pytest.mark.parametrize("shape", [(6,), (2, 3, 4)])
def test_bernoulli_against_scipy(shape):
    logits = random_rows(5, *shape)
    x = (random_rows(5, *shape, seed=1) > 0).double()
    p_x = likelihood_x("bernoulli", logits, torch.ones(()))
    probability = 1 / (1 + np.exp(-logits.numpy()))
    expected = stats.bernoulli.logpmf(x, probability).reshape(5, -1).sum(axis=1)
    np.testing.assert_allclose(p_x.log_prob(x), expected)
    np.testing.assert_allclose(p_x.mean, probability)


def test_bernoulli_of_grey_is_the_cross_entropy():
    logits, x = random_rows(5, 6), torch.rand((5, 6), generator=seeded(), dtype=torch.float64)
    p = logits.sigmoid()
    expected = (x * p.log() + (1 - x) * (1 - p).log()).sum(dim=1)
    torch.testing.assert_close(likelihood_x("bernoulli", logits, p.sum()).log_prob(x), expected)


@pytest.mark.parametrize("shape", [(6,), (2, 3, 4)])
@pytest.mark.parametrize("scale", [0.5, 1.0, 3.7])
def test_gaussian_against_scipy(shape, scale):
    mean, x = random_rows(5, *shape), random_rows(5, *shape, seed=1)
    p_x = likelihood_x("gaussian", mean, torch.tensor(scale, dtype=torch.float64))
    expected = stats.norm.logpdf(x, mean, scale).reshape(5, -1).sum(axis=1)
    np.testing.assert_allclose(p_x.log_prob(x), expected)


def test_a_registered_likelihood_is_of_independent_features(monkeypatch):
    monkeypatch.setitem(LIKELIHOODS, "laplace", torch.distributions.Laplace)
    mean, x = random_rows(5, 2, 3), random_rows(5, 2, 3, seed=1)
    p_x = likelihood_x("laplace", mean, torch.tensor(2.0).double())
    expected = stats.laplace.logpdf(x, mean, 2.0).sum(axis=(1, 2))
    np.testing.assert_allclose(p_x.log_prob(x), expected)


def test_kl_of_y_against_scipy():
    q = random_rows(4, 5).softmax(dim=1)
    prior = random_rows(5, seed=1).softmax(dim=0)
    expected = [stats.entropy(row, prior) for row in q.numpy()]
    np.testing.assert_allclose(kl_y(q, prior.log()), expected)
    torch.testing.assert_close(kl_y(prior[None], prior.log()), torch.zeros(1).double())


def test_kl_of_a_certain_y_is_minus_log_prior():
    """To the last bit: Eq. 6 must turn into Eq. 4."""
    prior = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    assert torch.equal(kl_y(torch.eye(3).double(), prior.log()), -prior.log())


def test_kl_of_y_with_zeros():
    q = torch.tensor([[0.0, 0.25, 0.75]], dtype=torch.float64, requires_grad=True)
    prior = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    divergence = kl_y(q, prior.log())
    np.testing.assert_allclose(divergence.item(), stats.entropy([0, 0.25, 0.75], prior))
    divergence.sum().backward()
    assert q.grad.isfinite().all()
    assert q.grad[0, 0] == 0  # a class left out is not pulled back in
