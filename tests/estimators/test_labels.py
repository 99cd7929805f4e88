"""Labels of any type, and the marks of unlabelled rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sk_equivae.estimators.labels import encode_labels, is_unlabeled, known_classes

A, B = "a", "b"

# y, and the classes that should come out; the rows are always: 1st, unlabelled, 0th, 1st class
CASES = {
    "list of int": ([7, -1, 3, 7], [3, 7]),
    "list of int and None": ([7, None, 3, 7], [3, 7]),
    "list of int and NaN": ([7, np.nan, 3, 7], [3, 7]),
    "tuple of str": ((B, -1, A, B), [A, B]),
    "list of str and None": ([B, None, A, B], [A, B]),
    "list of str and NaN": ([B, np.nan, A, B], [A, B]),
    "list of bool": ([True, -1, False, True], [False, True]),
    "list of bool and None": ([True, None, False, True], [False, True]),
    "int8": (np.array([7, -1, 3, 7], dtype=np.int8), [3, 7]),
    "float": (np.array([7.0, -1.0, 3.0, 7.0]), [3.0, 7.0]),
    "float and NaN": (np.array([7.0, np.nan, 3.0, 7.0]), [3.0, 7.0]),
    "objects": (np.array([B, -1, A, B], dtype=object), [A, B]),
    "objects that are numbers": (np.array([7, None, 3, 7], dtype=object), [3, 7]),
    "column": (pd.DataFrame({"y": [7, -1, 3, 7]})["y"], [3, 7]),
    "pandas str": (pd.Series([B, None, A, B]), [A, B]),
    "pandas string": (pd.Series([B, None, A, B], dtype="string"), [A, B]),
    "pandas Int64": (pd.Series([7, None, 3, 7], dtype="Int64"), [3, 7]),
    "pandas Int64 with -1": (pd.Series([7, -1, 3, 7], dtype="Int64"), [3, 7]),
    "pandas boolean": (pd.Series([True, None, False, True], dtype="boolean"), [False, True]),
    "pandas category": (pd.Series([B, None, A, B], dtype="category"), [A, B]),
    "pandas category of int": (pd.Series(pd.Categorical([7, None, 3, 7])), [3, 7]),
    "polars Int64": (pl.Series([7, None, 3, 7]), [3, 7]),
    "polars String": (pl.Series([B, None, A, B]), [A, B]),
    "polars Categorical": (pl.Series([B, None, A, B], dtype=pl.Categorical), [A, B]),
}  # fmt: skip


@pytest.mark.parametrize("y, expected", CASES.values(), ids=CASES)
def test_codes_and_classes(y, expected):
    codes, classes = encode_labels(y)
    assert codes.tolist() == [1, -1, 0, 1]
    assert classes.tolist() == expected
    assert [type(value) for value in classes.tolist()] == [type(value) for value in expected]
    assert is_unlabeled(y).tolist() == [False, True, False, False]


@pytest.mark.parametrize("y, expected", CASES.values(), ids=CASES)
def test_codes_of_known_classes(y, expected):
    known = {bool: [True, False], str: ["b", "c", "a"]}.get(type(expected[0]), [9, 7, 3])
    codes, classes = encode_labels(y, classes=known)
    assert classes.tolist() == sorted(known)
    assert codes.tolist() == [1, -1, 0, 1]


@pytest.mark.parametrize("marker, y", [("?", ["?", "x"]), (99, [99, 1]), (np.nan, [np.nan, 1.0])])
def test_another_marker(marker, y):
    assert is_unlabeled(y, unlabeled=marker).tolist() == [True, False]


def test_without_a_marker_minus_one_is_a_class():
    codes, classes = encode_labels([-1, 1, -1], unlabeled=None)
    assert codes.tolist() == [0, 1, 0]
    assert classes.tolist() == [-1, 1]


def test_flags_are_no_numbers():
    assert not is_unlabeled(np.array([True, False]), unlabeled=1).any()
    assert not is_unlabeled([True, None], unlabeled=1)[0]
    assert is_unlabeled([True, False], unlabeled=False).tolist() == [False, True]


def test_classes_that_a_user_names():
    assert known_classes([2, -1, 0, 2]).tolist() == [0, 2]
    assert known_classes(["b", None, "a"]).tolist() == ["a", "b"]
    assert known_classes([1, -1], unlabeled=None).tolist() == [-1, 1]


@pytest.mark.parametrize(
    "y, unlabeled, error, message",
    [
        ([0, None, 1], None, ValueError, "unlabeled=None says that every row is labelled"),
        ([0.0, np.nan, 1.0], None, ValueError, "contains NaN or None in 1 rows"),
        ([0.0, np.inf], -1, ValueError, "contains infinity"),
        ([0.5, 1.2, 3.3], -1, ValueError, "continuous"),
        ([1j, 2j], -1, ValueError, "Complex data"),
        (np.array(["a", "-1"]), -1, ValueError, "array of strings cannot hold.*unlabeled='-1'"),
        ([0, "a", 1], -1, TypeError, "all of one type; got int, str"),
        ([[0, 1], [1, 0]], -1, ValueError, "y should be a 1d array"),
    ],
)
def test_bad_labels(y, unlabeled, error, message):
    with pytest.raises(error, match=message):
        encode_labels(y, unlabeled)


def test_unknown_labels():
    with pytest.raises(ValueError, match=r"labels \[5\] that are not among the classes \[0, 1\]"):
        encode_labels([0, 5], classes=[0, 1])


# ---------------------------------------------------------------- through the estimator

# how the labels 0, 1, 2 and -1 are written, and what comes back
WRITTEN = {
    "int": (lambda y: y, int),
    "float and NaN": (lambda y: np.where(y < 0, np.nan, y), float),
    "list of str and None": (lambda y: [None if v < 0 else f"class {v}" for v in y], str),
    "pandas Int64": (lambda y: pd.Series(y).mask(y < 0).astype("Int64"), int),
    "pandas category": (lambda y: pd.Series(pd.Categorical.from_codes(y, list("abc"))), str),
    "polars": (lambda y: pl.Series([None if v < 0 else f"class {v}" for v in y]), str),
}  # fmt: skip


@pytest.mark.parametrize("write, kind", WRITTEN.values(), ids=WRITTEN)
def test_all_ways_of_writing_labels_train_the_same(make, blobs, few, assert_same, write, kind):
    X, _ = blobs
    plain, model = make().fit(X, few), make().fit(X, write(few))
    assert_same(plain, model)
    predicted = model.predict(X).tolist()
    assert {type(value) for value in predicted} == {kind}
    assert [model.classes_.tolist().index(v) for v in predicted] == plain.predict(X).tolist()
    assert model.score(X, write(few)) == plain.score(X, few)


def test_score_does_not_cut_strings_or_round_numbers(make, blobs):
    X, y = blobs
    model = make(max_epochs=10).fit(X, np.array(["x", "y", "z"])[y])
    assert model.score(X, np.array(["xx", "yy", "zz"])[y]) == 0
    model = make(max_epochs=10).fit(X, y)
    assert model.score(X, y + 0.0) > 0.9
    assert model.score(X, np.append(y[:-1] + 10, 0)) < 0.1


@pytest.mark.parametrize("marker", [np.nan, pd.NA])
def test_a_missing_value_as_the_marker(marker):
    """It marks missing labels, which are unlabelled in any case; -1 is a class then."""
    for y in (
        [1, None, -1],
        np.array([1.0, np.nan, -1.0]),
        pd.Series([1, None, -1], dtype="Int64"),
    ):
        assert is_unlabeled(y, marker).tolist() == [False, True, False]
    assert is_unlabeled([1, 0, -1], marker).tolist() == [False] * 3


def test_an_array_of_a_nullable_column_keeps_its_integers():
    codes, classes = encode_labels(pd.array([7, None, 3, 7], dtype="Int64"))
    assert codes.tolist() == [1, -1, 0, 1]
    assert classes.tolist() == [3, 7]
    assert classes.dtype.kind == "i"
