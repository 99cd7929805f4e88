"""Rows as tensors, and which of them go into a batch together."""

import numpy as np
import pytest
import torch

from sk_equivae import Objective
from sk_equivae.training.batches import OrderedBatches, TrainBatches
from sk_equivae.training.composition import epoch_batches, grown_batch_size
from tests._models import batch, evaluate, make_codes, make_rows, tiny_module, tiny_objective

THIRD = Objective().labeled_fraction


def rng(seed=0):
    return np.random.RandomState(seed)


def zeros(n, codes=None, weight=None):
    return make_rows(np.zeros((n, 2)), codes, weight)


def train_batches(data, batch_size, largest, max_epochs):
    return TrainBatches(data, batch_size, largest, max_epochs, THIRD, 3, "auto", rng())


def own_size(inputs):
    """The number of rows that are not there as complements only."""
    return int(inputs["own"].sum()) if "own" in inputs else len(inputs["x"])


def one_epoch(codes, batch_size, m_max=3, seed=0):
    return epoch_batches(codes, batch_size, THIRD, m_max, rng(seed))


# -------------------------------------------------------------------- rows


def test_rows_come_with_codes_and_weights():
    X = rng().normal(size=(6, 4))
    codes, weight = np.arange(6) % 2, np.linspace(0, 1, 6)
    inputs, y = make_rows(X, codes, weight)[np.array([4, 1])]
    assert set(inputs) == {"x", "weight"}
    assert inputs["x"].dtype == torch.float64
    np.testing.assert_array_equal(inputs["x"], X[[4, 1]])
    assert y.tolist() == [0, 1]
    np.testing.assert_array_equal(inputs["weight"], weight[[4, 1]])


def test_rows_are_normalised_in_the_dtype_of_the_networks():
    X = rng().normal(size=(6, 2))
    data = make_rows(X, shift=np.array([1.0, 2.0]), scale=np.array([3.0, 5.0]))
    for dtype in (torch.float64, torch.float32):
        x = data.like(torch.zeros((), dtype=dtype))[slice(1, 4)][0]["x"]
        expected = torch.from_numpy((X[1:4] - [1, 2]) / [3, 5]).to(dtype)
        torch.testing.assert_close(x, expected)


def test_without_codes_all_rows_are_unlabelled_and_of_weight_one():
    inputs, y = make_rows(np.zeros((3, 4)))[slice(0, 3)]
    assert y.tolist() == [-1, -1, -1]
    assert inputs["weight"].tolist() == [1, 1, 1]


def test_subset_counts_positions_among_its_rows():
    X = np.arange(12.0).reshape(6, 2)
    data = make_rows(X, np.arange(6)).subset(np.array([1, 2, 5]))
    assert len(data) == 3
    assert data.own_codes.tolist() == [1, 2, 5]
    assert data[np.array([2, 0])][1].tolist() == [5, 1]
    assert data[slice(0, 3)][1].tolist() == [1, 2, 5]  # not in one piece in X
    inputs, y = data[slice(0, 2)]  # in one piece
    assert y.tolist() == [1, 2]
    np.testing.assert_array_equal(inputs["x"], X[1:3])
    assert data.X is X


def test_evidence_goes_with_its_rows():
    data = zeros(6, np.arange(6))
    data.evidence = np.arange(12, dtype=np.float32).reshape(6, 2)
    inputs, y = data.subset(np.array([5, 2, 0]))[np.array([0, 2])]
    assert y.tolist() == [5, 0]
    np.testing.assert_array_equal(inputs["evidence"], [[10, 11], [0, 1]])


def test_memmap_stays_memmap_and_is_not_written_to(tmp_path):
    written = np.memmap(tmp_path / "rows", np.uint8, "w+", shape=(10, 64))
    written[:] = rng().randint(256, size=(10, 64))
    written.flush()
    X = np.memmap(tmp_path / "rows", np.uint8, "r", shape=(10, 64))
    data = make_rows(X, input_shape=(1, 8, 8))
    assert data.X is X
    assert data.subset(np.arange(5)).X is X
    for index in (np.array([3, 1]), slice(2, 5)):
        x = data[index][0]["x"]
        assert x.shape[1:] == (1, 8, 8)
        np.testing.assert_array_equal(x.flatten(1), written[index])
        x += 1  # of its own: the file is read-only
    np.testing.assert_array_equal(X, written)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_ordered_batches_go_through_rows_in_order(size):
    data = zeros(9, np.arange(9)).subset(np.arange(1, 8))
    parts = [y for _, y in OrderedBatches(data, size)]
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
    batches = train_batches(zeros(len(codes), codes), batch_size, largest, 5)
    n_steps = [sum(1 for _ in batches) for _ in range(5)]
    assert n_steps == batches.steps_per_epoch()


