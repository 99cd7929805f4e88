"""`impute`, and the imputer."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_equivae import EquiVAEClassifier, EquiVAEImputer, EquiVAETransformer, load
from tests._tables import FAST, NAMES, dtypes, make_table, n_missing

QUICK = {"latent_dim": 2, "max_epochs": 2, "random_state": 0}


@pytest.fixture(params=["pandas", "polars"])
def fitted(request):
    X, y = make_table(request.param)
    return EquiVAEClassifier(**FAST).fit(X, y), X


def test_observed_values_stay_and_gaps_are_filled(fitted):
    model, X = fitted
    filled = model.impute(X)
    assert n_missing(X) > 0
    assert n_missing(filled) == 0
    assert dtypes(filled) == dtypes(X)
    before, after = (
        np.array([list(frame[name]) for name in NAMES], dtype=object) for frame in (X, filled)
    )
    for old, new in zip(before.ravel(), after.ravel(), strict=True):
        if not (old is None or old is pd.NA or old != old):
            assert old == new
    assert np.all(np.asarray(filled["number"]) == np.asarray(model.impute(X)["number"]))


def test_rows_keep_their_labels_and_unknown_categories():
    X, y = make_table()
    model = EquiVAEClassifier(**FAST).fit(X, y)
    new = X.set_axis(np.arange(100, 180)).assign(colour="pink")
    filled = model.impute(new)
    assert filled.index.equals(new.index)
    assert (filled["colour"] == "pink").all()


def test_draws_differ_and_are_repeated_by_their_seed(fitted):
    model, X = fitted
    one, two = model.impute(X, n_draws=2, random_state=3)
    assert n_missing(one) == n_missing(two) == 0
    assert not one.equals(two)
    again = model.impute(X, n_draws=2, random_state=3)
    assert one.equals(again[0])
    assert two.equals(again[1])
    with pytest.raises(ValueError, match="n_draws should be an int of at least 1"):
        model.impute(X, n_draws=0)


def linear_rows(n=300):
    """Columns that follow from each other, with a tenth of one column missing."""
    rng = np.random.RandomState(0)
    a = rng.randn(n)
    X = np.stack([a, 3 * a + 10 + 0.1 * rng.randn(n), np.exp(a), np.full(n, 4.0)], axis=1)
    gaps = X.copy()
    gaps[::10, 1] = gaps[5::10, 2] = np.nan
    return X, gaps


def test_the_expected_value_is_better_than_the_mean():
    X, gaps = linear_rows()
    imputer = EquiVAEImputer(latent_dim=4, max_epochs=60, random_state=0)
    missing = np.isnan(gaps)
    filled = imputer.fit_transform(gaps)
    np.testing.assert_array_equal(filled[~missing], gaps[~missing])
    error, usual = (
        np.sqrt(np.mean((some - X)[::10, 1] ** 2))
        for some in (filled, SimpleImputer().fit_transform(gaps))
    )
    assert error < 0.3 * usual
    assert (filled[:, 2] >= 0).all()
    assert (filled[:, 3] == 4).all()


def test_draws_spread_about_the_expected_value():
    X, gaps = linear_rows()
    model = EquiVAEImputer(latent_dim=4, max_epochs=60, random_state=0).fit(gaps).estimator_
    draws = np.stack(model.impute(gaps, n_draws=30, random_state=0))[:, ::10, 1]
    expected = model.impute(gaps)[::10, 1]
    spread = draws.std(axis=0)
    assert (spread > 0).all()
    assert np.abs(draws.mean(axis=0) - expected).mean() < spread.mean()
    assert spread.mean() < X[:, 1].std()


def test_gaps_that_came_after_fit(blobs):
    """A model of rows without gaps fills them in, too."""
    X, y = blobs
    model = EquiVAEClassifier(**{**FAST, "max_epochs": 30}).fit(X, y)
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    filled = model.impute(gaps)
    assert np.isfinite(filled).all()
    assert np.abs(filled - X)[::3, 1].mean() < np.abs(X[:, 1].mean() - X)[::3, 1].mean()
    np.testing.assert_array_equal(model.impute(X), X)
    assert np.isfinite(model.impute(gaps, n_draws=2)).all()


def test_images_are_refused():
    X = np.random.RandomState(0).rand(20, 8, 8)
    model = EquiVAEClassifier(**FAST).fit(X, np.arange(20) % 2)
    with pytest.raises(ValueError, match="impute expects tabular rows"):
        model.impute(X)
    with pytest.raises(ValueError, match=r"expects a table.*\(20, 8, 8\)"):
        EquiVAEImputer().fit(X)


def test_arrays_with_categories():
    rng = np.random.RandomState(0)
    X = np.stack([rng.randn(60), rng.choice([2.0, 5.0, np.nan], 60)], axis=1)
    imputer = EquiVAEImputer(categorical_features=[1], **QUICK).fit(X)
    filled = imputer.transform(X)
    assert set(filled[:, 1]) == {2.0, 5.0}
    unknown = np.array([[np.nan, 6.0]])
    assert imputer.transform(unknown)[0, 1] == 6.0  # observed, though not known


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_imputer_of_frames(library):
    X, y = make_table(library)
    imputer = EquiVAEImputer(**QUICK)
    filled = imputer.fit_transform(X, y)
    assert n_missing(filled) == 0
    assert dtypes(filled) == dtypes(X)
    assert imputer.get_feature_names_out().tolist() == list(X.columns)
    again = pickle.loads(pickle.dumps(imputer)).transform(X)
    assert again.equals(filled)
    assert clone(imputer).fit(X).transform(X).equals(filled)  # y was ignored


def test_imputer_with_labels(blobs, few):
    X, _ = blobs
    X = X.copy()
    X[::4, 0] = np.nan
    labelled = EquiVAEImputer(use_labels=True, **QUICK).fit(X, few)
    assert labelled.estimator_.classes_.tolist() == [0, 1, 2]
    assert EquiVAEImputer(**QUICK).fit(X, few).estimator_.classes_.tolist() == [0]
    with pytest.raises(ValueError, match="use_labels=True expects y"):
        EquiVAEImputer(use_labels=True).fit(X)


def test_imputer_in_a_pipeline(blobs):
    X, y = blobs
    X = X.copy()
    X[::4, 0] = np.nan
    assert make_pipeline(EquiVAEImputer(**QUICK), LogisticRegression()).fit(X, y).score(X, y) > 0.9
    named = EquiVAEImputer(**QUICK).set_output(transform="pandas").fit(X)
    assert named.transform(X).columns.tolist() == ["x0", "x1", "x2", "x3"]


def test_the_model_of_an_imputer_can_be_saved(tmp_path):
    X, _ = make_table()
    imputer = EquiVAEImputer(**QUICK).fit(X)
    imputer.estimator_.save(tmp_path / "model.equivae")
    model = load(tmp_path / "model.equivae")
    assert type(model) is EquiVAETransformer
    pd.testing.assert_frame_equal(model.impute(X), imputer.transform(X))


def test_a_lazy_frame_is_to_be_collected():
    X, _ = make_table("polars")
    imputer = EquiVAEImputer(**QUICK)
    with pytest.raises(ValueError, match="collect"):
        imputer.fit(X.lazy())
    with pytest.raises(ValueError, match="collect"):
        imputer.fit(X).transform(X.lazy())
