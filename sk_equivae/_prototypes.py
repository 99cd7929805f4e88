"""Classes as points of the invariant space: distances and their softmax."""

import torch
from torch import Tensor


def prototype_logits(f_inv: Tensor, prototypes: Tensor) -> Tensor:
    r"""Logits of the paper's classifier without parameters (Section 3.1).

    .. math:: p(\mathrm{label}(x) = y) \propto \exp(-||f_{inv}(x) - r_y||^2)

    Parameters
    ----------
    f_inv : Tensor of shape (n, n_invariant)
    prototypes : Tensor of shape (n_classes, n_invariant)

    Returns
    -------
    logits : Tensor of shape (n, n_classes)

    Examples
    --------
    >>> import torch
    >>> prototype_logits(torch.tensor([[0.0, 2.0]]), torch.tensor([[0.0, 0.0], [1.0, 1.0]]))
    tensor([[-4., -2.]])
    """
    return -(f_inv[:, None] - prototypes).square().sum(dim=2)  # (n, n_classes, n_invariant) before


class ClassMeans:
    """Weighted class means of embeddings, gathered a batch at a time.

    Parameters
    ----------
    n_classes, n_hidden : int
    """

    def __init__(self, n_classes: int, n_hidden: int):
        self.sums = torch.zeros(n_classes, n_hidden, dtype=torch.float64)
        self.weights = torch.zeros(n_classes, dtype=torch.float64)

    def update(self, h: Tensor, codes: Tensor, weight: Tensor) -> None:
        """Add rows of `h`; rows with a negative code are left out."""
        h, codes, weight = (t.cpu() for t in (h, codes, weight))
        known = codes >= 0
        h, codes, weight = h[known], codes[known], weight[known]
        self.sums.index_add_(0, codes, h.double() * weight.double()[:, None])
        self.weights.index_add_(0, codes, weight.double())

    @property
    def means(self) -> Tensor:
        """Of shape (n_classes, n_hidden); NaN for a class without rows."""
        return self.sums / self.weights[:, None]

    def moved_from(self, old: Tensor, strength: float) -> Tensor:
        """Old means, moved towards these by n / (n + strength) for a class with n rows."""
        part = (self.weights / (self.weights + strength))[:, None]
        moved = torch.where(old.isnan(), self.means, old + part * (self.means - old))
        return torch.where(self.means.isnan(), old, moved)
