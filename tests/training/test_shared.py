"""Memory that processes share."""

import os
import sys

import pytest
import torch

from sk_equivae.training import shared
from sk_equivae.training.shared import SharedMemory, make_file

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /dev/shm")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_read_the_same_sum(dtype):
    like = torch.zeros(1, dtype=dtype)
    path = make_file(100, 3, like)
    worlds = [SharedMemory(path, 100, rank, 3, like) for rank in range(3)]
    path.unlink()  # what is mapped stays
    generator = torch.Generator().manual_seed(0)
    for _ in range(4):
        given = [torch.randn(100, generator=generator, dtype=dtype) for _ in range(3)]
        for world, values in zip(worlds, given, strict=True):
            world.write([values[:30], values[30:]])
        sums = [world.read() for world in worlds]
        torch.testing.assert_close(sums[0], sum(given))
        assert all(torch.equal(found, sums[0]) for found in sums)


def test_a_process_may_be_one_sum_ahead():
    like = torch.zeros(1)
    path = make_file(1, 2, like)
    fast, slow = (SharedMemory(path, 1, rank, 2, like) for rank in range(2))
    path.unlink()
    fast.write([torch.tensor([1.0])])
    slow.write([torch.tensor([2.0])])
    assert fast.read().item() == 3
    fast.write([torch.tensor([10.0])])  # the other has not read yet
    assert slow.read().item() == 3
    slow.write([torch.tensor([20.0])])
    assert fast.read().item() == slow.read().item() == 30


def test_nothing_is_shared_without_room(monkeypatch, tmp_path):
    monkeypatch.setattr(shared, "FOLDER", tmp_path)

    def full(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert make_file(10, 2, torch.zeros(1)) is None
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(shared, "FOLDER", tmp_path / "missing")
    assert make_file(10, 2, torch.zeros(1)) is None
