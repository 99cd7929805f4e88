"""Labels spread over a graph of neighbours."""

import numpy as np
import pytest
import torch
from tests._models import tiny_module, tiny_objective
from scipy.sparse import csr_array
from sklearn.datasets import make_moons
from sklearn.metrics import pairwise_distances

import sk_equivae._graph as graphs
from sk_equivae import EquiVAEClassifier
from sk_equivae._batches import RowDataset, TrainBatches
from sk_equivae._graph import best_power, graph_posterior, neighbor_graph, sharpen, spread_labels


def moons(n_labeled=6, n=300, seed=0):
    X, truth = make_moons(n, noise=0.08, random_state=seed)
    y = np.full(n, -1)
    for code in (0, 1):
        y[np.flatnonzero(truth == code)[:n_labeled]] = code
    return X, truth, y


def test_graph_is_symmetric_and_joins_neighbours():
    Z = np.array([[0.0], [1.0], [2.1], [10.0], [11.0]])
    graph = neighbor_graph(Z).toarray()
    np.testing.assert_array_equal(graph, graph.T)
    assert graph.max() == 2
    assert np.diag(graph).sum() == 0
    assert neighbor_graph(np.arange(200.0)[:, None]).toarray()[0, :8].tolist() == [0] + [
        2 if i <= 4 else 1 for i in range(1, 8)
    ]


def test_labels_stay_in_their_part_of_the_graph():
    """Two parts with a label, one that no label reaches, where all classes are alike."""
    blocks = np.kron(np.eye(3), np.ones((4, 4))) - np.eye(12)
    codes = np.full(12, -1)
    codes[[0, 5]] = 1, 0
    spread = spread_labels(csr_array(blocks), codes, 3)
    np.testing.assert_allclose(spread.sum(axis=1), 1)
    np.testing.assert_allclose(spread[:4], [[0, 1, 0]] * 4, atol=1e-12)
    np.testing.assert_allclose(spread[4:8], [[1, 0, 0]] * 4, atol=1e-12)
    np.testing.assert_allclose(spread[8:], 1 / 3)


def test_sharpen():
    spread = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(sharpen(spread, 0.0), 1 / 3, atol=1e-12)
    np.testing.assert_allclose(sharpen(spread, 1.0), spread, atol=1e-3)
    for power in (0.25, 1.0, 16.0):
        np.testing.assert_allclose(sharpen(spread, power).sum(axis=1), 1)
        assert (sharpen(spread, power) > 0).all()
    assert sharpen(spread, 16.0)[0, 0] > 0.99


def test_power_is_low_where_neighbours_tell_nothing_and_high_where_they_do():
    X, truth, _ = moons()
    graph = neighbor_graph(X)
    codes = np.where(np.arange(300) % 5 == 0, truth, -1)
    random = np.where(codes >= 0, np.random.RandomState(1).randint(2, size=300), -1)
    assert best_power(graph, random, 2, 0) <= 0.25
    assert best_power(graph, codes, 2, 0) >= 1


def test_power_without_labels_to_hold_out():
    X, _, y = moons(n_labeled=1)
    assert best_power(neighbor_graph(X), y, 2, 0) == 1.0


def test_few_found_labels_are_not_certainty():
    """Two labels a class, both found: the power is not the largest there is."""
    Z = np.concatenate([np.random.RandomState(0).normal(m, 0.1, (30, 2)) for m in (0, 3)])
    codes = np.full(60, -1)
    codes[[0, 1, 30, 31]] = 0, 0, 1, 1
    graph = neighbor_graph(Z)
    # a bridge, so that some of each label reaches all rows
    graph = csr_array(graph + csr_array(([1.0, 1.0], ([5, 35], [35, 5])), shape=(60, 60)))
    assert best_power(graph, codes, 2, 0) < graphs.POWERS[-1]


def test_posterior_of_rows_finds_the_moons():
    X, truth, y = moons()
    data = RowDataset(X, (2,), y)
    posterior = graph_posterior(tiny_module((2,), 2), data, 2, seed=0)
    assert posterior.dtype == np.float32
    assert posterior.shape == (300, 2)
    assert np.mean(posterior.argmax(axis=1) == truth) > 0.97


def test_rows_outside_of_the_graph_stay_undecided(monkeypatch):
    monkeypatch.setattr(graphs, "MOST_ROWS", 100)
    X, _, y = moons()
    data = RowDataset(X, (2,), y).subset(np.arange(280))
    posterior = graph_posterior(tiny_module((2,), 2), data, 2, seed=0)
    decided = (posterior != 0.5).any(axis=1)
    assert not decided[280:].any()
    assert 80 < decided.sum() <= 100