def test_each_iteration_is_an_epoch_of_larger_batches():
    batches = train_batches(zeros(64, make_codes(64, 0)), 8, 32, 3)
    sizes = [{own_size(inputs) for inputs, _ in batches} for _ in range(4)]
    assert sizes == [{8}, {16}, {32}, {32}]


def test_train_batches_hold_the_rows_of_the_subset():
    subset = zeros(20, make_codes(20, 0), np.arange(20.0)).subset(np.arange(5, 15))
    seen = torch.cat([inputs["weight"] for inputs, _ in train_batches(subset, 4, 4, 1)])
    assert sorted(seen[seen > 0].tolist()) == list(range(5, 15))


# -------------------------------------------------------------------- who comes together


@pytest.mark.parametrize("n_labeled, n_unlabeled", [(50, 0), (9, 61), (61, 9), (2, 70)])
@pytest.mark.parametrize("batch_size", [2, 8, 13])
def test_every_row_once_and_none_twice_in_a_batch(n_labeled, n_unlabeled, batch_size):
    codes = make_codes(n_labeled, n_unlabeled)
    epoch = list(one_epoch(codes, batch_size))
    counted = np.bincount(np.concatenate(epoch), minlength=len(codes))
    assert (counted[codes < 0] == 1).all()
    if n_unlabeled == 0:
        assert (counted == 1).all()
    for rows in epoch:
        assert len(np.unique(rows)) == len(rows) <= batch_size


def test_labelled_rows_are_a_third_at_least():
    codes = make_codes(40, 400)
    for rows in one_epoch(codes, 30):
        assert (codes[rows] >= 0).sum() == 10
    codes = make_codes(300, 100)  # or their share of the data
    for rows in one_epoch(codes, 40):
        assert (codes[rows] >= 0).sum() == 30


@pytest.mark.parametrize("fraction, n_labeled", [(0.0, 3), (0.5, 15), (1.0, 29)])
def test_labelled_rows_are_as_many_as_asked_for(fraction, n_labeled):
    codes = make_codes(40, 360)  # a tenth of all rows, at least; one is unlabelled, at least
    for rows in epoch_batches(codes, 30, fraction, 3, rng()):
        assert (codes[rows] >= 0).sum() == n_labeled


@pytest.mark.parametrize("n_labeled, n_unlabeled", [(200, 3), (200, 30), (200, 100), (200, 1)])
def test_few_unlabelled_rows_do_not_cut_the_epoch_short(n_labeled, n_unlabeled):
    codes = make_codes(n_labeled, n_unlabeled)
    seen = [codes[rows] for rows in one_epoch(codes, 16)]
    assert n_labeled <= sum((y >= 0).sum() for y in seen) < 1.2 * n_labeled
    assert sum((y < 0).sum() for y in seen) == n_unlabeled


def test_few_labelled_rows_are_all_in_every_batch():
    codes = make_codes(6, 100)
    for rows in one_epoch(codes, 30):
        assert (codes[rows] >= 0).sum() == 6


def test_labelled_rows_take_turns():
    codes = make_codes(30, 400)
    count = np.zeros(len(codes))
    for rows in one_epoch(codes, 30):
        count[rows] += 1
    assert count[codes >= 0].min() >= 5
    assert count[codes >= 0].max() <= 9


def company(codes, batch_size, m_max):
    """How many others of its class a row finds in its batch, by class."""
    others = {code: [] for code in np.unique(codes)}
    for seed in range(5):
        for rows in one_epoch(codes, batch_size, m_max, seed):
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
    for rows in one_epoch(codes, 60, m_max=7):
        assert np.bincount(codes[rows]).min() >= 12


def test_order_is_by_the_generator_and_new_each_epoch():
    codes = make_codes(30, 30)

    def orders(seed):
        source = rng(seed)
        epochs = (epoch_batches(codes, 8, THIRD, 3, source) for _ in "ab")
        return [np.concatenate(list(epoch)).tolist() for epoch in epochs]

    first, second = orders(0)
    assert first != second
    assert orders(0) == [first, second]
    assert orders(1)[0] != first


