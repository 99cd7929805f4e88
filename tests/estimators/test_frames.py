"""Dtypes of frames: those that are generated, those that `impute` fills, and those refused."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sk_equivae import EquiVAEClassifier, EquiVAEImputer, load
from sk_equivae.estimators.libraries import Pandas, Polars
from sk_equivae.fitted.columns import Column
from tests._tables import FAST, dtypes, make_table, n_missing

LIBRARIES = ["pandas", "polars"]
LARGEST = 2**63 - 1


@pytest.fixture(scope="module")
def pandas_model():
    """A classifier of a pandas frame, and a part of the frame."""
    X, y = make_table()
    return EquiVAEClassifier(**FAST).fit(X, y), X.iloc[:6]


@pytest.fixture(scope="module")
def polars_model():
    """A classifier of a polars frame with an Enum, and a part of the frame."""
    X, y = make_table("polars")
    X = X.with_columns(pl.col("kind").cast(pl.Enum(["u", "w", "z"])))
    return EquiVAEClassifier(**FAST).fit(X, y), X[:6]


# ---------------------------------------------------------------- numbers in category columns


@pytest.mark.parametrize("given", [["count"], None], ids=repr)
@pytest.mark.parametrize("dtype", ["int64", "float32", "Int64"])
def test_numbers_of_a_category_column_come_back_as_numbers(given, dtype, tmp_path):
    X, y = make_table()
    X = X[["number", "count"]].assign(code=X["count"].astype(dtype).astype("category"))
    X.loc[:8, "code"] = None
    model = EquiVAEClassifier(categorical_features=given, **FAST).fit(X, y)
    model.save(tmp_path / "model.equivae")
    for each in (model, load(tmp_path / "model.equivae")):
        for made in (each.sample(5)[0], each.reconstruct(X[:4]), each.impute(X)):
            assert made["code"].dtype == dtype
            assert made["code"].between(0, X["count"].max()).all()
    observed = X["code"].notna()
    filled = model.impute(X)["code"]
    assert filled[observed].tolist() == X["code"][observed].tolist()
    # a given dtype that is no category is kept
    assert model.impute(X.assign(code=X["code"].astype("float64")))["code"].dtype == "float64"


def test_observed_numbers_that_fit_did_not_see_are_kept():
    X, y = make_table()
    X = X[["number", "count"]].assign(code=X["count"].astype("category"))
    model = EquiVAEClassifier(categorical_features=["count"], **FAST).fit(X, y)
    new = X[:3].assign(code=pd.Categorical([1.5, None, 20.25]))
    filled = model.impute(new)["code"]
    assert filled.dtype == "float64"
    assert filled[[0, 2]].tolist() == [1.5, 20.25]
    assert filled.notna().all()


# ---------------------------------------------------------------- other dtypes than in fit


@pytest.mark.parametrize(
    "name, values, expected",
    [
        ("colour", np.nan, "str of fit"),
        ("colour", pd.array([None] * 6, dtype="Int64"), "str of fit"),
        ("colour", pd.Categorical(["pink", None] * 3), "str of fit"),
        ("number", pd.array([1, None] * 3, dtype="Int64"), "float64"),
        ("number", pd.array([1, None] * 3, dtype="int64[pyarrow]"), "float64"),
        ("number", pd.array([True, None] * 3, dtype="boolean"), "float64"),
        ("number", pd.array([None] * 6, dtype="string"), "float64"),
        ("number", pd.array([1.5, None] * 3, dtype="Float32"), "Float32"),
        ("number", pd.array([2**53 + 1, None] * 3, dtype="Int64"), "object"),
        ("count", [0.5, np.nan] * 3, "float64"),
        ("count", pd.array([1, None] * 3, dtype="Int8"), "Int8"),
        ("kind", np.nan, "category"),
        ("kind", pd.Categorical(["new", None] * 3), "category"),
        ("kind", pd.Categorical(["u", None] * 3, categories=["u"], ordered=True), "category"),
        ("kind", ["u", None] * 3, "str or object"),
        ("flag", [1.0, np.nan] * 3, "float64"),
        ("flag", pd.Categorical([None] * 6), "boolean"),
    ],
)
def test_pandas_dtypes_that_do_not_hold_what_is_filled(pandas_model, name, values, expected):
    model, X = pandas_model
    new = X.assign(**{name: values})
    filled = model.impute(new)
    assert n_missing(filled) == 0
    named = {"str of fit": X["colour"].dtype, "str or object": new[name].dtype}
    assert filled[name].dtype == named.get(expected, expected)
    observed = new[name].notna()
    assert filled[name][observed].tolist() == new[name][observed].tolist()


def test_categories_are_widened_as_little_as_possible(pandas_model):
    model, X = pandas_model
    known = X.assign(kind=pd.Categorical([None] * 6, ["u", "w", "z", "more"], ordered=True))
    assert model.impute(known)["kind"].dtype == known["kind"].dtype
    fewer = X.assign(kind=pd.Categorical([None] * 6, ["more"]))
    assert model.impute(fewer)["kind"].dtype == X["kind"].dtype
    other = X.assign(kind=pd.Categorical(["more", None] * 3))
    assert model.impute(other)["kind"].cat.categories.tolist() == ["more", "u", "w", "z"]


@pytest.mark.parametrize(
    "name, values, expected",
    [
        ("colour", pl.Series([None] * 6), pl.String),
        ("colour", pl.Series([None] * 6, dtype=pl.Int64), pl.String),
        ("colour", pl.Series([np.nan] * 6), pl.String),
        ("number", pl.Series([None] * 6), pl.Float64),
        ("number", pl.Series([None] * 6, dtype=pl.String), pl.Float64),
        ("number", pl.Series([1, None] * 3), pl.Float64),
        ("number", pl.Series([1.5, None] * 3, dtype=pl.Float32), pl.Float32),
        ("count", pl.Series([1, None] * 3, dtype=pl.UInt8), pl.UInt8),
        ("count", pl.Series([None] * 6, dtype=pl.Date), pl.Int64),
        ("count", pl.Series([0.5, None] * 3), pl.Float64),
        ("kind", pl.Series([None] * 6, dtype=pl.Enum(["x"])), pl.Enum(["u", "w", "z"])),
        (
            "kind",
            pl.Series(["x", None] * 3, dtype=pl.Enum(["x"])),
            pl.Enum(["x", "u", "w", "z"]),
        ),
        ("flag", pl.Series([1.0, None] * 3), pl.Float64),
        ("flag", pl.Series([None] * 6, dtype=pl.Enum(["x"])), pl.Boolean),
    ],
)
def test_polars_dtypes_that_do_not_hold_what_is_filled(polars_model, name, values, expected):
    model, X = polars_model
    new = X.with_columns(values.alias(name))
    filled = model.impute(new)
    assert n_missing(filled) == 0
    assert filled.columns == X.columns
    assert filled[name].dtype == expected
    for old, now in zip(new[name], filled[name], strict=True):
        assert old is None or old != old or now == old


def test_imputer_widens_too():
    X, _ = make_table()
    imputer = EquiVAEImputer(latent_dim=2, max_epochs=2, random_state=0).fit(X)
    assert n_missing(imputer.transform(X.assign(colour=np.nan))) == 0


def test_a_column_that_was_empty_in_fit_stays_as_it_is():
    X, y = make_table()
    with pytest.warns(UserWarning, match="have no value"):
        model = EquiVAEClassifier(**FAST).fit(X.assign(empty=np.nan), y)
    new = X.assign(empty=pd.array([None, 1] * 40, dtype="Int64"))
    pd.testing.assert_series_equal(model.impute(new)["empty"], new["empty"])


# ---------------------------------------------------------------- decimals and large integers


@pytest.mark.parametrize("given", ["from_dtype", ["price"]], ids=repr)
def test_decimals_of_polars(given, tmp_path):
    X, y = make_table("polars")
    prices = (pl.col("count") % 5 + 0.1).cast(pl.Decimal(10, 2))
    X = X.select("number", "count", price=pl.when(pl.col("count") != 3).then(prices))
    model = EquiVAEClassifier(categorical_features=given, **FAST).fit(X, y)
    model.save(tmp_path / "model.equivae")
    for each in (model, load(tmp_path / "model.equivae")):
        for made in (each.sample(5)[0], each.reconstruct(X[:4])):
            assert made["price"].dtype == pl.Float64
            assert made["price"].is_between(0, 10).all()
        filled = each.impute(X)
        assert dtypes(filled) == dtypes(X)
        assert n_missing(filled) == 0 < n_missing(X)
        observed = X["price"].is_not_null()
        assert filled["price"].filter(observed).equals(X["price"].filter(observed))
    # a Decimal that has too few digits
    narrow = X.with_columns(price=pl.lit(None, dtype=pl.Decimal(1, 1)))
    assert model.impute(narrow)["price"].dtype in (pl.Decimal(1, 1), pl.Float64)
    assert n_missing(model.impute(narrow)) == 0


@pytest.mark.parametrize("library", LIBRARIES)
def test_integers_near_the_end_of_their_dtype(library):
    y = np.arange(80) % 2
    columns = {"large": LARGEST - np.arange(80), "small": -LARGEST + np.arange(80)}
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library]
    X = frame(columns | {"b": np.arange(80.0)})
    made = EquiVAEClassifier(**FAST).fit(X, y).sample(4, random_state=0)[0]
    assert dtypes(made) == dtypes(X)
    assert made["large"].min() > LARGEST - 2**12
    assert made["small"].max() < -LARGEST + 2**12


@pytest.mark.parametrize(
    "library, dtype",
    [
        (Pandas, "int64"),
        (Pandas, "Int64"),
        (Pandas, "int64[pyarrow]"),
        (Pandas, "UInt8"),
        (Polars, "Int64"),
        (Polars, "UInt8"),
    ],
)
def test_integers_are_clipped(library, dtype):
    ends = np.iinfo("uint8" if dtype == "UInt8" else "int64")
    values = np.array([-1e30, float(ends.min), 0.0, 7.0, float(ends.max), 1e30])
    made = library().series(values, Column("a", dtype, low=0.0, high=1.0))
    assert list(made) == [ends.min, ends.min, 0, 7, ends.max, ends.max]
    assert str(made.dtype) == dtype


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "value, name",
    [([1, 2], "list"), ({"a": 1}, "dict"), (np.ones(2), "ndarray"), ({1}, "set")],
)
def test_containers_are_refused(value, name, pandas_model):
    X, y = make_table()
    for values in ([value] * 80, [None, value] * 40, ["a", value] * 40, [1, value] * 40):
        column = pd.Series(values, dtype=object)
        for given in ("from_dtype", ["kind", "colour", "flag"]):
            model = EquiVAEClassifier(categorical_features=given, **FAST)
            with pytest.raises(ValueError, match=f"Expected columns of .*got {name} in .*'d'"):
                model.fit(X.assign(d=column), y)
        with pytest.raises(ValueError, match=f"'colour' held strings .* in fit; got {name}"):
            pandas_model[0].predict(X.assign(colour=column))


def test_other_dtypes_are_refused_by_name():
    X, y = make_table("polars")
    with pytest.raises(ValueError, match=r"got List\(Int64\) in the column 'd'"):
        EquiVAEClassifier(**FAST).fit(X.with_columns(d=pl.lit([1, 2])), y)
    X, y = make_table()
    decimals = [decimal.Decimal("1.5")] * 80
    with pytest.raises(ValueError, match="got object in the column 'd'"):
        EquiVAEClassifier(**FAST).fit(X.assign(d=decimals), y)


def test_lazy_frames_are_refused(polars_model):
    X, y = make_table("polars")
    with pytest.raises(ValueError, match=r"got a LazyFrame .*\.collect\(\)"):
        EquiVAEClassifier(**FAST).fit(X.lazy(), y)
    for method in ("predict", "impute", "reconstruct"):
        with pytest.raises(ValueError, match=r"LazyFrame .*\.collect\(\)"):
            getattr(polars_model[0], method)(X.lazy())
