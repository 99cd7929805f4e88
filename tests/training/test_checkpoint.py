"""Training that was stopped goes on, and ends with the same bits."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import load_digits
from skorch.callbacks import Callback

from sk_equivae import ArchiveError, Objective
from sk_equivae.datasets import mask_labels
from sk_equivae.training import checkpoint as checkpoints


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Write the state after every batch."""
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)


class StopAt(Callback):
    """Ends training at a batch, as a crash would."""

    def __init__(self, n_batches):
        self.n_batches = n_batches

    def on_batch_end(self, net, training=False, **kwargs):
        self.n_batches -= training
        if self.n_batches == 0:
            raise RuntimeError("stopped")


def crash(model, X, y, n_batches):
    model.set_params(callbacks=[("stop", StopAt(n_batches))])
    with pytest.raises(RuntimeError, match="stopped"):
        model.fit(X, y)
    return model.set_params(callbacks=None)


SETTINGS = {
    "plain": {},
    "paper": {"objective": "paper", "networks": "paper", "augment": None},
    "constant": {"objective": Objective(lr_decay=None, kl_warmup=0.0, alignment=None)},
    "labels first": {"objective": Objective(labeled_warmup=3)},
    "growing": {"objective": Objective(max_batch_size=32)},
    "stopping": {"early_stopping": True, "validation_fraction": 0.4, "n_iter_no_change": 2},
}


@pytest.mark.parametrize("n_batches", [2, 7])  # in the first epoch, and later
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_same_bits_as_without_a_stop(
    make, blobs, few, tmp_path, assert_same, setting, n_batches
):
    params = {"max_epochs": 4, **SETTINGS[setting]}
    whole = make(**params).fit(blobs[0], few)
    model = make(checkpoint=tmp_path / "state", **params)
    crash(model, blobs[0], few, n_batches).fit(blobs[0], few)
    assert_same(whole, model)
    for one, other in zip(whole.history_, model.history_, strict=True):
        assert {k: v for k, v in one.items() if k != "dur"} == {
            k: v for k, v in other.items() if k != "dur"
        }


def test_images_with_batch_norm(make, tmp_path, assert_same):
    X, y = load_digits(return_X_y=True)
    X, y = X[:150].reshape(-1, 8, 8) / 16, mask_labels(y[:150], 3, random_state=0)
    whole = make(max_epochs=2).fit(X, y)
    model = make(max_epochs=2, checkpoint=str(tmp_path / "state"))
    assert_same(whole, crash(model, X, y, 9).fit(X, y))


def test_without_a_seed_that_of_the_checkpoint_goes_on(make, blobs, tmp_path, monkeypatch):
    X, y = blobs
    model = make(random_state=None, checkpoint=tmp_path / "state", max_epochs=3)
    crash(model, X, y, 6)
    saved, _ = checkpoints.read_archive(tmp_path / "state")
    model.fit(X, y)
    monkeypatch.setattr("sk_equivae.estimators.parameters.new_seed", lambda _: saved["seed"])
    expected = make(random_state=None, max_epochs=3).fit(X, y)
    np.testing.assert_array_equal(model.prototypes_, expected.prototypes_)


def test_a_finished_fit_starts_anew(make, blobs, tmp_path, assert_same):
    model = make(checkpoint=tmp_path / "state")
    first = assert_same.state_of(model.fit(*blobs))
    assert_same(first, model.fit(*blobs))
    assert model.n_iter_ == 2
    model.set_params(m_max=1).fit(*blobs)  # other parameters are no matter then


@pytest.mark.parametrize("change", ["rows", "labels", "weights", "parameter", "seed"])
def test_another_fit_leaves_the_checkpoint_alone(make, blobs, tmp_path, change):
    X, y = blobs
    model = crash(make(checkpoint=tmp_path / "state"), X, y, 3)
    before = (tmp_path / "state").read_bytes()
    weight = None
    if change == "rows":
        X = X + 1e-9
    elif change == "labels":
        y = np.roll(y, 1)
    elif change == "weights":
        weight = np.linspace(1, 2, 60)
    elif change == "parameter":
        model.set_params(objective__label_weight=3.0)
    else:
        model.set_params(random_state=5)
    with pytest.raises(ValueError, match="belongs to a fit of other data or with other parameters"):
        model.fit(X, y, sample_weight=weight)
    assert (tmp_path / "state").read_bytes() == before


