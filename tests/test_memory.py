"""How the memory of `fit` grows with rows that are on disk."""

import pickle
import tracemalloc

import numpy as np
import pytest

from sk_equivae import Discriminant, EquiVAEClassifier, Experts, Graph, Networks, Objective
from sk_equivae.estimators import inputs, labels, lazy
from sk_equivae.fitted import compact
from sk_equivae.training import calibration, summary
from sk_equivae.training.pseudo_labels import discriminant, experts, source

# Of fit's memory; X and y are the user's.
MAX_BYTES_PER_ROW = 40
N_CLASSES = 10
SIZES = 3_000, 9_000


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """What is read or computed at once is small beside the rows, as it is with millions of them."""
    for module in (inputs, lazy):
        monkeypatch.setattr(module, "CHUNK", 2**13)
    monkeypatch.setattr(labels, "MANY_LABELS", 2**10)
    monkeypatch.setattr(compact.parts, "__defaults__", (2**10,))
    monkeypatch.setattr(compact, "LARGE_BYTES", 2**10)
    monkeypatch.setattr(experts, "CHUNK", 2**10)
    for name in ("N_ROWS", "N_REGION"):
        monkeypatch.setattr(calibration, name, 200)
    for name in ("SOME_ROWS", "STYLE_ROWS"):
        monkeypatch.setattr(summary, name, 500)
    for module in (source, experts, discriminant):
        monkeypatch.setattr(module, "DENSE_ROWS", 2_000)


def peak(X, y):
    """Return the bytes that `fit` has at most."""
    few = Objective(
        graph=Graph(max_rows=1_000),
        discriminant=Discriminant(max_rows=500),
        experts=Experts(classifiers=None),
        max_batch_size=1024,
    )
    model = EquiVAEClassifier(
        latent_dim=2, max_epochs=1, batch_size=1024, objective=few, random_state=0,
        networks=Networks(dense=8, hidden=(8, 8), filters=(2, 2, 2, 2, 2)),
    )  # fmt: skip
    tracemalloc.start()
    try:
        model.fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("n_labels", [None, 200], ids=["all labels", "few labels"])
@pytest.mark.parametrize("shape", [(6,), (8, 8)], ids=["table", "images"])
def test_memory_per_row(shape, n_labels, tmp_path):
    rng = np.random.RandomState(0)
    y = np.arange(SIZES[1]) % N_CLASSES
    X = np.memmap(tmp_path / "rows", np.float32, "w+", shape=(SIZES[1], *shape))
    X[:] = rng.uniform(size=X.shape) + y.reshape(-1, *(1 for _ in shape))
    if n_labels is not None:
        y[n_labels:] = -1
    peak(X[:2_000], y[:2_000])  # what is imported and made once
    small, large = (peak(X[:n], y[:n]) for n in SIZES)
    assert (large - small) / (SIZES[1] - SIZES[0]) < MAX_BYTES_PER_ROW


def test_large_arrays_are_in_a_file(monkeypatch, tmp_path):
    monkeypatch.setattr(compact, "LARGE_BYTES", 100)
    monkeypatch.setattr(compact.tempfile, "tempdir", str(tmp_path))
    found = compact.spacious_zeros((30, 2))
    assert isinstance(found.base, np.memmap)
    assert list(tmp_path.iterdir()) == []  # nothing is left behind
    found[3] = 1
    assert found.sum() == 2
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again, found)
    assert again.base is None or not isinstance(again.base, np.memmap)
    assert compact.spacious_zeros((5, 2)).base is None

    def full(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(compact.os, "posix_fallocate", full)
    assert not isinstance(compact.spacious_zeros((30, 2)).base, np.memmap)
