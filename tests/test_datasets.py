"""Few-label views of data."""

import numpy as np
import pytest

from sk_equivae.datasets import load_few_digits, mask_labels
from sk_equivae.estimators.labels import encode_labels


def test_mask_keeps_so_many_of_each_class():
    y = np.repeat([0, 1, 2], [50, 10, 30])
    masked = mask_labels(y, 4, random_state=0)
    assert np.bincount(masked[masked >= 0]).tolist() == [4, 4, 4]
    np.testing.assert_array_equal(masked[masked >= 0], y[masked >= 0])
    assert (masked == -1).sum() == 90 - 12
    assert (y >= 0).all()  # a copy


def test_mask_draws_at_random_and_follows_its_seed():
    y = np.arange(300) % 3
    first, again, other = (mask_labels(y, 5, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert np.flatnonzero(first >= 0).max() > 100  # not the first rows


@pytest.mark.parametrize(
    "y, dtype",
    [
        (np.array([0, 0, 1, 1]), np.int64),
        (np.array([0, 0, 200, 200], dtype=np.uint8), np.int16),
        (np.array(["a", "a", "b", "b"]), object),
        (np.array([True, True, False, False]), object),
    ],
)
def test_the_estimators_understand_the_mask(y, dtype):
    masked = mask_labels(y, 1, random_state=0)
    assert masked.dtype == dtype
    codes, classes = encode_labels(masked)
    assert np.sort(codes).tolist() == [-1, -1, 0, 1]
    assert classes.tolist() == np.unique(y).tolist()
    np.testing.assert_array_equal(classes[codes[codes >= 0]], y[codes >= 0])


def test_mask_takes_a_marker_and_leaves_unlabelled_rows():
    masked = mask_labels(np.array(["a", "a", "b", "?"]), 1, random_state=0, unlabeled="?")
    assert masked.dtype.kind == "U"
    assert sorted(masked) == ["?", "?", "a", "b"]
    assert masked[3] == "?"


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((["a", "a", "b"], 2), r"at least n_per_class=2 .* got \{'b': 1\}. Lower"),
        (([0, 1], 0), "n_per_class should be an int of at least 1; got 0"),
        (([0, 1], 1, None, None), "unlabeled should be a marker, such as -1; got None"),
    ],
)
def test_mask_says_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        mask_labels(*arguments)


def test_few_digits():
    X_train, y_train, X_test, y_test = load_few_digits(n_per_class=7, test_size=0.2)
    assert X_train.shape[1:] == X_test.shape[1:] == (8, 8)
    assert len(X_train) + len(X_test) == 1797
    assert X_train.min() == 0
    assert X_train.max() == 1
    assert np.bincount(y_train[y_train >= 0]).tolist() == [7] * 10
    assert (y_test >= 0).all()
    share = np.bincount(y_test) / len(y_test)
    assert share.max() - share.min() < 0.02  # a stratified split
    again, other = load_few_digits(7, 0.2), load_few_digits(7, 0.2, random_state=1)
    np.testing.assert_array_equal(y_train, again[1])
    assert (y_test != other[3]).any()
