"""Classes as frequent among unlabelled rows as among labelled ones."""

import pytest
import torch

from sk_equivae import Alignment, Objective
from sk_equivae.training.pseudo_labels import Teacher, UnlabeledRows
from tests._models import random_rows, tiny_module

LOG_PRIOR = torch.tensor([0.2, 0.3, 0.5]).double().log()


def unlabeled(n=5, training=True):
    return UnlabeledRows(random_rows(n, 4), None, tiny_module(seed=1), LOG_PRIOR, training)


def test_alignment_gives_the_classes_their_frequencies():
    """As often as a few passes over the same rows name them, classes are as frequent as in p(y)."""
    q_y = (3 * random_rows(200, 3) + torch.tensor([3.0, 0.0, 0.0])).softmax(dim=1)
    assert q_y.mean(dim=0)[0] > 0.6
    aligned = q_y
    for _ in range(50):
        aligned = Alignment().align(aligned, aligned.mean(dim=0), LOG_PRIOR)
    torch.testing.assert_close(aligned.mean(dim=0), LOG_PRIOR.exp(), atol=1e-3, rtol=0)
    torch.testing.assert_close(Alignment().align(q_y, LOG_PRIOR.exp(), LOG_PRIOR), q_y)


@pytest.mark.parametrize("decay", [0.99, 0.5])
def test_alignment_is_by_the_moving_mean_of_the_teacher(decay):
    """Which starts at p(y)."""
    alignment, rows, mean = Alignment(decay=decay), unlabeled(), LOG_PRIOR.exp()
    for _ in range(3):
        plain = Teacher().revise(LOG_PRIOR.exp().expand(5, 3), rows)
        mean = decay * mean + (1 - decay) * plain.mean(dim=0)
        q_y = alignment.revise(plain, rows)
        torch.testing.assert_close(alignment.mean_, mean)
        torch.testing.assert_close(q_y, alignment.align(plain, mean, LOG_PRIOR))
        assert not torch.allclose(q_y, plain)


def test_alignment_is_for_training_only():
    alignment = Alignment()
    alignment.mean_ = torch.tensor([0.8, 0.1, 0.1]).double()
    before, q_y = alignment.mean_.clone(), random_rows(5, 3).softmax(dim=1)
    assert alignment.revise(q_y, unlabeled(training=False)) is q_y
    torch.testing.assert_close(alignment.mean_, before)


def test_a_class_that_is_never_named_is_not_blown_up():
    q_y = torch.tensor([[0.5, 0.499, 0.001]]).double()
    never = torch.tensor([0.5, 0.5, 0.0]).double()
    aligned = Alignment(smallest_mean=0.1).align(q_y, never, torch.full((3,), 1 / 3).log())
    assert aligned.sum() == pytest.approx(1)
    assert aligned[0, 2] == pytest.approx(0.01 / (1 + 0.998 + 0.01))


def test_what_a_fit_learns_of_the_frequencies_stays_out_of_the_parameter(make, blobs, few):
    given = Alignment()
    model = make(objective=Objective(alignment=given, experts=None)).fit(blobs[0], few)
    assert given.mean_ is None
    used = [s for s in model.net_.criterion_.sources if isinstance(s, Alignment)]
    assert used[0].mean_ is not None