def test_what_does_not_change_the_result_may_change(make, blobs, tmp_path):
    model = crash(make(checkpoint=tmp_path / "state"), *blobs, 3)
    model.set_params(verbose=0, callbacks=[], predict_with="posterior").fit(*blobs)


def test_a_function_of_the_user_may_be_another_object(make, blobs, tmp_path, assert_same):
    def augments():
        return [lambda x: x + 0.1 for _ in range(3)]  # alive at once, so at three addresses

    first, second, third = augments()
    model = crash(make(checkpoint=tmp_path / "state", augment=first), *blobs, 3)
    assert_same(model.set_params(augment=second).fit(*blobs), make(augment=third).fit(*blobs))


def test_a_file_that_is_no_checkpoint(make, blobs, tmp_path):
    (tmp_path / "state").write_text("a diary")
    with pytest.raises(ArchiveError, match="no archive"):
        make(checkpoint=tmp_path / "state").fit(*blobs)
    make().fit(*blobs).save(tmp_path / "model")
    with pytest.raises(ArchiveError, match="no checkpoint"):
        make(checkpoint=tmp_path / "model").fit(*blobs)


def test_a_full_disk_keeps_the_model_and_the_last_file(make, blobs, tmp_path, monkeypatch):
    model = crash(make(checkpoint=tmp_path / "state"), *blobs, 3)
    before = (tmp_path / "state").read_bytes()

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("sk_equivae.files.atomic.os.fsync", full)
    with pytest.raises(OSError, match=r"could not be written .*No space.*fitted all the same"):
        model.fit(*blobs)
    assert model.predict(blobs[0]).shape == (60,)
    assert (tmp_path / "state").read_bytes() == before
    assert os.listdir(tmp_path) == ["state"]


def test_partial_fit_has_no_use_for_it(make, blobs, tmp_path):
    with pytest.raises(ValueError, match="no use for checkpoint"):
        make(checkpoint=tmp_path / "state").partial_fit(*blobs, classes=[0, 1, 2])


SCRIPT = """
import sys
import numpy as np
import torch
torch.set_num_threads(1)
from sk_equivae import EquiVAEClassifier
from sk_equivae.training import checkpoint
checkpoint.INTERVAL = 0.0
X = np.random.RandomState(0).normal(size=(200, 4))
y = np.where(np.arange(200) < 60, np.arange(200) % 2, -1)
path = sys.argv[1] if len(sys.argv) > 2 else None
model = EquiVAEClassifier(latent_dim=2, max_epochs=8, batch_size=16, random_state=0)
np.save(sys.argv[-1], model.set_params(checkpoint=path).fit(X, y).prototypes_)
"""


def test_kill_9_at_any_moment(tmp_path):
    """`SK_EQUIVAE_KILLS=50` kills more often."""
    state, result, expected = (str(tmp_path / name) for name in ("state", "a.npy", "b.npy"))
    subprocess.run([sys.executable, "-c", SCRIPT, expected], check=True)
    rng = np.random.RandomState(0)
    for _ in range(int(os.environ.get("SK_EQUIVAE_KILLS", 1))):
        child = subprocess.Popen([sys.executable, "-c", SCRIPT, state, result])
        while not os.path.exists(state) and child.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.5))
        child.send_signal(signal.SIGKILL)
        child.wait()
        subprocess.run([sys.executable, "-c", SCRIPT, state, result], check=True)
        np.testing.assert_array_equal(np.load(result), np.load(expected))
        for name in (state, result):
            os.remove(name)


def test_a_folder_that_is_not_there_is_told_before_training(make, blobs, tmp_path):
    X, y = blobs
    model = make(checkpoint=tmp_path / "missing" / "state", max_epochs=10_000)
    with pytest.raises(FileNotFoundError, match=r"missing is not there\. Make it first"):
        model.fit(X, y)
    assert not hasattr(model, "model_")
