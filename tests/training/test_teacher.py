"""Who labels the unlabelled rows in training, and who stands in for whom."""

import pytest
import torch

from sk_equivae import Alignment
from sk_equivae.model import complements
from sk_equivae.training.pseudo_labels import Teacher
from tests._models import (
    MIXED,
    PRIOR,
    batch,
    evaluate,
    middle_confidence,
    random_rows,
    seeded,
    tiny_module,
    tiny_objective,
)

UNLABELED = (MIXED < 0).nonzero()[:, 0]


def believed(objective, module, teacher, evidence=None):
    """q(y | x) of the rows of a batch, as the objective takes it."""
    inputs, y = batch(MIXED)
    if evidence is not None:
        inputs["evidence"] = evidence
    return objective._view(module, inputs, y, seeded(), teacher).q_y


@pytest.fixture
def module():
    return tiny_module()


@pytest.fixture
def teacher():
    return tiny_module(seed=1)


@pytest.fixture
def plain(teacher):
    """The teacher's q(y | x) of the unlabelled rows."""
    return teacher.classify(batch(MIXED)[0]["x"]).softmax(dim=1)[UNLABELED].detach()


# -------------------------------------------------------------------- the teacher


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_alignment_is_by_the_moving_mean_of_the_teacher_and_in_training_only(
    module, teacher, plain, aligned, training
):
    alignment = Alignment()
    alignment.mean_ = before = torch.tensor([0.8, 0.1, 0.1]).double()
    sources = [Teacher(), alignment] if aligned else [Teacher()]
    objective = tiny_objective(module, prior=PRIOR, sources=sources).train(training)
    q_y = believed(objective, module, teacher)[UNLABELED]
    if aligned and training:
        mean = 0.99 * before + 0.01 * plain.mean(dim=0)
        torch.testing.assert_close(alignment.mean_, mean)
        torch.testing.assert_close(q_y, alignment.align(plain, mean, objective.log_prior))
    else:
        torch.testing.assert_close(alignment.mean_, before)
        torch.testing.assert_close(q_y, plain)


@pytest.mark.parametrize("training", [True, False])
def test_the_teacher_labels_rows_as_they_are(module, teacher, plain, training):
    """Not as the augmentation shows them, and by q(y | x) of its own weights."""
    objective = tiny_objective(module, augment=lambda x, _: x + 1).train(training)
    q_y = believed(objective, module, teacher)
    torch.testing.assert_close(q_y[UNLABELED], plain)
    assert q_y[MIXED >= 0].argmax(dim=1).tolist() == MIXED[MIXED >= 0].tolist()
    assert not q_y.requires_grad


def test_without_a_teacher_the_module_labels_rows_as_they_are(module):
    objective = tiny_objective(module, augment=lambda x, _: x + 1).train()
    q_y = believed(objective, module, None)
    own = module.classify(batch(MIXED)[0]["x"]).softmax(dim=1)
    torch.testing.assert_close(q_y[UNLABELED], own[UNLABELED])
    assert q_y.requires_grad


def test_sources_are_asked_in_turn_about_unlabelled_rows(module, teacher, plain):
    """Each sees the belief of those before it, and the evidence of its own rows."""
    asked = []

    class Notes(Teacher):
        def revise(self, q_y, rows):
            asked.append((q_y, rows))
            return q_y.flip(1)

    evidence = random_rows(len(MIXED), 3)
    objective = tiny_objective(module, prior=PRIOR, sources=[Teacher(), Notes(), Notes()])
    q_y = believed(objective, module, teacher, evidence)
    (first, rows), (second, _) = asked
    torch.testing.assert_close(first, plain)
    torch.testing.assert_close(second, plain.flip(1))
    torch.testing.assert_close(q_y[UNLABELED], plain)
    assert torch.equal(rows.x, batch(MIXED)[0]["x"][UNLABELED])
    assert torch.equal(rows.evidence, evidence[UNLABELED])
    assert rows.teacher is teacher
    torch.testing.assert_close(rows.log_prior.exp(), torch.tensor(PRIOR).double())


# -------------------------------------------------------------------- the pool


@pytest.mark.parametrize("pool", ["labeled", "confident"])
def test_confident_rows_stand_in_only_if_they_may(module, pool, monkeypatch):
    pools = []
    draw = complements.complements
    monkeypatch.setattr(complements, "complements", lambda *a: pools.append(a[2]) or draw(*a))
    q_y, confidence = middle_confidence(module)
    objective = tiny_objective(
        module, complement_pool=pool, confidence=confidence, consistency_weight=1.0
    )
    terms = evaluate(module, objective, MIXED)
    sure = torch.where(q_y.amax(dim=1) >= confidence, q_y.argmax(dim=1), -1)
    assert (sure[MIXED < 0] >= 0).sum() == 2
    expected = torch.where(MIXED >= 0, MIXED, sure) if pool == "confident" else MIXED
    assert torch.equal(pools[0], expected)
    assert terms["consistency"] < 0  # that term does not depend on the pool


def test_a_class_that_is_absent_is_decoded_from_its_last_mean(module, monkeypatch):
    objective, y = tiny_objective(module).eval(), torch.tensor([0, 1, -1])
    objective.memory.means.copy_(random_rows(*objective.memory.means.shape).abs())
    objective.memory.seen[2] = True
    decoded = []
    decode = module.decode
    monkeypatch.setattr(module, "decode", lambda r, v: decoded.append(r) or decode(r, v))
    terms, _ = objective(module, *batch(y), seeded())
    h, head = module.invariant.embed(batch(y)[0]["x"]), module.invariant.head
    # the labelled rows have nobody but themselves, and do not count; then the last row's classes
    nobody = torch.zeros_like(h[0])
    expected = [nobody, nobody, h[0], h[1], objective.memory.means[2]]
    torch.testing.assert_close(decoded[0], head(torch.stack(expected)))
    assert terms["elbo"].isfinite()
