"""Several processes train one model. Each test starts real processes, on gloo."""

import json
import os
import pickle
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from sk_equivae import load
from sk_equivae.training import distributed
from sk_equivae.training.distributed import current_world, own_device
from sk_equivae.training.world import BatchTotals, World
from tests import _distributed

pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(
        not torch.distributed.is_available() or sys.platform == "win32", reason="needs gloo"
    ),
]
SCRIPT = Path(_distributed.__file__)
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def run(task, folder, *options, launch=TORCHRUN):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(SCRIPT.parent.parent)}
    command = [*launch, *options, str(SCRIPT), task, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]


def read(path):
    return pickle.loads(path.read_bytes())


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fits")
    run("fits", folder)
    return [read(folder / f"models{rank}.pickle") for rank in range(2)]


@pytest.mark.parametrize("name", ["few", "free seed", "stopping", "paper", "parts"])
def test_all_processes_end_with_the_same_model(results, name, assert_same):
    one, other = (models[name] for models, _ in results)
    assert_same(one, other)
    assert one.history_ == other.history_
    np.testing.assert_array_equal(one.transduction_, other.transduction_)


def test_the_model_is_stored_as_any_other(results, tmp_path):
    X, _ = _distributed.digits()
    model = results[0][0]["few"]
    model.save(tmp_path / "model.equivae")
    found = load(tmp_path / "model.equivae").predict_proba(X)
    np.testing.assert_array_equal(found, model.predict_proba(X))


def test_a_worker_of_a_search_trains_by_itself(results, assert_same):
    alone = _distributed.small(max_epochs=1).fit(*_distributed.digits())
    del alone.net_  # a pickle leaves it out
    assert_same(results[0][0]["worker"], alone)


def test_what_the_processes_must_share(results):
    for _, wrong in results:
        assert "Expected the same X, y" in wrong["data"]
        assert "Start fewer processes" in wrong["rows"] or "at least 2 classes" in wrong["rows"]


@pytest.mark.parametrize("machines", ["one machine", "several machines"])
def test_the_gradient_is_that_of_one_process(tmp_path, machines):
    """With the same rows and no random numbers; complements come from both processes."""
    (tmp_path / machines).touch()
    run("gradients", tmp_path)
    run("gradients", tmp_path, launch=[sys.executable])
    one = read(tmp_path / "gradients0of1.pickle")
    for rank in range(2):
        two = read(tmp_path / f"gradients{rank}of2.pickle")
        assert one["loss"] == pytest.approx(two["loss"], rel=1e-9)
        for name, grad in one["grads"].items():
            np.testing.assert_allclose(two["grads"][name], grad, rtol=1e-7, atol=1e-9, err_msg=name)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def test_a_process_that_dies_ends_the_others_and_the_checkpoint_goes_on(
    tmp_path, undisturbed, assert_same
):
    """Without torchrun, so that nobody but the other process itself can end it."""
    (tmp_path / "by hand").touch()
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": "2"}
    environment = {**os.environ, **shared, "PYTHONPATH": str(SCRIPT.parent.parent)}
    children = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), "dies", str(tmp_path)],
            env={**environment, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        children[1].wait(120)
        start = time.monotonic()
        _, told = children[0].communicate(timeout=60)
        assert time.monotonic() - start < 60
    finally:
        for child in children:
            child.kill()
            child.communicate()
    assert children[0].returncode == 1
    assert "Another process of this training has ended" in told
    (tmp_path / "by hand").unlink()
    run("dies", tmp_path)  # goes on
    check_resumed(tmp_path, undisturbed, assert_same)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    (folder / "tried").touch()  # so that no process dies
    run("dies", folder)
    return folder


def check_resumed(folder, undisturbed, assert_same):
    resumed = [read(folder / f"resumed{rank}.pickle") for rank in range(2)]
    assert_same(*resumed)
    assert_same(resumed[0], read(undisturbed / "resumed0.pickle"))
    n_steps, n_all = (json.loads((f / "steps0.json").read_text()) for f in (folder, undisturbed))
    assert n_all // 2 - 2 <= n_steps < n_all // 2  # the first epoch, and more, was not repeated


def test_torchrun_starts_all_again_and_the_checkpoint_goes_on(tmp_path, undisturbed, assert_same):
    run("dies", tmp_path, "--max-restarts", "1")
    check_resumed(tmp_path, undisturbed, assert_same)


# -------------------------------------------------------------------- without processes


def test_alone_by_default():
    assert current_world() == World(0, 1)
    assert World().share(np.arange(5)).tolist() == [0, 1, 2, 3, 4]


def test_shares_cover_a_batch():
    rows, codes, weight = np.arange(7), np.array([1, 0, 1, -1, -1, -1, -1]), np.arange(7.0)
    worlds = [World(rank, 3) for rank in range(3)]
    parts = [world.share_batch(rows, codes, weight) for world in worlds]
    assert sorted(np.concatenate(parts)) == rows.tolist()
    assert all(world.batch == BatchTotals(7, 4, 3.0, 18.0) for world in worlds)
    with pytest.raises(ValueError, match="Start fewer processes"):
        World(0, 8).share_batch(rows, codes, weight)


def test_each_process_has_a_gpu_and_noise_of_its_own(monkeypatch):
    assert own_device("cuda") == "cuda"
    monkeypatch.setattr(distributed, "current_world", lambda: World(3, 4))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert own_device("cuda") == "cuda:1"
    assert own_device("cuda:0") == "cuda:0"
    assert own_device("cpu") == "cpu"
    assert World(0, 2).seed(5, 1, 1) != World(1, 2).seed(5, 1, 1)
