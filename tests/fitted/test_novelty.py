"""Scores of rows, and the share of known rows below a threshold."""

import numpy as np
import torch

from sk_equivae.fitted.novelty import find_novelty, statistics
from tests._models import random_rows, tiny_module


def test_a_share_of_the_known_rows_is_below_the_offset():
    values = np.random.RandomState(0).gamma(2.0, size=(4000, 3))
    novelty = find_novelty(values)
    scores = novelty.score(torch.from_numpy(values))
    for share in (0.01, 0.05, 0.5):
        assert abs((scores < novelty.offset(share)).double().mean() - share) < 0.002
    assert novelty.score(torch.tensor([[9.0, 9.0, 9.0]])) < novelty.offset(0.001)


def test_a_statistic_that_says_nothing_is_left_out():
    novelty = find_novelty(np.random.RandomState(0).normal(size=(100, 2)))
    some = novelty.score(torch.tensor([[1.0, torch.nan]]))
    np.testing.assert_allclose(some, -(1.0 - novelty.mean[0]) / novelty.scale[0])


def test_equal_rows_have_finite_scores():
    novelty = find_novelty(np.ones((5, 3)))
    assert torch.isfinite(novelty.score(torch.ones(2, 3, dtype=torch.float64))).all()


def test_statistics_of_classes_background_and_added_classes():
    module = tiny_module(n_classes=3)
    x = random_rows(6, 4)
    r = random_rows(3, 3, seed=1)
    plain = statistics(module, x, r, torch.arange(3), 0)
    assert plain.shape == (6, 3)
    distance = (module.f_inv(x)[:, None] - r).square().sum(dim=2)
    torch.testing.assert_close(plain[:, 0], distance.amin(dim=1))
    torch.testing.assert_close(plain[:, 1], -module.classify(x).logsumexp(dim=1))
    # the third output stands for no class
    found = statistics(module, x, r, torch.arange(3), 1)
    assert found.shape == (6, 5)
    logits = module.classify(x)
    odds = logits[:, 2] - logits[:, :2].logsumexp(dim=1)
    torch.testing.assert_close(found[:, 3], odds)
    torch.testing.assert_close(found[:, 4], distance[:, :2].amin(dim=1) - distance[:, 2])
    # a class that was added last, at the row itself: only its distance counts
    more = torch.cat([r, module.f_inv(x)[:1]])
    added = statistics(module, x[:1], more, torch.arange(3), 0)
    assert added[0, 0] < 1e-20
    assert added[0, 1:].isnan().all()
