"""v relative to its class: normal in every class, and invertible."""

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.neural_network import MLPClassifier

from sk_equivae.fitted.relative import RelativeStyles, fit_relative, relative_to_moments
from sk_equivae.fitted.styles import from_class, prior_moments


def curved(n=3000, seed=0):
    """v of three classes, alike in mean and covariance but not in shape."""
    rng = np.random.RandomState(seed)
    codes = np.arange(n) % 3
    a, b = rng.normal(size=(2, n))
    bent = np.where(codes == 0, a**2 - 1, np.where(codes == 1, 1 - a**2, rng.normal(size=n)))
    return np.stack([a, bent + 0.3 * b, rng.normal(size=n)], axis=1), codes


@pytest.fixture(scope="module")
def maps():
    v, codes = curved()
    return fit_relative(v, codes, np.array([1.0, 1.0, 0.1]), prior_moments(3, 3))


def test_the_class_cannot_be_read_from_it(maps):
    (v, codes), (v_test, codes_test) = curved(seed=1), curved(seed=2)

    def accuracy(a, b):
        return MLPClassifier((32,), max_iter=60, tol=0, n_iter_no_change=99, random_state=0).fit(
            a[:, :2], codes
        ).score(b[:, :2], codes_test)  # fmt: skip

    with pytest.warns(match="Maximum iterations"):
        assert accuracy(v, v_test) > 0.6
    with pytest.warns(match="Maximum iterations"):
        assert accuracy(maps.forward(v, codes), maps.forward(v_test, codes_test)) < 0.42


def test_each_coordinate_is_normal_in_each_class(maps):
    v, codes = curved(seed=3)
    u = maps.forward(v, codes)
    for code in range(3):
        for j in range(2):
            assert kstest(u[codes == code, j], "norm").statistic < 0.06


def test_backward_undoes_forward_even_far_out(maps):
    v, codes = curved(seed=4)
    v[:9] *= 30
    back = maps.backward(maps.forward(v, codes), codes)
    np.testing.assert_allclose(back[:, :2], v[:, :2], rtol=1e-9, atol=1e-9)


def test_dimensions_that_are_not_used_are_zero_and_come_back_as_the_mean(maps):
    v, codes = curved()
    assert maps.used.tolist() == [True, True, False]
    u = maps.forward(v, codes)
    assert not u[:, 2].any()
    for code in range(3):
        mean = v[codes == code, 2].mean()
        np.testing.assert_allclose(maps.backward(u, codes)[codes == code, 2], mean)


@pytest.mark.parametrize("kl", [np.zeros(2), np.array([0.01, 0.02])])
def test_a_collapsed_v_keeps_its_largest_dimension(kl):
    v, codes = np.random.RandomState(0).normal(size=(60, 2)), np.zeros(60, dtype=int)
    maps = fit_relative(v, codes, kl, prior_moments(1, 2))
    assert maps.used.tolist() == (np.arange(2) == kl.argmax()).tolist()
    assert np.isfinite(maps.forward(v, codes)).all()


def test_classes_with_few_rows_are_only_standardised():
    mean, covariance = np.array([[1.0, 2.0]]), np.array([[[4.0, 1.0], [1.0, 2.0]]])
    v, codes = np.random.RandomState(0).normal(size=(5, 2)), np.zeros(5, dtype=int)
    expected = from_class(v, codes, mean, covariance)
    for rows in (v[:0], v[:4]):
        maps = fit_relative(rows, codes[: len(rows)], np.ones(2), (mean, covariance))
        np.testing.assert_allclose(maps.forward(v, codes), expected)
    np.testing.assert_allclose(relative_to_moments((mean, covariance)).forward(v, codes), expected)


def test_new_classes_join(maps):
    v, codes = curved(seed=5)
    order = np.array([3, 0, 1, 2])
    joined = maps.joined(prior_moments(1, 3), order)
    assert joined.fits(4, 3)
    np.testing.assert_allclose(joined.forward(v, codes + 1), maps.forward(v, codes))
    new = joined.forward(v, np.zeros_like(codes))
    np.testing.assert_allclose(new[:, :2] ** 2 @ [1, 1], v[:, :2] ** 2 @ [1, 1])  # rotated


def test_wrong_shapes_do_not_fit(maps):
    assert maps.fits(3, 3)
    assert not maps.fits(2, 3)
    parts = {**vars(maps), "quantiles": maps.quantiles[:, :, :, 1:]}
    assert not RelativeStyles(**parts).fits(3, 3)
