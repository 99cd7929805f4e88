"""The paper's peers: their objectives against plain formulas, and what they learn."""

import math

import numpy as np
import pytest
import torch
from sklearn.pipeline import Pipeline
from torch.distributions import Categorical, Independent, Normal, kl_divergence

from benchmarks.checkpoints import Checkpoint
from benchmarks.peers import (
    AAEClassifier,
    M1Transformer,
    M2Classifier,
    NeuralClassifier,
    SiddharthClassifier,
    StackedM2Classifier,
)
from benchmarks.peers.aae import AAEModule
from benchmarks.peers.m2 import M2Module, StackedM2Module
from benchmarks.peers.networks import mean_of
from benchmarks.peers.siddharth import SiddharthModule
from sk_equivae._distributions import kl_v
from sk_equivae._inputs import InputSpec
from sk_equivae._training import KL_WARMUP

PEERS = [AAEClassifier, M2Classifier, NeuralClassifier, SiddharthClassifier]
N_CLASSES = 3
SPEC = InputSpec((4,), (4,), np.dtype("float64"), "gaussian", whole=1.0)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def made(module):
    """A module with its first weights, and without dropout."""
    module.initialize(seeded())
    if hasattr(module, "posterior"):
        module.classify = lambda x, generator=None: type(module).classify(module, x)
    return module


@pytest.fixture
def rows():
    """Six rows; the first three are labelled."""
    x = torch.randn((6, 4), generator=seeded(1))
    return x, torch.tensor([0, 2, 1, -1, -1, -1])


def class_bound(module, x, code):
    """log p(x | y, z) - KL[q(z | x, y) || p(z)] at the mean of z, all rows being of one class."""
    one_hot = torch.zeros(len(x), N_CLASSES)
    one_hot[:, code] = 1
    q_z = module.encoder(module.encoder.embed(x), one_hot)
    return module.decode(one_hot, q_z.mean).log_prob(x) - kl_v(q_z)


@pytest.fixture
def no_noise(monkeypatch):
    """z at its mean, so that bounds can be compared."""
    for name in ("m2", "siddharth"):
        monkeypatch.setattr(f"benchmarks.peers.{name}.draw", lambda q, generator: q.mean)


# ---------------------------------------------------------------- objectives


def test_m2_against_an_enumeration(rows, no_noise):
    """-L(x, y) and -U(x) by a loop over the classes."""
    x, y = rows
    module = made(M2Module(SPEC, N_CLASSES, 2, alpha=0.1))
    logits = module.classify(x)
    labeled, unlabeled = module.bounds(x, y, logits, seeded())
    by_class = torch.stack(
        [class_bound(module, x, c) - math.log(N_CLASSES) for c in range(N_CLASSES)], dim=1
    )
    q_y = logits.softmax(dim=1)
    expected = (q_y * (by_class - q_y.log())).sum(dim=1)  # with the entropy of q(y | x)
    known = y >= 0
    torch.testing.assert_close(unlabeled[~known], expected[~known])
    torch.testing.assert_close(labeled[known], by_class[known].gather(1, y[known, None])[:, 0])


def test_m2_is_a_bound(rows):
    """-U(x) is below log p(x), which a normal p(x | y, z) of no z gives exactly."""
    x, _ = rows
    module = made(M2Module(SPEC, N_CLASSES, 2, alpha=0.1))
    torch.nn.init.zeros_(module.decoder.dense_v.weight)  # x does not depend on z
    y = torch.full((len(x),), -1)
    with torch.no_grad():
        logits = module.classify(x)
        bound = module.bounds(x, y, logits, seeded())[1]
        log_p = torch.stack(
            [
                module.decode(module.one_hot(torch.full((len(x),), c)), torch.zeros(len(x), 2))
                .log_prob(x)
                .sub(math.log(N_CLASSES))
                for c in range(N_CLASSES)
            ]
        ).logsumexp(dim=0)
    assert (bound <= log_p).all()
    assert (bound > log_p - 50).all()


def test_m2_weighs_its_terms_as_the_paper(rows, no_noise):
    x, y = rows
    module = made(M2Module(SPEC, N_CLASSES, 2, alpha=0.7))
    module.labeled_share = 0.2
    ((name, loss),) = module.losses(x, y, seeded())
    logits = module.classify(x)
    labeled, unlabeled = module.bounds(x, y, logits, seeded())
    log_q = Categorical(logits=logits[:3]).log_prob(y[:3])
    expected = 0.2 * labeled[:3].mean() + 0.8 * unlabeled[3:].mean() + 0.7 * log_q.mean()
    assert name == "loss"
    torch.testing.assert_close(loss, -expected)


def test_m2_truncated_is_close_to_the_exact_sum(rows, no_noise):
    """Classes of no probability need not be decoded."""
    x, _ = rows
    y = torch.full((len(x),), -1)
    logits = torch.tensor([[9.0, 8.0, -9.0]]).repeat(len(x), 1)
    exact, truncated = (
        made(M2Module(SPEC, N_CLASSES, 2, 0.1, class_threshold=threshold)).bounds(
            x, y, logits, seeded()
        )[1]
        for threshold in (0.0, 0.01)
    )
    torch.testing.assert_close(truncated, exact, atol=1e-3, rtol=1e-4)


