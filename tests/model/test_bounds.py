"""The bounds against a plain reading of the paper."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from sk_equivae.model.bounds import (
    TERMS,
    CountedRows,
    LatentTerms,
    labeled_elbo,
    latent_terms,
    semi_supervised_elbo,
    unlabeled_elbo,
)
from sk_equivae.model.complements import ComplementPool
from tests._models import (
    LABELED,
    MIXED,
    NOISE,
    PRIOR,
    batch,
    plain_labeled,
    plain_unlabeled,
    random_rows,
    seeded,
    tiny_module,
)

LOG_PRIOR = torch.tensor(PRIOR, dtype=torch.float64).log()


@torch.no_grad()
def bound_of(module, y, labeled, unlabeled, shape=(4,), q_y=None, rows=None):
    """Eq. 7 with all others of a class as complements, the weights as given."""
    x = batch(y, shape)[0]["x"]
    if q_y is None:
        q_y = module.classify(x).softmax(dim=1)
    q_y = torch.where(y[:, None] >= 0, F.one_hot(y.clamp(min=0), 3).double(), q_y)
    h = module.invariant.embed(x)
    pool = ComplementPool(
        h, y, y, 1000, False, torch.zeros(3, h.shape[1]).double(), torch.zeros(3) > 0
    )
    counted = CountedRows(
        torch.arange(len(y)) if rows is None else rows,
        labeled * (y >= 0).double(),
        unlabeled * (y < 0).double(),
        bool((y < 0).any()),
    )
    return semi_supervised_elbo(module, x, y, q_y, pool, counted, LOG_PRIOR, seeded())


@pytest.mark.parametrize(
    "shape, likelihood", [((4,), "gaussian"), ((4,), "bernoulli"), ((2, 8, 9), "gaussian")]
)
class TestAgainstPlainLoops:
    @pytest.mark.parametrize("y", [LABELED, MIXED])
    def test_labeled(self, same_noise, shape, likelihood, y):
        module = tiny_module(shape, likelihood=likelihood)
        bound = bound_of(module, y, 1 / int((y >= 0).sum()), 0.0, shape)
        expected = plain_labeled(module, batch(y, shape)[0]["x"], y)
        np.testing.assert_allclose(bound["elbo"].item(), expected, rtol=1e-6)

    def test_unlabeled_sums_over_all_classes(self, same_noise, shape, likelihood):
        module = tiny_module(shape, likelihood=likelihood)
        bound = bound_of(module, MIXED, 0.0, 1 / 3, shape)
        expected = plain_unlabeled(module, batch(MIXED, shape)[0]["x"], MIXED)
        np.testing.assert_allclose(bound["elbo"].item(), expected, rtol=1e-6)


def test_with_a_certain_y_the_unlabeled_bound_is_the_labeled_one():
    """Eq. 6 with one-hot q(y | x) is Eq. 4, whatever stands at the other classes."""
    terms = LatentTerms(random_rows(6, 3), random_rows(6, 3, seed=1).exp())
    y = torch.tensor([0, 1, 2, 2, 1, 0])
    of_own = LatentTerms(*(term[torch.arange(6), y] for term in terms[:2]))
    torch.testing.assert_close(
        unlabeled_elbo(terms, torch.eye(3).double()[y], LOG_PRIOR),
        labeled_elbo(of_own, LOG_PRIOR[y]),
    )


def test_semi_supervised_is_the_weighted_sum():
    """Eq. 7 of the rows of a batch: a sum of Eq. 4 and Eq. 6, each row with its weight."""
    module = tiny_module()
    weight = torch.arange(1.0, 10.0).double()
    both = bound_of(module, MIXED, weight, 3 * weight)
    alone = [
        bound_of(module, MIXED, *(value * row for value in (1.0, 3.0))) for row in weight.diag()
    ]
    for name in TERMS:
        torch.testing.assert_close(both[name], sum(terms[name] for terms in alone))
    assert both["elbo"].item() != 0


@pytest.mark.parametrize("y", [LABELED, MIXED])
def test_terms_of_the_bound_add_up(y):
    bound = bound_of(tiny_module(), y, 0.1, 0.2)
    assert tuple(name for name in bound if name != "kl_v_dims") == TERMS
    torch.testing.assert_close(bound["kl_v_dims"].sum(), bound["kl_v"])
    torch.testing.assert_close(
        bound["elbo"],
        bound["reconstruction"] - bound["kl_v"] - bound["kl_y"] + bound["log_p_y"],
    )
    assert (bound["kl_y"] > 0) == bool((y < 0).any())
    assert bound["log_p_y"] < 0


def test_rows_that_do_not_count_change_nothing(same_noise):
    """They may have any weight of 0, and are neither embedded for v nor decoded."""
    module, rows = tiny_module(), torch.tensor([2, 0, 5, 8])
    counts = torch.zeros(9).double().index_fill(0, rows, 1.0)
    whole = bound_of(module, MIXED, counts, counts)
    part = bound_of(module, MIXED, counts, counts, rows=rows)
    for name in TERMS:
        torch.testing.assert_close(part[name], whole[name])


def test_only_classes_that_are_possible_are_decoded(monkeypatch):
    module, n_decoded, n_embedded = tiny_module(), [], []
    decode, embed = module.decode, module.equivariant.embed
    monkeypatch.setattr(module, "decode", lambda r, v: n_decoded.append(len(r)) or decode(r, v))
    monkeypatch.setattr(
        module.equivariant, "embed", lambda x: n_embedded.append(len(x)) or embed(x)
    )
    certain, none = torch.eye(3).double()[[1] * 9], None
    for q_y, rows in ((none, None), (certain, None), (none, torch.tensor([0, 2]))):
        bound_of(module, MIXED, 0.1, 0.1, q_y=q_y, rows=rows)
    assert n_decoded == [6 + 3 * 3, 6 + 3, 1 + 3]
    assert n_embedded == [9, 9, 2]  # once, whatever the number of classes


def test_without_a_generator_v_is_the_mean(same_noise):
    module, x, r = tiny_module(), random_rows(5, 4), random_rows(5, 3, seed=1)
    h, q_v = module.equivariant.embed(x), module.encode(x, r)
    exact, drawn = latent_terms(module, x, h, r), latent_terms(module, x, h, r, seeded())
    torch.testing.assert_close(exact.reconstruction, module.decode(r, q_v.mean).log_prob(x))
    v = q_v.mean + q_v.stddev * NOISE
    torch.testing.assert_close(drawn.reconstruction, module.decode(r, v).log_prob(x))
    torch.testing.assert_close(drawn.kl_v, exact.kl_v)


def test_a_labelled_row_without_others_does_not_count(same_noise):
    """Eq. 2 has no r_y for it: the bound is that of the other rows, with their weights."""
    module, y = tiny_module(), torch.tensor([0, 0, 1, -1])
    weight = torch.tensor([0.25, 0.25, 0.5, 0.0]).double()
    alone = bound_of(module, y, weight, 0.0)
    others = bound_of(module, y, weight * torch.tensor([1, 1, 0, 1]), 0.0)
    for name, value in alone.items():
        torch.testing.assert_close(value, others[name])


def test_an_unlabelled_row_has_only_classes_with_others(same_noise):
    """The probability of a class without an r_y goes to the rest; no class, no bound."""
    module, y = tiny_module(), torch.tensor([0, 0, 1, -1, -1])
    q_y = torch.tensor([[0.2, 0.3, 0.5]]).double().repeat(5, 1)
    without = torch.tensor([[0.4, 0.6, 0.0]]).double().repeat(5, 1)
    bound, expected = (bound_of(module, y, 0.0, 0.5, q_y=q) for q in (q_y, without))
    torch.testing.assert_close(bound["elbo"], expected["elbo"])
    lost = torch.tensor([[0.0, 0.0, 1.0]]).double().repeat(5, 1)
    assert not any(value.any() for value in bound_of(module, y, 0.0, 0.5, q_y=lost).values())
