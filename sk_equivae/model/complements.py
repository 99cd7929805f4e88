"""Complements: the other rows of a class, in the same batch, that r_y is computed from (Eq. 2)."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


def draw_m(m_max: int, generator: torch.Generator) -> Tensor:
    """Draw m uniformly from 1, ..., m_max, as a tensor on the generator's device.

    It is not turned into an int, which would wait for the device.

    Parameters
    ----------
    m_max : int
        Largest value.
    generator : torch.Generator
        Source of the random numbers.

    Returns
    -------
    m : Tensor of shape ()
        The number drawn.
    """
    return torch.randint(1, m_max + 1, (), generator=generator, device=generator.device)


def complements(
    rows: Tensor,
    classes: Tensor,
    codes: Tensor,
    m: Tensor | int,
    m_max: int,
    generator: torch.Generator,
) -> Tensor:
    r"""Return weights that average m random rows of a class and leave out the row itself.

    For each pair (n, y) of a row and a class, the m samples :math:`x^i` of

    .. math:: r_y \approx \frac1m \sum_{i=1}^m f(x^i), \quad
              x^i \in \mathcal{D}^y \setminus \{x_n\} \qquad \text{(Eq. 2)}

    are drawn without replacement from the rows of the batch.

    Parameters
    ----------
    rows, classes : Tensor of shape (n_pairs,)
        The row n and the class y of each pair.
    codes : Tensor of shape (n_rows,)
        The class of each row of the batch; -1 for rows that are never complements.
    m : Tensor or int
        Number of rows to average; a class with fewer candidates uses all of them.
    m_max : int
        Upper limit of m.
    generator : torch.Generator
        Source of the random numbers.

    Returns
    -------
    weights : Tensor of shape (n_pairs, n_rows)
        Each row sums to 1, or to 0 if the batch has no candidate for the pair.

    Examples
    --------
    >>> import torch
    >>> codes = torch.tensor([0, 0, 1, 0, -1])
    >>> rows, classes = torch.tensor([0, 2, 4]), torch.tensor([0, 1, 1])
    >>> complements(rows, classes, codes, m=2, m_max=2, generator=torch.Generator())
    tensor([[0.0000, 0.5000, 0.0000, 0.5000, 0.0000],
            [0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
            [0.0000, 0.0000, 1.0000, 0.0000, 0.0000]])
    """
    n_rows = len(codes)
    itself = rows[:, None] == torch.arange(n_rows, device=rows.device)
    candidates = (classes[:, None] == codes) & ~itself  # (n_pairs, n_rows)
    order = torch.rand(candidates.shape, generator=generator, device=rows.device)
    drawn = order.masked_fill(~candidates, -1.0).topk(min(m_max, n_rows), dim=1)
    first = torch.arange(drawn.values.shape[1], device=rows.device) < m
    kept = ((drawn.values >= 0) & first).to(order.dtype)
    picked = torch.zeros_like(order).scatter_(1, drawn.indices, kept)
    return picked / picked.sum(dim=1, keepdim=True).clamp(min=1)


def leave_one_out(h: Tensor, codes: Tensor, n_classes: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the class means of `h`, and for each row the mean of the other rows of its class.

    Parameters
    ----------
    h : Tensor of shape (n_rows, n_hidden)
        Embeddings of the rows.
    codes : Tensor of shape (n_rows,)
        The class of each row; -1 for rows without a class.
    n_classes : int
        Number of classes.

    Returns
    -------
    class_means : Tensor of shape (n_classes, n_hidden)
        Mean of each class; 0 for a class without rows.
    other_means : Tensor of shape (n_rows, n_hidden)
        Mean of the other rows of the same class; 0 if there are none, or for a row without
        a class.
    counts : Tensor of shape (n_classes,)
        Number of rows per class.
    """
    member = (codes[:, None] == torch.arange(n_classes, device=codes.device)).to(h.dtype)
    counts = member.sum(dim=0)
    sums = member.T @ h
    own = member @ sums - h  # (n_rows, n_hidden)
    n_others = member @ counts - 1
    other_means = own / n_others.clamp(min=1)[:, None]
    return (
        sums / counts.clamp(min=1)[:, None],
        other_means * (n_others > 0)[:, None],
        counts,
    )


class Means(NamedTuple):
    """Mean embeddings of pairs of a row and a class, and whether there is one.

    Attributes
    ----------
    mean : Tensor of shape (n_pairs, n_hidden)
        Mean embedding of m other rows of the class; 0 if there are none.
    found : Tensor of shape (n_pairs,)
        Whether there are such rows.
    """

    mean: Tensor
    found: Tensor


@dataclass
class ComplementPool:
    """The complements that a batch offers, and a fallback for classes without any.

    For a class without other rows in the batch, r_y is computed from the mean embedding of the
    labelled rows of an earlier batch, unless the row itself may be one of them.

    Parameters
    ----------
    h : Tensor of shape (n_rows, n_hidden)
        Embeddings of the rows of the batch; each row is embedded once.
    codes : Tensor of shape (n_rows,)
        The class of each row; -1 for rows that are never complements.
    y : Tensor of shape (n_rows,)
        The class of each row that may be part of `last_means`, else -1.
    m_max : int
        Largest number of complements to average.
    draw : bool
        Draw m at random, as in training. Otherwise m is m_max.
    last_means : Tensor of shape (n_classes, n_hidden)
        Mean embedding of the labelled rows of each class in earlier batches.
    seen : Tensor of shape (n_classes,)
        Whether a class has such a mean.
    """

    h: Tensor
    codes: Tensor
    y: Tensor
    m_max: int
    draw: bool
    last_means: Tensor
    seen: Tensor

    def mean(self, rows: Tensor, classes: Tensor, generator: torch.Generator) -> Means:
        """Return the mean embedding for each pair of a row and a class (Eq. 2).

        No row is part of its own mean.

        Parameters
        ----------
        rows, classes : Tensor of shape (n_pairs,)
            The row and the class of each pair.
        generator : torch.Generator
            Source of the random numbers.

        Returns
        -------
        means : Means
            One mean embedding per pair, where the class has other rows.
        """
        m = draw_m(self.m_max, generator) if self.draw else self.m_max
        weights = complements(rows, classes, self.codes, m, self.m_max, generator).to(self.h.dtype)
        alone = weights.sum(dim=1) == 0
        remembered = self.seen[classes] & (self.y[rows] != classes)
        fallback = self.last_means[classes] * remembered[:, None]
        mean = torch.where(alone[:, None], fallback, weights @ self.h)  # (n_pairs, n_hidden)
        return Means(mean, ~alone | remembered)
