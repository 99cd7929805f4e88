"""Frames and arrays with categories and missing values, from fit to generated rows."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_equivae import EquiVAEClassifier, EquiVAETransformer, Objective, load
from sk_equivae.model.mixed import Layout
from tests._tables import FAST, NAMES, dtypes, make_table, part

LIBRARIES = ["pandas", "polars"]


@pytest.fixture(params=LIBRARIES)
def fitted(request):
    """A fitted classifier, its frame and labels."""
    X, y = make_table(request.param)
    return EquiVAEClassifier(**FAST).fit(X, y), X, y


def test_columns_become_numbers_blocks_and_marks(fitted):
    model, X, _ = fitted
    assert model.model_.rows.layout == Layout(n_numeric=2, sizes=(3, 3, 2), marked=(0,))
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == 5
    matrix = model._validate_rows(X)
    x = model.model_.rows.normalize(torch.from_numpy(matrix), torch.float32)
    assert x.isfinite().all()
    kinds = np.array(["u", "w", "z"])
    known = X["kind"].to_numpy()
    for row, block in zip(known, x[:, 2:5].numpy(), strict=True):
        missing = row is None or row != row
        assert block.sum() == (0 if missing else 1)
        assert missing or kinds[block.argmax()] == row


def test_both_libraries_train_the_same(assert_same):
    one, two = (EquiVAEClassifier(**FAST).fit(*make_table(name)) for name in LIBRARIES)
    assert_same(one, two)
    X, _ = make_table("polars")
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_learns_from_categories_and_gaps():
    X, y = make_table(n=200)
    few = np.where(np.arange(200) < 20, y, -1)
    model = EquiVAEClassifier(latent_dim=4, max_epochs=40, random_state=0)
    assert model.fit(X, few).score(X, y) > 0.9
    only_categories = X[["kind", "flag"]]
    assert model.fit(only_categories, few).score(only_categories, y) > 0.8


def test_generated_rows_are_frames_of_the_same_dtypes(fitted):
    model, X, _ = fitted
    made = {
        "sample": model.sample(6, random_state=0)[0],
        "reconstruct": model.reconstruct(X),
        "interpolate": model.interpolate(X[:2], X[4:6], n_steps=3),
        "transfer_style": model.transfer_style(X[:2], X[4:6]),
        "grid": model.transfer_style(X[:2], X[4:7], grid=True),
    }
    both = model.set_params(representation="both")
    made["inverse_transform"] = both.inverse_transform(both.transform(X[:3]))
    lengths = {"sample": 6, "reconstruct": 80, "interpolate": 6, "transfer_style": 2, "grid": 6}
    for name, frame in made.items():
        assert len(frame) == lengths.get(name, 3), name
        assert dtypes(frame) == dtypes(X), name
        assert frame["count"].min() >= X["count"].min()
        assert frame["count"].max() <= X["count"].max()
        assert set(frame["colour"]) <= {"red", "green", "blue"}


@pytest.mark.parametrize("method", ["predict", "transform", "score_samples"])
def test_a_row_is_answered_alike_alone(fitted, method):
    model, X, _ = fitted
    alone = [getattr(model, method)(part(X, [i]))[0] for i in range(4)]
    np.testing.assert_allclose(alone, getattr(model, method)(X)[:4], rtol=1e-4, atol=1e-5)


def test_score_samples_is_a_bound_on_the_observed_values():
    X, y = make_table()
    model = EquiVAEClassifier(**{**FAST, "max_epochs": 20}).fit(X, y)
    whole = X.dropna().iloc[:10]
    bounds = [model.score_samples(whole, n_importance=64)]
    for name in NAMES:
        whole = whole.assign(**{name: np.nan})
        bounds.append(model.score_samples(whole, n_importance=64))
    assert np.isfinite(bounds).all()
    np.testing.assert_allclose(bounds[-1], 0, atol=0.02)  # p of nothing is 1
    assert (bounds[0] < bounds[-1]).all()


def test_unknown_categories_count_as_missing(fitted):
    model, X, _ = fitted
    if isinstance(X, pl.DataFrame):
        new, gone = (
            X.with_columns(colour=pl.lit("pink")),
            X.with_columns(colour=pl.lit(None, dtype=pl.String)),
        )
    else:
        new, gone = X.assign(colour="pink"), X.assign(colour=None)
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(gone))


def test_new_gaps_at_predict(blobs):
    """A column without missing values in fit: the mean, and nothing in the bound."""
    X, y = blobs
    model = EquiVAEClassifier(**FAST).fit(X, y)
    gaps, mean = X.copy(), X.copy()
    gaps[:, 1], mean[:, 1] = np.nan, X[:, 1].mean()
    np.testing.assert_allclose(model.predict_proba(gaps), model.predict_proba(mean), atol=1e-5)
    assert not np.allclose(model.score_samples(gaps), model.score_samples(mean))
    assert np.isfinite(model.reconstruct(gaps)).all()
    assert model.partial_fit(gaps, y).n_iter_ == 3
    model.set_params(warm_start=True)
    with pytest.raises(ValueError, match=r"got new ones in the columns \[1\]"):
        model.fit(gaps, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_with_gaps(blobs, dtype):
    X, y = blobs
    X = X.astype(dtype)
    X[::5, 0] = X[1::7, 3] = np.nan
    model = EquiVAEClassifier(**FAST).fit(X, y)
    assert model.model_.rows.layout == Layout(4, (), (0, 3))
    made, _ = model.sample(3, random_state=0)
    assert isinstance(made, np.ndarray)
    assert made.dtype == dtype
    assert np.isfinite(made).all()


@pytest.mark.parametrize("given", [[1], [False, True], np.array([-1]), ["b"]], ids=repr)
def test_categorical_features(given):
    rng = np.random.RandomState(0)
    X = np.stack([rng.randn(40), rng.choice([2.0, 5.0, 7.0, np.nan], 40)], axis=1)
    y = np.arange(40) % 2
    rows = pd.DataFrame(X, columns=["a", "b"]) if given == ["b"] else X
    model = EquiVAEClassifier(categorical_features=given, **FAST).fit(rows, y)
    assert model.model_.rows.layout == Layout(1, (3,))
    made, _ = model.sample(5, random_state=0)
    assert set(np.asarray(made)[:, 1]) <= {2.0, 5.0, 7.0}
    other = X.copy()
    other[:, 1] = 6.0  # unknown
    gone = np.where([False, True], np.nan, X)
    if given != ["b"]:
        np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(gone))


def test_no_categorical_features():
    X, y = make_table()
    with pytest.raises(ValueError, match="numbers in the column 'kind'; got strings"):
        EquiVAEClassifier(categorical_features=None, **FAST).fit(X, y)
    numbers = X[["number", "count", "flag"]]
    model = EquiVAEClassifier(categorical_features=None, likelihood="gaussian", **FAST)
    assert model.fit(numbers, y).model_.rows.layout == Layout(3, (), (0, 2))


def test_numbers_that_are_0_or_1_have_a_bernoulli():
    X, y = make_table()
    X = X[["number"]].assign(one=(X["count"] > 3).astype(int))
    assert EquiVAEClassifier(**FAST).fit(X, y).model_.rows.layout == Layout(1, (2,), (0,))
    model = EquiVAEClassifier(likelihood="gaussian", **FAST).fit(X, y)
    assert model.model_.rows.layout == Layout(2, (), (0,))
    assert model.sample(3, random_state=0)[0]["one"].dtype == X["one"].dtype
    with pytest.raises(ValueError, match=r"0 or 1 in a table.*in the column 'number'"):
        EquiVAEClassifier(likelihood="bernoulli", **FAST).fit(X, y)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_column_without_values_is_ignored(library):
    X, y = make_table(library)
    if library == "pandas":
        wide = X.assign(empty=np.nan, nothing=pd.Series(None, X.index, dtype="category"))
    else:
        wide = X.with_columns(empty=pl.lit(None, dtype=pl.Float64), nothing=pl.lit(None))
    with pytest.warns(UserWarning, match=r"\['empty', 'nothing'\] have no value"):
        model = EquiVAEClassifier(**FAST).fit(wide, y)
    plain = EquiVAEClassifier(**FAST).fit(X, y)
    assert model.model_.rows.layout == plain.model_.rows.layout
    made, _ = model.sample(3, random_state=0)
    assert dtypes(made) == dtypes(wide)
    expected, _ = plain.sample(3, random_state=0)
    assert made[NAMES].equals(expected)


def test_plain_frames_come_back_as_frames(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=list("abcd")).assign(n=np.arange(60) % 5)
    model = EquiVAEClassifier(**FAST).fit(frame, y)
    assert model.model_.rows.layout is None
    made, _ = model.sample(4, random_state=0)
    assert dtypes(made) == dtypes(frame)
    assert made["n"].between(0, 4).all()
    with pytest.warns(UserWarning, match="valid feature names"):  # as by scikit-learn
        model.predict(frame.to_numpy())


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda X: X.to_numpy(), r"DataFrame.*'kind', 'colour', 'flag'.* got ndarray"),
        (lambda X: X[NAMES[:4]], "feature names should match"),
        (lambda X: X[NAMES[::-1]], "eature names must be in the same order"),
        (lambda X: X.rename(columns={"kind": "sort"}), "unseen at fit time"),
        (lambda X: X.assign(number="much"), "'number' held numbers or booleans .* got str"),
        (lambda X: X.assign(kind=1.5), "'kind' held strings or categories in fit; got numbers or"),
        (lambda X: X.assign(flag="yes"), "'flag' held numbers or booleans in fit; got strings"),
        (lambda X: X.assign(number=np.inf), "infinity"),
    ],
)  # fmt: skip
def test_other_tables_at_predict(change, message):
    X, y = make_table()
    model = EquiVAEClassifier(**FAST).fit(X, y)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        model.predict(change(X))


# ---------------------------------------------------------------- the life of an estimator


def test_kept_and_read_again(fitted, tmp_path):
    model, X, y = fitted
    model.save(tmp_path / "model.equivae")
    for again in (load(tmp_path / "model.equivae"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        frames = [each.sample(5, random_state=0)[0] for each in (again, model)]
        assert frames[0].equals(frames[1])
        assert dtypes(frames[0]) == dtypes(X)
        again.partial_fit(X, y)
    fresh = clone(model)
    assert not hasattr(fresh, "model_")


def test_save_says_which_categories_it_cannot_hold(tmp_path):
    X, y = make_table()
    X = X.assign(part=pd.cut(X["number"].fillna(0.0), 3))
    model = EquiVAEClassifier(**FAST).fit(X, y)
    assert dtypes(model.sample(2, random_state=0)[0]) == dtypes(X)
    with pytest.raises(ValueError, match=r"others in the column 'part'.*astype"):
        model.save(tmp_path / "model.equivae")


def test_going_on(tmp_path, assert_same):
    X, y = make_table()
    few = np.where(np.arange(80) < 20, y, -1)
    model = EquiVAEClassifier(**FAST, warm_start=True).fit(X, few)
    assert model.fit(X, few).n_iter_ == 4
    first = EquiVAEClassifier(**FAST).partial_fit(X, y, classes=[0, 1])
    assert first.partial_fit(part(X, [0, 1, 2]), y[:3]).n_iter_ == 2
    first.add_classes(part(X, [0, 1, 2]), 7)
    assert first.classes_.tolist() == [0, 1, 7]
    with_file = EquiVAEClassifier(**FAST, checkpoint=tmp_path / "state").fit(X, few)
    assert_same(with_file, EquiVAEClassifier(**FAST).fit(X, few))


def test_pipelines_searches_and_output(fitted):
    _, X, y = fitted
    transformer = EquiVAETransformer(**FAST).set_output(transform="pandas")
    assert transformer.fit_transform(X, y).columns.tolist() == ["r0", "r1"]
    model = make_pipeline(FunctionTransformer(), EquiVAEClassifier(**FAST))
    assert model.fit(X, y).predict(X).shape == (80,)
    search = GridSearchCV(EquiVAEClassifier(**FAST), {"m_max": [2, 5]}, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_weights_of_zero_leave_columns_out_of_the_ranges():
    X, y = make_table()
    weight = np.ones(80)
    weight[X["count"] > 5] = 0
    model = EquiVAEClassifier(**FAST).fit(X, y, sample_weight=weight)
    assert model.model_.rows.columns.columns[1].high <= 5


def test_hidden_values_change_training_of_tables_alone():
    X, y = make_table()
    shown, hidden = (
        EquiVAEClassifier(**FAST, objective=Objective(hidden_fraction=f)).fit(X, y)
        for f in (0.0, 0.4)
    )
    assert not np.array_equal(shown.v_mean_, hidden.v_mean_)


def test_images_do_not_have_gaps():
    X = np.random.RandomState(0).rand(20, 64)
    model = EquiVAEClassifier(image_shape=(8, 8), **FAST).fit(X, np.arange(20) % 2)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(X)
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(X, np.arange(20) % 2)
    assert not sklearn.utils.get_tags(model).input_tags.allow_nan
    tags = sklearn.utils.get_tags(EquiVAEClassifier()).input_tags
    assert tags.allow_nan
    assert tags.categorical


def test_export_to_onnx_needs_numbers(fitted, tmp_path):
    with pytest.raises(ValueError, match="table with categories or missing values"):
        fitted[0].to_onnx(tmp_path / "model.onnx")
