"""The interface of a source of class probabilities for unlabelled rows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from torch import Tensor

from ...fitted.compact import Positions, parts, positions, take
from ...model.module import EquiVAEModule
from ..batches import OrderedBatches, TrainingRows
from ..row_evidence import Evidence, PartialEvidence, RankedEvidence

Floats = NDArray[np.floating[Any]]
Codes = NDArray[np.integer[Any]]

# With more rows than this, class probabilities are stored for the known rows only.
DENSE_ROWS = 65_536
# Rows that are read at a time.
ROWS_AT_ONCE = 1024


class Opinion(NamedTuple):
    """A way to classify the rows of a fit, which can be asked with some labels hidden.

    Attributes
    ----------
    name : str
        Its name in `evidence_`.
    learn : callable
        Takes the class codes of all rows of `Problem.data`, -1 for unlabelled and hidden ones.
        Returns a function from positions of rows to their log-probabilities, of shape
        (n_positions, n_classes).
    from_labels : bool
        Whether it learns from labelled rows alone.
    share : float
        Its weight before any label was hidden, relative to that of others.
    """

    name: str
    learn: Callable[[Codes], Callable[[Positions], Floats]]
    from_labels: bool
    share: float = 1.0


@dataclass
class Problem:
    """The rows and labels of a fit, as sources see them before training.

    Attributes
    ----------
    data : TrainingRows
        The rows, labelled and unlabelled.
    n_classes : int
        Number of classes.
    seed : int
        Seed of the random numbers.
    rows : ndarray of shape (n_known,) or None
        Positions of the rows of `data.X` that a source has class probabilities for.
    posterior : ndarray of shape (n_known, n_classes) or None
        Class probabilities of these rows.
    ranked : RankedEvidence or None
        Class probabilities of all rows of `data.X`, in place of `posterior` if there are many.
    opinions : list of Opinion
        Ways to classify tabular rows, for `Experts` to weigh.
    """

    data: TrainingRows
    n_classes: int
    seed: int
    rows: Positions | None = None
    posterior: Floats | None = None
    ranked: RankedEvidence | None = None
    opinions: list[Opinion] = field(default_factory=list)

    def features(self, positions: Positions) -> NDArray[np.float32]:
        """Return normalised rows, flat, at positions in `data`."""
        part = self.data.subset(self.data.rows[positions])
        batches = OrderedBatches(part, ROWS_AT_ONCE)
        return np.concatenate(
            [inputs["x"].flatten(1).cpu().float().numpy() for inputs, _ in batches]
        )

    @cached_property
    def labeled_share(self) -> float:
        """Share of labelled rows."""
        return float(np.mean(self.data.own_codes >= 0))

    @property
    def evidence(self) -> Evidence | None:
        """Class probabilities of all rows of `data.X`; uniform where no source has any."""
        if self.rows is None or self.posterior is None:
            return self.ranked
        if len(self.rows) < len(self.data.X) and len(self.data.X) > DENSE_ROWS:
            return PartialEvidence(self.rows, self.posterior.astype(np.float32))
        shape = len(self.data.X), self.n_classes
        evidence = np.full(shape, 1 / self.n_classes, dtype=np.float32)
        evidence[self.rows] = self.posterior
        return evidence


def some_labels(codes: Codes, n_most: int, seed: int) -> Codes:
    """Return the codes with at most `n_most` labels, of each class in proportion.

    Every class keeps a label. With the same seed, fewer labels are some of those that are kept
    of more.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class codes; -1 for unlabelled rows.
    n_most, seed : int
        Largest number of labels, and seed of their choice.

    Returns
    -------
    codes : ndarray of shape (n,)
        The codes, -1 for the other rows too.

    Examples
    --------
    >>> some_labels(np.array([0, 0, 0, 0, 1, -1]), 2, seed=0)
    array([-1, -1,  0, -1,  1, -1])
    """
    order = positions(codes >= 0)
    if len(order) <= n_most:
        return codes
    order = np.random.RandomState(seed).permutation(order)
    # the first of each class in random order comes before all others
    firsts: dict[int, int] = {}
    for part in parts(len(order)):
        found, place = np.unique(take(codes, order[part]), return_index=True)
        for code, i in zip(found.tolist(), place.tolist(), strict=True):
            firsts.setdefault(code, part.start + i)
    leading = np.array(list(firsts.values()))
    rest = np.setdiff1d(np.arange(min(len(order), n_most + len(leading))), leading)
    kept = order[np.concatenate([leading, rest])[: max(n_most, len(leading))]]
    some = np.full_like(codes, -1)
    some[kept] = codes[kept]
    return some


class UnlabeledRows(NamedTuple):
    """The unlabelled rows of a batch, as sources see them in a training step.

    Attributes
    ----------
    x : Tensor of shape (n, *input_shape)
        The rows, not augmented.
    evidence : Tensor of shape (n, n_classes) or None
        Their class probabilities from before training; see `Problem.evidence`.
    teacher : EquiVAEModule
        The averaged networks.
    log_prior : Tensor of shape (n_classes,)
        log p(y).
    training : bool
        False during validation.
    """

    x: Tensor
    evidence: Tensor | None
    teacher: EquiVAEModule
    log_prior: Tensor
    training: bool


class Source(BaseEstimator):
    """A source of class probabilities for unlabelled rows.

    Sources are applied one after the other; each may revise the result of those before it.

    Attributes
    ----------
    label : str
        What the progress bar calls `prepare`.
    """

    label: ClassVar[str] = ""

    def prepare(self, problem: Problem) -> None:
        """Look at all rows before training; does nothing by default.

        Parameters
        ----------
        problem : Problem
            The rows and labels. A source may set or revise `problem.posterior`.
        """

    def revise(self, q_y: Tensor, rows: UnlabeledRows) -> Tensor:
        """Return the revised class probabilities of a batch; unchanged by default.

        Parameters
        ----------
        q_y : Tensor of shape (n, n_classes)
            Class probabilities so far.
        rows : UnlabeledRows
            The unlabelled rows of the batch.

        Returns
        -------
        q_y : Tensor of shape (n, n_classes)
            The revised probabilities.
        """
        return q_y


class Teacher(Source):
    """q(y | x) of the averaged networks, for rows that are not augmented."""

    def revise(self, q_y: Tensor, rows: UnlabeledRows) -> Tensor:
        """Return the teacher's q(y | x)."""
        with torch.no_grad():
            return rows.teacher.classify(rows.x).softmax(dim=1)


def normalized(q_y: Tensor) -> Tensor:
    """Return probabilities that sum to 1 in each row."""
    return q_y / q_y.sum(dim=1, keepdim=True)
