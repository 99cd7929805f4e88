"""Classes as frequent among unlabelled rows as among labelled ones."""

from numbers import Real
from typing import Any, ClassVar

import torch
from sklearn.utils._param_validation import Interval
from torch import Tensor

from .source import Source, UnlabeledRows, normalized


class Alignment(Source):
    r"""Correct q(y | x) for classes that it names more or less often than p(y) does.

    .. math:: \tilde q(y|x) \propto q(y|x) \, p(y) / \bar q(y)

    With :math:`\bar q(y)`, the moving mean over unlabelled rows, this is the distribution
    alignment of ReMixMatch: a class that has been taken for another gets rows back.

    Parameters
    ----------
    decay : float, default=0.99
        Decay of the moving mean per step. Lower values follow the last batches.
    smallest_mean : float, default=1e-3
        A class counts as named at least this often, so that a class that is never named
        is not blown up.

    Examples
    --------
    >>> import torch
    >>> from sk_equivae.training.pseudo_labels import Alignment
    >>> often = torch.tensor([0.8, 0.2])  # the first class is named too often
    >>> Alignment().align(torch.tensor([[0.5, 0.5]]), often, torch.tensor([0.5, 0.5]).log())
    tensor([[0.2000, 0.8000]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "decay": [Interval(Real, 0, 1, closed="left")],
        "smallest_mean": [Interval(Real, 0, 1, closed="neither")],
    }
    mean_: Tensor | None = None

    def __init__(self, decay: float = 0.99, smallest_mean: float = 1e-3):
        self.decay = decay
        self.smallest_mean = smallest_mean

    def align(self, q_y: Tensor, mean: Tensor, log_prior: Tensor) -> Tensor:
        """Return the corrected q(y | x)."""
        return normalized(q_y * (log_prior.exp() / mean.clamp(min=self.smallest_mean)))

    def revise(self, q_y: Tensor, rows: UnlabeledRows) -> Tensor:
        """Move the mean, and correct by it; q(y | x) stays as it is outside of training."""
        if not rows.training:
            return q_y
        with torch.no_grad():
            mean = rows.log_prior.exp() if self.mean_ is None else self.mean_
            self.mean_ = mean.lerp(q_y.mean(dim=0), 1 - self.decay)
            return self.align(q_y, self.mean_, rows.log_prior)
