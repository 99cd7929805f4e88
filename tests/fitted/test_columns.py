"""Columns: from a matrix to rows of the networks and back."""

import numpy as np
import torch

from sk_equivae.fitted.columns import Column, Columns
from sk_equivae.model.mixed import Layout

NAN = np.nan
X = np.array([[1.0, 0, 7, NAN, 2], [NAN, 1, 7, NAN, 0], [3.0, NAN, 7, NAN, 1]])
COLUMNS = Columns(
    (
        Column("a"),
        Column("b", categories=("x", "y")),
        Column("c"),
        Column("empty"),
        Column("d", categories=(10, 20, 30)),
    )
).learn(X)
SHIFT, SCALE = np.array([2.0, 0, 7, 0, 0]), np.array([2.0, 1, 1, 1, 1])


def normalize(rows):
    shift, scale = torch.from_numpy(SHIFT), torch.from_numpy(SCALE)
    return COLUMNS.normalize(torch.from_numpy(rows), shift, scale, 1e6)


def test_ranges_and_layout():
    a, b, c, empty, d = COLUMNS.columns
    assert (a.low, a.high, a.has_gaps, a.is_empty) == (1, 3, True, False)
    assert (c.low, c.high, c.has_gaps, c.is_integer) == (7, 7, False, True)
    assert b.has_gaps
    assert not d.has_gaps
    assert empty.is_empty
    assert COLUMNS.layout == Layout(n_numeric=2, sizes=(2, 3), marked=(0,))
    assert COLUMNS.has_categories
    plain = Columns((Column("a"), Column("b"))).learn(np.zeros((2, 2)))
    assert plain.layout is None
    expecting = plain.learn(np.zeros((2, 2)), expects_gaps=True)
    assert expecting.layout == Layout(2, (), (0, 1))


def test_normalize():
    expected = [
        [-0.5, 0, 1, 0, 0, 0, 1, 0],
        [0, 0, 0, 1, 1, 0, 0, 1],  # the number is missing and marked
        [0.5, 0, 0, 0, 0, 1, 0, 0],  # the category is missing
    ]
    np.testing.assert_array_equal(normalize(X), expected)
    new_gap = X[:1].copy()
    new_gap[0, 2] = NAN  # in a column without gaps in fit
    assert normalize(new_gap)[0, 1].isnan()


def test_back_and_forth():
    rows = X.copy()
    x = normalize(rows).numpy()[:, :7]
    back = COLUMNS.denormalize(x, SHIFT, SCALE)
    observed = ~np.isnan(X)
    np.testing.assert_array_equal(back[observed], X[observed])
    assert np.isnan(back[:, 3]).all()
