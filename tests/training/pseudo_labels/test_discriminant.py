"""A linear discriminant beside the graph of neighbours."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sk_equivae import Discriminant, Graph
from sk_equivae.estimators.inputs import make_spec
from sk_equivae.training.batches import TrainingRows
from sk_equivae.training.pseudo_labels import Problem
from sk_equivae.training.pseudo_labels.discriminant import cut_fraction, fit_discriminant

GRAPH, DISCRIMINANT = Graph(), Discriminant()


def clouds(seed=0, n=400, n_labeled=10):
    """Two classes that differ in one direction; the others are wide, and blur the distances."""
    rng = np.random.RandomState(seed)
    truth = np.arange(n) % 2
    Z = rng.normal(size=(n, 4)) * 1.5
    Z[:, 0] = 2.0 * truth + rng.normal(scale=0.5, size=n)
    Z = Z @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    return Z, truth, few(truth, n_labeled)


def few(truth, n_labeled):
    y = np.full(len(truth), -1)
    for code in np.unique(truth):
        y[np.flatnonzero(truth == code)[:n_labeled]] = code
    return y


def by_graph(Z, y, n_classes=2):
    graph = GRAPH.neighbors(Z)
    power = GRAPH.best_power(graph, y, n_classes, 0)
    return graph, GRAPH.sharpen(GRAPH.spread(graph, y, n_classes), power)


@pytest.fixture
def fixed_shrinkage(monkeypatch):
    """The covariance is shrunk by a tenth."""
    monkeypatch.setattr("sklearn.covariance.ledoit_wolf_shrinkage", lambda *args, **kwargs: 0.1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_discriminant_finds_the_direction_that_counts(seed):
    """And the better for what it has found itself."""
    Z, truth, y = clouds(seed)
    graph, posterior = by_graph(Z, y)

    def wrong(n_rounds):
        both = Discriminant(n_rounds=n_rounds).mix(Z, graph, posterior, y)
        np.testing.assert_allclose(both.sum(axis=1), 1)
        return np.mean(both.argmax(axis=1) != truth)

    usual = DISCRIMINANT.n_rounds
    assert wrong(usual) < 0.75 * wrong(1)
    assert wrong(usual) < np.mean(posterior.argmax(axis=1) != truth) / 3


def test_classes_that_are_no_clouds_stay_the_graphs():
    X, truth = make_moons(300, noise=0.05, random_state=0)
    y = few(truth, 6)
    graph, posterior = by_graph(X, y)
    assert np.mean(posterior.argmax(axis=1) != truth) == 0
    found = fit_discriminant(X, np.eye(2)[truth], np.array([0.5, 0.5]))(X).argmax(axis=1)
    assert np.mean(found != truth) > 0.05
    assert DISCRIMINANT.weight(graph, found, truth) == 0
    both = DISCRIMINANT.mix(X, graph, posterior, y)
    np.testing.assert_array_equal(both.argmax(axis=1), truth)


def test_cut_fraction_counts_weights():
    graph = csr_array(np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    assert cut_fraction(graph, np.array([0, 0, 1])) == pytest.approx(1 / 3)
    assert cut_fraction(graph, np.array([0, 1, 1])) == 1


def test_weight_falls_with_separated_neighbours():
    path = csr_array(np.diag(np.ones(10), 1) + np.diag(np.ones(10), -1))
    two, three = np.repeat([0, 1, 0], [3, 4, 4]), np.array([0] * 3 + [1] * 4 + [0] * 2 + [1] * 2)
    assert DISCRIMINANT.weight(path, two, two) == DISCRIMINANT.max_weight
    assert DISCRIMINANT.weight(path, three, two) == pytest.approx(DISCRIMINANT.max_weight / 2)
    assert DISCRIMINANT.weight(path, two, three) == DISCRIMINANT.max_weight  # it separates fewer
    whole = np.zeros(11, int)
    assert DISCRIMINANT.weight(path, two, whole) == 0  # the graph separates nobody


def test_discriminant_is_that_of_scikit_learn(fixed_shrinkage):
    rng = np.random.RandomState(0)
    codes, prior = np.repeat([0, 1, 2], [60, 90, 150]), np.array([0.2, 0.3, 0.5])
    Z = rng.normal(size=(3, 4))[codes] + rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + 7
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(Z, codes)
    np.testing.assert_allclose(
        fit_discriminant(Z, np.eye(3)[codes], prior)(Z), theirs.predict_proba(Z), atol=1e-4
    )


def test_rows_may_be_of_two_classes(fixed_shrinkage):
    """Half of each is as good as the row twice, once in each."""
    Z, truth, _ = clouds()
    prior = np.array([0.5, 0.5])
    half = np.full((400, 2), 0.5)
    half[:200] = np.eye(2)[truth[:200]]
    twice = np.concatenate([Z[:200], Z[:200], Z[200:], Z[200:]])
    codes = np.concatenate([truth[:200], truth[:200], np.zeros(200, int), np.ones(200, int)])
    expected = fit_discriminant(twice, np.eye(2)[codes], prior)(Z)
    np.testing.assert_allclose(fit_discriminant(Z, half, prior)(Z), expected, atol=1e-6)


def test_class_without_rows():
    Z, truth, _ = clouds()
    found = fit_discriminant(Z, np.eye(3)[truth], np.array([0.5, 0.5, 0.0]))(Z)
    assert (found[:, 2] == 0).all()
    assert np.isfinite(found).all()


def test_rows_that_no_label_reaches_are_found_by_the_discriminant():
    """Two far islands with labels, and one more beyond the second, which is the graph's nobody."""
    rng = np.random.RandomState(0)
    Z = np.concatenate([rng.normal(m, 0.3, (30, 2)) for m in (0, 10, 14)])
    y = np.full(90, -1)
    y[[0, 1, 30, 31]] = 0, 0, 1, 1
    graph, posterior = by_graph(Z, y, 3)
    np.testing.assert_allclose(posterior[60:], 1 / 3)
    both = DISCRIMINANT.mix(Z, graph, posterior, y)
    assert (both[60:].argmax(axis=1) == 1).all()
    assert (both[:, 2] < 0.04).all()  # a class without labels


