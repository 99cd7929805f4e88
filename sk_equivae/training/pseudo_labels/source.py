"""The interface of a source of beliefs about unlabelled rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from torch import Tensor

from ...model.module import EquiVAEModule
from ..batches import TrainingRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.floating[Any]]
Codes = NDArray[np.integer[Any]]


@dataclass
class Problem:
    """The rows and labels of a fit, as sources see them before training.

    Attributes
    ----------
    data : TrainingRows
    n_classes : int
    seed : int
    rows : ndarray of shape (n_known,)
        The rows of `data.X` that the sources so far know something about.
    posterior : ndarray of shape (n_known, n_classes)
        What they believe of the classes of these rows.
    Z : ndarray of shape (n_known, n_components) or None
        These rows, as distances between them are measured.
    graph : csr_array of shape (n_known, n_known) or None
        Their neighbours.
    """

    data: TrainingRows
    n_classes: int
    seed: int
    rows: NDArray[np.intp] | None = None
    posterior: Floats | None = None
    Z: Floats | None = None
    graph: "csr_array | None" = None

    @cached_property
    def labeled_share(self) -> float:
        """The share of the rows that is labelled."""
        return float(np.mean(self.data.own_codes >= 0))

    @property
    def evidence(self) -> NDArray[np.float32] | None:
        """What the sources believe of each row of `data.X`; all classes are equal by default."""
        if self.rows is None:
            return None
        shape = len(self.data.X), self.n_classes
        evidence = np.full(shape, 1 / self.n_classes, dtype=np.float32)
        evidence[self.rows] = self.posterior
        return evidence


class UnlabeledRows(NamedTuple):
    """The unlabelled rows of a batch, as sources see them in a step.

    Attributes
    ----------
    x : Tensor of shape (n, *input_shape)
    evidence : Tensor of shape (n, n_classes) or None
    teacher : EquiVAEModule
        The averaged networks.
    log_prior : Tensor of shape (n_classes,)
    training : bool
    """

    x: Tensor
    evidence: Tensor | None
    teacher: EquiVAEModule
    log_prior: Tensor
    training: bool


class Source(BaseEstimator):
    """One source of beliefs about the classes of unlabelled rows.

    Sources are asked one after the other; each may revise what those before it believe.
    """

    def prepare(self, problem: Problem) -> None:
        """Look at all rows before training; may revise `problem.posterior`."""

    def revise(self, q_y: Tensor, rows: UnlabeledRows) -> Tensor:
        """Return the revised belief about the rows of a batch, of shape (n, n_classes)."""
        return q_y


class Teacher(Source):
    """q(y | x) by the averaged networks, on rows that are not augmented."""

    def revise(self, q_y: Tensor, rows: UnlabeledRows) -> Tensor:
        """Return the teacher's q(y | x)."""
        with torch.no_grad():
            return rows.teacher.classify(rows.x).softmax(dim=1)


def normalized(q_y: Tensor) -> Tensor:
    """Return probabilities that sum to 1 in each row."""
    return q_y / q_y.sum(dim=1, keepdim=True)
