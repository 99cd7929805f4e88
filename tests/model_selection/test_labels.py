"""Labels that are hidden, and the division into two parts."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sk_equivae.datasets import mask_labels
from sk_equivae.model_selection import hide_labels, semi_supervised_train_test_split

Y = np.repeat([0, 1, 2], [60, 30, 10])


def test_a_number_per_class_or_a_fraction():
    kept = hide_labels(Y, n_per_class=4, random_state=0)
    assert np.bincount(kept + 1).tolist() == [88, 4, 4, 4]
    np.testing.assert_array_equal(kept, mask_labels(Y, 4, random_state=0))
    kept = hide_labels(Y, fraction=0.1, random_state=0)
    assert np.bincount(kept + 1).tolist() == [90, 6, 3, 1]
    assert (kept[kept >= 0] == Y[kept >= 0]).all()
    assert np.bincount(hide_labels(Y, fraction=0.01)[0:] + 1).tolist() == [97, 1, 1, 1]
    np.testing.assert_array_equal(hide_labels(Y, fraction=1.0), Y)


def test_markers():
    names = np.array(["a", "b", "c"])[Y]
    assert (hide_labels(names, 2, random_state=0) == -1).sum() == 94
    assert (hide_labels(names, 2, random_state=0, unlabeled="?") == "?").sum() == 94
    again = hide_labels(hide_labels(Y, 5, random_state=0), fraction=0.4, random_state=0)
    assert np.bincount(again + 1).tolist() == [94, 2, 2, 2]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({}, "either n_per_class or fraction"),
        ({"n_per_class": 1, "fraction": 0.5}, "either n_per_class or fraction"),
        ({"fraction": 0}, "fraction should be"),
        ({"fraction": 1.5}, "fraction should be"),
        ({"fraction": "half"}, "fraction should be"),
        ({"n_per_class": 0.5}, "n_per_class should be"),
        ({"n_per_class": 11}, "'2': 10"),
        ({"n_per_class": 1, "unlabeled": None}, "should be a marker"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        hide_labels(Y, **arguments)


def test_no_labels_to_keep():
    with pytest.raises(ValueError, match="no label to keep"):
        hide_labels([-1, -1], 1)


# ---------------------------------------------------------------- two parts


@pytest.mark.parametrize("kind", ["array", "list", "sparse", "frame"])
def test_train_test_split(kind):
    pandas = pytest.importorskip("pandas")
    few = hide_labels(Y, fraction=0.4, random_state=0)
    X = np.arange(100.0).reshape(-1, 1)
    make = {"array": np.asarray, "list": list, "sparse": csr_array, "frame": pandas.DataFrame}
    parts = semi_supervised_train_test_split(
        make[kind](X), few, np.arange(100), test_size=0.25, random_state=0
    )
    X_train, X_test, y_train, y_test, train, test = parts
    assert type(X_train) is type(X_test) is type(make[kind](X))
    assert sorted([*train, *test]) == list(range(100))
    assert (few[test] >= 0).all()
    np.testing.assert_array_equal(y_test, few[test])
    np.testing.assert_array_equal(y_train, few[train])
    assert np.bincount(y_test).tolist() == [6, 3, 1]
    flat = X_test.toarray() if kind == "sparse" else np.asarray(X_test)
    np.testing.assert_array_equal(flat.ravel(), test)


def test_sizes_count_labeled_rows():
    few = hide_labels(Y, n_per_class=10, random_state=0)
    _, _, y_train, y_test = semi_supervised_train_test_split(Y, few, test_size=6, train_size=9)
    assert len(y_test) == 6
    assert (y_train == -1).sum() == 70
    assert (y_train >= 0).sum() == 9
    _, _, _, last = semi_supervised_train_test_split(
        Y, few, test_size=3, shuffle=False, stratify=False
    )
    assert last.tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="no labelled row"):
        semi_supervised_train_test_split([1, 2], [-1, -1])
