"""Rows far from those of training are recognised by their features."""

import numpy as np
import pytest
import torch

from sk_equivae.fitted.region import BEYOND, find_region


def plane(n_rows, n_features, rng, noise=0.1):
    """Rows close to a plane."""
    axes = rng.normal(size=(2, n_features))
    x = rng.normal(size=(n_rows, 2)) @ axes + noise * rng.normal(size=(n_rows, n_features))
    return torch.from_numpy(x)


@pytest.fixture(scope="module")
def rng():
    return np.random.RandomState(0)


@pytest.fixture(scope="module", params=[4, 60])
def rows(request, rng):
    x = plane(2400, request.param, rng)
    return find_region(x[:2000], seed=0), x[2000:]


def test_new_rows_of_the_same_kind_are_within_the_limits(rows):
    region, new = rows
    assert (region.outlying(new) > 0).double().mean() < 20 * BEYOND


def test_rows_far_away_are_outlying_in_any_direction(rows, rng):
    region, new = rows
    for far in (20 * new, new + 30 * torch.from_numpy(rng.normal(size=new.shape))):
        share = region.outlying(far)
        assert (share > 0.9).double().mean() > 0.9
        assert share.max() <= 1
    assert (region.outlying(1e6 * new) == 1).all()


def test_a_row_without_any_detail_is_outlying_if_features_are_many(rng):
    blank = torch.zeros(1, 60, dtype=torch.float64)
    assert find_region(plane(2000, 60, rng), seed=0).outlying(blank) > 0.9
    assert find_region(plane(2000, 4, rng), seed=0).outlying(blank[:, :4]) == 0


def test_widened_limits_include_more_rows(rows):
    region, new = rows
    far = 20 * new
    assert (region.widen(far).outlying(far) > 0).double().mean() < 0.05
    assert (region.widen(far).outlying(new) == 0).double().mean() > 0.95


@pytest.mark.parametrize("n_rows", [1, 2, 5, 9])
def test_few_rows_and_missing_values(n_rows, rng):
    x = torch.from_numpy(rng.normal(size=(n_rows, 3)))
    x[0, 0] = torch.nan
    region = find_region(x, seed=0)
    assert torch.isfinite(region.outlying(x)).all()
    assert region.outlying(1e3 * torch.ones(1, 3)) > 0.9


def test_constant_rows():
    x = torch.ones(30, 2, 4, 4)
    region = find_region(x, seed=0)
    assert (region.outlying(x) == 0).all()
    assert (region.outlying(x + 10) > 0.9).all()
