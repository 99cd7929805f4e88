"""Rows as tensors, and which of them go into a batch together."""

import numpy as np
import pytest
import torch

from sk_equivae._batches import (
    LABELED_PART,
    OrderedBatches,
    RowDataset,
    TrainBatches,
    count_steps,
    epoch_batches,
    grown_batch_size,
)


def rng():
    return np.random.RandomState(0)


def make_codes(n_labeled, n_unlabeled, n_classes=3):
    codes = np.r_[np.arange(n_labeled) % n_classes, np.full(n_unlabeled, -1)]
    return rng().permutation(codes)


# -------------------------------------------------------------------- rows


def test_rows_keep_their_type_and_values():
    X = rng().normal(size=(6, 4))
    codes, weight = np.arange(6) % 2, np.linspace(0, 1, 6)
    x, y, w = RowDataset(X, (4,), codes, weight)[np.array([4, 1])]
    assert x.dtype == torch.float64
    np.testing.assert_array_equal(x, X[[4, 1]])
    assert y.tolist() == [0, 1]
    np.testing.assert_array_equal(w, weight[[4, 1]])


def test_without_codes_all_rows_are_unlabelled_and_of_weight_one():
    _, y, w = RowDataset(np.zeros((3, 4)), (4,))[slice(0, 3)]
    assert y.tolist() == [-1, -1, -1]
    assert w.tolist() == [1, 1, 1]


def test_subset_counts_positions_among_its_rows():
    X = np.arange(12.0).reshape(6, 2)
    data = RowDataset(X, (2,), np.arange(6)).subset(np.array([1, 2, 5]))
    assert len(data) == 3
    assert data[np.array([2, 0])][1].tolist() == [5, 1]
    assert data[slice(0, 3)][1].tolist() == [1, 2, 5]  # not in one piece in X
    x, y, _ = data[slice(0, 2)]  # in one piece
    assert y.tolist() == [1, 2]
    np.testing.assert_array_equal(x, X[1:3])
    assert data.X is X


def test_memmap_stays_memmap_and_bytes_stay_bytes(tmp_path):
    written = np.memmap(tmp_path / "rows", np.uint8, "w+", shape=(10, 64))
    written[:] = rng().randint(256, size=(10, 64))
    written.flush()
    X = np.memmap(tmp_path / "rows", np.uint8, "r", shape=(10, 64))
    data = RowDataset(X, (1, 8, 8))
    assert data.X is X
    assert data.subset(np.arange(5)).X is X
    for index in (np.array([3, 1]), slice(2, 5)):
        x = data[index][0]
        assert x.dtype == torch.uint8
        x += 1  # of its own: the file is read-only
    np.testing.assert_array_equal(X, written)


@pytest.mark.parametrize("index", [np.array([2, 0]), slice(1, 3)])
def test_images_hold_their_channels_last(index):
    images = rng().uniform(size=(4, 5, 6, 3))
    x = RowDataset(images.reshape(4, -1), (3, 5, 6))[index][0]
    assert x.shape == (2, 3, 5, 6)
    assert x.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_array_equal(x, images[index].transpose(0, 3, 1, 2))


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_ordered_batches_go_through_rows_in_order(size):
    data = RowDataset(np.zeros((9, 2)), (2,), np.arange(9)).subset(np.arange(1, 8))
    parts = [y for _, y, _ in OrderedBatches(data, size)]
    assert torch.cat(parts).tolist() == list(range(1, 8))
    assert max(map(len, parts)) == min(size, 7)


# -------------------------------------------------------------------- sizes


def test_batches_grow_by_doubling_over_training():
    sizes = [grown_batch_size(32, 256, epoch, 20) for epoch in range(20)]
    assert sizes == [32] * 5 + [64] * 5 + [128] * 5 + [256] * 5
    assert [grown_batch_size(32, 200, e, 3) for e in range(3)] == [32, 64, 128]
    assert [grown_batch_size(32, 8, e, 3) for e in range(3)] == [32, 32, 32]
    assert grown_batch_size(32, 64, 99, 2) == 64  # a warm start goes on


@pytest.mark.parametrize(
    "n_labeled, n_unlabeled", [(50, 0), (7, 0), (9, 60), (60, 9), (3, 1), (0, 9)]
)
@pytest.mark.parametrize("batch_size, largest", [(2, 2), (8, 8), (8, 64), (16, 32)])
def test_steps_are_counted_as_they_come(n_labeled, n_unlabeled, batch_size, largest):
    codes = make_codes(n_labeled, n_unlabeled)
    data = RowDataset(np.zeros((len(codes), 2)), (2,), codes)
    batches = TrainBatches(data, batch_size, largest, 5, 3, rng())
    n_steps = sum(1 for _ in range(5) for _ in batches)
    assert n_steps == count_steps(codes, batch_size, largest, 5)


