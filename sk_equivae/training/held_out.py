"""Rows that the networks do not learn from: for early stopping, and for `reject`."""

import numpy as np

from ..fitted.compact import Positions, take
from .batches import TrainingRows
from .calibration import FEW

# With `reject`: part of the unlabelled rows that is not learnt from, and how many at most.
ASIDE, MOST_ASIDE = 0.15, 1_000


def split_validation(
    data: TrainingRows, fraction: float, seed: int
) -> tuple[TrainingRows, TrainingRows]:
    """Return training and validation rows; both have a labelled row of every class."""
    rows, codes = data.rows, data.codes
    labeled = rows[data.own_codes >= 0]
    own = take(codes, labeled)
    classes, counts = np.unique(own, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"early_stopping=True needs a validation part with every class; got {len(labeled)} "
            f"labelled rows of {len(classes)} classes, {counts.min()} in the smallest. Expected at "
            "least 2 labelled rows per class: label more rows, or set early_stopping=False."
        )
    rng = np.random.RandomState(seed)
    taken = []
    for code, count in zip(classes, counts, strict=True):
        members = rng.permutation(labeled[own == code])
        taken.append(members[: np.clip(round(fraction * count), 1, count - 1)])
    valid = np.sort(np.concatenate(taken))
    is_kept = np.ones(len(codes), dtype=bool)
    is_kept[valid] = False
    return data.subset(rows[take(is_kept, rows)]), data.subset(valid)


def set_aside(data: TrainingRows, seed: int) -> tuple[TrainingRows, Positions | None]:
    """Return the rows to train on, and unlabelled rows that the networks are not to see.

    Rows of training fit better than new ones, so they do not tell how many of these `reject` loses.

    Parameters
    ----------
    data : TrainingRows
        The rows.
    seed : int
        Seed of the choice.

    Returns
    -------
    data : TrainingRows
        The rows without those that were set aside.
    strangers : ndarray of int or None
        Positions of the latter; None if there are too few unlabelled rows.
    """
    unlabeled = data.rows[data.own_codes < 0]
    n_aside = min(MOST_ASIDE, round(ASIDE * len(unlabeled)))
    if n_aside < FEW:
        return data, None
    strangers = np.sort(np.random.RandomState(seed).permutation(unlabeled)[:n_aside])
    return data.subset(np.setdiff1d(data.rows, strangers)), strangers
