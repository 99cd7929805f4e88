"""The added terms, each against its formula, and the memory of class means."""

from dataclasses import replace

import pytest
import torch

from sk_equivae import Experts, Objective
from sk_equivae.training.pseudo_labels import Teacher
from sk_equivae.training.settings import Plan
from sk_equivae.training.terms import TERMS, ClassMemory, term_weights
from tests._models import (
    ALL_TERMS,
    LABELED,
    MIXED,
    batch,
    evaluate,
    middle_confidence,
    random_rows,
    seeded,
    tiny_module,
    tiny_objective,
)


def all_terms(module, y, weight=None, **fields):
    return evaluate(module, tiny_objective(module, **ALL_TERMS, **fields), y, weight=weight)


def test_log_q_y_and_consistency_are_log_probabilities():
    module = tiny_module()
    q_y, confidence = middle_confidence(module)
    terms = all_terms(module, MIXED, confidence=confidence)
    of_own = q_y[MIXED >= 0].gather(1, MIXED[MIXED >= 0][:, None])
    torch.testing.assert_close(terms["log_q_y"], of_own.log().mean())
    best = q_y[MIXED < 0].amax(dim=1)  # the one that is not confident counts as 0
    expected = torch.where(best >= confidence, best, 1.0).log().mean()
    torch.testing.assert_close(terms["consistency"], expected)


def test_prototype_term_leaves_out_the_row_itself_and_classes_never_seen():
    module, x = tiny_module(n_classes=4), batch(LABELED)[0]["x"]
    terms = all_terms(module, LABELED)
    logs = []
    for n, own in enumerate(LABELED):
        distances = []
        for code in range(3):
            others = [i for i in range(len(x)) if LABELED[i] == code and i != n]
            r = module.invariant.head(module.invariant.embed(x[others]).mean(dim=0))
            distances.append((module.f_inv(x[n : n + 1])[0] - r).square().sum())
        logs.append((-torch.stack(distances)).log_softmax(dim=0)[own])
    torch.testing.assert_close(terms["prototype"], torch.stack(logs).mean())


def test_prototype_term_takes_absent_classes_from_the_memory():
    module, y = tiny_module(), torch.tensor([0, 0, 1, 1])
    alone = evaluate(module, tiny_objective(module, **ALL_TERMS), y)["prototype"]
    objective = tiny_objective(module, **ALL_TERMS)
    objective.memory.means[2] = random_rows(module.n_hidden).abs()
    objective.memory.seen[2] = True
    assert evaluate(module, objective, y)["prototype"] < alone  # one more class to be taken for


def test_prototype_term_leaves_out_rows_without_others():
    """A row that is alone is not its own prototype (Eq. 2)."""
    module, y = tiny_module(), torch.tensor([0, 0, 1, 1, 2])
    term = evaluate(module, tiny_objective(module, **ALL_TERMS), y)["prototype"]
    x = batch(y)[0]["x"]
    f_inv, h = module.f_inv(x), module.invariant.embed(x)
    logs = []
    for n in range(4):
        rows = [(y == c) & (torch.arange(5) != n) for c in range(3)]
        r = module.invariant.head(torch.stack([h[own].mean(dim=0) for own in rows]))
        logs.append(-(f_inv[n] - r).square().sum(dim=1))
    expected = torch.stack(logs).log_softmax(dim=1).gather(1, y[:4, None]).sum() / 5
    torch.testing.assert_close(term, expected)


def test_linear_term_is_of_labelled_and_confident_rows():
    module = tiny_module()
    q_y, confidence = middle_confidence(module)
    terms = all_terms(module, MIXED, confidence=confidence)
    logs = module.invariant.linear(module.f_inv(batch(MIXED)[0]["x"])).log_softmax(dim=1)
    of_own = logs[MIXED >= 0].gather(1, MIXED[MIXED >= 0][:, None]).mean()
    best, code = q_y[MIXED < 0].max(dim=1)
    of_best = logs[MIXED < 0].gather(1, code[:, None])[:, 0]
    expected = of_own + torch.where(best >= confidence, of_best, 0.0).mean()
    torch.testing.assert_close(terms["linear"], expected)


def test_a_constant_f_inv_is_no_trap():
    """Distances have no gradient where all are 0; the linear term leads away from there."""
    module = tiny_module()
    torch.nn.init.zeros_(module.invariant.output.weight)
    terms, _ = tiny_objective(module, **ALL_TERMS)(module, *batch(LABELED), seeded())
    weight = module.invariant.output.weight
    (of_distances,) = torch.autograd.grad(terms["prototype"], weight, retain_graph=True)
    (of_linear,) = torch.autograd.grad(terms["linear"], weight)
    assert of_distances.abs().max() == 0 < of_linear.abs().max()