def test_each_iteration_is_an_epoch_of_larger_batches():
    data = RowDataset(np.zeros((64, 2)), (2,), make_codes(64, 0))
    batches = TrainBatches(data, 8, 32, 3, 3, rng())
    assert [{len(y) for _, y, _ in batches} for _ in range(3)] == [{8}, {16}, {32}]


def test_train_batches_hold_the_rows_of_the_subset():
    data = RowDataset(np.zeros((20, 2)), (2,), make_codes(20, 0), np.arange(20.0))
    subset = data.subset(np.arange(5, 15))
    seen = torch.cat([w for *_, w in TrainBatches(subset, 4, 4, 1, 3, rng())])
    assert sorted(seen.tolist()) == list(range(5, 15))


# -------------------------------------------------------------------- who comes together


@pytest.mark.parametrize("n_labeled, n_unlabeled", [(50, 0), (9, 61), (61, 9), (2, 70)])
@pytest.mark.parametrize("batch_size", [2, 8, 13])
def test_every_row_once_and_none_twice_in_a_batch(n_labeled, n_unlabeled, batch_size):
    codes = make_codes(n_labeled, n_unlabeled)
    epoch = list(epoch_batches(codes, batch_size, 3, rng()))
    counted = np.bincount(np.concatenate(epoch), minlength=len(codes))
    assert (counted[codes < 0] == 1).all()
    if n_unlabeled == 0:
        assert (counted == 1).all()
    for rows in epoch:
        assert len(np.unique(rows)) == len(rows) <= batch_size


def test_labelled_rows_are_a_third_at_least():
    codes = make_codes(40, 400)
    for rows in epoch_batches(codes, 30, 3, rng()):
        assert (codes[rows] >= 0).sum() == round(30 * LABELED_PART)
    codes = make_codes(300, 100)  # or their share of the data
    for rows in epoch_batches(codes, 40, 3, rng()):
        assert (codes[rows] >= 0).sum() == 30


@pytest.mark.parametrize("n_labeled, n_unlabeled", [(200, 3), (200, 30), (200, 100), (200, 1)])
def test_few_unlabelled_rows_do_not_cut_the_epoch_short(n_labeled, n_unlabeled):
    codes = make_codes(n_labeled, n_unlabeled)
    seen = [codes[rows] for rows in epoch_batches(codes, 16, 3, rng())]
    assert n_labeled <= sum((y >= 0).sum() for y in seen) < 1.2 * n_labeled
    assert sum((y < 0).sum() for y in seen) == n_unlabeled


def test_few_labelled_rows_are_all_in_every_batch():
    codes = make_codes(6, 100)
    for rows in epoch_batches(codes, 30, 3, rng()):
        assert (codes[rows] >= 0).sum() == 6


def test_labelled_rows_take_turns():
    codes = make_codes(30, 400)
    count = np.zeros(len(codes))
    for rows in epoch_batches(codes, 30, 3, rng()):
        count[rows] += 1
    assert count[codes >= 0].min() >= 5
    assert count[codes >= 0].max() <= 9


def company(codes, batch_size, m_max):
    """How many others of its class a row finds in its batch, by class."""
    others = {code: [] for code in np.unique(codes)}
    for seed in range(5):
        for rows in epoch_batches(codes, batch_size, m_max, np.random.RandomState(seed)):
            for code in codes[rows]:
                others[code].append((codes[rows] == code).sum() - 1)
    return {code: np.array(found) for code, found in others.items()}


def test_rare_classes_come_in_company():
    """By chance a row of class 0 would find a fifth of another one in a batch."""
    codes = rng().permutation(np.r_[np.zeros(8, int), np.ones(600, int)])
    found = company(codes, 16, m_max=7)[0]
    assert found.mean() > 3
    assert (found > 0).mean() > 0.9


def test_with_many_classes_rows_find_complements():
    codes = rng().permutation(np.arange(1000) % 100)
    found = np.concatenate(list(company(codes, 32, m_max=4).values()))
    assert (found > 0).mean() > 0.8
    assert found.mean() > 2


def test_common_classes_come_evenly():
    codes = make_codes(600, 0)
    for rows in epoch_batches(codes, 60, 7, rng()):
        assert np.bincount(codes[rows]).min() >= 12


def test_order_is_by_the_generator_and_new_each_epoch():
    codes = make_codes(30, 30)

    def orders(seed):
        source = np.random.RandomState(seed)
        return [np.concatenate(list(epoch_batches(codes, 8, 3, source))).tolist() for _ in "ab"]

    first, second = orders(0)
    assert first != second
    assert orders(0) == [first, second]
    assert orders(1)[0] != first