def test_siddharth_against_its_equation(rows, no_noise):
    """With a y that is nearly one-hot, L(x) is the bound of that class less KL[q(y|x) || p(y)]."""
    x, y = rows
    module = made(SiddharthModule(SPEC, N_CLASSES, 2, 5.0, 0.3, temperature=0.01))
    module.labeled_share = 0.5
    logits = module.classify(x)
    relaxed = module.draw_class(logits, seeded(3))
    drawn = relaxed.argmax(dim=1)
    torch.testing.assert_close(relaxed, module.one_hot(drawn), atol=1e-3, rtol=0)
    ((_, loss),) = module.losses(x, y, seeded(3))
    codes = torch.where(y >= 0, y, drawn)
    by_class = torch.stack([class_bound(module, x, c) for c in range(N_CLASSES)], dim=1)
    own = by_class.gather(1, codes[:, None])[:, 0]
    q_y, p_y = Categorical(logits=logits), Categorical(logits=torch.zeros(N_CLASSES))
    supervised = own[:3] - math.log(N_CLASSES) + 5.0 * q_y.log_prob(codes)[:3]
    unsupervised = (own - kl_divergence(q_y, p_y))[3:]
    expected = 0.3 * supervised.mean() + 0.7 * unsupervised.mean()
    torch.testing.assert_close(loss, -expected, atol=1e-2, rtol=1e-3)


def test_concrete_draws_follow_the_logits():
    module = made(SiddharthModule(SPEC, N_CLASSES, 2, 1.0, 0.5, temperature=0.5))
    probability = torch.tensor([0.6, 0.3, 0.1])
    drawn = module.draw_class(probability.log().repeat(20_000, 1), seeded()).argmax(dim=1)
    shares = torch.bincount(drawn, minlength=N_CLASSES) / len(drawn)
    torch.testing.assert_close(shares, probability, atol=0.02, rtol=0)
    assert module.draw_class(torch.zeros(5, N_CLASSES), seeded()).sum(dim=1).allclose(torch.ones(5))


def test_phases_of_aae(rows):
    """Each optimiser moves its own networks, and the discriminators tell draws from codes."""
    x, y = rows
    module = made(AAEModule(SPEC, N_CLASSES, 2))
    module.labeled_share = 0.5
    parts = ("encoder", "decoder", "judge_y", "judge_z")
    moved = {}
    for name, loss in module.losses(x, y, seeded()):
        group = {id(p) for p in module.groups()[name]}
        moved[name] = {
            part for part in parts if {id(p) for p in getattr(module, part).parameters()} & group
        }
        assert torch.isfinite(loss)
        assert loss.requires_grad
    assert moved == {
        "reconstruction": {"encoder", "decoder"},
        "discriminators": {"judge_y", "judge_z"},
        "deception": {"encoder"},
        "classification": {"encoder"},
    }


def test_discriminators_of_aae_lose_to_nothing(rows):
    """With a judge that says 0 always, all four answers cost log 2."""
    x, y = rows
    module = made(AAEModule(SPEC, N_CLASSES, 2))
    for judge in (module.judge_y, module.judge_z):
        torch.nn.init.zeros_(judge[-1].weight)
    for share, n_judges in ((0.5, 2), (1.0, 1)):
        module.labeled_share = share
        found = dict(module.losses(x, y.clamp(min=0) if share == 1 else y, seeded()))
        assert found["discriminators"].item() == pytest.approx(2 * n_judges * math.log(2))
        assert found["deception"].item() == pytest.approx(n_judges * math.log(2))


def test_mean_of_nothing_is_zero():
    values = torch.tensor([1.0, 2.0, 6.0])
    assert mean_of(values, torch.tensor([True, False, True])) == 3.5
    assert mean_of(values, torch.zeros(3, dtype=torch.bool)) == 0


# ---------------------------------------------------------------- estimators


@pytest.mark.parametrize("peer", PEERS)
def test_peers_learn(blobs, few, peer):
    """They use labels: what is right comes out, and with other labels the others."""
    X, truth = blobs
    options = {"max_epochs": 40, "lr": 3e-3, "random_state": 0}
    if peer is M2Classifier:
        options["alpha"] = 10.0
    fitted = peer(**options).fit(X, few)
    assert fitted.score(X, truth) > 0.9
    assert fitted.predict_proba(X).sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert len(fitted.history_) == 40
    swapped = np.where(few >= 0, 10 + (few + 1) % 3, -1)
    other = peer(**options).fit(X, swapped)
    assert other.classes_.tolist() == [10, 11, 12]
    assert other.score(X, 10 + (truth + 1) % 3) > 0.9


