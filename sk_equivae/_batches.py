"""Rows of X as tensors, and which rows go into a batch together.

X stays where and what it is (a memory map, uint8, float64): rows are copied,
converted and moved a batch at a time.
"""

import copy
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

# At least this part of a mixed batch is labelled, as long as there are so many.
LABELED_PART = 1 / 3

Batch = tuple[Tensor, Tensor, Tensor]


class RowDataset(Dataset):
    """Rows of X, their codes and weights.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    input_shape : tuple
        `(channels, height, width)` or `(n_features,)`: a row as the networks see it.
        Rows of images hold their channels last.
    codes : ndarray of shape (n,), optional
    weight : ndarray of shape (n,), optional
    rows : ndarray, optional
        Which rows belong to this data set; all of them without it.
    device_X : Tensor, optional
        X on the device that trains, if it is kept there.
    posterior : ndarray of shape (n, n_classes), optional
        What is known of the classes of rows before training, see `graph_posterior`.
    """

    def __init__(
        self,
        X: NDArray,
        input_shape: tuple[int, ...],
        codes: NDArray | None = None,
        weight: NDArray | None = None,
        rows: NDArray | None = None,
        device_X: Tensor | None = None,
        posterior: NDArray | None = None,
    ):
        self.X = X
        self.input_shape = input_shape
        self.rows = np.arange(len(X)) if rows is None else rows
        self.codes = np.full(len(X), -1) if codes is None else codes
        self.weight = np.ones(len(X)) if weight is None else weight
        self.device_X = device_X
        self.posterior = posterior

    def subset(self, rows: NDArray) -> "RowDataset":
        """The same data, with other rows counted in."""
        changed = copy.copy(self)
        changed.rows = rows
        return changed

    def on(self, device: str) -> "RowDataset":
        """The same data, with X kept on the device."""
        changed = copy.copy(self)
        changed.device_X = torch.from_numpy(np.array(self.X)).to(device)
        return changed

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: NDArray | slice) -> Batch:
        """A batch (x, y, weight); x is where X is, y and weight are on the CPU."""
        rows = self.rows[index]
        if self.device_X is not None:
            x = self.device_X[torch.from_numpy(rows).to(self.device_X.device)]
        elif isinstance(index, slice) and len(rows) == rows[-1] - rows[0] + 1:
            # cheaper than picking rows
            x = torch.from_numpy(np.array(self.X[rows[0] : rows[-1] + 1]))
        else:
            x = torch.from_numpy(np.ascontiguousarray(self.X[rows]))
        if len(self.input_shape) == 3:
            channels, height, width = self.input_shape
            # (n, h, w, c) seen as (n, c, h, w): channels-last in memory
            x = x.reshape(-1, height, width, channels).permute(0, 3, 1, 2)
        return x, torch.from_numpy(self.codes[rows]), torch.from_numpy(self.weight[rows])

    def training_batch(self, index: NDArray) -> tuple[Tensor, ...]:
        """A batch, and the posterior of its rows if there is one."""
        if self.posterior is None:
            return self[index]
        return *self[index], torch.from_numpy(self.posterior[self.rows[index]])


def grown_batch_size(batch_size: int, max_batch_size: int, epoch: int, max_epochs: int) -> int:
    """The batch size of an epoch: doubled from the first to the largest over training.

    Examples
    --------
    >>> [grown_batch_size(32, 128, epoch, 6) for epoch in range(6)]
    [32, 32, 64, 64, 128, 128]
    """
    n_doublings = max(0, int(np.log2(max_batch_size / batch_size)))
    return batch_size * 2 ** min(n_doublings, epoch * (n_doublings + 1) // max_epochs)


def _spread(codes: NDArray, batch_size: int, m_max: int, rng: np.random.RandomState) -> NDArray:
    """An order of rows in which every class comes evenly and in company.

    A class that would put fewer than m_max + 1 rows into a batch by its share
    comes in groups, so that its rows find complements in the batch.
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
    codes: NDArray, batch_size: int, m_max: int, rng: np.random.RandomState
) -> Iterator[NDArray]:
    """Positions of the rows of each batch of one pass over the data.

    Labelled rows make up their share of each batch, but at least `LABELED_PART`
    of it: few labels are seen again and again. No row is twice in a batch, since
    it would stand in for itself.
    """
    labeled, unlabeled = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
    n_labeled, n_batches = _composition(len(labeled), len(unlabeled), batch_size)
    if len(unlabeled) == 0:
        order = labeled[_spread(codes[labeled], batch_size, m_max, rng)]
        yield from np.array_split(order, n_batches)
        return
    few = _repeated(labeled, codes, n_labeled, m_max, rng)
    for chunk in np.array_split(rng.permutation(unlabeled), n_batches):
        yield np.concatenate([next(few), chunk])


def _composition(n_labeled: int, n_unlabeled: int, batch_size: int) -> tuple[int, int]:
    """Labelled rows in a batch, and batches in an epoch."""
    n = n_labeled + n_unlabeled
    if n_unlabeled == 0:
        return batch_size, -(-n // batch_size)
    part = max(LABELED_PART, n_labeled / n)
    few = min(n_labeled, max(1, round(batch_size * part)), batch_size - 1)
    return few, max(-(-n_unlabeled // (batch_size - few)), -(-n_labeled // max(1, few)))


def count_steps(codes: NDArray, batch_size: int, max_batch_size: int, max_epochs: int) -> int:
    """The number of batches in a whole training."""
    n_labeled = int((codes >= 0).sum())
    n_unlabeled = len(codes) - n_labeled
    sizes = (grown_batch_size(batch_size, max_batch_size, e, max_epochs) for e in range(max_epochs))
    return sum(_composition(n_labeled, n_unlabeled, size)[1] for size in sizes)


def _repeated(
    labeled: NDArray, codes: NDArray, size: int, m_max: int, rng: np.random.RandomState
) -> Iterator[NDArray]:
    """Whole batches of labelled rows, for ever; what is left over waits for another order."""
    while True:
        order = labeled[_spread(codes[labeled], size, m_max, rng)]
        for start in range(0, len(order) - size + 1, max(1, size)):
            yield order[start : start + size]


class TrainBatches:
    """What skorch iterates over in training: mixed batches that grow.

    Each iteration is an epoch. Parameters are those of `epoch_batches` and
    `grown_batch_size`.
    """

    def __init__(
        self,
        dataset: RowDataset,
        batch_size: int,
        max_batch_size: int,
        max_epochs: int,
        m_max: int,
        rng: np.random.RandomState,
    ):
        self.dataset = dataset
        self.batch_size = batch_size
        self.max_batch_size = max_batch_size
        self.max_epochs = max_epochs
        self.m_max = m_max
        self.rng = rng
        self.epoch = 0

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        size = grown_batch_size(self.batch_size, self.max_batch_size, self.epoch, self.max_epochs)
        self.epoch += 1
        codes = self.dataset.codes[self.dataset.rows]
        for index in epoch_batches(codes, size, self.m_max, self.rng):
            yield self.dataset.training_batch(index)


class OrderedBatches:
    """Rows in their order, for validation and inference."""

    def __init__(self, dataset: RowDataset, batch_size: int):
        self.dataset = dataset
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[Batch]:
        for start in range(0, len(self.dataset), self.batch_size):
            yield self.dataset[slice(start, start + self.batch_size)]
