"""Who stands in for whom: never itself, only its class, each as often as the others."""

import itertools
from collections import Counter

import pytest
import torch
from scipy import stats

from sk_equivae.model.complements import ComplementPool, complements, draw_m, leave_one_out
from tests._models import random_rows, seeded

CODES = torch.tensor([0, 1, 0, 2, -1, 0, 1, 0, -1, 0])  # 5, 2 and 1 rows, two of no class


def all_pairs():
    rows, classes = torch.meshgrid(torch.arange(len(CODES)), torch.arange(4), indexing="ij")
    return rows.flatten(), classes.flatten()


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 100])
def test_exactly_m_others_of_the_class(m):
    rows, classes = all_pairs()
    weights = complements(rows, classes, CODES, m, m, seeded(m))
    for row, code, weight in zip(rows, classes, weights, strict=True):
        picked = weight.nonzero().flatten().tolist()
        available = [n for n in range(len(CODES)) if CODES[n] == code and n != row]
        assert set(picked) <= set(available)
        assert len(picked) == min(m, len(available))
        if available:
            torch.testing.assert_close(weight[picked], torch.full((len(picked),), 1 / len(picked)))
        else:
            assert not weight.any()


def test_nobody_left_gives_zeros():
    rows, classes = torch.tensor([3, 0, 0]), torch.tensor([2, 3, 2])
    weights = complements(rows, classes, CODES, 2, 2, seeded())
    assert weights.sum(dim=1).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("row, candidates", [(0, [2, 5, 7, 9]), (4, [0, 2, 5, 7, 9])])
@pytest.mark.parametrize("m", [1, 2])
def test_every_choice_is_as_likely_as_another(row, candidates, m):
    n = 4000
    rows, classes = torch.full((n,), row), torch.zeros(n, dtype=torch.int64)
    weights = complements(rows, classes, CODES, m, m, seeded())
    seen = Counter(tuple(weight.nonzero().flatten().tolist()) for weight in weights)
    choices = list(itertools.combinations(candidates, m))
    assert set(seen) <= set(choices)
    assert stats.chisquare([seen[choice] for choice in choices]).pvalue > 0.01


def test_draws_come_from_the_generator():
    rows, classes = all_pairs()
    one, same, other = (complements(rows, classes, CODES, 1, 1, seeded(s)) for s in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_m_is_uniform():
    generator = seeded()
    counts = Counter(int(draw_m(7, generator)) for _ in range(3000))
    assert sorted(counts) == [1, 2, 3, 4, 5, 6, 7]
    assert stats.chisquare(list(counts.values())).pvalue > 0.01
    assert {int(draw_m(1, generator)) for _ in range(20)} == {1}


def test_leave_one_out_against_a_loop():
    h = random_rows(len(CODES), 3)
    class_means, other_means, counts = leave_one_out(h, CODES, 4)
    assert counts.tolist() == [5, 2, 1, 0]
    for code in range(4):
        members = [h[n] for n in range(len(CODES)) if CODES[n] == code]
        expected = torch.stack(members).mean(dim=0) if members else torch.zeros(3).double()
        torch.testing.assert_close(class_means[code], expected)
    for row, code in enumerate(CODES):
        others = [h[n] for n in range(len(CODES)) if CODES[n] == code >= 0 and n != row]
        expected = torch.stack(others).mean(dim=0) if others else torch.zeros(3).double()
        torch.testing.assert_close(other_means[row], expected)


def test_all_complements_are_the_leave_one_out_mean():
    h, labeled = random_rows(len(CODES), 3), (CODES >= 0).nonzero().flatten()
    weights = complements(labeled, CODES[labeled], CODES, 100, 100, seeded()).double()
    torch.testing.assert_close(
        weights @ h, leave_one_out(h, CODES, 3)[1][labeled], rtol=1e-6, atol=1e-6
    )


# -------------------------------------------------------------------- a pool of a batch


def make_pool(m_max=100, draw=False, seen=()):
    h = random_rows(len(CODES), 3)
    is_seen = torch.tensor([code in seen for code in range(4)])
    return ComplementPool(h, CODES, CODES, m_max, draw, random_rows(4, 3, seed=1), is_seen)


def test_a_pool_gives_the_mean_of_the_others():
    pool = make_pool()
    rows, classes = torch.tensor([0, 4, 1]), torch.tensor([0, 0, 1])
    of_class = CODES == 0
    expected = [pool.h[of_class][1:].mean(dim=0), pool.h[of_class].mean(dim=0), pool.h[6]]
    mean, found = pool.mean(rows, classes, seeded())
    torch.testing.assert_close(mean, torch.stack(expected))
    assert found.all()


def test_a_class_that_is_absent_uses_its_last_mean_without_gradient():
    pool = make_pool(seen=[2, 3])
    pool.h.requires_grad_()
    unlabeled = int((CODES < 0).nonzero()[0])
    mean, found = pool.mean(torch.tensor([0, unlabeled]), torch.tensor([3, 3]), seeded())
    torch.testing.assert_close(mean, pool.last_means[[3, 3]])
    assert found.all()
    (gradient,) = torch.autograd.grad(mean.sum(), pool.h)
    assert not gradient.any()


@pytest.mark.parametrize("seen", [[], [2]])
def test_no_row_ever_stands_in_for_itself(seen):
    """Row 3 is the only one of class 2, and may be part of that class's last mean (Eq. 2)."""
    pool = make_pool(seen=seen)
    pool.h.requires_grad_()
    mean, found = pool.mean(torch.tensor([3, 0]), torch.tensor([2, 3]), seeded())
    assert not found.any()
    assert not mean.any()


def test_rows_of_validation_may_use_the_last_mean_of_their_class():
    pool = make_pool(seen=[2])
    pool.y = torch.full_like(pool.y, -1)
    mean, found = pool.mean(torch.tensor([3]), torch.tensor([2]), seeded())
    torch.testing.assert_close(mean, pool.last_means[[2]])
    assert found.all()


def test_m_is_drawn_in_training_and_m_max_otherwise():
    """Of a class with 5 rows, row 4 averages m of them."""

    def numbers(draw):
        pool, one = make_pool(3, draw), torch.zeros(1, dtype=torch.int64)
        pool.h, pool.last_means = torch.eye(len(CODES)).double(), torch.zeros(4, len(CODES))
        means = (pool.mean(one + 4, one, seeded(seed)).mean for seed in range(40))
        return {int((mean > 0).sum()) for mean in means}

    assert numbers(draw=True) == {1, 2, 3}
    assert numbers(draw=False) == {3}
