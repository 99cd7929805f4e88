"""The one loop over rows: what goes in, batch by batch, and what comes out."""

import itertools

import numpy as np
import pytest
import torch

from sk_equivae.fitted import loop
from sk_equivae.fitted.loop import BATCH_SIZE, map_batches
from sk_equivae.fitted.rows import NormalizedRows
from tests._models import row_spec

LIKE = torch.zeros((), dtype=torch.float64)
NUMBERS = np.arange(10)


@pytest.mark.parametrize("batch_size", [1, 3, 5, 9, 10, 11])
def test_batches_hold_every_row_once_and_in_order(batch_size):
    seen = []
    result = map_batches(
        lambda a: seen.append(a.tolist()) or 2 * a, NUMBERS, like=LIKE, batch_size=batch_size
    )
    np.testing.assert_array_equal(result, 2 * NUMBERS)
    assert list(itertools.chain(*seen)) == NUMBERS.tolist()
    assert [len(part) for part in seen[:-1]] == [batch_size] * (len(seen) - 1)
    assert len(seen) == -(-10 // batch_size)


def test_columns_stay_together():
    weight = np.linspace(0, 1, 10)
    result = map_batches(lambda a, b: a * b, NUMBERS, weight, like=LIKE, batch_size=4)
    np.testing.assert_allclose(result, NUMBERS * weight)


def test_a_tuple_gives_a_tuple_of_arrays():
    codes, halves = map_batches(
        lambda a: (a, a[:, None] / 2 + torch.zeros(1, 3)), NUMBERS, like=LIKE, batch_size=4
    )
    np.testing.assert_array_equal(codes, NUMBERS)
    assert codes.dtype == np.int64
    np.testing.assert_array_equal(halves, np.repeat(NUMBERS[:, None] / 2, 3, axis=1))


def test_a_tuple_of_one_stays_a_tuple():
    result = map_batches(lambda a: (a,), NUMBERS, like=LIKE, batch_size=4)
    assert isinstance(result, tuple)
    np.testing.assert_array_equal(result[0], NUMBERS)


def test_a_function_may_return_arrays():
    result = map_batches(lambda a: a.numpy() + 0.5, NUMBERS, like=LIKE, batch_size=4)
    np.testing.assert_array_equal(result, NUMBERS + 0.5)


def test_a_function_that_returns_nothing_gathers():
    gathered = []
    result = map_batches(lambda a: gathered.extend(a.tolist()), NUMBERS, like=LIKE, batch_size=4)
    assert result is None
    assert gathered == NUMBERS.tolist()


def test_the_result_is_made_once(monkeypatch):
    """Parts that are joined at the end would take twice the memory."""
    made = []
    empty = np.empty

    def noted(shape, dtype):
        made.append(shape)
        return empty(shape, dtype)

    monkeypatch.setattr(loop.np, "empty", noted)
    wide = lambda a: (a, a[:, None].expand(-1, 7))  # noqa: E731
    map_batches(wide, NUMBERS, like=LIKE, batch_size=3)
    assert made == [(10,), (10, 7)]


def test_no_gradient_is_kept():
    weight = torch.ones(3, dtype=torch.float64, requires_grad=True)
    seen = []

    def function(a):
        seen.append(torch.is_inference_mode_enabled())
        return a[:, None] * weight

    result = map_batches(function, NUMBERS, like=LIKE)
    assert seen == [True]
    assert result.shape == (10, 3)
    assert not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_floats_come_in_the_dtype_of_the_networks_and_codes_as_positions(dtype):
    seen = []
    map_batches(
        lambda *columns: seen.extend(column.dtype for column in columns),
        np.zeros(3), np.zeros(3, dtype=np.float32), np.zeros(3, dtype=np.int32),
        like=torch.zeros((), dtype=dtype),
    )  # fmt: skip
    assert seen == [dtype, dtype, torch.int64]


def test_rows_of_a_user_come_normalised():
    X = np.random.RandomState(0).normal(size=(10, 2))
    shift, scale = [1.0, 2.0], [3.0, 4.0]
    spec = row_spec((2,), shift=shift, scale=scale)
    rows = np.array([9, 0, 4, 4, 1])
    x, codes = map_batches(
        lambda x, y: (x, y), NormalizedRows(X, spec, LIKE, rows), rows, like=LIKE, batch_size=2
    )
    np.testing.assert_allclose(x, (X[rows] - shift) / scale)
    np.testing.assert_array_equal(codes, rows)


def read_only(values):
    values = values.copy()
    values.setflags(write=False)
    return values


@pytest.mark.parametrize(
    "column", [read_only(NUMBERS), NUMBERS[::-1]], ids=["read-only", "reversed"]
)
def test_columns_may_be_read_only_or_reversed(column):
    np.testing.assert_array_equal(map_batches(lambda a: a + 1, column, like=LIKE), column + 1)


def test_a_usual_batch_is_large():
    sizes = []
    map_batches(lambda a: sizes.append(len(a)), np.zeros(BATCH_SIZE + 1), like=LIKE)
    assert sizes == [BATCH_SIZE, 1]


def test_batches_that_do_not_fit_into_memory_are_halved():
    sizes = []

    def greedy(a):
        if len(a) > 3:
            raise torch.OutOfMemoryError("out of memory")
        sizes.append(len(a))
        return 2 * a

    with pytest.warns(UserWarning, match="do not fit into memory; going on with"):
        found = map_batches(greedy, np.arange(10), like=LIKE, batch_size=8)
    np.testing.assert_array_equal(found, 2 * np.arange(10))
    assert sum(sizes) == 10


@pytest.mark.filterwarnings("ignore:.*do not fit into memory:UserWarning")
def test_a_single_row_that_does_not_fit_raises():
    def greedy(a):
        raise torch.OutOfMemoryError("out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        map_batches(greedy, np.arange(10), like=LIKE)
