"""What is made of q(y | x) of unlabelled rows before the objective uses it."""

import pytest
import torch

from sk_equivae.training.pseudo_labels import confident_targets, truncate
from tests._models import random_rows


@pytest.mark.parametrize("max_classes", [1, 3])
def test_truncation_normalises(max_classes):
    q = random_rows(50, 6).mul(3).softmax(dim=1)
    cut = truncate(q, 0.1, max_classes)
    torch.testing.assert_close(cut.sum(dim=1), torch.ones(50).double())
    most = q >= q.topk(max_classes, dim=1).values[:, -1:]
    assert torch.equal(cut > 0, (q >= 0.1) & most)
    assert ((q >= 0.1) & ~most).any()
    kept = cut[0] > 0
    torch.testing.assert_close(cut[0, kept], q[0, kept] / q[0, kept].sum())


def test_truncation_keeps_the_most_probable_class_and_all_without_a_threshold():
    q = random_rows(50, 6).mul(3).softmax(dim=1)
    assert truncate(q, 0.0, 3) is q
    assert torch.equal(truncate(q, 0.99, 3) > 0, q == q.amax(dim=1, keepdim=True))
    torch.testing.assert_close(truncate(q, 1e-9, 100), q)  # more than there are


def test_confident_targets():
    q_y = torch.tensor([[0.96, 0.04], [0.9, 0.1], [0.02, 0.98], [0.99, 0.01]])
    y = torch.tensor([-1, -1, -1, 1])
    assert confident_targets(y, q_y, 0.95).tolist() == [0, -1, 1, 1]
