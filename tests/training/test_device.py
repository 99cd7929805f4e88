"""Devices, mixed precision, compilation, and rows that stay on the device."""

import pickle
import types
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from sk_equivae import Networks
from sk_equivae.estimators.inputs import make_spec
from sk_equivae.fitted.rows import to_device
from sk_equivae.training.batches import TrainingRows
from sk_equivae.training.device import fits_on, resolve_amp, resolve_device, try_compile


@pytest.mark.parametrize(
    "cuda, mps, dtype, device",
    [
        (True, True, "float32", "cuda"),
        (False, True, "float32", "mps"),
        (False, True, "float64", "cpu"),  # mps has no float64
        (False, False, "float32", "cpu"),
    ],
)
def test_auto_takes_the_best_device(monkeypatch, cuda, mps, dtype, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert resolve_device("auto", dtype) == device


def test_auto_mixed_precision_is_for_devices_made_for_it(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    assert resolve_amp("auto", "cuda:0", "float32")
    assert not resolve_amp("auto", "cuda:0", "float64")
    assert not resolve_amp("auto", "cpu", "float32")
    assert resolve_amp(True, "cpu", "float32")
    assert not resolve_amp(False, "cuda", "float32")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    assert not resolve_amp("auto", "cuda:0", "float32")


def test_rows_stay_on_a_device_that_has_room(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000, 4000))
    assert fits_on(500, "cuda")
    assert not fits_on(501, "cuda:1")
    assert not fits_on(1, "cpu")  # they are there already


def test_copies_to_a_gpu_are_pinned_and_not_waited_for():
    """A stand-in, since there may be no GPU: what is asked of a tensor on the CPU."""
    asked = []
    pinned = types.SimpleNamespace(to=lambda device, **kw: asked.append((device, kw)) or "moved")
    rows = types.SimpleNamespace(
        device=torch.device("cpu"), pin_memory=lambda: pinned, is_floating_point=lambda: False
    )
    like = types.SimpleNamespace(device=torch.device("cuda"), dtype=torch.float32)
    assert to_device(rows, like) == "moved"
    assert asked == [(torch.device("cuda"), {"non_blocking": True})]


def test_numbers_change_their_precision_before_they_move():
    like = torch.zeros((), dtype=torch.float32)
    assert to_device(torch.zeros(2, dtype=torch.float64), like).dtype == torch.float32
    for dtype in (torch.uint8, torch.int64):
        assert to_device(torch.zeros(2, dtype=dtype), like).dtype == dtype


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
@pytest.mark.parametrize("input_shape", [(6,), (1, 2, 3), (3, 1, 2)])
def test_rows_on_the_device_are_the_same_rows(input_shape, dtype):
    X = np.arange(60, dtype=dtype).reshape(10, 6)
    spec = make_spec(X, None, None, "gaussian")
    spec = replace(spec, input_shape=input_shape, shift=np.array(3.0), scale=np.array(7.0))
    data = TrainingRows(X, spec, codes=np.arange(10)).subset(np.array([1, 4, 5, 6, 9]))
    kept = data.like(torch.zeros(()))
    kept.normalized.keep_on_device()
    kept = kept.subset(data.rows[:4])
    for index in (np.array([2, 0]), slice(1, 4)):
        (mine, my_codes), (own, codes) = kept[index], data[index]
        assert torch.equal(my_codes, codes)
        for name, value in own.items():
            torch.testing.assert_close(mine[name], value, rtol=0, atol=0)
            assert mine[name].stride() == value.stride()


def test_training_from_the_device_gives_the_same_model(make, blobs, few, monkeypatch, assert_same):
    usual = make().fit(blobs[0], few)
    monkeypatch.setattr("sk_equivae.training.train.fits_on", lambda n_bytes, device: True)
    assert_same(usual, make().fit(blobs[0], few))


def test_mixed_precision_is_close_and_predicts_exactly(make, images):
    X, y = images
    seen = []

    class Body(nn.Module):
        def __init__(self, shape):
            super().__init__()
            self.dense = nn.Linear(64, 8)

        def forward(self, x):
            h = self.dense(x.flatten(1))
            seen.append(h.dtype)
            return h

    plain = make(networks=Networks(posterior_body=Body)).fit(X, y)
    assert set(seen) == {torch.float32}
    seen.clear()
    mixed = make(networks=Networks(posterior_body=Body, amp=True)).fit(X, y)
    assert torch.bfloat16 in seen  # in training
    seen.clear()
    mixed.set_params(predict_with="posterior").predict(X)
    assert set(seen) == {torch.float32}
    first, other = (model.history_[0]["train_elbo"] for model in (plain, mixed))
    assert first != other
    assert first == pytest.approx(other, rel=0.02)


def test_compiled_bodies_are_used(make, images, monkeypatch, assert_same):
    asked, calls = [], []

    def compile_(function, **options):
        asked.append(options)
        return lambda *rows: calls.append(rows) or function(*rows)

    monkeypatch.setattr(torch, "compile", compile_)
    compiled = make(networks=Networks(compile=True)).fit(*images)
    assert asked == [{"dynamic": True}] * 16  # four bodies, twice, each tried on a copy first
    assert len(calls) > 8  # not the trials alone
    assert_same(make().fit(*images), compiled)
    again = pickle.loads(pickle.dumps(compiled))
    np.testing.assert_array_equal(again.predict(images[0]), compiled.predict(images[0]))


def test_where_compilation_cannot_work_training_goes_on(make, images, monkeypatch):
    def compile_(function, **options):
        raise RuntimeError("no compiler\nat all")

    monkeypatch.setattr(torch, "compile", compile_)
    with pytest.warns(UserWarning, match=r"RuntimeError: no compiler\. Training goes on") as found:
        model = make(networks=Networks(compile=True)).fit(*images)
    assert len(found) == 2  # once for the module and once for its average
    np.testing.assert_array_equal(model.prototypes_, make().fit(*images).prototypes_)


def test_a_trial_leaves_the_statistics_alone(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    norm = nn.BatchNorm1d(3)
    assert try_compile(norm, torch.ones(4, 3))
    assert norm.running_mean.eq(0).all()
    assert all(p.grad is None for p in norm.parameters())