def test_every_row_counts_the_same_if_experts_were_asked():
    """As in a data set of a quarter of labelled rows, whatever their share of the batch."""
    module, experts = tiny_module(), Experts()
    experts.report_ = {}
    objective = tiny_objective(module, **ALL_TERMS, sources=[Teacher(), experts]).eval()
    objective.plan = replace(objective.plan, labeled_share=0.25)
    inputs, y = batch(MIXED)
    believed = torch.full((len(y), 3), 1 / 3, dtype=torch.float64)
    with torch.no_grad():
        terms, logits = objective(module.eval(), {**inputs, "evidence": believed}, y, seeded())
    log_q = logits.log_softmax(dim=1)
    of_labels = log_q[y >= 0].gather(1, y[y >= 0][:, None]).mean()
    torch.testing.assert_close(terms["log_q_y"], 2 * 0.25 * of_labels)
    torch.testing.assert_close(terms["consistency"], 2 * 0.75 * log_q[y < 0].mean())


def test_accuracy_is_of_labelled_rows_by_their_weight():
    module, weight = tiny_module(), torch.arange(1.0, 10.0)
    right = module.classify(batch(MIXED)[0]["x"]).argmax(dim=1) == MIXED
    expected = weight[right].sum() / weight[MIXED >= 0].sum()
    assert 0 < expected < 1
    torch.testing.assert_close(all_terms(module, MIXED, weight)["accuracy"], expected.double())


def test_log_loss_is_of_labelled_rows_by_their_weight():
    module, weight, labeled = tiny_module(), torch.arange(1.0, 10.0), MIXED >= 0
    log_q = module.classify(batch(MIXED)[0]["x"]).log_softmax(dim=1)
    losses = -log_q[labeled, MIXED[labeled]]
    expected = (weight[labeled] * losses).sum() / weight[labeled].sum()
    torch.testing.assert_close(all_terms(module, MIXED, weight)["log_loss"], expected.detach())


def test_without_labelled_rows_there_is_no_accuracy():
    module, y = tiny_module(), torch.full((4,), -1)
    terms = all_terms(module, y)
    assert terms.pop("accuracy").isnan()
    assert terms.pop("log_loss").isnan()
    assert all(term.isfinite().all() for term in terms.values())


def test_weights_come_from_the_objective_and_the_plan():
    plan = Plan(1, 32, 0.5, 4.0, kl_warmup=0.0, class_threshold=0.01, max_classes=3)
    objective = Objective(label_weight=2.0, consistency_weight=0.0, linear_weight=0.5)
    assert term_weights(objective, plan) == {"log_q_y": 2.0, "prototype": 4.0, "linear": 2.0}
    assert set(term_weights(Objective(), plan)) == set(TERMS)


# -------------------------------------------------------------------- the memory


def test_memory_keeps_the_last_mean_of_each_class():
    memory, h = ClassMemory(3, 2).double(), random_rows(4, 2).requires_grad_()
    before = random_rows(3, 2, seed=1)
    memory.means.copy_(before)
    memory.update(h, torch.tensor([0, 0, 1, -1]))
    assert memory.seen.tolist() == [True, True, False]
    torch.testing.assert_close(memory.means[0], h[:2].mean(dim=0).detach())
    torch.testing.assert_close(memory.means[1], h[2].detach())
    assert torch.equal(memory.means[2], before[2])
    assert not memory.means.requires_grad


def test_memory_goes_into_the_state_of_an_objective():
    state = tiny_objective(tiny_module()).state_dict()
    assert {"memory.means", "memory.seen"} <= set(state)


@pytest.mark.parametrize("pool", ["labeled", "confident"])
def test_training_remembers_class_means(pool):
    """Of labelled rows only, so that an unlabelled row is never part of them (Eq. 2)."""
    module, y = tiny_module(), torch.tensor([0, 0, 1, -1])
    objective = tiny_objective(module, complement_pool=pool, confidence=0.0)
    before = random_rows(*objective.memory.means.shape)
    objective.memory.means.copy_(before)
    inputs, _ = batch(y)
    evaluate(module, objective, y)
    assert not objective.memory.seen.any()
    teacher = tiny_module()
    torch.nn.init.zeros_(teacher.posterior.output.weight)
    teacher.posterior.output.bias.data.copy_(torch.tensor([0.0, 9.0, 0.0]))  # always class 1
    objective.train()(module, inputs, y, seeded(), teacher)
    h = module.invariant.embed(inputs["x"]).detach()
    assert objective.memory.seen.tolist() == [True, True, False]
    torch.testing.assert_close(objective.memory.means[0], h[:2].mean(dim=0))
    torch.testing.assert_close(objective.memory.means[1], h[2])
    assert torch.equal(objective.memory.means[2], before[2])
    assert not objective.memory.means.requires_grad