def test_one_class_and_single_labels():
    Z, _, y = clouds(n_labeled=1)
    graph, posterior = by_graph(Z, y)
    assert np.isfinite(DISCRIMINANT.mix(Z, graph, posterior, y)).all()
    one = np.where(y == 0, 0, -1)
    np.testing.assert_array_equal(DISCRIMINANT.mix(Z, graph, posterior, one), posterior)


def test_graph_that_leaves_labels_alone():
    """No edge joins a label with another row: there are as many known rows as classes."""
    Z, y = np.arange(6.0)[:, None], np.array([0, 1, -1, -1, -1, -1])
    graph = csr_array(np.kron(np.diag([0.0, 1.0]), np.ones((3, 3))) * (np.arange(6) > 2))
    posterior = GRAPH.sharpen(GRAPH.spread(graph, y, 2), 1.0)
    np.testing.assert_array_equal(DISCRIMINANT.mix(Z, graph, posterior, y), posterior)


def test_rows_that_are_all_the_same():
    Z, y = np.zeros((12, 3)), np.array([0, 1] + [-1] * 10)
    graph, posterior = by_graph(Z, y)
    assert np.isfinite(DISCRIMINANT.mix(Z, graph, posterior, y)).all()


@pytest.mark.parametrize("image_shape", [None, (8, 8)])
def test_only_tabular_rows_have_it(image_shape, monkeypatch):
    calls = []

    def counted(self, Z, graph, posterior, codes):
        calls.append(Z.shape)
        return posterior

    monkeypatch.setattr(Discriminant, "mix", counted)
    X = np.random.RandomState(0).uniform(size=(120, 64))
    spec = make_spec(X, None, image_shape, "gaussian")
    problem = Problem(TrainingRows(X, spec, few(np.arange(120) % 2, 5)), 2, seed=0)
    for source in (GRAPH, DISCRIMINANT):
        source.prepare(problem)
    assert calls == ([] if image_shape else [(120, GRAPH.n_components)])


def test_without_a_graph_there_is_nothing_to_mix():
    Z, _, y = clouds()
    problem = Problem(TrainingRows(Z, make_spec(Z, None, None, "gaussian"), y), 2, seed=0)
    DISCRIMINANT.prepare(problem)
    assert problem.evidence is None
