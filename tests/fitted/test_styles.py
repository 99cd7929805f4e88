"""The distribution of v within classes, and what is drawn from it."""

import numpy as np
import pytest

from sk_equivae import EquiVAEClassifier
from sk_equivae.fitted import FittedModel
from sk_equivae.fitted.styles import StyleMoments, from_class, prior_moments, to_class
from tests.conftest import QUICK


@pytest.fixture
def rows():
    """Means and variances of q(v | r_y, x) of 90 rows, and their classes."""
    rng = np.random.RandomState(0)
    return rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3)), rng.rand(90, 3), np.arange(90) % 2


def test_moments_are_those_of_the_mixture(rows):
    mean, variance, codes = rows
    moments = StyleMoments(3, 3)
    for part in (slice(0, 50), slice(50, 90)):
        moments.update(mean[part], variance[part], codes[part])
    huge = StyleMoments(3, 3)  # so many rows that the prior does not count
    huge.n_rows, huge.sums, huge.squares = (
        t * 1e12 for t in (moments.n_rows, moments.sums, moments.squares)
    )
    found = huge.update_moments(prior_moments(3, 3))
    for code in (0, 1):
        own = codes == code
        np.testing.assert_allclose(found[0][code], mean[own].mean(axis=0), atol=1e-9)
        # of all draws of v: the spread of the means and the mean of the variances
        spread = np.cov(mean[own].T, bias=True) + np.diag(variance[own].mean(axis=0))
        np.testing.assert_allclose(found[1][code], spread, atol=1e-9)
    np.testing.assert_array_equal(found[0][2], 0)  # a class without rows
    np.testing.assert_array_equal(found[1][2], np.eye(3))


def test_the_old_moments_count_as_much_as_a_few_rows(rows):
    mean, variance, codes = rows
    moments = StyleMoments(2, 3)
    moments.update(mean[:6], variance[:6], codes[:6])  # three rows of each class, as n_equivariant
    old = np.full((2, 3), 5.0), np.tile(np.eye(3), (2, 1, 1))
    found = moments.update_moments(old)
    np.testing.assert_allclose(found[0][1], (5.0 + mean[1:6:2].mean(axis=0)) / 2)


def test_to_class_and_back(rows):
    v, _, codes = rows
    rng = np.random.RandomState(1)
    roots = rng.normal(size=(2, 3, 3)) + 2 * np.eye(3)
    moments = rng.normal(size=(2, 3)), roots @ roots.transpose(0, 2, 1)
    u = from_class(v, codes, *moments)
    np.testing.assert_allclose(to_class(u, codes, *moments), v, atol=1e-9)
    drawn = to_class(rng.normal(size=(200_000, 3)), np.ones(200_000, dtype=int), *moments)
    np.testing.assert_allclose(drawn.mean(axis=0), moments[0][1], atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), moments[1][1], rtol=0.05, atol=0.05)


@pytest.fixture
def model(blobs):
    return EquiVAEClassifier(**{**QUICK, "max_epochs": 20}).fit(*blobs)


def test_fit_learns_the_styles_of_its_classes(model, blobs):
    X, _ = blobs
    assert model.v_mean_.shape == (3, 2)
    assert model.v_covariance_.shape == (3, 2, 2)
    v = model.set_params(representation="latent").transform(X)[:, 2:]
    part = 20 / (20 + 2)  # rows of a class, and the weight of the prior
    for code in range(3):
        expected = part * v[model.predict(X) == code].mean(axis=0)
        np.testing.assert_allclose(model.v_mean_[code], expected, atol=1e-5)


def test_rows_of_weight_0_have_no_style(blobs, make):
    X, y = blobs
    weight = np.ones(60)
    weight[::3] = 0
    weighted = make(dtype="float64").fit(X, y, sample_weight=weight)
    without = make(dtype="float64").fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(weighted.v_mean_, without.v_mean_)
    np.testing.assert_allclose(weighted.v_covariance_, without.v_covariance_)


@pytest.fixture
def decoded_v(monkeypatch):
    """A list of what goes into the decoder as v."""
    seen = []
    monkeypatch.setattr(
        FittedModel, "decode", lambda self, r, v, **_: seen.append(v) or np.zeros((len(v), 4))
    )
    return seen


def test_samples_have_the_style_of_their_class(model, decoded_v):
    v_mean, v_covariance = model.v_mean_.copy(), model.v_covariance_.copy()
    v_mean[1], v_covariance[1] = [30.0, -30.0], np.diag([4.0, 0.25])
    model.model_ = model.model_.replace(v_mean=v_mean, v_covariance=v_covariance)
    model.sample(5000, y=1, random_state=0)
    np.testing.assert_allclose(decoded_v[0].mean(axis=0), [30, -30], atol=0.1)
    np.testing.assert_allclose(decoded_v[0].std(axis=0), [2, 0.5], rtol=0.05)


def test_style_keeps_its_place_between_classes(model, blobs, decoded_v):
    X = blobs[0][:12]
    codes, v = model.model_.latents(X, model.predict_with)
    v_mean = np.arange(6.0).reshape(3, 2)
    v_covariance = np.stack([np.eye(2) * (k + 1) ** 2 for k in range(3)])
    model.model_ = model.model_.replace(v_mean=v_mean, v_covariance=v_covariance)
    model.transfer_style(X, X[::-1].copy())
    back = codes[::-1]
    u = (v[::-1] - v_mean[back]) / (back + 1)[:, None]
    expected = v_mean[codes] + u * (codes + 1)[:, None]
    np.testing.assert_allclose(decoded_v[0], expected, atol=1e-5)
    model.transfer_style(X, X)  # within a class nothing is changed, to the bit
    np.testing.assert_array_equal(decoded_v[1], v)


def test_partial_fit_goes_on_from_the_old_styles(blobs):
    X, y = blobs
    model = EquiVAEClassifier(**QUICK).partial_fit(X, y, classes=[0, 1, 2])
    old = model.v_mean_.copy(), model.v_covariance_.copy()
    model.partial_fit(X[y == 0], y[y == 0])
    for before, after in zip(old, (model.v_mean_, model.v_covariance_), strict=True):
        np.testing.assert_array_equal(before[1:], after[1:])
        assert (before[0] != after[0]).any()


def test_added_classes_have_the_prior(model, blobs):
    X, _ = blobs
    old = model.v_mean_.copy()
    model.add_classes(X[:3] + 50, [-5, 7, 7])
    assert model.classes_.tolist() == [-5, 0, 1, 2, 7]
    np.testing.assert_array_equal(model.v_mean_[1:4], old)
    for place in (0, 4):
        np.testing.assert_array_equal(model.v_mean_[place], 0)
        np.testing.assert_array_equal(model.v_covariance_[place], np.eye(2))
    rows, labels = model.sample(4, y=[-5, 7, 0, 1], random_state=0)
    assert np.isfinite(rows).all()
    assert labels.tolist() == [-5, 7, 0, 1]
