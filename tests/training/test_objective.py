"""The bounds against a plain reading of the paper, and where their gradients go."""

import copy

import numpy as np
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
from scipy import stats
from sklearn.datasets import load_digits

from sk_equivae import EquiVAEClassifier
from sk_equivae._label_posterior import MAX_PLAUSIBLE, truncate
from sk_equivae._objective import (
    LINEAR,
    TERMS,
    labeled_elbo,
    semi_supervised_elbo,
    unlabeled_elbo,
)
from sk_equivae.datasets import mask_labels

LABELED = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
PRIOR = [0.2, 0.3, 0.5]
NOISE = torch.tensor([0.7, -1.1], dtype=torch.float64)


@pytest.fixture
def same_noise(monkeypatch):
    """v takes the same noise for each pair of a row and a class."""

    def use(noise):
        monkeypatch.setattr(torch, "randn", lambda shape, **_: noise.expand(shape))

    use(NOISE)
    return use


# -------------------------------------------------------------------- plain loops


def plain_terms(module, x, y, n, code):
    """log p(x | r_y, v) and KL of v for the row n, were it of class `code` (Eq. 4)."""
    others = [x[i] for i in range(len(x)) if y[i] == code and i != n]
    h = torch.stack([module.invariant.embed(other[None])[0] for other in others])
    r = module.invariant.head(h.mean(dim=0, keepdim=True))
    q_v = module.encode(x[n : n + 1], r)
    mean, scale = q_v.mean[0], q_v.stddev[0]
    output = module.decoder(r, (mean + scale * NOISE)[None])[0]
    if module.likelihood == "gaussian":
        density = stats.norm.logpdf(x[n], output).sum()
    else:
        p = 1 / (1 + np.exp(-output.numpy()))
        density = (x[n].numpy() * np.log(p) + (1 - x[n].numpy()) * np.log(1 - p)).sum()
    kl = 0.5 * (mean**2 + scale**2 - 1 - 2 * scale.log()).sum().item()
    return float(density), kl


@torch.no_grad()
def plain_labeled(module, x, y):
    bounds = []
    for n, code in enumerate(y.tolist()):
        density, kl = plain_terms(module, x, y, n, code)
        bounds.append(density - kl + np.log(PRIOR[code]))
    return np.mean(bounds)


@torch.no_grad()
def plain_unlabeled(module, x, y):
    bounds = []
    for n in np.flatnonzero(y.numpy() < 0):
        q = module.classify(x[n : n + 1]).softmax(dim=1)[0].tolist()
        bound = 0.0
        for code in range(3):
            density, kl = plain_terms(module, x, y, n, code)
            bound += q[code] * (density - kl)
            bound -= q[code] * np.log(q[code] / PRIOR[code])
        bounds.append(bound)
    return np.mean(bounds)


@pytest.mark.parametrize(
    "shape, likelihood", [((4,), "gaussian"), ((4,), "bernoulli"), ((2, 8, 9), "gaussian")]
)
class TestAgainstPlainLoops:
    def test_labeled(self, same_noise, shape, likelihood):
        module = tiny_module(shape, likelihood=likelihood)
        terms = evaluate(module, tiny_objective(module, prior=PRIOR), LABELED, shape)
        expected = plain_labeled(module, batch(LABELED, shape)[0], LABELED)
        np.testing.assert_allclose(terms["elbo"].item(), expected, rtol=1e-6)

    def test_unlabeled_sums_over_all_classes(self, same_noise, shape, likelihood):
        module = tiny_module(shape, likelihood=likelihood)
        objective = tiny_objective(module, prior=PRIOR, labeled_share=0.0)
        terms = evaluate(module, objective, MIXED, shape, weight=MIXED < 0)
        expected = plain_unlabeled(module, batch(MIXED, shape)[0], MIXED)
        np.testing.assert_allclose(terms["elbo"].item(), expected, rtol=1e-6)


