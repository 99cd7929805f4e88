"""Training, prediction and generation on a device that is not the CPU (see `_elsewhere`)."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from sk_equivae import explore, load
from tests._elsewhere import DEVICE, Elsewhere, elsewhere

RULES = ("prototype", "posterior", "likelihood")


def test_the_device_refuses_what_a_gpu_refuses():
    with elsewhere():
        x = torch.ones(3).to(DEVICE)
        assert isinstance(x, Elsewhere)
        assert (2 * x).cpu().tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match="same device"):
            x + torch.ones(3)
        with pytest.raises(RuntimeError, match="same device"):
            torch.ones(3)[x > 0]
        with pytest.raises(TypeError, match="float64"):
            x.double()


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return (X[:120].reshape(-1, 8, 8) * 15).astype(np.uint8), y[:120]


@pytest.mark.parametrize("kind", ["bytes", "gaussian", "rows"])
@pytest.mark.parametrize("labels", ["all", "few"])
def test_all_that_a_model_does(make, digits, tmp_path, kind, labels):
    X, y = digits
    if kind != "bytes":
        X = X / 255.0  # float64, which the device does not have
    if kind == "rows":
        X = X.reshape(len(X), -1)
    if labels == "few":
        y = np.where(np.arange(len(y)) < 20, y, -1)  # two of each
    likelihood = "gaussian" if kind == "gaussian" else "auto"
    with elsewhere():
        model = make(device=DEVICE, max_epochs=1, likelihood=likelihood).fit(X, y)
        assert all(isinstance(weight, Elsewhere) for weight in model.model_.module.parameters())
        for rule in RULES:
            model.set_params(predict_with=rule)
            np.testing.assert_allclose(model.predict_proba(X[:9]).sum(axis=1), 1)
        model.set_params(representation="both")
        assert model.inverse_transform(model.transform(X[:3])).shape == X[:3].shape
        assert model.sample(3, random_state=0)[0].shape == X[:3].shape
        assert model.reconstruct(X[:3]).shape == X[:3].shape
        assert model.transfer_style(X[:3], X[3:6]).shape == X[:3].shape
        assert len(model.interpolate(X[:2], X[2:4])) == 2
        assert np.isfinite(model.score_samples(X[:3])).all()
        model.add_classes(X[:2], [10, 11])
        assert model.predict_proba(X[:2]).shape == (2, 12)
        explore(model, tmp_path / "page.html")


def test_the_same_as_on_the_cpu(make, digits):
    X, y = digits
    y = np.where(np.arange(len(y)) < 60, y, -1)
    short = {"max_epochs": 1, "lr": 1e-3}  # longer steps enlarge differences of rounding
    here = make(**short).fit(X, y).predict_proba(X)
    with elsewhere():
        there = make(**short, device=DEVICE).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(there, here, rtol=1e-4, atol=1e-6)


def test_early_stopping(make, digits):
    with elsewhere():
        model = make(device=DEVICE, max_epochs=2, early_stopping=True).fit(*digits)
    assert np.isfinite([row["valid_loss"] for row in model.history_]).all()


def test_what_was_trained_there_is_read_here(make, digits, tmp_path):
    X, y = digits
    with elsewhere():
        model = make(device=DEVICE, max_epochs=1).fit(X, y)
        expected = model.predict_proba(X)
        model.save(tmp_path / "model.equivae")
        pickled = pickle.dumps(model)
    for again in (load(tmp_path / "model.equivae"), pickle.loads(pickled)):
        assert not any(isinstance(p, Elsewhere) for p in again.model_.module.parameters())
        np.testing.assert_allclose(again.predict_proba(X), expected, rtol=1e-4, atol=1e-6)
