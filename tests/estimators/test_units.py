"""Rows on another scale than in fit, and features with large offsets or tiny scales."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

SEPARATE = {"max_epochs": 20, "lr": 1e-2}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return (X[:200] * 15.9).astype(np.uint8).reshape(-1, 8, 8), y[:200]


def test_bytes_after_fractions_raise_for_a_bernoulli(make, digits):
    X, y = digits
    model = make(likelihood="bernoulli", max_epochs=1).fit(X / 255, y)
    for call in (model.predict, model.transform, model.score_samples):
        with pytest.raises(ValueError, match=r"Expected values in \[0, 1\].*divide bytes by 255"):
            call(X)


def test_fractions_after_bytes_warn(make, digits):
    X, y = digits
    model = make(max_epochs=1).fit(X, y)
    with pytest.warns(UserWarning, match=r"from 0 to 0.99.*; in fit they went from 0 to 25"):
        model.predict(X / 255)


@pytest.mark.parametrize("factor", [255, 1 / 255])
def test_another_scale_warns_for_a_gaussian(make, digits, factor):
    X = digits[0] / 255
    model = make(likelihood="gaussian", max_epochs=1).fit(X, digits[1])
    with pytest.warns(UserWarning, match="bring X to the scale"):
        model.predict(X * factor)


def test_tabular_rows_in_other_units_warn(make, blobs):
    X, y = blobs
    model = make().fit(X, y)
    with pytest.warns(UserWarning, match="another scale"):
        model.predict(X * 1000)
    outlier = X.copy()
    outlier[0, 0] = 1e6  # a single value says nothing about the units
    model.predict(outlier)


def test_the_same_scale_is_accepted_in_any_dtype(make, digits):
    X, y = digits
    model = make(max_epochs=1).fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X.astype(np.float64)), expected, rtol=1e-4)
    model.predict(np.zeros_like(X[:1], dtype=float))  # a blank image is no other scale
    model.predict(X[:1] // 255)


def test_a_little_beyond_the_range_is_accepted(make, digits):
    X = digits[0] / 255
    model = make(likelihood="bernoulli", max_epochs=1).fit(X, digits[1])
    model.predict(X * 1.001)


@pytest.mark.parametrize(
    "shift, scale", [(1.7e9, 1.0), (-1e12, 100.0), (0.0, 1e-19), (1e-15, 1e-19), (0.0, 1e15)]
)
def test_offsets_and_scales_do_not_matter(make, shift, scale):
    X, y = make_blobs(120, 4, centers=3, cluster_std=0.5, random_state=0)
    moved = make(**SEPARATE).fit(shift + scale * X, y)
    assert moved.score(shift + scale * X, y) > 0.95
    generated = (moved.sample(50, random_state=0)[0] - shift) / scale
    np.testing.assert_allclose(generated.mean(axis=0), X.mean(axis=0), atol=2)


def test_a_constant_feature_stays_constant(make, blobs):
    X = np.column_stack([blobs[0], np.full(60, 1.7e9)])
    model = make().fit(X, blobs[1])
    np.testing.assert_allclose(model.reconstruct(X)[:, -1], 1.7e9, atol=10)