def test_each_kind_of_row_has_its_share_in_training(same_noise):
    """Eq. 7 by the batch: a weighted mean of Eq. 4 and Eq. 6."""
    module = tiny_module()
    objective = tiny_objective(module, prior=PRIOR, labeled_share=0.0)
    labeled = evaluate(module, objective, MIXED, weight=MIXED >= 0)["elbo"]
    unlabeled = evaluate(module, objective, MIXED, weight=MIXED < 0)["elbo"]
    objective.labeled_share = 0.75  # enough for all labelled rows to be in the bound
    # the teacher, equal to the module, gives q(y | x) without dropout
    both = objective.train()(module, batch(MIXED), seeded(), copy.deepcopy(module))["elbo"]
    torch.testing.assert_close(both.detach(), 0.75 * labeled + 0.25 * unlabeled)


def test_labeled_rows_are_in_the_bound_by_their_share():
    objective = tiny_objective(tiny_module(), labeled_share=0.2).train()
    y = torch.tensor([0, -1, 1, -1, -1, 2, 0, -1, -1, -1, -1, -1])
    unlabeled, labeled = (y < 0).nonzero()[:, 0], set((y >= 0).nonzero()[:, 0].tolist())
    drawn = set()
    for seed in range(50):
        counted = objective._counted(y, unlabeled, seeded(seed)).tolist()
        assert counted[:8] == unlabeled.tolist()
        assert len(counted) == 8 + 2  # a fifth
        assert set(counted[8:]) <= labeled
        drawn |= set(counted[8:])
    assert drawn == labeled
    for everyone in (tiny_objective(tiny_module(), labeled_share=0.2).eval(), objective):
        objective.labeled_share = 0.5
        assert everyone._counted(y, unlabeled, seeded()).tolist() == list(range(12))


def test_with_a_certain_y_the_unlabeled_bound_is_the_labeled_one():
    """Eq. 6 with one-hot q(y | x) is Eq. 4, whatever stands at the other classes."""
    reconstruction, kl = random_rows(6, 3), random_rows(6, 3, seed=1).exp()
    log_prior = torch.tensor(PRIOR, dtype=torch.float64).log()
    y = torch.tensor([0, 1, 2, 2, 1, 0])
    own = (torch.arange(6), y)
    torch.testing.assert_close(
        unlabeled_elbo(torch.eye(3).double()[y], reconstruction, kl, log_prior),
        labeled_elbo(reconstruction[own], kl[own], log_prior[y]),
    )


def test_semi_supervised_is_the_sum():
    one, two = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    total = semi_supervised_elbo(one, two, torch.tensor([1.0, 0.0]), torch.tensor([0.0, 3.0]))
    assert total.item() == 61.0


@pytest.mark.parametrize("y", [LABELED, MIXED])
@pytest.mark.parametrize("training", [False, True])
def test_terms_add_up(y, training):
    module = tiny_module()
    weights = {"label_weight": 2.0, "consistency_weight": 3.0, "prototype_weight": 5.0}
    objective = tiny_objective(module, prior=PRIOR, m_max=2, confidence=0.0, **weights)
    terms = objective.train(training)(module, batch(y), seeded())
    assert set(terms) == set(TERMS)
    torch.testing.assert_close(
        terms["elbo"],
        terms["reconstruction"] - terms["kl_v"] - terms["kl_y"] + terms["log_p_y"],
    )
    torch.testing.assert_close(
        terms["objective"],
        terms["elbo"]
        + 2 * terms["log_q_y"]
        + 3 * terms["consistency"]
        + 5 * (terms["prototype"] + LINEAR * terms["linear"]),
    )
    assert (terms["kl_y"] > 0) == (terms["consistency"] < 0) == bool((y < 0).any())
    assert terms["log_p_y"] < 0


