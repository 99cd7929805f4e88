"""Limits: what the columns of a table can hold."""

import numpy as np
import pytest

from sk_equivae.fitted.limits import Limits

NAN = np.nan


@pytest.mark.parametrize(
    "seen, values, expected",
    [
        ([0.0, 9.5], [-1.0, 0.4, 99.0], [0.0, 0.4, 99.0]),
        ([-9.5, 0.0], [-99.0, -0.4, 1.0], [-99.0, -0.4, 0.0]),
        ([-1.0, 9.5], [-3.0, 0.4, 99.0], [-3.0, 0.4, 99.0]),
        ([-1.0, 9.0], [-3.0, 0.6, 99.0], [-1.0, 1.0, 9.0]),
        ([5.5, 5.5], [-3.0, 5.5, 7.0], [5.5, 5.5, 5.5]),
        ([NAN, 3.0, 1.0], [0.0, 2.4, 4.0], [1.0, 2.0, 3.0]),
        ([NAN, NAN], [-0.4, NAN, 4.0], [-0.4, NAN, 4.0]),
    ],
    ids=["not negative", "not positive", "any number", "integer", "constant", "gaps", "empty"],
)
def test_generated_numbers_are_possible_ones(seen, values, expected):
    limits = Limits.learn([np.array(seen)[:, None]])
    found = limits.repair(np.array(values)[:, None])[:, 0]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_parts_give_what_the_whole_gives(dtype):
    rng = np.random.RandomState(0)
    X = (rng.uniform(0, 9, size=(20, 3)) * [1, 2, 0]).astype(dtype)
    whole, parts = Limits.learn([X]), Limits.learn([X[:7], X[7:8], X[8:]])
    for name in ("low", "high", "integer"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
    assert whole.integer.tolist() == [dtype == np.uint8, dtype == np.uint8, True]
    np.testing.assert_array_equal(whole.high, X.max(axis=0))
