"""Means of classes, gathered batch by batch."""

import numpy as np
import torch

from sk_equivae.fitted.prototypes import ClassMeans
from tests._models import random_rows


def gathered(h, codes, weight, size):
    means = ClassMeans(4, h.shape[1])
    for start in range(0, len(h), size):
        part = slice(start, start + size)
        means.update(h[part], codes[part], weight[part])
    return means


def test_means_are_weighted_and_independent_of_batches():
    h, codes = random_rows(12, 3).float(), torch.tensor([0, 1, -1, 2, 0, 1, 0, 1, -1, 0, 1, 1])
    weight = random_rows(12, seed=1).exp()
    whole = gathered(h, codes, weight, 12)
    for code in range(3):
        rows = (codes == code).numpy()
        expected = np.average(h.numpy()[rows], axis=0, weights=weight.numpy()[rows])
        np.testing.assert_allclose(whole.means[code], expected, rtol=1e-6)
    assert whole.means.dtype == torch.float64
    assert whole.means[3].isnan().all()
    for size in (1, 5):
        torch.testing.assert_close(
            gathered(h, codes, weight, size).means, whole.means, equal_nan=True
        )


def test_old_means_move_by_the_number_of_rows():
    h, codes = random_rows(4, 2), torch.tensor([0, 0, 0, 1])
    means = gathered(h, codes, torch.ones(4), 4)
    nan = torch.full((2,), torch.nan).double()
    old = torch.stack([torch.ones(2).double(), nan, torch.zeros(2).double(), nan])
    moved = means.update_means(old, strength=5)
    torch.testing.assert_close(moved[0], 1 + 3 / 8 * (h[:3].mean(dim=0) - 1))
    torch.testing.assert_close(moved[1], h[3])  # nothing known before
    torch.testing.assert_close(moved[2], old[2])  # nothing new
    assert moved[3].isnan().all()
