"""The three rules, each against its formula."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from torch.distributions import Independent, MultivariateNormal, Normal, kl_divergence

from sk_equivae.model.distributions import ClassNormal, kl_v, kl_within_class, posterior_v
from sk_equivae.model.rules import (
    RULES,
    Scaling,
    Styles,
    bound_by_class,
    class_logits,
    prototype_logits,
    to_float64,
)
from tests._models import random_rows, tiny_module

LOG_PRIOR = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64).log()


@pytest.fixture
def module():
    return tiny_module()


@pytest.fixture
def x():
    return random_rows(6, 4)


@pytest.fixture
def r():
    return random_rows(3, 3, seed=1)


def test_logits_are_negative_squared_distances():
    f_inv, prototypes = random_rows(6, 3), random_rows(4, 3, seed=1)
    expected = -cdist(f_inv, prototypes, "sqeuclidean")
    np.testing.assert_allclose(prototype_logits(f_inv, prototypes), expected)


def test_small_distances_of_large_vectors_keep_their_digits():
    f_inv = torch.tensor([[1e4, 1e4]])
    assert prototype_logits(f_inv, f_inv + torch.tensor([[0.5, 0.0]])).item() == -0.25


def test_the_largest_float32_has_a_finite_square():
    assert to_float64(torch.tensor([3e38])).square().isfinite().all()


def test_prototype_rule(module, x, r):
    expected = -(torch.cdist(module.f_inv(x), r) ** 2)
    torch.testing.assert_close(class_logits(module, x, r, LOG_PRIOR, "prototype"), expected)


def test_posterior_rule(module, x, r):
    logits = class_logits(module, x, r, LOG_PRIOR, "posterior")
    torch.testing.assert_close(logits, module.classify(x))


def test_likelihood_rule_is_eq_4_at_the_mean_of_v(module, x, r):
    logits = class_logits(module, x, r, LOG_PRIOR, "likelihood")
    for n in range(len(x)):
        for code in range(3):
            q_v = module.encode(x[n : n + 1], r[code : code + 1])
            mean, variance = q_v.mean, q_v.variance
            kl = 0.5 * (mean**2 + variance - 1 - variance.log()).sum()
            gap = x[n] - module.decode(r[code : code + 1], mean).mean[0]
            density = -0.5 * (gap**2 + torch.tensor(2 * torch.pi).log()).sum()
            expected = density - kl + LOG_PRIOR[code]
            torch.testing.assert_close(logits[n, code], expected)


@pytest.mark.parametrize("rule", RULES)
def test_logits_are_float64_and_finite_far_away(module, r, rule):
    module = module.float()
    x = torch.full((2, 4), 1e6)  # where `RowSpec` clips
    logits = class_logits(module, x, r.float(), LOG_PRIOR.float(), rule)
    assert logits.dtype == torch.float64
    assert logits.softmax(dim=1).isfinite().all()


@pytest.mark.parametrize("rule", RULES)
def test_a_class_never_seen_has_probability_zero(module, x, r, rule):
    r[1] = torch.nan
    probability = class_logits(module, x, r, LOG_PRIOR, rule).softmax(dim=1)
    assert (probability[:, 1] == 0).all()
    torch.testing.assert_close(probability.sum(dim=1), torch.ones(6).double())


@pytest.mark.parametrize("rule", RULES)
def test_added_classes_take_what_the_prototypes_give_them(module, x, r, rule):
    """The rest is divided by the rule, among the classes of training."""
    more = torch.cat([r[:1], random_rows(1, 3, seed=2), r[1:]])
    trained, log_prior = torch.tensor([0, 2, 3]), LOG_PRIOR[[0, 0, 1, 2]]
    probability = class_logits(module, x, more, log_prior, rule, trained).softmax(dim=1)
    by_distance = class_logits(module, x, more, log_prior, "prototype").softmax(dim=1)
    torch.testing.assert_close(probability[:, 1], by_distance[:, 1])
    without = class_logits(module, x, r, LOG_PRIOR, rule).softmax(dim=1)
    torch.testing.assert_close(
        probability[:, trained], without * (1 - by_distance[:, 1:2]), rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize("rule", ["posterior", "likelihood"])
def test_added_classes_keep_it_at_any_temperature(module, x, r, rule):
    """The last prototype is of rows of no class, which take no part."""
    more = torch.cat([r[:1], random_rows(1, 3, seed=2), r[1:]])
    trained, log_prior = torch.tensor([0, 2, 3]), LOG_PRIOR[[0, 0, 1, 2]]
    weight = torch.tensor([2.0, 1.0, 0.5]).double().log()
    scaling = Scaling(weight, prototype=3.0, rule=0.5)
    p = class_logits(module, x, more, log_prior, rule, trained, scaling).softmax(dim=1)
    distances = class_logits(module, x, more, log_prior, "prototype")[:, :3]
    by_distance = ((distances + weight) / 3).softmax(dim=1)
    torch.testing.assert_close(p[:, 1], by_distance[:, 1])
    without = class_logits(module, x, r, LOG_PRIOR, rule)[:, :2]
    q = (without / 0.5).softmax(dim=1)
    torch.testing.assert_close(p[:, [0, 2]], q * (1 - p[:, 1:2]), rtol=1e-6, atol=1e-12)


def test_bound_does_not_mix_rows(module, x, r):
    whole = bound_by_class(module, x, r, LOG_PRIOR)
    torch.testing.assert_close(bound_by_class(module, x[3:4], r, LOG_PRIOR), whole[3:4])


# -------------------------------------------------------------------- v within classes


@pytest.fixture
def p_v():
    """A normal distribution of v per class, and the same for PyTorch."""
    generator = torch.Generator().manual_seed(3)
    mean = torch.randn(3, 2, generator=generator, dtype=torch.float64)
    lower = torch.tensor([[1.5, 0.0], [0.4, 0.7]], dtype=torch.float64).repeat(3, 1, 1)
    lower = lower * torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)[:, None, None]
    return ClassNormal(mean, lower.inverse()), MultivariateNormal(mean, scale_tril=lower)


def test_divergence_within_a_class(p_v):
    ours, theirs = p_v
    q_v = posterior_v(random_rows(3, 2), random_rows(3, 2, seed=1))
    expected = kl_divergence(
        MultivariateNormal(q_v.mean, scale_tril=q_v.stddev.diag_embed()), theirs
    )
    torch.testing.assert_close(kl_within_class(q_v, ours), expected)
    pairs = Independent(Normal(q_v.mean[:, None], q_v.stddev[:, None]), 1)  # with all classes
    torch.testing.assert_close(kl_within_class(pairs, ours).diagonal(), expected)


def test_likelihood_rule_goes_by_v_within_the_class(module, x, r, p_v):
    styles = Styles(p_v[0], 2.5)
    found = class_logits(module, x, r, LOG_PRIOR, "likelihood", styles=styles)
    for code in range(3):
        r_y = r[code].expand(len(x), -1)
        q_v = module.encode(x, r_y)
        density = module.decode(r_y, q_v.mean).log_prob(x)
        kl = kl_within_class(q_v, ClassNormal(p_v[0].mean[code], p_v[0].whitening[code]))
        torch.testing.assert_close(found[:, code], density - 2.5 * kl + LOG_PRIOR[code])


def test_with_the_prior_of_the_paper_it_is_equation_4(module, x, r):
    unit = ClassNormal(torch.zeros(3, 2).double(), torch.eye(2).double().repeat(3, 1, 1))
    q_v = module.encode(x, r[0].expand(len(x), -1))
    own = ClassNormal(unit.mean[0], unit.whitening[0])
    torch.testing.assert_close(kl_within_class(q_v, own), kl_v(q_v))
    torch.testing.assert_close(
        bound_by_class(module, x, r, LOG_PRIOR, Styles(unit, 1.0)),
        bound_by_class(module, x, r, LOG_PRIOR),
    )
