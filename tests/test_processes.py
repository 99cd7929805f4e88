"""Fitted estimators in other processes and threads, and in pickles."""

import multiprocessing
import os
import pickle
import sys
import threading

import numpy as np
import pytest
import torch
from joblib import Parallel, delayed
from sklearn.ensemble import BaggingClassifier

from sk_equivae import EquiVAEClassifier, Networks

pytestmark = pytest.mark.serial


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(40, 8, 8))
    model = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0)
    return model.fit(X, np.arange(40) % 2), X


def answer(connection, model, X):
    connection.send(model.predict_proba(X))


def predict_in_child(method, model, X):
    """Predict in a child of a process that has computed with several threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        model.predict_proba(np.tile(X, (20, 1, 1)))
        return _predict_in_child(method, model, X)
    finally:
        torch.set_num_threads(threads)


def _predict_in_child(method, model, X):
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    child = context.Process(target=answer, args=(there, model, X))
    child.start()
    try:
        assert here.poll(60), f"no answer from a child by {method}"
        return here.recv()
    finally:
        child.kill()
        child.join()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_child_process_predicts_the_same(fitted, method):
    model, X = fitted
    np.testing.assert_array_equal(predict_in_child(method, model, X), model.predict_proba(X))


def test_networks_defined_on_the_spot_reach_workers(blobs):
    """joblib's workers take what plain pickle cannot: lambdas, and classes of `__main__`."""

    class Body(torch.nn.Linear):
        pass

    networks = Networks(invariant_body=lambda shape: Body(shape[0], 5))
    model = EquiVAEClassifier(
        latent_dim=2, max_epochs=1, networks=networks, augment=lambda x: x + 0.1, random_state=0
    )
    bagging = BaggingClassifier(model, n_estimators=2, n_jobs=2, random_state=0).fit(*blobs)
    assert bagging.predict(blobs[0]).shape == (60,)
    (fitted,) = Parallel(n_jobs=2)(delayed(model.fit)(*blobs) for _ in range(1))
    np.testing.assert_array_equal(fitted.predict(blobs[0]), model.fit(*blobs).predict(blobs[0]))


# catch_warnings is not thread-safe: another thread may take back what a fit has set to be ignored
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_fits_in_threads_leave_the_global_generators(make, blobs, few):
    X, _ = blobs
    dropping = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout())
    networks = Networks(invariant_body=dropping)
    expected = [make(random_state=seed).fit(X, few).prototypes_ for seed in range(4)]
    torch.manual_seed(3)
    np.random.seed(3)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()
    found = {}

    def fit(seed):
        found[seed] = make(random_state=seed).fit(X, few).prototypes_
        make(random_state=seed, networks=networks).fit(X, few)
        make(random_state=None, max_epochs=1).fit(X, few)

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(before, torch.get_rng_state())
    np.testing.assert_array_equal(numpy_before, np.random.get_state()[1])
    for seed in range(4):
        np.testing.assert_array_equal(found[seed], expected[seed])


def test_a_pickle_holds_the_weights_once_and_not_the_data(make):
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(400, 16, 16)).astype(np.float32)
    model = make(max_epochs=1, latent_dim=16).fit(X, np.arange(400) % 3)
    n_bytes = sum(value.nbytes for value in _weights(model).values())
    assert len(pickle.dumps(model)) < 1.2 * n_bytes + 50_000


def _weights(model):
    return {name: value.numpy() for name, value in model.model_.module.state_dict().items()}


def test_a_pickle_says_which_version_wrote_it(make, blobs):
    model = make().fit(*blobs)
    state = model.__getstate__()
    assert "net_" not in state
    state["_sk_equivae_version"] = "0.0.1"
    other = EquiVAEClassifier.__new__(EquiVAEClassifier)
    with pytest.warns(UserWarning, match=r"pickled with sk_equivae 0\.0\.1"):
        other.__setstate__(state)
    np.testing.assert_array_equal(other.predict(blobs[0]), model.predict(blobs[0]))


def test_an_estimator_from_a_pickle_trains_on(make, blobs):
    X, y = blobs
    model = pickle.loads(pickle.dumps(make(max_epochs=20).fit(X, y)))
    before = model.prototypes_.copy()
    model.partial_fit(X, y)
    assert not np.array_equal(before, model.prototypes_)
    assert model.n_iter_ == 21
    assert model.score(X, y) > 0.9
    model.set_params(warm_start=True).fit(X, y)


def test_the_number_of_threads_is_left_as_found(make, blobs, images):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        for X, y in (blobs, images):
            make(max_epochs=1).fit(X, y).predict(X)
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_threads_share_a_fitted_estimator(fitted):
    """`SK_EQUIVAE_CALLS=1000` asks more often."""
    model, X = fitted
    expected = model.predict_proba(X), model.transform(X), model.score_samples(X[:3])
    wrong = []

    def ask():
        for _ in range(int(os.environ.get("SK_EQUIVAE_CALLS", 10))):
            found = model.predict_proba(X), model.transform(X), model.score_samples(X[:3])
            wrong.extend(i for i in range(3) if not np.array_equal(found[i], expected[i]))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_skops_reads_it_with_our_classes_alone(fitted):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    model, X = fitted
    content = skops.dumps(model)
    untrusted = skops.get_untrusted_types(data=content)
    assert all(name.startswith(("sk_equivae.", "builtins.")) for name in untrusted), untrusted
    again = skops.loads(content, trusted=untrusted)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