def test_log_q_y_and_consistency_are_log_probabilities():
    module = tiny_module()
    q_y, confidence = middle_confidence(module)
    terms = evaluate(module, tiny_objective(module, confidence=confidence), MIXED)
    of_own = q_y[MIXED >= 0].gather(1, MIXED[MIXED >= 0][:, None])
    torch.testing.assert_close(terms["log_q_y"], of_own.log().mean())
    best = q_y[MIXED < 0].amax(dim=1)  # the one that is not confident counts as 0
    expected = torch.where(best >= confidence, best, 1.0).log().mean()
    torch.testing.assert_close(terms["consistency"], expected)


def test_prototype_term_leaves_out_the_row_itself_and_classes_never_seen():
    module, x = tiny_module(n_classes=4), batch(LABELED)[0]
    terms = evaluate(module, tiny_objective(module), LABELED)
    logs = []
    for n, own in enumerate(LABELED):
        distances = []
        for code in range(3):
            others = [i for i in range(len(x)) if LABELED[i] == code and i != n]
            r = module.invariant.head(module.invariant.embed(x[others]).mean(dim=0))
            distances.append((module.f_inv(x[n : n + 1])[0] - r).square().sum())
        logs.append((-torch.stack(distances)).log_softmax(dim=0)[own])
    torch.testing.assert_close(terms["prototype"], torch.stack(logs).mean())


def test_linear_term_is_of_labelled_and_confident_rows():
    module = tiny_module()
    q_y, confidence = middle_confidence(module)
    terms = evaluate(module, tiny_objective(module, confidence=confidence), MIXED)
    logs = module.invariant.linear(module.f_inv(batch(MIXED)[0])).log_softmax(dim=1)
    of_own = logs[MIXED >= 0].gather(1, MIXED[MIXED >= 0][:, None]).mean()
    best, code = q_y[MIXED < 0].max(dim=1)
    of_best = logs[MIXED < 0].gather(1, code[:, None])[:, 0]
    expected = of_own + torch.where(best >= confidence, of_best, 0.0).mean()
    torch.testing.assert_close(terms["linear"], expected)


def test_a_constant_f_inv_is_no_trap():
    """Distances have no gradient where all are 0; the linear term leads away from there."""
    module = tiny_module()
    torch.nn.init.zeros_(module.invariant.output.weight)
    terms = tiny_objective(module)(module, batch(LABELED), seeded())
    weight = module.invariant.output.weight
    (of_distances,) = torch.autograd.grad(terms["prototype"], weight, retain_graph=True)
    (of_linear,) = torch.autograd.grad(terms["linear"], weight)
    assert of_distances.abs().max() == 0 < of_linear.abs().max()


def test_sample_weights_weigh_rows(same_noise):
    module = tiny_module()
    objective = tiny_objective(module, prior=PRIOR)
    names = ["reconstruction", "kl_v", "log_p_y", "elbo", "log_q_y", "prototype", "linear"]

    def values(weight):
        terms = evaluate(module, objective, LABELED, weight=torch.as_tensor(weight))
        return torch.stack([terms[name] for name in names])

    alone = torch.stack([values(row) for row in torch.eye(len(LABELED))])
    weight = np.random.RandomState(0).uniform(0.1, 5, size=len(LABELED))
    np.testing.assert_allclose(values(weight), np.average(alone, axis=0, weights=weight))
    np.testing.assert_allclose(values(7 * weight), values(weight))


# -------------------------------------------------------------------- the threshold


def test_truncation_normalises():
    q = random_rows(50, 6).mul(3).softmax(dim=1)
    cut = truncate(q, 0.1)
    torch.testing.assert_close(cut.sum(dim=1), torch.ones(50).double())
    most = q >= q.topk(MAX_PLAUSIBLE, dim=1).values[:, -1:]
    assert torch.equal(cut > 0, (q >= 0.1) & most)
    assert ((q >= 0.1) & ~most).any()
    kept = cut[0] > 0
    torch.testing.assert_close(cut[0, kept], q[0, kept] / q[0, kept].sum())
    assert truncate(q, 0.0) is q
    assert torch.equal(truncate(q, 0.99) > 0, q == q.amax(dim=1, keepdim=True))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, mask_labels(y[:300], 10, random_state=0)
    model = EquiVAEClassifier(latent_dim=4, max_epochs=40, dtype="float64", random_state=0)
    return model.fit(X, y), torch.from_numpy(X), torch.from_numpy(y)


