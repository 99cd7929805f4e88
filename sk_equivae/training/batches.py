"""Rows as tensors, and their division into batches."""

import copy
import itertools
from collections.abc import Iterator
from typing import Any, Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from ..fitted.rows import NormalizedRows, RowSpec
from .distributed import current_world

Codes = NDArray[np.integer[Any]]
# A dict of inputs (x, weight and, if there is any, evidence), and the codes y, -1 for unlabelled
# rows. y stays on the CPU, so that counting unlabelled rows does not wait for the device.
Batch = tuple[dict[str, Tensor], Tensor]
Evidence = Union[NDArray[np.float32], "PartialEvidence"]


class PartialEvidence:
    """Class probabilities of some rows; uniform for the others, which take no memory.

    Parameters
    ----------
    rows : ndarray of shape (n_known,)
        Positions of the rows, sorted.
    values : ndarray of shape (n_known, n_classes)
        Their class probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> evidence = PartialEvidence(np.array([1, 4]), np.float32([[0.9, 0.1], [0.2, 0.8]]))
    >>> evidence[np.array([4, 2])]
    array([[0.2, 0.8],
           [0.5, 0.5]], dtype=float32)
    """

    def __init__(self, rows: NDArray[np.intp], values: NDArray[np.float32]):
        self.rows = rows
        self.values = values

    def __getitem__(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        place = np.searchsorted(self.rows, rows).clip(max=len(self.rows) - 1)
        known = (self.rows[place] == rows)[:, None]
        return np.where(known, self.values[place], np.float32(1 / self.values.shape[1]))


class TrainingRows(Dataset[Batch]):
    """Rows of X with their class codes and weights.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Flat rows, in the user's units.
    spec : RowSpec
        Shape and scaling of rows.
    codes : ndarray of shape (n,), optional
        Class codes; -1 for unlabelled rows. By default all rows are unlabelled.
    weight : ndarray of shape (n,), optional
        Weights of the rows; 1 by default.

    Attributes
    ----------
    rows : ndarray of int
        Positions in X of the rows that belong to this data set.
    evidence : ndarray of shape (n, n_classes), PartialEvidence or None
        Class probabilities from before training; see `pseudo_labels`.
    """

    evidence: Evidence | None = None

    def __init__(
        self,
        X: NDArray[Any],
        spec: RowSpec,
        codes: Codes | None = None,
        weight: NDArray[np.float64] | None = None,
    ):
        self.X = X
        self.spec = spec
        self.rows = np.arange(len(X))
        self.codes = np.full(len(X), -1) if codes is None else codes
        self.weight = np.ones(len(X)) if weight is None else weight
        self.normalized = NormalizedRows(X, spec, torch.zeros(()))

    def subset(self, rows: NDArray[np.intp]) -> "TrainingRows":
        """Return a data set of the given rows of X."""
        changed = copy.copy(self)
        changed.rows = rows
        return changed

    def like(self, like: Tensor) -> "TrainingRows":
        """Return the same data set on the device and in the dtype of `like`."""
        changed = copy.copy(self)
        changed.normalized = NormalizedRows(self.X, self.spec, like)
        return changed

    @property
    def own_codes(self) -> Codes:
        """The codes of the rows that belong to this data set."""
        return self.codes[self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: NDArray[np.intp] | slice) -> Batch:
        rows = self.rows[index]
        inputs = {"x": self.normalized[rows], "weight": torch.from_numpy(self.weight[rows])}
        if self.evidence is not None:
            inputs["evidence"] = torch.from_numpy(self.evidence[rows])
        return inputs, torch.from_numpy(self.codes[rows])


class BatchInputs(Dataset[Batch]):
    """The inputs of one batch as a data set, without labels."""

    def __init__(self, inputs: dict[str, Tensor]):
        self.inputs = inputs

    def __len__(self) -> int:
        return len(self.inputs["x"])

    def __getitem__(self, index: slice) -> Batch:
        inputs = {name: value[index] for name, value in self.inputs.items()}
        return inputs, torch.full((len(inputs["x"]),), -1)


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


def _order(
    codes: Codes, batch_size: int, m_max: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Return a random order of rows in which the rows of each class are spread evenly.

    Rare classes, with fewer than m_max + 1 rows per batch on average, are spread in groups of
    rows, so that each row finds complements in its batch.
    """
    position = np.empty(len(codes))
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        share = len(members) / len(codes) * batch_size
        group_size = int(np.clip(np.ceil((m_max + 1) / share), 1, m_max + 1))
        n_groups = -(-len(members) // group_size)
        group = np.arange(len(members)) // group_size
        position[members] = (group + rng.uniform(size=n_groups)[group]) / n_groups
    return np.argsort(position, kind="stable")


def epoch_batches(
    codes: Codes, batch_size: int, labeled_fraction: float, m_max: int, rng: np.random.RandomState
) -> Iterator[NDArray[np.intp]]:
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
    labeled, unlabeled = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
    n_labeled, n_batches = _composition(len(labeled), len(unlabeled), batch_size, labeled_fraction)
    if len(unlabeled) == 0:
        order = labeled[_order(codes[labeled], batch_size, m_max, rng)]
        yield from np.array_split(order, n_batches)
        return
    labeled_batches = _repeat(labeled, codes, n_labeled, m_max, rng)
    for chunk in np.array_split(rng.permutation(unlabeled), n_batches):
        yield np.concatenate([next(labeled_batches), chunk])


def _composition(
    n_labeled: int, n_unlabeled: int, batch_size: int, labeled_fraction: float
) -> tuple[int, int]:
    """Return the number of labelled rows per batch, and of batches per epoch."""
    n = n_labeled + n_unlabeled
    if n_unlabeled == 0:
        return batch_size, -(-n // batch_size)
    part = max(labeled_fraction, n_labeled / n)
    few = min(n_labeled, max(1, round(batch_size * part)), batch_size - 1)
    return few, max(-(-n_unlabeled // (batch_size - few)), -(-n_labeled // max(1, few)))


def _repeat(
    labeled: NDArray[np.intp], codes: Codes, size: int, m_max: int, rng: np.random.RandomState
) -> Iterator[NDArray[np.intp]]:
    """Yield full batches of labelled rows forever; each pass drops the incomplete last one."""
    while True:
        order = labeled[_order(codes[labeled], size, m_max, rng)]
        for start in range(0, len(order) - size + 1, max(1, size)):
            yield order[start : start + size]


class TrainBatches:
    """The training batches of one epoch per iteration; see `epoch_batches`.

    Parameters
    ----------
    dataset : TrainingRows
        The rows.
    batch_size, max_batch_size, max_epochs : int
        How batches grow; see `grown_batch_size`.
    labeled_fraction, m_max, rng : float, int and RandomState
        How batches are composed; see `epoch_batches`.
    start : (int, int)
        Epochs, and batches of the next epoch, that are done already.
    """

    def __init__(
        self,
        dataset: TrainingRows,
        batch_size: int,
        max_batch_size: int,
        max_epochs: int,
        labeled_fraction: float,
        m_max: int,
        rng: np.random.RandomState,
        start: tuple[int, int] = (0, 0),
    ):
        self.dataset = dataset
        self.sizes = [
            grown_batch_size(batch_size, max_batch_size, epoch, max_epochs)
            for epoch in range(max_epochs)
        ]
        self.labeled_fraction = labeled_fraction
        self.m_max = m_max
        self.rng = rng
        self.epoch, self.n_skipped = start

    def steps_per_epoch(self) -> list[int]:
        """Return the number of batches in each epoch."""
        n_labeled = int((self.dataset.own_codes >= 0).sum())
        n_unlabeled = len(self.dataset) - n_labeled
        return [
            _composition(n_labeled, n_unlabeled, size, self.labeled_fraction)[1]
            for size in self.sizes
        ]

    def __iter__(self) -> Iterator[Batch]:
        size = self.sizes[min(self.epoch, len(self.sizes) - 1)]
        n_skipped, self.n_skipped = self.n_skipped, 0
        self.epoch += 1
        codes, world = self.dataset.own_codes, current_world()
        indices = epoch_batches(codes, size, self.labeled_fraction, self.m_max, self.rng)
        for index in itertools.islice(indices, n_skipped, None):
            if not world.alone:
                weight = self.dataset.weight[self.dataset.rows[index]]
                index = world.share_batch(index, codes[index], weight)
            yield self.dataset[index]


class OrderedBatches:
    """Batches of rows in their given order, for validation and for `net_.predict`."""

    def __init__(self, dataset: TrainingRows | BatchInputs, batch_size: int):
        self.dataset = dataset
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[Batch]:
        for start in range(0, len(self.dataset), self.batch_size):
            yield self.dataset[slice(start, start + self.batch_size)]
