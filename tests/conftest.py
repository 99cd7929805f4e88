"""Small data and quick estimators that the tests share."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs

from sk_equivae import EquiVAEClassifier, EquiVAETransformer
from tests._models import NOISE

# Networks of the tests are too small to gain from a second thread, and lose much on a busy
# machine.
torch.set_num_threads(1)

QUICK = {"latent_dim": 2, "max_epochs": 2, "batch_size": 16, "lr": 5e-3, "random_state": 0}


@pytest.fixture(params=[EquiVAEClassifier, EquiVAETransformer])
def estimator(request):
    """Each of the two estimators, quick to train."""
    return request.param(**QUICK)


@pytest.fixture
def make():
    """A quick classifier with the parameters given."""
    return lambda **params: EquiVAEClassifier(**{**QUICK, **params})


@pytest.fixture(scope="session")
def blobs():
    """Rows (60, 4) of three classes far apart, and their labels; read-only."""
    X, y = make_blobs(60, 4, centers=3, cluster_std=0.5, random_state=0)
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y


@pytest.fixture(scope="session")
def few(blobs):
    """The labels of `blobs`, all but five a class taken away."""
    y = np.full(60, -1)
    for code in range(3):
        rows = np.flatnonzero(blobs[1] == code)[:5]
        y[rows] = code
    y.setflags(write=False)
    return y


@pytest.fixture(scope="session")
def images():
    """Grey images (24, 8, 8) in [0, 1]: bars that lie or stand, at any place; and labels."""
    rng = np.random.RandomState(0)
    y = np.arange(24) % 2
    X = rng.uniform(0, 0.1, size=(24, 8, 8))
    for image, code, place in zip(X, y, rng.randint(8, size=24), strict=True):
        image[(place, slice(None)) if code else (slice(None), place)] = 1.0
    X.setflags(write=False)
    return X, y


def state_of(estimator):
    """Everything that prediction and further training go by, to compare estimators."""
    model = estimator.model_
    weights = {f"model_.{name}": value for name, value in model.module.state_dict().items()}
    if hasattr(estimator, "net_"):  # a stored estimator leaves it out
        trained = estimator.net_.module_.state_dict()
        weights |= {f"net_.{name}": value for name, value in trained.items()}
    arrays = ("prototypes", "class_embeddings", "class_prior", "v_mean", "v_covariance")
    return {name: value.numpy().copy() for name, value in weights.items()} | {
        name: getattr(model, name).copy() for name in arrays
    }


@pytest.fixture
def assert_same():
    """Assert that two fitted estimators, or two states, are the same to the bit."""

    def check(one, other):
        one, other = (a if isinstance(a, dict) else state_of(a) for a in (one, other))
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)

    check.state_of = state_of
    return check


@pytest.fixture
def same_noise(monkeypatch):
    """v takes the same noise for each pair of a row and a class; call it to take another."""

    def use(noise):
        monkeypatch.setattr(torch, "randn", lambda shape, **_: noise.expand(shape))

    use(NOISE)
    return use
