"""Which training rows there are, and which of them have labels.

Each function takes all labels of the training part, the number of labels in all (or "all") and a
generator. It returns positions of rows and their labels, -1 where there is none.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.registry import Labels

IMBALANCE = 10  # rows of the most frequent class for each row of the rarest
WRONG = 0.05
N_KNOWN = 8

Drawn = tuple[NDArray, NDArray]


def balanced(truth: NDArray, labels: Labels, rng: np.random.RandomState) -> Drawn:
    """All rows, and the same number of labels of each class, or all that a small class has."""
    rows = np.arange(len(truth))
    if labels == "all":
        return rows, truth.copy()
    classes = np.unique(truth)
    n_each, rest = divmod(int(labels), len(classes))
    if rest or n_each < 1:
        raise ValueError(
            f"Expected 'all' or a multiple of the {len(classes)} classes as the number of labels; "
            f"got {labels}. Pass, for example, {max(1, n_each) * len(classes)}."
        )
    y = np.full(len(truth), -1)
    for code in classes:
        y[rng.permutation(np.flatnonzero(truth == code))[:n_each]] = code
    return rows, y


def imbalanced(truth: NDArray, labels: Labels, rng: np.random.RandomState) -> Drawn:
    """Classes with 1 to 1/10 of their rows and labels, in random order."""
    classes = rng.permutation(np.unique(truth))
    y = np.full(len(truth), -1)
    kept = []
    for code, share in zip(classes, np.geomspace(1, 1 / IMBALANCE, len(classes)), strict=True):
        members = rng.permutation(np.flatnonzero(truth == code))
        members = members[: round(share * len(members))]
        y[members[: max(1, round(share * int(labels) / len(classes)))]] = code
        kept.append(members)
    rows = np.sort(np.concatenate(kept))
    return rows, y[rows]


def mislabeled(truth: NDArray, labels: Labels, rng: np.random.RandomState) -> Drawn:
    """All rows; 5% of the labels are those of another class."""
    rows, y = balanced(truth, labels, rng)
    labeled = rng.permutation(np.flatnonzero(y >= 0))
    wrong = labeled[: round(WRONG * len(labeled))]
    n_classes = len(np.unique(truth))
    y[wrong] = (y[wrong] + rng.randint(1, n_classes, size=len(wrong))) % n_classes
    return rows, y


def with_foreign(truth: NDArray, labels: Labels, rng: np.random.RandomState) -> Drawn:
    """All rows, of which those of classes 8 and 9 never have labels."""
    rows, y = balanced(truth, labels, rng)
    return rows, np.where(truth < N_KNOWN, y, -1)


def without_foreign(truth: NDArray, labels: Labels, rng: np.random.RandomState) -> Drawn:
    """The same labels, without any row of classes 8 and 9."""
    rows, y = with_foreign(truth, labels, rng)
    known = truth < N_KNOWN
    return rows[known], y[known]