def test_labelled_rows_alone_come_first():
    codes = make_codes(20, 100)
    data = zeros(120, codes)
    batches = TrainBatches(data, 12, 12, 2, THIRD, 3, "auto", rng(), n_warmup=3)
    first, second = ([y.numpy() for _, y in batches] for _ in range(2))
    assert [len(first), len(second)] == batches.steps_per_epoch()
    assert len(first) == len(second) + 3
    for y in first[:3]:
        assert len(y) == 12
        assert (y >= 0).all()
    for y in (*first[3:], *second):
        assert (y < 0).any()
    # as many as there are, if they are few
    few = TrainBatches(zeros(60, make_codes(5, 55)), 12, 12, 1, THIRD, 3, "auto", rng(), n_warmup=2)
    assert [len(y) for _, y in few][:2] == [5, 5]


def test_the_first_rows_are_skipped_by_a_later_start():
    data = zeros(120, make_codes(20, 100))
    whole = TrainBatches(data, 12, 12, 2, THIRD, 3, "auto", rng(), n_warmup=3)
    rest = TrainBatches(data, 12, 12, 2, THIRD, 3, "auto", rng(), (0, 2), n_warmup=3)
    for (_, y), (_, other) in zip([*whole][2:], rest, strict=True):
        assert torch.equal(y, other)
    assert len(
        [*TrainBatches(data, 12, 12, 2, THIRD, 3, "auto", rng(), (1, 0), n_warmup=3)]
    ) == len([*whole])


# -------------------------------------------------------------------- complements


def many_batches(codes, batch_size, m_max, least):
    data = zeros(len(codes), codes, 1.0 + np.arange(len(codes)))
    return list(TrainBatches(data, batch_size, batch_size, 1, THIRD, m_max, least, rng()))


def counts_of(y, n_classes):
    return np.bincount(y[y >= 0], minlength=n_classes)


@pytest.mark.parametrize("least, expected", [("auto", 2), (3, 3), ("m_max", 5)])
def test_every_class_is_in_every_batch_with_unlabelled_rows(least, expected):
    """With 10 classes and 32 rows too, where groups of m_max + 1 rows cover 3 classes."""
    codes = np.concatenate([np.repeat(np.arange(10), 6), np.full(200, -1)])
    for _, y in many_batches(codes, 32, 4, least):
        assert counts_of(y, 10).min() >= expected


def test_a_class_with_fewer_rows_gives_what_it_has():
    codes = np.concatenate([[0, 0, 0, 1], np.full(30, -1)])
    for _, y in many_batches(codes, 8, 4, "m_max"):
        assert counts_of(y, 2).tolist() == [3, 1]


def test_without_unlabelled_rows_only_classes_of_the_batch_get_complements():
    codes = np.arange(300) % 30
    for _, y in many_batches(codes, 8, 3, "auto"):
        assert set(counts_of(y, 30)) <= {0, *range(2, 9)}


def test_a_batch_that_cannot_hold_all_classes_stays_small():
    codes = np.concatenate([np.arange(300) % 30, np.full(300, -1)])
    assert max(len(y) for _, y in many_batches(codes, 8, 3, "auto")) <= 16


def test_added_rows_have_no_weight_and_are_not_in_the_batch():
    codes = np.concatenate([np.repeat(np.arange(10), 6), np.full(200, -1)])
    for inputs, y in many_batches(codes, 32, 4, "m_max"):
        own, weight = inputs["own"], inputs["weight"]
        assert own.sum() in (31, 32)
        assert (y[~own] >= 0).all()
        assert torch.equal(weight > 0, own)
        assert len(set(weight[own].tolist())) == own.sum()


def test_added_rows_change_no_term_but_through_complements():
    module, y = tiny_module(), torch.tensor([0, 0, 1, 1, 2, 2, 0])
    objective = tiny_objective(module, label_weight=1.0, linear_weight=1.0, prototype_weight=1.0)
    plain = evaluate(module, objective, y[:6])
    inputs, _ = batch(y, weight=torch.tensor([1.0] * 6 + [0.0]))
    with torch.no_grad():
        added, _ = objective(module, {**inputs, "own": torch.arange(6)}, y, torch.Generator())
    for name in ("log_q_y", "linear", "accuracy", "log_p_y"):
        torch.testing.assert_close(added[name], plain[name])
    assert added["elbo"] != plain["elbo"]
