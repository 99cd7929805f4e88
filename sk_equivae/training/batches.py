"""Rows as tensors, and which rows share a batch."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from ..fitted.rows import NormalizedRows, RowSpec

Codes = NDArray[np.integer[Any]]
# The inputs x, weight and, if there is any, evidence; and the codes y. y = -1 marks
# unlabelled rows. y stays on the CPU, so that counting them does not wait for the device.
Batch = tuple[dict[str, Tensor], Tensor]


class TrainingRows(Dataset[Batch]):
    """Rows of X, their codes and weights.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    spec : RowSpec
    codes : ndarray of shape (n,), optional
        -1 for unlabelled rows, which all rows are by default.
    weight : ndarray of shape (n,), optional

    Attributes
    ----------
    rows : ndarray of int
        The rows that belong to this data set.
    evidence : ndarray of shape (n, n_classes) or None
        What is believed of the classes before training, see `pseudo_labels`.
    """

    evidence: NDArray[np.float32] | None = None

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
        """Return the same data with other rows."""
        changed = copy.copy(self)
        changed.rows = rows
        return changed

    def like(self, like: Tensor) -> "TrainingRows":
        """Return the same data on the device and in the dtype of `like`."""
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


def grown_batch_size(batch_size: int, max_batch_size: int, epoch: int, max_epochs: int) -> int:
    """Return the batch size of an epoch: doubled from the first to the largest over training.

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
    """Return an order of rows in which every class comes evenly and in company.

    A class that would put fewer than m_max + 1 rows into a batch by its share comes in
    groups, so that its rows find complements in the batch.
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
    """Yield the positions of the rows of each batch of one pass over the data.

    Labelled rows make up their share of each batch, but at least `labeled_fraction` of it:
    few labels are seen again and again. No row is twice in a batch, since it would stand
    in for itself.
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
    """Return the labelled rows per batch, and the batches per epoch."""
    n = n_labeled + n_unlabeled
    if n_unlabeled == 0:
        return batch_size, -(-n // batch_size)
    part = max(labeled_fraction, n_labeled / n)
    few = min(n_labeled, max(1, round(batch_size * part)), batch_size - 1)
    return few, max(-(-n_unlabeled // (batch_size - few)), -(-n_labeled // max(1, few)))


def _repeat(
    labeled: NDArray[np.intp], codes: Codes, size: int, m_max: int, rng: np.random.RandomState
) -> Iterator[NDArray[np.intp]]:
    """Yield whole batches of labelled rows for ever; the rest waits for another order."""
    while True:
        order = labeled[_order(codes[labeled], size, m_max, rng)]
        for start in range(0, len(order) - size + 1, max(1, size)):
            yield order[start : start + size]


class TrainBatches:
    """What skorch iterates over in training: mixed batches that grow. One pass per epoch.

    Parameters
    ----------
    dataset : TrainingRows
    batch_size, max_batch_size, max_epochs : see `grown_batch_size`
    labeled_fraction, m_max, rng : see `epoch_batches`
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
    ):
        self.dataset = dataset
        self.sizes = [
            grown_batch_size(batch_size, max_batch_size, epoch, max_epochs)
            for epoch in range(max_epochs)
        ]
        self.labeled_fraction = labeled_fraction
        self.m_max = m_max
        self.rng = rng
        self.epoch = 0

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
        self.epoch += 1
        codes = self.dataset.own_codes
        for index in epoch_batches(codes, size, self.labeled_fraction, self.m_max, self.rng):
            yield self.dataset[index]


class OrderedBatches:
    """Rows in their order, for validation and for `net_.predict`."""

    def __init__(self, dataset: TrainingRows, batch_size: int):
        self.dataset = dataset
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[Batch]:
        for start in range(0, len(self.dataset), self.batch_size):
            yield self.dataset[slice(start, start + self.batch_size)]
