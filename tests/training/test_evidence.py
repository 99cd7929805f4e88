"""What is found before training is kept in a memory, and found again for the same rows alone."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sk_equivae import Discriminant, Experts, Graph, Objective, load
from sk_equivae.model_selection import SemiSupervisedKFold, hide_labels
from sk_equivae.training import evidence
from sk_equivae.training.batches import TrainingRows
from sk_equivae.training.pseudo_labels import Source, Teacher
from tests._models import row_spec


@pytest.fixture(scope="module")
def few(blobs):
    """Three labels per class, few enough for the graph to be used."""
    return hide_labels(blobs[1], n_per_class=3, random_state=0)


@pytest.fixture
def prepared(monkeypatch):
    """The number of times that a graph was built."""
    calls = []
    build = Graph.prepare

    def count(self, problem):
        calls.append(len(problem.data))
        return build(self, problem)

    monkeypatch.setattr(Graph, "prepare", count)
    return calls


def test_a_search_builds_one_graph_per_fold(make, blobs, few, tmp_path, prepared):
    grid = {"m_max": [1, 3], "latent_dim": [2, 3]}
    plain = GridSearchCV(make(), grid, cv=SemiSupervisedKFold(3)).fit(blobs[0], few)
    assert len(prepared) == 4 * 3 + 1
    prepared.clear()
    kept = clone(plain).set_params(estimator__memory=str(tmp_path)).fit(blobs[0], few)
    assert len(prepared) == 3 + 1  # the last fit has all rows
    for name in ("mean_test_score", "std_test_score", "rank_test_score"):
        np.testing.assert_array_equal(kept.cv_results_[name], plain.cv_results_[name])


@pytest.mark.parametrize("kind", ["path", "str", "memory"])
def test_the_same_bits_with_and_without(make, blobs, few, tmp_path, assert_same, prepared, kind):
    kinds = {"path": Path, "str": str, "memory": lambda path: joblib.Memory(path, verbose=0)}
    plain = make().fit(blobs[0], few)
    first, again = (make(memory=kinds[kind](tmp_path)).fit(blobs[0], few) for _ in range(2))
    assert len(prepared) == 2
    assert_same(first, plain)
    assert_same(again, plain)


def test_what_the_sources_see_is_told_apart(make, blobs, few, tmp_path, prepared):
    X, _ = blobs
    other_label = np.where(np.arange(60) == np.flatnonzero(few == 0)[0], 1, few)
    weight = np.where(np.arange(60) == 50, 2.0, 1.0)
    fits = [
        (make(), X, few, None),
        (make(), X + 1e-9, few, None),
        (make(), X, other_label, None),
        (make(), X, few, weight),
        (make(dtype="float64"), X, few, None),
        (make(random_state=1), X, few, None),
        (make(objective=Objective(graph=Graph(n_neighbors=5))), X, few, None),
        (make(objective=Objective(discriminant=Discriminant(n_rounds=2))), X, few, None),
        (make(objective=Objective(discriminant=None)), X, few, None),
    ]
    for n_before, (model, rows, labels, weights) in enumerate(fits):
        model.set_params(memory=tmp_path).fit(rows, labels, sample_weight=weights)
        assert len(prepared) == n_before + 1
    same = [{"m_max": 2}, {"lr": 1e-3}, {"batch_size": 32}, {"latent_dim": 3}, {"verbose": 0}]
    for params in same:
        make(memory=tmp_path, **params).fit(X, few)
    make(memory=tmp_path, objective=Objective(label_weight=2.0)).fit(X, few)
    assert len(prepared) == len(fits)


def test_a_memory_map_is_the_same_data(make, blobs, few, tmp_path, prepared):
    np.save(tmp_path / "X.npy", blobs[0])
    for rows in (blobs[0], np.load(tmp_path / "X.npy", mmap_mode="r")):
        make(memory=tmp_path).fit(rows, few)
    assert len(prepared) == 1


def test_another_version_computes_anew(make, blobs, few, tmp_path, prepared, monkeypatch):
    for version in ("1", "2", "1"):
        monkeypatch.setattr(evidence, "__version__", version)
        make(memory=tmp_path).fit(blobs[0], few)
    assert len(prepared) == 2


class Learning(Source):
    """A source that remembers something of `prepare`."""

    def prepare(self, problem):
        self.n_rows_ = len(problem.data)


def test_what_a_source_has_learnt_is_kept_too(tmp_path, blobs, few):
    data = TrainingRows(blobs[0], row_spec((4,)), few)
    for _ in range(2):
        sources = [Teacher(), Learning(), Graph(), Experts()]
        found, after = evidence.find_evidence(sources, data, 3, 0, tmp_path)
        assert [type(source) for source in after] == [Teacher, Learning, Graph, Experts]
        assert after[1].n_rows_ == 60
        assert found.shape == (60, 3)
        assert "graph" in after[3].report_
    assert not hasattr(sources[1], "n_rows_")  # read, not computed


def fit_with(folder, X, y):
    from sk_equivae import EquiVAEClassifier

    model = EquiVAEClassifier(2, max_epochs=1, memory=folder, random_state=0)
    return model.fit(X, y).prototypes_


def test_several_processes_share_a_folder(blobs, few, tmp_path):
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        jobs = [pool.submit(fit_with, tmp_path, blobs[0], np.array(few)) for _ in range(4)]
        results = [job.result(timeout=120) for job in jobs]
    for result in results:
        np.testing.assert_array_equal(result, fit_with(None, blobs[0], few))
    stored = list(tmp_path.rglob("output.pkl"))
    assert len(stored) == 1


def test_a_damaged_file_is_computed_anew(make, blobs, few, tmp_path, prepared, assert_same):
    first = make(memory=tmp_path).fit(blobs[0], few)
    (stored,) = tmp_path.rglob("output.pkl")
    stored.write_bytes(stored.read_bytes()[:20])
    again = make(memory=tmp_path).fit(blobs[0], few)
    assert len(prepared) == 2
    assert_same(first, again)


def test_saved_estimators(make, blobs, few, tmp_path):
    model = make(memory=str(tmp_path / "cache")).fit(blobs[0], few)
    model.save(tmp_path / "model.equivae")
    assert load(tmp_path / "model.equivae").memory == str(tmp_path / "cache")
