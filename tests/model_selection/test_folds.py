"""Splitters: scikit-learn's own checks, and the rule about unlabelled rows."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupShuffleSplit,
    LeaveOneGroupOut,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedShuffleSplit,
)
from sklearn.model_selection._split import _yields_constant_splits
from sklearn.model_selection.tests.test_split import check_cv_coverage, check_valid_split

from sk_equivae.model_selection import (
    RepeatedSemiSupervisedKFold,
    SemiSupervisedGroupKFold,
    SemiSupervisedKFold,
    SemiSupervisedSplit,
    hide_labels,
)

CLASSES = np.arange(90) % 3
FEW = hide_labels(CLASSES, n_per_class=10, random_state=0)
GROUPS = np.arange(90) // 3
# each with the number of its splits
FOLDS = [
    (SemiSupervisedKFold(4), 4),
    (SemiSupervisedKFold(4, stratify=False), 4),
    (SemiSupervisedKFold(4, shuffle=True, random_state=0, labeled_first=False), 4),
    (RepeatedSemiSupervisedKFold(3, n_repeats=2, random_state=0), 6),
    (RepeatedSemiSupervisedKFold(3, n_repeats=2, random_state=0, stratify=False), 6),
    (SemiSupervisedGroupKFold(3), 3),
    (SemiSupervisedGroupKFold(3, stratify=False, shuffle=True, random_state=0), 3),
    (SemiSupervisedSplit(4), 4),
    (SemiSupervisedSplit(LeaveOneOut()), 30),
    (SemiSupervisedSplit(LeaveOneGroupOut()), len(np.unique(GROUPS[FEW >= 0]))),
]
NAMES = [repr(cv) for cv, _ in FOLDS]


def groups_for(cv):
    is_grouped = "group" in repr(cv).lower()
    return GROUPS if is_grouped else None


@pytest.mark.parametrize("cv, n_splits", FOLDS, ids=NAMES)
def test_scikit_learn_checks_of_coverage(cv, n_splits):
    """Data without unlabelled rows is split as by scikit-learn."""
    X = np.zeros((90, 2))
    if isinstance(cv, SemiSupervisedSplit) and n_splits > 4:
        n_splits = 90 if "LeaveOneOut" in repr(cv) else 30
    check_cv_coverage(cv, X, CLASSES, groups_for(cv), n_splits)


@pytest.mark.parametrize("cv, n_splits", FOLDS, ids=NAMES)
@pytest.mark.parametrize("kind", ["codes", "names", "none", "marker"])
def test_test_folds_are_labeled_and_training_folds_have_the_rest(cv, n_splits, kind):
    y, unlabeled = FEW, -1
    if kind != "codes":
        y = np.array(["a", "b", "c", {"names": -1, "none": None, "marker": "?"}[kind]], object)[FEW]
        unlabeled = {"names": -1, "none": -1, "marker": "?"}[kind]
    cv = type(cv)(**{**vars(cv), "unlabeled": unlabeled})
    groups, tested = groups_for(cv), []
    X = np.zeros((90, 2))
    assert cv.get_n_splits(X, y, groups) == n_splits
    for train, test in cv.split(X, y, groups):
        check_valid_split(train, test, n_samples=90)
        assert (FEW[test] >= 0).all()
        assert len(np.unique(train)) == len(train)
        tested.extend(test)
    if n_splits != 6:
        assert sorted(tested) == np.flatnonzero(FEW >= 0).tolist()


@pytest.mark.parametrize("cv, _", FOLDS, ids=NAMES)
def test_the_same_folds_whatever_the_unlabeled_rows(cv, _):
    labeled = np.flatnonzero(FEW >= 0)
    alone = cv.split(
        labeled, FEW[labeled], groups_for(cv) if groups_for(cv) is None else GROUPS[labeled]
    )
    for (_, test), (_, other) in zip(cv.split(FEW, FEW, groups_for(cv)), alone, strict=True):
        assert test.tolist() == labeled[other].tolist()


def test_classes_are_in_every_fold():
    for train, test in SemiSupervisedKFold(5).split(FEW, FEW):
        assert np.bincount(FEW[test]).tolist() == [2, 2, 2]
        assert np.bincount(FEW[train] + 1).tolist() == [60, 8, 8, 8]


def test_every_beginning_of_a_training_fold_has_the_classes_in_proportion():
    y = np.repeat([0, 1, -1], [80, 20, 100])
    for train, _ in SemiSupervisedKFold(2).split(y, y):
        assert set(y[train[:2]]) == {0, 1}
        assert np.bincount(y[train[:25]], minlength=2).tolist() in ([20, 5], [19, 6])
        assert (y[train[:50]] >= 0).all()
        assert (y[train[50:]] == -1).all()
    for train, _ in SemiSupervisedKFold(2, labeled_first=False).split(y, y):
        assert (y[train[:100]] == -1).all()


def test_a_class_with_a_single_label_warns_as_in_scikit_learn():
    y = np.array([0, 0, 0, 1, 1, 1, 2, -1, -1])
    with pytest.warns(UserWarning, match="least populated class in y has only 1 member"):
        folds = list(SemiSupervisedKFold(3).split(y, y))
    assert all({7, 8} <= set(train) for train, _ in folds)


def test_groups_are_kept_together_and_can_be_held_out():
    groups = GROUPS % 10
    for transductive in (True, False):
        cv = SemiSupervisedGroupKFold(5, transductive=transductive)
        for train, test in cv.split(FEW, FEW, groups):
            labeled = train[FEW[train] >= 0]
            assert not np.isin(groups[labeled], groups[test]).any()
            assert np.isin(groups[train], groups[test]).any() == transductive
            assert (~np.isin(groups, groups[test]) <= np.isin(np.arange(90), train)).all()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: SemiSupervisedKFold(1), "n_splits"),
        (lambda: RepeatedSemiSupervisedKFold(1), "n_splits"),
        (lambda: RepeatedSemiSupervisedKFold(3, n_repeats=0), "repetitions"),
        (lambda: SemiSupervisedKFold(3, random_state=0), "shuffle"),
        (lambda: SemiSupervisedGroupKFold(0), "n_splits"),
        (lambda: SemiSupervisedSplit([([0], [1])]), "int, or a splitter"),
        (lambda: SemiSupervisedSplit(SemiSupervisedKFold()), "int, or a splitter"),
    ],
)
def test_wrong_values_raise_at_once(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("y, message", [(None, "y"), ([-1] * 6, "no labelled row")])
def test_wrong_labels(y, message):
    with pytest.raises(ValueError, match=message):
        list(SemiSupervisedKFold(2).split(np.zeros((6, 1)), y))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        list(SemiSupervisedKFold(2).split(np.zeros((5, 1)), [0, 1, 0, 1]))
    with pytest.raises(ValueError, match="n_splits=5"):
        list(SemiSupervisedKFold(5).split(FEW[:4], [0, 1, 0, -1]))


@pytest.mark.parametrize("stratify", [True, False])
def test_groups_are_asked_for(stratify):
    with pytest.raises(ValueError, match="The 'groups' parameter should not be None"):
        list(SemiSupervisedGroupKFold(3, stratify=stratify).split(np.zeros((90, 1)), FEW))


def test_groups_that_are_ignored_warn():
    with pytest.warns(UserWarning, match="groups parameter is ignored"):
        list(SemiSupervisedKFold(2).split(FEW, FEW, GROUPS))


@pytest.mark.parametrize(
    "cv, constant",
    [
        (SemiSupervisedKFold(), True),
        (SemiSupervisedKFold(shuffle=True, random_state=1), True),
        (SemiSupervisedKFold(shuffle=True), False),
        (RepeatedSemiSupervisedKFold(random_state=1), True),
        (RepeatedSemiSupervisedKFold(), False),
        (SemiSupervisedGroupKFold(shuffle=True), False),
        (SemiSupervisedSplit(5), True),
        (SemiSupervisedSplit(LeaveOneOut()), True),
        (SemiSupervisedSplit(ShuffleSplit(random_state=1)), True),
        (SemiSupervisedSplit(StratifiedShuffleSplit()), False),
    ],
    ids=repr,
)
def test_halving_knows_whether_splits_are_constant(cv, constant):
    assert _yields_constant_splits(cv) == constant


@pytest.mark.parametrize(
    "cv, grouped",
    [
        (SemiSupervisedKFold(), False),
        (RepeatedSemiSupervisedKFold(), False),
        (SemiSupervisedGroupKFold(), True),
        (SemiSupervisedSplit(), False),
        (SemiSupervisedSplit(GroupShuffleSplit()), True),
    ],
    ids=repr,
)
def test_groups_are_routed(cv, grouped):
    assert cv.get_metadata_routing().split.requests == ({"groups": True} if grouped else {})
    if not isinstance(cv, SemiSupervisedSplit):
        assert hasattr(cv, "set_split_request") == grouped
