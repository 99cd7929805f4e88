"""The terms of the objective in each step of an epoch, for the history."""

from array import array
from collections.abc import Iterable

import torch
from torch import Tensor

# Steps that share a tensor. Many small tensors that stay would leave gaps between large ones.
BLOCK = 1024


class TermLog:
    """Terms of the steps of an epoch, on the device: reading them there would wait for it.

    Parameters
    ----------
    terms : iterable of Tensor of shape (n_terms,)
        Terms of the first steps.
    sizes : iterable of float
        Number of rows in each of these steps.

    Examples
    --------
    >>> import torch
    >>> log = TermLog()
    >>> log.append(torch.tensor([1.0, 4.0]), 3)
    >>> log.append(torch.tensor([2.0, 0.0]), 1)
    >>> log.mean().tolist()
    [1.25, 3.0]
    """

    def __init__(self, terms: Iterable[Tensor] = (), sizes: Iterable[float] = ()):
        self.blocks: list[Tensor] = []
        self.sizes = array("d")
        for some, size in zip(terms, sizes, strict=True):
            self.append(some, size)

    def __len__(self) -> int:
        return len(self.sizes)

    def append(self, terms: Tensor, size: float) -> None:
        """Add the terms of a step of some rows."""
        place = len(self.sizes) % BLOCK
        if place == 0:
            self.blocks.append(terms.new_empty(BLOCK, len(terms)))
        self.blocks[-1][place] = terms
        self.sizes.append(size)

    @property
    def values(self) -> Tensor:
        """The terms of all steps, of shape (n_steps, n_terms)."""
        return torch.cat(self.blocks)[: len(self)]

    def mean(self) -> Tensor:
        """Return the mean over all rows, in float64 on the CPU."""
        sizes = torch.tensor(self.sizes, dtype=torch.float64)
        return sizes @ self.values.cpu().double() / sizes.sum()
