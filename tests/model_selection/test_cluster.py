"""A search on a cluster of several processes, one of which is killed: Dask and Ray."""

import contextlib
import os
import signal
import sys
import time

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV

from sk_equivae.model_selection import SemiSupervisedKFold, dask_backend, hide_labels
from sk_equivae.model_selection.cluster import _arrays

distributed = pytest.importorskip("distributed")
# Dask reports the worker that was killed, and connections that were open to it.
pytestmark = [
    pytest.mark.serial,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class Deadly(ClassifierMixin, BaseEstimator):
    """Nearest mean; the first fit that finds the file deletes it and kills its process."""

    def __init__(self, scale=1.0, file=None):
        self.scale = scale
        self.file = file

    def fit(self, X, y):
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.file)
            time.sleep(1)  # the other workers have results by now
            os.kill(os.getpid(), signal.SIGKILL)
        self.classes_ = np.unique(y[y >= 0])
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        X = X[:, : int(self.scale * X.shape[1])]
        means = self.means_[:, : X.shape[1]]
        distance = ((X[:, None] - means) ** 2).sum(axis=2)
        return self.classes_[distance.argmin(axis=1)]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def problem():
    rng = np.random.RandomState(0)
    y = np.arange(600) % 3
    X = rng.normal(size=(600, 8)) + np.eye(8)[y]
    return X, hide_labels(y, n_per_class=20, random_state=0)


GRID = {"scale": [0.25, 0.5, 0.75, 1.0]}


@pytest.fixture(scope="module")
def undisturbed(problem):
    folds = list(SemiSupervisedKFold(3).split(*problem))
    return folds, GridSearchCV(Deadly(file="none"), GRID, cv=folds).fit(*problem)


def check_same(search, expected):
    for name in ("mean_test_score", "std_test_score", "rank_test_score"):
        np.testing.assert_array_equal(search.cv_results_[name], expected.cv_results_[name])
    assert search.best_params_ == expected.best_params_


def test_one_worker_is_killed(client, problem, undisturbed, tmp_path):
    (X, y), (folds, expected) = problem, undisturbed
    workers = set(client.run(os.getpid).values())
    (tmp_path / "deadly").touch()
    with dask_backend(client, X, y, folds):
        assert not client.amm.running()  # it would drop copies
        assert {len(holders) for holders in client.who_has().values()} == {3}
        search = GridSearchCV(Deadly(file=tmp_path / "deadly"), GRID, cv=folds).fit(X, y)
    assert client.amm.running()
    assert not (tmp_path / "deadly").exists()
    assert len(workers & set(client.run(os.getpid).values())) == 2
    check_same(search, expected)


@pytest.mark.parametrize("restarts", [True, False])
def test_one_worker_of_ray_is_killed(problem, undisturbed, tmp_path, restarts):
    """A search goes on if Ray may start actors again, and ends with an error otherwise."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from ray.util.joblib import register_ray

    (X, y), (folds, expected) = problem, undisturbed
    (tmp_path / "deadly").touch()
    search = GridSearchCV(Deadly(file=tmp_path / "deadly"), GRID, cv=folds)
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    ray.init(num_cpus=3, include_dashboard=False, runtime_env={"env_vars": path})
    register_ray()
    options = {"max_restarts": -1, "max_task_retries": -1} if restarts else None
    try:
        with joblib.parallel_config(backend="ray", n_jobs=3, ray_remote_args=options):
            if restarts:
                check_same(search.fit(X, y), expected)
            else:
                with pytest.raises(ray.exceptions.RayActorError):
                    search.fit(X, y)
    finally:
        ray.shutdown()
    assert not (tmp_path / "deadly").exists()


def test_our_estimator_gives_the_same_results(client, make, blobs, few):
    X, y = np.array(blobs[0]), np.array(few)
    folds = list(SemiSupervisedKFold(3).split(X, y))
    search = GridSearchCV(make(), {"m_max": [1, 3]}, cv=folds)
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    with dask_backend(client, X, y, folds):
        got = search.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(got, expected)


def test_all_arrays_are_found():
    X, train, test = np.zeros(3), np.ones(2), np.ones(1)
    found = list(_arrays((X, [(train, test), (train, test)])))
    assert [id(array) for array in found] == [id(a) for a in (X, train, test, train, test)]


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"sk-equivae\[cluster\]"), dask_backend(None):
        pass
