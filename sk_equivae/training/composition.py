"""Which rows share a batch, and how batches grow."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fitted.compact import Positions, position_dtype, positions, put, split_evenly, take

Codes = NDArray[np.integer[Any]]


def grown_batch_size(batch_size: int, max_batch_size: int, epoch: int, max_epochs: int) -> int:
    """Return the batch size of an epoch, which doubles in even intervals up to the largest.

    Parameters
    ----------
    batch_size, max_batch_size : int
        Batch size in the first epoch, and its upper limit.
    epoch, max_epochs : int
        The epoch, counted from 0, and the number of epochs.

    Returns
    -------
    batch_size : int
        The batch size of the epoch.

    Examples
    --------
    >>> [grown_batch_size(32, 128, epoch, 6) for epoch in range(6)]
    [32, 32, 64, 64, 128, 128]
    """
    n_doublings = max(0, int(np.log2(max_batch_size / batch_size)))
    return int(batch_size * 2 ** min(n_doublings, epoch * (n_doublings + 1) // max_epochs))


def _order(codes: Codes, batch_size: int, m_max: int, rng: np.random.RandomState) -> Positions:
    """Return a random order of rows in which the rows of each class are spread evenly.

    Rare classes, with fewer than m_max + 1 rows per batch on average, are spread in groups of
    rows, so that each row finds complements in its batch.
    """
    position = np.empty(len(codes))
    for code in np.unique(codes):
        members = positions(codes == code)
        rng.shuffle(members)
        share = len(members) / len(codes) * batch_size
        group_size = int(np.clip(np.ceil((m_max + 1) / share), 1, m_max + 1))
        n_groups = -(-len(members) // group_size)
        place = rng.uniform(size=n_groups)
        if group_size > 1:
            group = np.arange(len(members)) // group_size
            place = place[group] + group
        else:
            place += np.arange(n_groups, dtype=position_dtype(n_groups))
        place /= n_groups
        put(position, members, place)
    return np.argsort(position, kind="stable").astype(position_dtype(len(codes)))


def epoch_batches(
    codes: Codes, batch_size: int, labeled_fraction: float, m_max: int, rng: np.random.RandomState
) -> Iterator[Positions]:
    """Yield the positions of the rows of each batch, for one pass over the data.

    The fraction of labelled rows in a batch is their fraction in the data, but at least
    `labeled_fraction`, for which few labelled rows are repeated in several batches. A batch never
    contains a row twice, since the row would be its own complement.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class codes; -1 for unlabelled rows.
    batch_size : int
        Rows per batch.
    labeled_fraction : float
        Smallest fraction of labelled rows, if there are unlabelled ones.
    m_max : int
        Largest number of complements.
    rng : numpy.random.RandomState
        Source of the random numbers.

    Yields
    ------
    rows : ndarray of int
        Positions of the rows of a batch.
    """
    n = len(codes)
    n_labeled = int(np.count_nonzero(codes >= 0))
    size, n_batches = composition(n_labeled, n - n_labeled, batch_size, labeled_fraction)
    if n_labeled == n:
        yield from split_evenly(_order(codes, batch_size, m_max, rng), n_batches)
        return
    labeled, unlabeled = positions(codes >= 0), positions(codes < 0)
    labeled_batches = repeat_labeled(labeled, take(codes, labeled), size, m_max, rng)
    rng.shuffle(unlabeled)
    for chunk in split_evenly(unlabeled, n_batches):
        yield np.concatenate([next(labeled_batches), chunk])


def composition(
    n_labeled: int, n_unlabeled: int, batch_size: int, labeled_fraction: float
) -> tuple[int, int]:
    """Return the number of labelled rows per batch, and of batches per epoch."""
    n = n_labeled + n_unlabeled
    if n_unlabeled == 0:
        return batch_size, -(-n // batch_size)
    part = max(labeled_fraction, n_labeled / n)
    few = min(n_labeled, max(1, round(batch_size * part)), batch_size - 1)
    return few, max(-(-n_unlabeled // (batch_size - few)), -(-n_labeled // max(1, few)))


def repeat_labeled(
    labeled: Positions, codes: Codes, size: int, m_max: int, rng: np.random.RandomState
) -> Iterator[Positions]:
    """Yield full batches of labelled rows forever; each pass drops the incomplete last one."""
    while True:
        order = take(labeled, _order(codes, size, m_max, rng))
        for start in range(0, len(order) - size + 1, max(1, size)):
            yield order[start : start + size]
