"""Who labels the unlabelled rows in training, and who stands in for whom."""

import pytest
import torch
from tests._models import (
    MIXED,
    batch,
    evaluate,
    middle_confidence,
    random_rows,
    seeded,
    tiny_module,
    tiny_objective,
)

from sk_equivae import _objective
from sk_equivae._label_posterior import align, confident_targets

PRIOR = [0.2, 0.3, 0.5]


# -------------------------------------------------------------------- the teacher


def test_alignment_gives_the_classes_their_frequencies():
    """As often as a few passes over the same rows name them, classes are as frequent as in p(y)."""
    log_prior = torch.tensor(PRIOR).double().log()
    q_y = (3 * random_rows(200, 3) + torch.tensor([3.0, 0.0, 0.0])).softmax(dim=1)
    assert q_y.mean(dim=0)[0] > 0.6
    aligned = q_y
    for _ in range(50):
        aligned = align(aligned, aligned.mean(dim=0), log_prior)
    torch.testing.assert_close(aligned.mean(dim=0), log_prior.exp(), atol=1e-3, rtol=0)
    torch.testing.assert_close(align(q_y, log_prior.exp(), log_prior), q_y)


def test_alignment_is_by_the_moving_mean_of_the_teacher_and_in_training_only():
    module, teacher = tiny_module(), tiny_module(seed=1)
    x, y, _ = batch(MIXED)
    unlabeled = (y < 0).nonzero()[:, 0]
    plain = teacher.classify(x).softmax(dim=1)[unlabeled]
    for distribution_alignment in (True, False):
        objective = tiny_objective(module, distribution_alignment=distribution_alignment)
        objective.mean_q_y.copy_(torch.tensor([0.8, 0.1, 0.1]))
        for training in (False, True):
            objective.train(training)
            before = objective.mean_q_y.clone()
            q_y = objective._label_posterior(module, x, y, unlabeled, None, teacher)[unlabeled]
            if distribution_alignment and training:
                mean = 0.99 * before + 0.01 * plain.mean(dim=0)
                torch.testing.assert_close(objective.mean_q_y, mean)
                torch.testing.assert_close(q_y, align(plain, mean, objective.log_prior))
            else:
                torch.testing.assert_close(objective.mean_q_y, before)
                torch.testing.assert_close(q_y, plain)


def test_the_teacher_labels_rows_as_they_are():
    """Not as the augmentation shows them, and by q(y | x) of its own weights."""
    module, teacher = tiny_module(), tiny_module(seed=1)
    x, y, _ = batch(MIXED)
    unlabeled = (y < 0).nonzero()[:, 0]
    objective = tiny_objective(module)
    q_y = objective._label_posterior(module, x, y, unlabeled, None, teacher)
    torch.testing.assert_close(q_y[unlabeled], teacher.classify(x).softmax(dim=1)[unlabeled])
    assert q_y[y >= 0].argmax(dim=1).tolist() == y[y >= 0].tolist()
    assert not q_y.requires_grad


# -------------------------------------------------------------------- the pool


def test_confident_targets():
    q_y = torch.tensor([[0.96, 0.04], [0.9, 0.1], [0.02, 0.98], [0.99, 0.01]])
    y = torch.tensor([-1, -1, -1, 1])
    assert confident_targets(y, q_y, 0.95).tolist() == [0, -1, 1, 1]


@pytest.mark.parametrize("pool", ["labeled", "confident"])
def test_confident_rows_stand_in_only_if_they_may(pool, monkeypatch):
    pools = []
    complements = _objective.complements
    monkeypatch.setattr(_objective, "complements", lambda *a: pools.append(a[2]) or complements(*a))
    module = tiny_module()
    q_y, confidence = middle_confidence(module)
    objective = tiny_objective(module, complement_pool=pool, confidence=confidence)
    terms = evaluate(module, objective, MIXED)
    sure = torch.where(q_y.amax(dim=1) >= confidence, q_y.argmax(dim=1), -1)
    assert (sure[MIXED < 0] >= 0).sum() == 2
    expected = torch.where(MIXED >= 0, MIXED, sure) if pool == "confident" else MIXED
    assert torch.equal(pools[0], expected)
    assert terms["consistency"] < 0  # that term does not depend on the pool


def test_training_remembers_class_means():
    module = tiny_module()
    objective = tiny_objective(module)
    before = random_rows(*objective.class_embeddings.shape)
    objective.class_embeddings.copy_(before)
    y = torch.tensor([0, 0, 1, -1])
    x = batch(y)[0]
    evaluate(module, objective, y)
    assert not objective.seen.any()
    objective.train()(module, batch(y), seeded())
    h = module.invariant.embed(x)
    assert objective.seen.tolist() == [True, True, False]
    torch.testing.assert_close(objective.class_embeddings[0], h[:2].mean(dim=0))
    torch.testing.assert_close(objective.class_embeddings[1], h[2])
    assert torch.equal(objective.class_embeddings[2], before[2])
    assert not objective.class_embeddings.requires_grad


def test_a_class_that_is_absent_uses_its_last_mean_without_gradient():
    module = tiny_module()
    objective = tiny_objective(module).eval()
    objective.class_embeddings.copy_(random_rows(*objective.class_embeddings.shape).abs())
    objective.seen[2] = True
    h = module.invariant.embed(random_rows(3, 4)).detach().requires_grad_()
    pool, rows = torch.tensor([0, 1, -1]), torch.tensor([2, 2, 2, 1])
    classes = torch.tensor([0, 1, 2, 1])
    r = objective._invariant(module, h, pool, rows, classes, seeded())
    head = module.invariant.head
    torch.testing.assert_close(r[:2], head(h[:2]))
    torch.testing.assert_close(r[2], head(objective.class_embeddings[2]))
    torch.testing.assert_close(r[3], head(h[1]))  # the only one, and no mean known: itself
    (gradient,) = torch.autograd.grad(r[2].sum(), h)
    assert not gradient.any()
