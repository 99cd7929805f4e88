"""Labels spread over a graph of neighbours."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.datasets import make_moons
from sklearn.metrics import pairwise_distances

from sk_equivae import EquiVAEClassifier, Graph, Objective
from sk_equivae.estimators.inputs import make_spec
from sk_equivae.training.batches import TrainBatches, TrainingRows
from sk_equivae.training.pseudo_labels import Problem, UnlabeledRows
from sk_equivae.training.pseudo_labels.graph import POWERS, USUAL_DEVIATIONS
from tests._models import batch, seeded, tiny_module, tiny_objective

GRAPH = Graph()
PIXELS = Graph(image_features="pixels")


def moons(n_labeled=6, n=300, seed=0):
    X, truth = make_moons(n, noise=0.08, random_state=seed)
    y = np.full(n, -1)
    for code in (0, 1):
        y[np.flatnonzero(truth == code)[:n_labeled]] = code
    return X, truth, y


def training_rows(X, shape, codes):
    """Rows that the networks see as they are."""
    spec = make_spec(X, None, None, "gaussian")
    spec = replace(spec, input_shape=shape, shift=np.zeros(()), scale=np.ones(()))
    return TrainingRows(X, spec, codes)


def evidence(data, n_classes, *sources):
    """What sources believe of all rows before training."""
    problem = Problem(data, n_classes, seed=0)
    for source in sources:
        source.prepare(problem)
    return problem.evidence


# -------------------------------------------------------------------- its steps


def test_graph_is_symmetric_and_joins_neighbours():
    Z = np.array([[0.0], [1.0], [2.1], [10.0], [11.0]])
    graph = GRAPH.neighbors(Z).toarray()
    np.testing.assert_array_equal(graph, graph.T)
    assert graph.max() == 2
    assert np.diag(graph).sum() == 0
    assert GRAPH.neighbors(np.arange(200.0)[:, None]).toarray()[0, :8].tolist() == [0] + [
        2 if i <= 4 else 1 for i in range(1, 8)
    ]


def test_fewer_neighbours_make_a_sparser_graph():
    Z = np.random.RandomState(0).normal(size=(50, 2))
    few = Graph(n_neighbors=2).neighbors(Z)
    assert few.sum() == 2 * 2 * 50
    assert few.nnz < GRAPH.neighbors(Z).nnz


def test_labels_stay_in_their_part_of_the_graph():
    """Two parts with a label, one that no label reaches, where all classes are alike."""
    blocks = np.kron(np.eye(3), np.ones((4, 4))) - np.eye(12)
    codes = np.full(12, -1)
    codes[[0, 5]] = 1, 0
    spread = GRAPH.spread(csr_array(blocks), codes, 3)
    np.testing.assert_allclose(spread.sum(axis=1), 1)
    np.testing.assert_allclose(spread[:4], [[0, 1, 0]] * 4, atol=1e-12)
    np.testing.assert_allclose(spread[4:8], [[1, 0, 0]] * 4, atol=1e-12)
    np.testing.assert_allclose(spread[8:], 1 / 3)


def test_sharpen():
    spread = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(GRAPH.sharpen(spread, 0.0), 1 / 3, atol=1e-12)
    np.testing.assert_allclose(GRAPH.sharpen(spread, 1.0), spread, atol=1e-3)
    for power in (0.25, 1.0, 16.0):
        np.testing.assert_allclose(GRAPH.sharpen(spread, power).sum(axis=1), 1)
        assert (GRAPH.sharpen(spread, power) > 0).all()
    assert GRAPH.sharpen(spread, 16.0)[0, 0] > 0.99


def test_power_is_low_where_neighbours_tell_nothing_and_high_where_they_do():
    X, truth, _ = moons()
    graph = GRAPH.neighbors(X)
    codes = np.where(np.arange(300) % 5 == 0, truth, -1)
    random = np.where(codes >= 0, np.random.RandomState(1).randint(2, size=300), -1)
    assert GRAPH.best_power(graph, random, 2, 0) <= 0.25
    assert GRAPH.best_power(graph, codes, 2, 0) >= 1


def test_power_without_labels_to_hold_out():
    X, _, y = moons(n_labeled=1)
    assert GRAPH.best_power(GRAPH.neighbors(X), y, 2, 0) == 1.0


def test_few_found_labels_are_not_certainty():
    """Two labels a class, both found: the power is not the largest there is."""
    Z = np.concatenate([np.random.RandomState(0).normal(m, 0.1, (30, 2)) for m in (0, 3)])
    codes = np.full(60, -1)
    codes[[0, 1, 30, 31]] = 0, 0, 1, 1
    graph = GRAPH.neighbors(Z)
    # a bridge, so that some of each label reaches all rows
    graph = csr_array(graph + csr_array(([1.0, 1.0], ([5, 35], [35, 5])), shape=(60, 60)))
    assert GRAPH.best_power(graph, codes, 2, 0) < POWERS[-1]


# -------------------------------------------------------------------- before training


def test_posterior_of_images_finds_the_moons():
    X, truth, y = moons()
    posterior = evidence(training_rows(X, (1, 1, 2), y), 2, PIXELS)
    assert posterior.dtype == np.float32
    assert posterior.shape == (300, 2)
    assert np.mean(posterior.argmax(axis=1) == truth) > 0.97


def test_opinion_on_tabular_rows_finds_the_moons():
    X, truth, y = moons()
    problem = Problem(training_rows(X, (2,), y), 2, seed=0)
    GRAPH.prepare(problem)
    assert problem.evidence is None  # the experts have to weigh it first
    (opinion,) = problem.opinions
    assert (opinion.name, opinion.from_labels) == ("graph", False)
    some = np.arange(0, 300, 7)
    found = opinion.learn(y)(some)
    assert found.shape == (len(some), 2)
    assert np.mean(found.argmax(axis=1) == truth[some]) > 0.97


@pytest.mark.parametrize("case", ["all labelled", "too many rows"])
def test_no_opinion_on_tabular_rows(case):
    X, truth, y = moons()
    problem = Problem(training_rows(X, (2,), truth if case == "all labelled" else y), 2, seed=0)
    Graph(max_rows=65_536 if case == "all labelled" else 299).prepare(problem)
    assert problem.opinions == []


def test_images_outside_of_the_graph_stay_undecided():
    X, _, y = moons()
    data = training_rows(X, (1, 1, 2), y).subset(np.arange(280))
    decided = (evidence(data, 2, Graph(max_rows=100)) != 0.5).any(axis=1)
    assert not decided[280:].any()
    assert 80 < decided.sum() <= 100


def test_images_are_compared_by_principal_components():
    X = np.random.RandomState(0).uniform(size=(120, 64))
    data = training_rows(X, (1, 8, 8), np.arange(120) % 2)
    assert PIXELS.components(data, data.rows, 0).shape == (120, PIXELS.n_components)
    few = PIXELS.components(data, data.rows[:40], 0)
    assert few.shape == (40, 40)
    distances = pairwise_distances(X[:40])
    np.testing.assert_allclose(pairwise_distances(few), distances, rtol=1e-3, atol=1e-3)


def test_features_are_compared_by_their_range():
    """One that hardly ever changes, a usual one, one with an outlier, and a constant."""
    rng = np.random.RandomState(0)
    rare, constant = np.arange(400) == 7, np.full(400, 3.0)
    X = np.stack([rare, rng.uniform(0, 9, 400), rng.normal(size=400), constant], axis=1)
    X[5, 2] = 1e6
    scale = GRAPH._feature_units([X[:100], X[100:]]) * USUAL_DEVIATIONS
    deviation = X.std(axis=0)
    np.testing.assert_allclose(scale[0], 8 * deviation[0])  # the range is 20 of them
    np.testing.assert_allclose(scale[1], np.ptp(X[:, 1]))
    np.testing.assert_allclose(scale[2], 8 * deviation[2])
    assert scale[3] == 1


@pytest.mark.parametrize(("shape", "same"), [((9,), False), ((1, 3, 3), True)])
def test_pixels_keep_their_unit(shape, same):
    X = np.random.RandomState(0).uniform(size=(40, 9)) * np.linspace(0.1, 1, 9)
    data = training_rows(X, shape, np.arange(40) % 2)
    Z = PIXELS.components(data, data.rows, 0)
    assert np.allclose(np.ptp(Z, axis=0), np.ptp(X, axis=0)) == same
    assert np.allclose(np.ptp(Z, axis=0), USUAL_DEVIATIONS) != same


def test_images_that_differ_in_light_are_close_by_their_edges():
    X = np.random.RandomState(0).uniform(size=(20, 256))
    data = training_rows(np.concatenate([X, 0.5 * X]), (1, 16, 16), np.arange(40) % 2)
    by_edges, by_pixels = (g.components(data, data.rows, 0) for g in (GRAPH, PIXELS))
    np.testing.assert_allclose(by_edges[:20], by_edges[20:], atol=1e-5)
    assert np.abs(by_pixels[:20] - by_pixels[20:]).max() > 0.1


def test_small_images_are_compared_by_their_pixels():
    X = np.random.RandomState(0).uniform(size=(40, 64))
    data = training_rows(X, (1, 8, 8), np.arange(40) % 2)
    auto, pixels, edges = (
        graph.components(data, data.rows, 0)
        for graph in (GRAPH, PIXELS, Graph(image_features="gradients"))
    )
    np.testing.assert_array_equal(auto, pixels)
    assert auto.shape != edges.shape or not np.allclose(auto, edges)


# -------------------------------------------------------------------- in training


def test_evidence_is_a_part_of_a_batch():
    X, _, y = moons()
    data = training_rows(X, (2,), y)
    data.evidence = np.stack([np.arange(300.0), y], axis=1)
    rng = np.random.RandomState(0)
    for inputs, codes in TrainBatches(data, 32, 32, 1, 1 / 3, 3, "auto", rng):
        rows = inputs["evidence"][:, 0].long()
        np.testing.assert_array_equal(X[rows].astype(np.float32), inputs["x"])
        np.testing.assert_array_equal(inputs["evidence"][:, 1], codes)


def test_teacher_is_multiplied_by_the_posterior():
    module, teacher = tiny_module(), tiny_module(seed=1)
    inputs, y = batch(torch.tensor([0, 1, 2, -1, -1, -1]))
    inputs["evidence"] = torch.tensor([[0.2, 0.3, 0.5]]).double().expand(6, 3)
    objective = tiny_objective(module, graph="auto")
    q_y = objective._view(module, inputs, y, seeded(), teacher).q_y
    product = (teacher.classify(inputs["x"]).softmax(dim=1) * inputs["evidence"])[3:]
    torch.testing.assert_close(q_y[3:], product / product.sum(dim=1, keepdim=True))
    assert q_y[:3].argmax(dim=1).tolist() == [0, 1, 2]


def test_without_evidence_the_belief_stays():
    rows = UnlabeledRows(torch.zeros(2, 4), None, tiny_module(), torch.zeros(2), training=True)
    q_y = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
    assert GRAPH.revise(q_y, rows) is q_y


CASES = ["all labelled", "no teacher", "switched off", "partial_fit"]


@pytest.mark.parametrize("case", CASES)
def test_no_graph_where_there_is_no_use_for_it(case, monkeypatch):
    def unwanted(*args):
        raise AssertionError("a graph was made")

    X, truth, y = moons()
    monkeypatch.setattr(Graph, "neighbors", unwanted)
    fields = {"no teacher": {"teacher_decay": 0.0}, "switched off": {"graph": None}}
    objective = Objective(**fields.get(case, {}))
    model = EquiVAEClassifier(max_epochs=1, random_state=0, objective=objective)
    if case == "partial_fit":
        model.partial_fit(X, y, classes=[0, 1])
    else:
        model.fit(X, truth if case == "all labelled" else y)
    with pytest.raises(AssertionError, match="a graph was made"):
        EquiVAEClassifier(max_epochs=1).fit(X, y)


def test_moons_from_few_labels():
    """What the graph knows the network learns, or most of it, if labels tell that it is right."""
    X, truth, y = moons(n_labeled=12)

    def error(graph):
        model = EquiVAEClassifier(objective=Objective(graph=graph), random_state=0)
        return np.mean(model.fit(X, y).transduction_ != truth)

    assert error("auto") < min(0.1, error(None))
