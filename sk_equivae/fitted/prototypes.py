"""Mean embeddings of the classes, from which their prototypes r_y are computed."""

import torch
from torch import Tensor


class ClassMeans:
    """Weighted class means of embeddings, accumulated batch by batch.

    Parameters
    ----------
    n_classes, n_hidden : int
        Number of classes, and size of an embedding.
    """

    def __init__(self, n_classes: int, n_hidden: int):
        self.sums = torch.zeros(n_classes, n_hidden, dtype=torch.float64)
        self.weights = torch.zeros(n_classes, dtype=torch.float64)

    def update(self, h: Tensor, codes: Tensor, weight: Tensor) -> None:
        """Add the embeddings of a batch; rows with a negative code are ignored."""
        h, codes, weight = (t.cpu() for t in (h, codes, weight))
        known = codes >= 0
        h, codes, weight = h[known], codes[known], weight[known]
        self.sums.index_add_(0, codes, h.double() * weight.double()[:, None])
        self.weights.index_add_(0, codes, weight.double())

    @property
    def means(self) -> Tensor:
        """The means, of shape (n_classes, n_hidden); NaN for a class without rows."""
        return self.sums / self.weights[:, None]

    def update_means(self, old: Tensor, strength: float) -> Tensor:
        """Return `old` moved towards `means`, by n / (n + strength) for a class of weight n."""
        part = (self.weights / (self.weights + strength))[:, None]
        moved = torch.where(old.isnan(), self.means, old + part * (self.means - old))
        return torch.where(self.means.isnan(), old, moved)
