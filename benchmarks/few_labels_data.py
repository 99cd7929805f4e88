"""Rows with few labels: data sets, draws of labels, and what goes wrong with real labels.

A seed chooses the labels; of the sets that are bundled with scikit-learn, the split too.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split

from benchmarks.data import LOADERS, Split, few_labels

TEST_SIZE = 0.3
IMBALANCE = 10  # rows of the most frequent class for each of the rarest
WRONG = 0.05
N_KNOWN = 8
SMOKE_ROWS = 400

Chosen = tuple[NDArray, NDArray]


class Rows(NamedTuple):
    """What a method is trained on, and what it is measured on.

    Attributes
    ----------
    X, y : ndarray
        Training rows; y is -1 where there is no label.
    parts : dict
        "valid" and "test": rows and their labels.
    """

    X: NDArray
    y: NDArray
    parts: dict[str, tuple[NDArray, NDArray]]


class DataSet(NamedTuple):
    """A data set of the benchmark.

    Attributes
    ----------
    title : str
    n_classes : int
    labels : tuple of int
        Numbers of labels that are measured, in all.
    load : callable
        Without arguments: a bunch of scikit-learn. None: `benchmarks.data` has it.
    image_shape : tuple or None
        Rows of a bunch are images.
    has_units : bool
        Features have units of their own, so that distances need them standardised.
    """

    title: str
    n_classes: int
    labels: tuple[int, ...]
    load: Callable | None = None
    image_shape: tuple[int, int] | None = None
    has_units: bool = False


DATASETS = {
    "mnist": DataSet("MNIST", 10, (10, 20, 50, 100, 600, 1000, 3000)),
    "fashion": DataSet("Fashion-MNIST", 10, (100, 1000)),
    "digits": DataSet("digits 8x8", 10, (50, 100), load_digits, (8, 8)),
    "iris": DataSet("iris", 3, (15,), load_iris, has_units=True),
    "wine": DataSet("wine", 3, (15,), load_wine, has_units=True),
    "cancer": DataSet("cancer", 2, (10,), load_breast_cancer, has_units=True),
    "digits-rows": DataSet("digits as rows", 10, (50,), load_digits),
}


@cache
def _read(dataset: str, folder: Path | None) -> Split:
    return LOADERS[dataset](folder)


def _load(dataset: str, folder: Path | None, rng: np.random.RandomState) -> Split:
    """Rows with all labels; bundled sets, which are small, have no validation part."""
    source = DATASETS[dataset]
    if source.load is None:
        return _read(dataset, folder)
    X, y = source.load(return_X_y=True)
    if source.image_shape is not None:
        X = X.reshape(-1, *source.image_shape) / X.max()
    X, X_test, y, y_test = train_test_split(X, y, test_size=TEST_SIZE, stratify=y, random_state=rng)
    return Split(X, y, X[:0], y[:0], X_test, y_test)


# ---------------------------------------------------------------- what may be wrong with labels
# Each takes all training labels, the number of labels and a generator, and returns which rows
# there are and their labels, -1 where there is none.


def as_drawn(truth: NDArray, labels: int, rng: np.random.RandomState) -> Chosen:
    """All rows, and the same number of labels of each class."""
    return np.arange(len(truth)), few_labels(truth, labels, rng)


def imbalanced(truth: NDArray, labels: int, rng: np.random.RandomState) -> Chosen:
    """Classes of 1 to 1/10 of their rows and labels, in an order drawn at random."""
    classes = rng.permutation(np.unique(truth))
    y = np.full(len(truth), -1)
    kept = []
    for code, share in zip(classes, np.geomspace(1, 1 / IMBALANCE, len(classes)), strict=True):
        members = rng.permutation(np.flatnonzero(truth == code))
        members = members[: round(share * len(members))]
        y[members[: max(1, round(share * labels / len(classes)))]] = code
        kept.append(members)
    rows = np.sort(np.concatenate(kept))
    return rows, y[rows]


def mislabeled(truth: NDArray, labels: int, rng: np.random.RandomState) -> Chosen:
    """All rows; 5% of the labels are those of another class."""
    rows, y = as_drawn(truth, labels, rng)
    labeled = rng.permutation(np.flatnonzero(y >= 0))
    wrong = labeled[: round(WRONG * len(labeled))]
    n_classes = len(np.unique(truth))
    y[wrong] = (y[wrong] + rng.randint(1, n_classes, size=len(wrong))) % n_classes
    return rows, y


def with_foreign(truth: NDArray, labels: int, rng: np.random.RandomState) -> Chosen:
    """All rows, of which those of classes 8 and 9 never have labels."""
    rows, y = as_drawn(truth, labels, rng)
    return rows, np.where(truth < N_KNOWN, y, -1)


def without_foreign(truth: NDArray, labels: int, rng: np.random.RandomState) -> Chosen:
    """The same labels, with no row of classes 8 and 9."""
    rows, y = with_foreign(truth, labels, rng)
    known = truth < N_KNOWN
    return rows[known], y[known]


class Scenario(NamedTuple):
    """Something that real data may have.

    Attributes
    ----------
    words : str
    labels_a_class : int
        Before labels are taken away.
    choose : callable
    """

    words: str
    labels_a_class: int
    choose: Callable[[NDArray, int, np.random.RandomState], Chosen] = as_drawn


SCENARIOS = {
    "10-a-class": Scenario("10 labels a class", 10),
    "3-a-class": Scenario("3 labels a class", 3),
    "2-a-class": Scenario("2 labels a class", 2),
    "1-a-class": Scenario("1 label a class", 1),
    "wrong-labels": Scenario("10 labels a class, 5% of them wrong", 10, mislabeled),
    "imbalance": Scenario("classes 1 : 10, labels (1 to 10) and rows", 10, imbalanced),
    "no-foreign-rows": Scenario("classes 0 to 7, 10 labels each", 10, without_foreign),
    "foreign-rows": Scenario("the same, unlabelled rows of 8 and 9 among them", 10, with_foreign),
}


def few_label_rows(
    dataset: str,
    labels: int,
    seed: int,
    folder: Path | None = None,
    smoke: bool = False,
    choose: Callable[[NDArray, int, np.random.RandomState], Chosen] = as_drawn,
) -> Rows:
    """Training rows with few labels, and the parts to measure on.

    The validation part is that of the paper; bundled sets, which are small, have the
    unlabelled training rows in its place, and a stratified 30% as their test part. Parts
    hold rows of those classes that have labels.

    Parameters
    ----------
    dataset : str
        A name in `DATASETS`.
    labels : int
        How many in all, equally many of each class.
    seed : int
    folder : Path, optional
        The folder of the data sets.
    smoke : bool
        A slice, to see that it runs.
    choose : callable
        One of the functions above.
    """
    rng = np.random.RandomState(seed)
    split = _load(dataset, folder, rng)
    if smoke:
        split = Split(*(rows[:SMOKE_ROWS] for rows in split))
    rows, y = choose(split.y_train, labels, rng)
    X, truth = split.X_train[rows], split.y_train[rows]
    valid = split.X_valid, split.y_valid
    if not len(split.X_valid):
        valid = X[y < 0], truth[y < 0]
    parts = {}
    for name, (part_X, part_y) in {"valid": valid, "test": (split.X_test, split.y_test)}.items():
        known = np.isin(part_y, y)
        parts[name] = part_X[known], part_y[known]
    return Rows(X, y, parts)