def test_m1_m2_learns(blobs, few):
    X, truth = blobs
    options = {"max_epochs": 40, "lr": 3e-3, "random_state": 0}
    m1, m2 = M1Transformer(3, **options), StackedM2Classifier(3, alpha=10.0, **options)
    fitted = Pipeline([("m1", m1), ("m2", m2)]).fit(X, few)
    rows = fitted[0].transform(X)
    assert rows.shape == (60, 6)
    assert rows[:, 3:].min() > 0
    assert fitted.score(X, truth) > 0.85


@pytest.mark.parametrize("peer", PEERS)
def test_peers_take_all_labels_and_images(images, peer):
    X, y = images
    fitted = peer(max_epochs=1, random_state=0).fit(X, y)
    assert fitted.predict(X).shape == y.shape
    again = peer(max_epochs=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


def test_neural_classifier_does_not_see_unlabelled_rows(blobs, few):
    X, _ = blobs
    labeled = few >= 0
    other = np.where(labeled[:, None], X, np.random.RandomState(0).permutation(X))
    weights = [
        NeuralClassifier(max_epochs=2, random_state=0).fit(rows, few).module_.state_dict()
        for rows in (X, other)
    ]
    for name, value in weights[0].items():
        torch.testing.assert_close(value, weights[1][name])


def test_a_peer_that_diverges_says_so(blobs, few):
    with pytest.raises(RuntimeError, match="Training diverged in epoch"):
        M2Classifier(lr=1e30, max_epochs=3, random_state=0).fit(blobs[0], few)


# ---------------------------------------------------------------- checkpoints


@pytest.mark.parametrize("peer", [*PEERS, M1Transformer])
def test_peers_go_on_as_if_nothing_had_happened(images, tmp_path, monkeypatch, peer):
    X, y = images

    def fit(path=None):
        checkpoint = None if path is None else Checkpoint(path, seconds=0)
        options = {"max_epochs": 4, "batch_size": 8, "max_batch_size": 16, "random_state": 0}
        return peer(**options, checkpoint=checkpoint).fit(X, y)

    save = Checkpoint.save

    def save_and_die(self, state, last):
        save(self, state, last)
        if len(state["history"]) == 2:
            raise KeyboardInterrupt

    whole = fit()
    monkeypatch.setattr(Checkpoint, "save", save_and_die)
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "one")
    monkeypatch.setattr(Checkpoint, "save", save)
    resumed = fit(tmp_path / "one")
    for name, value in whole.module_.state_dict().items():
        assert torch.equal(value, resumed.module_.state_dict()[name]), name
    assert len(resumed.history_) == 4


def test_stacked_m2_is_trained_on_draws_in_the_unit_of_m1():
    """A latent that M1 makes no use of stays small, and is drawn with its own deviation."""
    rng = np.random.RandomState(0)
    mean = rng.normal(size=(60, 3)) * [1.0, 1.0, 0.01]
    stddev = np.tile([0.1, 0.5, 1.0], (60, 1))
    X, y = np.hstack([mean, stddev]), np.arange(60) % 2
    model = StackedM2Classifier(2, max_epochs=1, random_state=0).fit(X, y)
    x = model._normalize(torch.from_numpy(X))
    np.testing.assert_allclose(x, X, rtol=1e-6)

    seen = []
    classify = model.module_.posterior.forward
    model.module_.posterior.forward = lambda x, *rest: seen.append(x) or classify(x, *rest)
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        list(model.module_.losses(x, torch.from_numpy(y), generator))
    draws = torch.stack(seen).numpy()  # (200, 60, 3)
    np.testing.assert_allclose(draws.mean(axis=(0, 1)), mean.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(draws.std(axis=0).mean(axis=0), stddev[0], rtol=0.02)
    seen.clear()
    model.predict(X)
    np.testing.assert_allclose(seen[0], mean, rtol=1e-6)  # without noise


def test_kl_of_m1_sets_in_gradually():
    X = np.random.RandomState(0).uniform(size=(64, 8, 8))
    model = M1Transformer(2, max_epochs=1, random_state=0).fit(X)
    x = torch.from_numpy(X[:, None]).float()

    def loss(progress):
        model.module_.progress = progress
        ((_, value),) = model.module_.losses(x, None, torch.Generator().manual_seed(0))
        return value.item()

    whole, kl = loss(1.0), loss(1.0) - loss(0.0)
    assert kl > 0
    assert loss(KL_WARMUP) == pytest.approx(whole)
    assert loss(KL_WARMUP / 2) == pytest.approx(whole - kl / 2)


@pytest.mark.parametrize(
    ("module", "sets_in"), [(M2Module, False), (StackedM2Module, True)], ids=["M2", "stacked"]
)
def test_kl_of_m2_sets_in_gradually_on_m1_alone(module, sets_in):
    spec = InputSpec((4,), (4,), np.dtype("float32"), "gaussian", 1.0)
    made = module(spec, N_CLASSES, 2, 1.0)
    q_z = Independent(Normal(torch.ones(5, 2), torch.full((5, 2), 0.5)), 1)
    made.progress = KL_WARMUP / 2
    weight = 0.5 if sets_in else 1.0
    torch.testing.assert_close(made.kl_z(q_z), weight * kl_v(q_z))
