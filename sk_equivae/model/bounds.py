"""The bounds of the paper (Eqs. 4, 6 and 7), computed from the networks and a batch.

Every function returns a value to be *maximised*. `history_` records the average of each term
per row:

==================  ========================================================
`reconstruction`    E_q log p(x | r_y, v)
`kl_v`              KL[q(v | r_y, x) || p(v)]
`kl_v_dims`         the same for each dimension of v, a list
`kl_y`              KL[q(y | x) || p(y)], unlabelled rows
`log_p_y`           log p(y), labelled rows
`elbo`              reconstruction - kl_v - kl_y + log_p_y (Eq. 7)
==================  ========================================================
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .complements import ComplementPool
from .distributions import kl_v, kl_v_dims, kl_y
from .module import EquiVAEModule

TERMS = ("elbo", "reconstruction", "kl_v", "kl_y", "log_p_y")


class LatentTerms(NamedTuple):
    """The two terms of the bounds that depend on v, one value per pair of a row and a class.

    `kl_v_dims` divides the second one among the dimensions of v; for information only.
    """

    reconstruction: Tensor
    kl_v: Tensor
    kl_v_dims: Tensor = torch.zeros(0)


def latent_terms(
    module: EquiVAEModule,
    x: Tensor,
    h: Tensor,
    r: Tensor,
    generator: torch.Generator | None = None,
) -> LatentTerms:
    r"""Return :math:`E_{q(v|r_y,x)} \log p(x|r_y, v)` and :math:`D_{KL}[q(v|r_y,x) || p(v)]`.

    Parameters
    ----------
    module : EquiVAEModule
        The networks.
    x : Tensor of shape (n, *input_shape)
        The rows.
    h : Tensor of shape (n, n_hidden)
        Their embeddings by `module.equivariant.embed`.
    r : Tensor of shape (n, n_invariant)
        r_y of one class per row.
    generator : torch.Generator, optional
        Used to draw one sample of v per row. Without it v is the mean of q(v | r_y, x).

    Returns
    -------
    terms : LatentTerms of shape (n,)
        One value per row.
    """
    q_v = module.equivariant(h, r)
    v = q_v.mean
    if generator is not None:
        noise = torch.randn(v.shape, generator=generator, device=x.device, dtype=x.dtype)
        v = v + q_v.stddev * noise
    return LatentTerms(module.decode(r, v).log_prob(x), kl_v(q_v), kl_v_dims(q_v).detach())


def labeled_elbo(terms: LatentTerms, log_p_y: Tensor) -> Tensor:
    r"""Return the bound on log p(x, y), one value per row (Eq. 4).

    .. math:: \mathcal{L}_{lab} = E_{q(v|r_y,x)} \log p(x|r_y, v)
              - D_{KL}[q(v|r_y,x) || p(v)] + \log p(y)

    Parameters
    ----------
    terms : LatentTerms of shape (n,)
        The terms of each row at its class.
    log_p_y : Tensor of shape (n,)
        Log prior of the class of each row.

    Returns
    -------
    bound : Tensor of shape (n,)
        The bound, one value per row.
    """
    return terms.reconstruction - terms.kl_v + log_p_y


def unlabeled_elbo(terms: LatentTerms, q_y: Tensor, log_prior: Tensor) -> Tensor:
    r"""Return the bound on log p(x), one value per row (Eq. 6).

    .. math:: \mathcal{L}_{unlab} = E_{q(y|x)} \Big[ E_{q(v|r_y,x)} \log p(x|r_y, v)
              - D_{KL}[q(v|r_y,x) || p(v)] \Big] - D_{KL}[q(y|x) || p(y)]

    Parameters
    ----------
    terms : LatentTerms of shape (n, n_classes)
        The terms of each row at each class. Where `q_y` is 0, any finite value will do.
    q_y : Tensor of shape (n, n_classes)
        Class probabilities q(y | x).
    log_prior : Tensor of shape (n_classes,)
        log p(y).

    Returns
    -------
    bound : Tensor of shape (n,)
        The bound, one value per row.
    """
    return (q_y * (terms.reconstruction - terms.kl_v)).sum(dim=1) - kl_y(q_y, log_prior)


class CountedRows(NamedTuple):
    """The rows of a batch that enter the bound, and their weights in Eq. 7.

    Attributes
    ----------
    rows : Tensor of shape (n_counted,)
        Positions of these rows in the batch.
    labeled, unlabeled : Tensor of shape (n,)
        Two weights for each row of the batch. For a row that enters the bound one of the two
        is 0; for any other row both are.
    any_unlabeled : bool
        Whether any row is unlabelled. A Python bool, so that reading it does not wait for
        the device.
    """

    rows: Tensor
    labeled: Tensor
    unlabeled: Tensor
    any_unlabeled: bool


def semi_supervised_elbo(
    module: EquiVAEModule,
    x: Tensor,
    y: Tensor,
    q_y: Tensor,
    pool: ComplementPool,
    counted: CountedRows,
    log_prior: Tensor,
    generator: torch.Generator,
    seen: Tensor | None = None,
) -> dict[str, Tensor]:
    r"""Return the bound on all rows (Eq. 7) and its terms, estimated from a batch.

    .. math:: \mathcal{L}_{semi} = \sum_{x\ unlab.} \mathcal{L}_{unlab}
              + \sum_{(x, y)\ lab.} \mathcal{L}_{lab}

    The weights turn the two sums over the batch into estimates of the sums over the data.
    A row is decoded only if it enters the bound, and only at classes with non-zero q(y | x).
    Classes without other rows have no r_y (Eq. 2), and are left out: an unlabelled row then has
    the rest of its classes, a labelled row does not enter the bound.

    Parameters
    ----------
    module : EquiVAEModule
        The networks.
    x : Tensor of shape (n, *input_shape)
        The rows of the batch.
    y : Tensor of shape (n,)
        Their class codes; -1 for unlabelled rows.
    q_y : Tensor of shape (n, n_classes)
        Class probabilities; one-hot for labelled rows.
    pool : ComplementPool
        The rows that r_y may be computed from.
    counted : CountedRows
        The rows that enter the bound, and their weights.
    log_prior : Tensor of shape (n_classes,)
        log p(y).
    generator : torch.Generator
        Source of the random numbers.
    seen : Tensor of shape (n, *input_shape), optional
        What q(v | r_y, x) sees of the rows; by default all of x. The bound stays one: it holds
        for any distribution of v.

    Returns
    -------
    terms : dict of str to Tensor
        One scalar for each name in `TERMS`, and `kl_v_dims` of shape (n_equivariant,).
    """
    rows, classes = _pairs(y, q_y, counted)  # (n_pairs,)
    mean, found = pool.mean(rows, classes, generator)
    q_y, possible = _possible(q_y, rows, classes, found)
    r = module.invariant.head(mean)  # (n_pairs, n_invariant)
    # each row is embedded once, however many classes it is decoded at
    place = torch.zeros_like(y)
    place[counted.rows] = torch.arange(len(counted.rows), device=y.device)
    seen = x if seen is None else seen
    h = module.equivariant.embed(seen[counted.rows])[place[rows]]  # (n_pairs, n_hidden)
    of_pairs = latent_terms(module, x[rows], h, r, generator)
    empty = torch.zeros_like(q_y)
    pairs = (rows, classes)
    terms = LatentTerms(*(empty.index_put(pairs, term) for term in of_pairs[:2]))  # (n, K)
    # q(y | x) of a labelled row is one-hot, so the sum picks the term of its class
    expected = LatentTerms(*((q_y * term).sum(dim=1) for term in terms[:2]))  # (n,)
    log_p_y = log_prior[y.clamp(min=0)]
    of_labeled, of_unlabeled = counted.labeled * possible, counted.unlabeled * possible
    labeled = of_labeled * labeled_elbo(expected, log_p_y)
    unlabeled = of_unlabeled * unlabeled_elbo(terms, q_y, log_prior)
    weight = of_labeled + of_unlabeled
    of_pair = (weight[:, None] * q_y.detach())[pairs]  # (n_pairs,)
    return {
        "elbo": labeled.sum() + unlabeled.sum(),
        "reconstruction": (weight * expected.reconstruction).sum(),
        "kl_v": (weight * expected.kl_v).sum(),
        "kl_v_dims": of_pair @ of_pairs.kl_v_dims,
        "kl_y": (of_unlabeled * kl_y(q_y, log_prior)).sum(),
        "log_p_y": (of_labeled * log_p_y).sum(),
    }


def _pairs(y: Tensor, q_y: Tensor, counted: CountedRows) -> tuple[Tensor, Tensor]:
    """Return the row and the class of each pair to decode."""
    if not counted.any_unlabeled:
        return counted.rows, y[counted.rows]
    is_counted = torch.zeros_like(counted.labeled).index_fill(0, counted.rows, 1.0)
    rows, classes = (q_y.detach() * is_counted[:, None]).nonzero(as_tuple=True)
    return rows, classes


def _possible(q_y: Tensor, rows: Tensor, classes: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
    """Return q(y | x) without classes that have no r_y, and whether any class is left per row."""
    lost = torch.zeros_like(q_y, dtype=torch.bool).index_put((rows, classes), ~found)
    rest = q_y.masked_fill(lost, 0.0)
    total = rest.sum(dim=1, keepdim=True)
    rest = rest / total.clamp(min=torch.finfo(q_y.dtype).tiny)
    return torch.where(lost.any(dim=1, keepdim=True), rest, q_y), (total > 0)[:, 0]
