"""Distribution alignment: class frequencies of unlabelled rows as among labelled ones."""

from numbers import Real
from typing import Any, ClassVar

import torch
from sklearn.utils._param_validation import Interval
from torch import Tensor

from ..distributed import current_world
from .source import Source, UnlabeledRows, normalized


class Alignment(Source):
    r"""Correct q(y | x) so that unlabelled rows have the class frequencies of labelled ones.

    .. math:: \tilde q(y|x) \propto q(y|x) \, p(y) / \bar q(y)

    where :math:`\bar q(y)` is the moving average of q(y | x) over unlabelled rows. This is the
    distribution alignment of ReMixMatch. Classes that are predicted too rarely become more
    probable.

    Parameters
    ----------
    decay : float, default=0.99
        Decay of the moving average per step. Lower values follow the latest batches.
    smallest_mean : float, default=1e-3
        Lower limit of the moving average in the denominator.

    Examples
    --------
    >>> import torch
    >>> from sk_equivae.training.pseudo_labels import Alignment
    >>> often = torch.tensor([0.8, 0.2])  # the first class is predicted too often
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
        """Return the corrected q(y | x).

        Parameters
        ----------
        q_y : Tensor of shape (n, n_classes)
            Class probabilities q(y | x).
        mean : Tensor of shape (n_classes,)
            Moving average of q(y | x).
        log_prior : Tensor of shape (n_classes,)
            log p(y).

        Returns
        -------
        q_y : Tensor of shape (n, n_classes)
            The corrected probabilities.
        """
        return normalized(q_y * (log_prior.exp() / mean.clamp(min=self.smallest_mean)))

    def revise(self, q_y: Tensor, rows: UnlabeledRows) -> Tensor:
        """Update the moving average and return the corrected q(y | x).

        Outside of training q(y | x) is returned unchanged.

        Parameters
        ----------
        q_y : Tensor of shape (n, n_classes)
            Class probabilities so far.
        rows : UnlabeledRows
            The unlabelled rows of a batch.

        Returns
        -------
        q_y : Tensor of shape (n, n_classes)
            The corrected probabilities.
        """
        if not rows.training:
            return q_y
        with torch.no_grad():
            mean = rows.log_prior.exp() if self.mean_ is None else self.mean_
            self.mean_ = mean.lerp(current_world().mean_rows(q_y), 1 - self.decay)
            return self.align(q_y, self.mean_, rows.log_prior)
