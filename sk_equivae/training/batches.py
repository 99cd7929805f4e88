"""Rows as tensors, and the batches of training and validation."""

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from ..fitted.compact import Positions, code_dtype, position_dtype, positions, take
from ..fitted.rows import NormalizedRows, RowSpec
from .composition import Codes, composition, epoch_batches, grown_batch_size, repeat_labeled
from .distributed import current_world
from .row_evidence import Evidence
from .support import Support

# A dict of inputs (x, weight and, if there are any, evidence and own, a mask of the rows that are
# not complements only), and the codes y, -1 for unlabelled rows. y stays on the CPU, so that
# counting unlabelled rows does not wait for the device.
Batch = tuple[dict[str, Tensor], Tensor]


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
    has_all_rows : bool
        Whether these are all rows of X, in their order.
    evidence : ndarray of shape (n, n_classes), PartialEvidence, RankedEvidence or None
        Class probabilities from before training; see `pseudo_labels`.
    """

    evidence: Evidence | None = None
    has_all_rows = True

    def __init__(
        self,
        X: NDArray[Any],
        spec: RowSpec,
        codes: Codes | None = None,
        weight: NDArray[np.float64] | None = None,
    ):
        self.X = X
        self.spec = spec
        self.rows: Positions = np.arange(len(X), dtype=position_dtype(len(X)))
        self.codes = np.full(len(X), -1, dtype=code_dtype(0)) if codes is None else codes
        self.weight = np.broadcast_to(1.0, len(X)) if weight is None else weight
        self.normalized = NormalizedRows(X, spec, torch.zeros(()))

    def subset(self, rows: Positions) -> "TrainingRows":
        """Return a data set of the given rows of X."""
        changed = copy.copy(self)
        changed.rows = rows
        changed.has_all_rows = False
        return changed

    def weighted(self, class_weight: NDArray[np.float64]) -> "TrainingRows":
        """Return the same data set with labelled rows weighted by their classes as well."""
        changed = copy.copy(self)
        changed.weight = self.weight * np.where(self.codes >= 0, class_weight[self.codes], 1.0)
        return changed

    def like(self, like: Tensor) -> "TrainingRows":
        """Return the same data set on the device and in the dtype of `like`."""
        changed = copy.copy(self)
        changed.normalized = NormalizedRows(self.X, self.spec, like)
        return changed

    @property
    def own_codes(self) -> Codes:
        """The codes of the rows that belong to this data set."""
        return self.codes if self.has_all_rows else take(self.codes, self.rows)

    @property
    def own_weight(self) -> NDArray[np.float64]:
        """The weights of the rows that belong to this data set."""
        if self.has_all_rows or self.weight.strides == (0,):  # a single value, repeated
            return self.weight[: len(self.rows)]
        return take(self.weight, self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: NDArray[np.intp] | slice) -> Batch:
        rows = self.rows[index].astype(np.intp, copy=False)
        inputs = {"x": self.normalized[rows], "weight": torch.from_numpy(self.weight[rows])}
        if self.evidence is not None:
            inputs["evidence"] = torch.from_numpy(self.evidence[rows])
        return inputs, torch.from_numpy(self.codes[rows].astype(np.int64, copy=False))


class BatchInputs(Dataset[Batch]):
    """The inputs of one batch as a data set, without labels."""

    def __init__(self, inputs: dict[str, Tensor]):
        self.inputs = inputs

    def __len__(self) -> int:
        return len(self.inputs["x"])

    def __getitem__(self, index: slice) -> Batch:
        inputs = {name: value[index] for name, value in self.inputs.items()}
        return inputs, torch.full((len(inputs["x"]),), -1)


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
    min_complements : int, "auto" or "m_max"
        Smallest number of labelled rows per class in a batch; see `Objective`.
    start : (int, int)
        Epochs, and batches of the next epoch, that are done already.
    n_warmup : int
        Number of batches of labelled rows alone, before the others of the first epoch.
    """

    def __init__(
        self,
        dataset: TrainingRows,
        batch_size: int,
        max_batch_size: int,
        max_epochs: int,
        labeled_fraction: float,
        m_max: int,
        min_complements: Any,
        rng: np.random.RandomState,
        start: tuple[int, int] = (0, 0),
        n_warmup: int = 0,
    ):
        self.dataset = dataset
        self.sizes = [
            grown_batch_size(batch_size, max_batch_size, epoch, max_epochs)
            for epoch in range(max_epochs)
        ]
        self.labeled_fraction = labeled_fraction
        self.m_max = m_max
        self.min_complements = min_complements
        self.rng = rng
        self.epoch, self.n_skipped = start
        self.n_warmup = n_warmup

    def steps_per_epoch(self) -> list[int]:
        """Return the number of batches in each epoch."""
        n_labeled = int((self.dataset.own_codes >= 0).sum())
        n_unlabeled = len(self.dataset) - n_labeled
        n_steps = [
            composition(n_labeled, n_unlabeled, size, self.labeled_fraction)[1]
            for size in self.sizes
        ]
        return [n_steps[0] + self.n_warmup, *n_steps[1:]]

    def _warmup(self, batch_size: int) -> Iterator[Positions]:
        """Yield the positions of labelled rows alone, batch by batch."""
        codes = self.dataset.own_codes
        labeled = positions(codes >= 0)
        size = min(batch_size, len(labeled))
        batches = repeat_labeled(labeled, take(codes, labeled), size, self.m_max, self.rng)
        return itertools.islice(batches, self.n_warmup)

    def __iter__(self) -> Iterator[Batch]:
        size = self.sizes[min(self.epoch, len(self.sizes) - 1)]
        n_skipped, self.n_skipped = self.n_skipped, 0
        codes, world = self.dataset.own_codes, current_world()
        support = self._support(codes, size)
        indices = epoch_batches(codes, size, self.labeled_fraction, self.m_max, self.rng)
        if self.epoch == 0 and self.n_warmup:
            indices = itertools.chain(self._warmup(size), indices)
        self.epoch += 1
        batches = ((index, support.added(index)) for index in indices)
        for index, added in itertools.islice(batches, n_skipped, None):
            own = index
            if len(added):
                index = np.concatenate([added, index])  # labelled rows first
            if not world.alone:
                weight = self.dataset.weight[self.dataset.rows[index]] * np.isin(index, own)
                index = world.share_batch(index, codes[index], weight)
            inputs, y = self.dataset[index]
            if len(added):
                counts = np.isin(index, own)
                inputs["weight"] = inputs["weight"] * torch.from_numpy(counts)
                inputs["own"] = torch.from_numpy(counts)
            yield inputs, y

    def _support(self, codes: Codes, batch_size: int) -> Support:
        """Return what adds complements to batches."""
        n_least = self.min_complements
        n_classes = int(codes.max(initial=0)) + 1
        if n_least == "m_max":
            return Support(codes, self.m_max + 1, True, self.rng)
        if n_least == "auto":
            return Support(codes, 2, 2 * n_classes <= batch_size, self.rng)
        return Support(codes, n_least, True, self.rng)


class OrderedBatches:
    """Batches of rows in their given order, for validation and for `net_.predict`."""

    def __init__(self, dataset: TrainingRows | BatchInputs, batch_size: int):
        self.dataset = dataset
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[Batch]:
        for start in range(0, len(self.dataset), self.batch_size):
            yield self.dataset[slice(start, start + self.batch_size)]