def test_images_are_compared_by_principal_components():
    X = np.random.RandomState(0).uniform(size=(120, 64))
    data = RowDataset(X, (1, 8, 8), np.arange(120) % 2)
    module = tiny_module((1, 8, 8), 2)
    Z = graphs._components(module, data, data.rows, 0)
    assert Z.shape == (120, graphs.N_COMPONENTS)
    few = graphs._components(module, data, data.rows[:40], 0)
    assert few.shape == (40, 40)
    distances = pairwise_distances(X[:40])
    np.testing.assert_allclose(pairwise_distances(few), distances, rtol=1e-3, atol=1e-3)


def test_posterior_is_the_fourth_part_of_a_batch():
    X, _, y = moons()
    data = RowDataset(X, (2,), y)
    data.posterior = np.stack([np.arange(300.0), y], axis=1)
    for x, codes, _, known in TrainBatches(data, 32, 32, 1, 3, np.random.RandomState(0)):
        np.testing.assert_array_equal(X[known[:, 0].long()], x)
        np.testing.assert_array_equal(known[:, 1], codes)


def test_teacher_is_multiplied_by_the_posterior():
    module, teacher = tiny_module(), tiny_module(seed=1)
    x = torch.from_numpy(np.random.RandomState(0).normal(size=(6, 4)))
    y = torch.tensor([0, 1, 2, -1, -1, -1])
    unlabeled = torch.tensor([3, 4, 5])
    known = torch.tensor([[0.2, 0.3, 0.5]]).double().expand(6, 3)
    objective = tiny_objective(module)
    q_y = objective._label_posterior(module, x, y, unlabeled, None, teacher, known)
    product = teacher.classify(x[unlabeled]).softmax(dim=1) * known[unlabeled]
    torch.testing.assert_close(q_y[unlabeled], product / product.sum(dim=1, keepdim=True))
    assert q_y[:3].argmax(dim=1).tolist() == [0, 1, 2]


CASES = ["all labelled", "many labelled", "no teacher", "switched off", "partial_fit"]


@pytest.mark.parametrize("case", CASES)
def test_no_graph_where_there_is_no_use_for_it(case, monkeypatch):
    def unwanted(*args):
        raise AssertionError("a graph was made")

    X, truth, y = moons()
    monkeypatch.setattr(graphs, "graph_posterior", unwanted)
    params = {"no teacher": {"ema_decay": 0.0}, "switched off": {"label_spreading": False}}
    model = EquiVAEClassifier(max_epochs=1, random_state=0, **params.get(case, {}))
    if case == "partial_fit":
        model.partial_fit(X, y, classes=[0, 1])
    else:
        many = np.where(np.arange(300) % 5 == 0, truth, -1)
        model.fit(X, {"all labelled": truth, "many labelled": many}.get(case, y))
    with pytest.raises(AssertionError, match="a graph was made"):
        EquiVAEClassifier(max_epochs=1).fit(X, y)


def test_moons_from_few_labels():
    """What the graph knows the network learns, or most of it."""
    X, truth, y = moons()

    def error(label_spreading):
        model = EquiVAEClassifier(label_spreading=label_spreading, random_state=0)
        return np.mean(model.fit(X, y).transduction_ != truth)

    assert error(True) < min(0.1, error(False))


def test_features_are_compared_by_their_range():
    """One that hardly ever changes, a usual one, one with an outlier, and a constant."""
    rng = np.random.RandomState(0)
    rare, constant = np.arange(400) == 7, np.full(400, 3.0)
    X = np.stack([rare, rng.uniform(0, 9, 400), rng.normal(size=400), constant], axis=1)
    X[5, 2] = 1e6
    scale = graphs._same_units([X[:100], X[100:]]) * graphs.USUAL_DEVIATIONS
    deviation = X.std(axis=0)
    np.testing.assert_allclose(scale[0], 8 * deviation[0])  # the range is 20 of them
    np.testing.assert_allclose(scale[1], np.ptp(X[:, 1]))
    np.testing.assert_allclose(scale[2], 8 * deviation[2])
    assert scale[3] == 1


@pytest.mark.parametrize(("shape", "same"), [((9,), False), ((1, 3, 3), True)])
def test_pixels_keep_their_unit(shape, same):
    X = np.random.RandomState(0).uniform(size=(40, 9)) * np.linspace(0.1, 1, 9)
    data = RowDataset(X, shape, np.arange(40) % 2)
    Z = graphs._components(tiny_module(shape, 2), data, data.rows, 0)
    assert np.allclose(np.ptp(Z, axis=0), np.ptp(X, axis=0)) == same
    assert np.allclose(np.ptp(Z, axis=0), graphs.USUAL_DEVIATIONS) != same
