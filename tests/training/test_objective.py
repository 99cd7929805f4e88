"""What a batch gives: which rows count, what is left out, and where gradients go."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import mask_labels
from tests._models import (
    ALL_TERMS,
    LABELED,
    MIXED,
    PRIOR,
    batch,
    evaluate,
    has_gradient,
    plain_labeled,
    plain_unlabeled,
    random_rows,
    seeded,
    tiny_module,
    tiny_objective,
)


def terms_of(objective, module, y, generator=None, teacher=None):
    return objective(module, *batch(y), generator or seeded(), teacher)[0]


# -------------------------------------------------------------------- the bound


@pytest.mark.parametrize(
    "shape, likelihood", [((4,), "gaussian"), ((4,), "bernoulli"), ((2, 8, 9), "gaussian")]
)
class TestAgainstPlainLoops:
    def test_labeled(self, same_noise, shape, likelihood):
        module = tiny_module(shape, likelihood=likelihood)
        terms = evaluate(module, tiny_objective(module, prior=PRIOR), LABELED, shape)
        expected = plain_labeled(module, batch(LABELED, shape)[0]["x"], LABELED)
        np.testing.assert_allclose(terms["elbo"].item(), expected, rtol=1e-6)

    def test_unlabeled_sums_over_all_classes(self, same_noise, shape, likelihood):
        module = tiny_module(shape, likelihood=likelihood)
        objective = tiny_objective(module, prior=PRIOR, labeled_share=0.0)
        terms = evaluate(module, objective, MIXED, shape, weight=MIXED < 0)
        expected = plain_unlabeled(module, batch(MIXED, shape)[0]["x"], MIXED)
        np.testing.assert_allclose(terms["elbo"].item(), expected, rtol=1e-6)


def test_each_kind_of_row_has_its_share_in_training(same_noise):
    """Eq. 7 by the batch: a weighted mean of Eq. 4 and Eq. 6."""
    module = tiny_module()
    objective = tiny_objective(module, prior=PRIOR, labeled_share=0.0)
    labeled = evaluate(module, objective, MIXED, weight=MIXED >= 0)["elbo"]
    unlabeled = evaluate(module, objective, MIXED, weight=MIXED < 0)["elbo"]
    # enough for all labelled rows to be in the bound
    objective.plan = replace(objective.plan, labeled_share=0.75)
    # the teacher, equal to the module, gives q(y | x) without dropout
    both = terms_of(objective.train(), module, MIXED, teacher=copy.deepcopy(module))["elbo"]
    torch.testing.assert_close(both.detach(), 0.75 * labeled + 0.25 * unlabeled)


FEW = torch.tensor([0, -1, 1, -1, -1, 2, 0, -1, -1, -1, -1, -1])


def view_of_few(objective):
    return objective._view(tiny_module(), *batch(FEW), seeded(), None)


def test_labeled_rows_are_in_the_bound_by_their_share():
    objective = tiny_objective(tiny_module(), labeled_share=0.2).train()
    unlabeled, labeled = (FEW < 0).nonzero()[:, 0], set((FEW >= 0).nonzero()[:, 0].tolist())
    drawn, view = set(), view_of_few(objective)
    for seed in range(50):
        counted = objective._counted(view, seeded(seed))
        rows = counted.rows.tolist()
        assert rows[:8] == unlabeled.tolist()
        assert len(rows) == 8 + 2  # a fifth
        assert set(rows[8:]) <= labeled
        assert set(counted.labeled.nonzero()[:, 0].tolist()) == set(rows[8:])
        assert counted.labeled.sum() == pytest.approx(0.2)
        assert counted.unlabeled.sum() == pytest.approx(0.8)
        drawn |= set(rows[8:])
    assert drawn == labeled


@pytest.mark.parametrize("labeled_share, training", [(0.2, False), (0.5, True)])
def test_all_rows_are_in_the_bound_outside_of_training_or_of_a_large_share(labeled_share, training):
    objective = tiny_objective(tiny_module(), labeled_share=labeled_share).train(training)
    counted = objective._counted(view_of_few(objective), seeded())
    assert counted.rows.tolist() == list(range(12))


# -------------------------------------------------------------------- the total


@pytest.mark.parametrize("y", [LABELED, MIXED])
@pytest.mark.parametrize("training", [False, True])
def test_terms_add_up(y, training):
    module = tiny_module()
    weights = {"label_weight": 2.0, "consistency_weight": 3.0, "prototype_weight": 5.0}
    objective = tiny_objective(
        module, prior=PRIOR, m_max=2, confidence=0.0, linear_weight=7.0, **weights
    )
    terms = terms_of(objective.train(training), module, y)
    assert [name for name in terms if name != "kl_v_dims"] == objective.term_names
    torch.testing.assert_close(terms["kl_v_dims"].sum(), terms["kl_v"])
    torch.testing.assert_close(
        terms["elbo"],
        terms["reconstruction"] - terms["kl_v"] - terms["kl_y"] + terms["log_p_y"],
    )
    torch.testing.assert_close(
        terms["objective"],
        terms["elbo"]
        + 2 * terms["log_q_y"]
        + 3 * terms["consistency"]
        + 5 * (terms["prototype"] + 7 * terms["linear"]),
    )
    assert (terms["kl_y"] > 0) == (terms["consistency"] < 0) == bool((y < 0).any())
    assert terms["log_p_y"] < 0


@pytest.mark.parametrize("training", [False, True])
def test_the_weight_of_the_divergence_is_for_training_only(training):
    module = tiny_module()
    objective = tiny_objective(module, label_weight=0.0).train(training)
    whole = terms_of(objective, module, LABELED)
    objective.kl_weight = 0.25
    part = terms_of(objective, module, LABELED)
    torch.testing.assert_close(part["elbo"], whole["elbo"])
    gain = part["objective"] - whole["objective"]
    torch.testing.assert_close(gain, 0.75 * whole["kl_v"] * training)


def test_a_term_without_weight_is_not_computed():
    module = tiny_module()
    bound = ["objective", "elbo", "reconstruction", "kl_v", "kl_y", "log_p_y"]
    for fields, added in [
        ({"label_weight": 0.0}, []),
        ({}, ["log_q_y"]),
        ({"prototype_weight": 2.0}, ["log_q_y", "prototype", "linear"]),
        ({"prototype_weight": 2.0, "linear_weight": 0.0}, ["log_q_y", "prototype"]),
        ({"consistency_weight": 1.0}, ["log_q_y", "consistency"]),
    ]:
        objective = tiny_objective(module, **fields)
        assert objective.term_names == [*bound, *added, "accuracy", "log_loss"]
        terms = evaluate(module, objective, MIXED)
        assert [name for name in terms if name != "kl_v_dims"] == objective.term_names


def test_logits_are_those_of_the_label_posterior():
    module = tiny_module()
    _, logits = tiny_objective(module).eval()(module, *batch(MIXED), seeded())
    torch.testing.assert_close(logits, module.classify(batch(MIXED)[0]["x"]))


def test_sample_weights_weigh_rows(same_noise):
    module = tiny_module()
    objective = tiny_objective(module, prior=PRIOR, **ALL_TERMS)
    names = [
        "reconstruction", "kl_v", "log_p_y", "elbo", "log_q_y", "prototype", "linear", "accuracy",
        "log_loss",
    ]  # fmt: skip

    def values(weight):
        terms = evaluate(module, objective, LABELED, weight=torch.as_tensor(weight))
        return torch.stack([terms[name] for name in names])

    alone = torch.stack([values(row) for row in torch.eye(len(LABELED))])
    weight = np.random.RandomState(0).uniform(0.1, 5, size=len(LABELED))
    np.testing.assert_allclose(values(weight), np.average(alone, axis=0, weights=weight))
    np.testing.assert_allclose(values(7 * weight), values(weight))


def test_a_class_without_rows_has_a_finite_prior():
    module = tiny_module()
    objective = tiny_objective(module, prior=[0.0, 0.4, 0.6])
    assert objective.log_prior.isfinite().all()
    assert evaluate(module, objective, MIXED)["elbo"].isfinite()


# -------------------------------------------------------------------- the threshold


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    # columns in another order: a table, which does not look like images
    X, y = X[:300, ::-1][:, np.argsort(np.arange(64) % 7, kind="stable")] / 16, y[:300]
    y = mask_labels(y, 10, random_state=0)
    model = EquiVAEClassifier(latent_dim=4, max_epochs=40, dtype="float64", random_state=0)
    x = model.fit(X, y).model_.rows.normalize(torch.from_numpy(X), torch.float64)
    return model, x, torch.from_numpy(y)


@pytest.fixture
def bound(digits, same_noise):
    """The bound on unlabelled rows as a function of threshold and module, by the same noise."""
    model, x, y = digits
    objective = copy.deepcopy(model.net_.criterion_).eval()
    objective.plan, objective.m_max = replace(objective.plan, labeled_share=0.0), len(x)
    inputs = {"x": x, "weight": (y < 0).double()}

    def compute(threshold, module=model.model_.module):
        objective.plan = replace(objective.plan, class_threshold=threshold)
        several = []
        for noise in random_rows(4, module.n_latents[1]):
            same_noise(noise)
            with torch.no_grad():
                several.append(objective(module, inputs, y, seeded())[0]["elbo"])
        return torch.stack(several).mean().item()

    return compute


def test_bound_with_the_usual_threshold_is_close_to_the_exact_sum(digits, bound):
    threshold = digits[0].net_.criterion_.plan.class_threshold
    assert threshold > 0
    assert bound(threshold) != bound(0.0)
    np.testing.assert_allclose(bound(threshold), bound(0.0), rtol=1e-3)


def test_before_training_a_threshold_matters(bound):
    """Every class is plausible then; the comparison can tell."""
    fresh = tiny_module((64,), 10, (4, 4))
    assert abs(bound(0.1, fresh) / bound(0.0, fresh) - 1) > 1e-3


def test_classes_below_the_threshold_are_not_decoded(monkeypatch):
    module, n_decoded = tiny_module(), []
    decode = module.decode
    monkeypatch.setattr(module, "decode", lambda r, v: n_decoded.append(len(r)) or decode(r, v))
    for fields in ({}, {"class_threshold": 0.99}, {"class_threshold": 1e-9, "max_classes": 2}):
        evaluate(module, tiny_objective(module, **fields), MIXED)
    assert n_decoded == [6 + 3 * 3, 6 + 3, 6 + 2 * 3]


# -------------------------------------------------------------------- gradients


@pytest.mark.parametrize("taught", [False, True])
def test_bound_reaches_the_label_posterior_unless_there_is_a_teacher(taught):
    module = tiny_module()
    teacher = tiny_module(seed=1) if taught else None
    terms_of(tiny_objective(module), module, MIXED, teacher=teacher)["elbo"].backward()
    assert has_gradient(module.posterior) == (not taught)
    for part in (module.invariant, module.equivariant, module.decoder):
        assert has_gradient(part)
    assert teacher is None or not has_gradient(teacher)


def test_labels_reach_the_label_posterior_and_not_f_inv():
    module = tiny_module()
    terms_of(tiny_objective(module), module, LABELED)["log_q_y"].backward()
    assert has_gradient(module.posterior)
    assert not has_gradient(module.invariant)


# -------------------------------------------------------------------- randomness


def test_augmented_rows_are_seen_in_training_only():
    module, calls, generator = tiny_module(), [], seeded()
    objective = tiny_objective(module, augment=lambda x, g: calls.append(g) or x + 1)
    terms_of(objective.eval(), module, MIXED, generator)
    assert calls == []
    terms_of(objective.train(), module, MIXED, generator)
    assert calls == [generator]


def test_noise_comes_from_the_generator_alone():
    module = tiny_module()
    before = torch.get_rng_state()
    one, same, other = (
        terms_of(tiny_objective(module, m_max=2), module, MIXED, seeded(seed))["objective"].item()
        for seed in (0, 0, 1)
    )
    assert one == same != other
    assert torch.equal(torch.get_rng_state(), before)