@pytest.fixture
def bound(digits, same_noise):
    """The bound on unlabelled rows as a function of threshold and module, by the same noise."""
    model, x, y = digits
    objective = copy.deepcopy(model.net_.criterion_).eval()
    objective.labeled_share, objective.m_max = 0.0, len(x)
    trained = model.net_.module_.predictor.eval()

    def compute(threshold, module=trained):
        objective.class_threshold = threshold
        several = []
        for noise in random_rows(4, module.n_latents[1]):
            same_noise(noise)
            with torch.no_grad():
                several.append(objective(module, (x, y, (y < 0).double()), seeded())["elbo"])
        return torch.stack(several).mean().item()

    return compute


@pytest.mark.parametrize(
    "threshold, tolerance",
    [(1e-3, 1e-3), (EquiVAEClassifier().class_threshold, 1e-3)],
)
def test_bound_with_a_threshold_is_close_to_the_exact_sum(bound, threshold, tolerance):
    assert bound(threshold) != bound(0.0)
    np.testing.assert_allclose(bound(threshold), bound(0.0), rtol=tolerance)


def test_before_training_a_threshold_matters(bound, digits):
    """Every class is plausible then; the comparison can tell."""
    module = digits[0].net_.module_.predictor
    fresh = tiny_module((64,), 10, (4, 4), shift=module.shift, scale=module.scale)
    assert abs(bound(0.1, fresh) / bound(0.0, fresh) - 1) > 1e-3


def test_classes_below_the_threshold_are_not_decoded(monkeypatch):
    module, n_decoded = tiny_module(), []
    decode = module.decode
    monkeypatch.setattr(module, "decode", lambda r, v: n_decoded.append(len(r)) or decode(r, v))
    for threshold in (0.0, 0.99):
        evaluate(module, tiny_objective(module, class_threshold=threshold), MIXED)
    assert n_decoded == [6 + 3 * 3, 6 + 3]


# -------------------------------------------------------------------- gradients


def has_gradient(network):
    return any(p.grad is not None and bool(p.grad.any()) for p in network.parameters())


@pytest.mark.parametrize("taught", [False, True])
def test_bound_reaches_the_label_posterior_unless_there_is_a_teacher(taught):
    module = tiny_module()
    teacher = tiny_module(seed=1) if taught else None
    objective = tiny_objective(module)
    objective(module, batch(MIXED), seeded(), teacher)["elbo"].backward()
    assert has_gradient(module.posterior) == (not taught)
    for part in (module.invariant, module.equivariant, module.decoder):
        assert has_gradient(part)
    assert teacher is None or not has_gradient(teacher)


def test_labels_reach_the_label_posterior_and_not_f_inv():
    module = tiny_module()
    tiny_objective(module)(module, batch(LABELED), seeded())["log_q_y"].backward()
    assert has_gradient(module.posterior)
    assert not has_gradient(module.invariant)


# -------------------------------------------------------------------- randomness


def test_augmented_rows_are_seen_in_training_only():
    module, calls, generator = tiny_module(), [], seeded()
    objective = tiny_objective(module, augment=lambda x, g: calls.append(g) or x + 1)
    objective.eval()(module, batch(MIXED), generator)
    assert calls == []
    objective.train()(module, batch(MIXED), generator)
    assert calls == [generator]


def test_noise_comes_from_the_generator_alone():
    module = tiny_module()
    before = torch.get_rng_state()
    one, same, other = (
        tiny_objective(module, m_max=2)(module, batch(MIXED), seeded(seed))["objective"].item()
        for seed in (0, 0, 1)
    )
    assert one == same != other
    assert torch.equal(torch.get_rng_state(), before)
