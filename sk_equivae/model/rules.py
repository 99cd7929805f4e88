"""Three rules to compute class probabilities of a row: prototype, posterior and likelihood."""

from typing import NamedTuple

import torch
from torch import Tensor

from .bounds import LatentTerms, labeled_elbo
from .distributions import ClassNormal, kl_v, kl_within_class
from .module import EquiVAEModule

RULES = ("prototype", "posterior", "likelihood")
# A little less than 1, so that rounding does not decide which class comes first.
ALMOST = 1 - 1e-6


class Scaling(NamedTuple):
    """How logits become those of calibrated probabilities.

    Attributes
    ----------
    log_weight : Tensor of shape (n_classes,)
        What is added to the logits of the prototypes. Outputs after these classes are left out.
    prototype, rule : float
        Temperatures of the prototypes and of the rule.
    """

    log_weight: Tensor
    prototype: float = 1.0
    rule: float = 1.0


def to_float64(values: Tensor) -> Tensor:
    """Return values in float64, on the CPU since not every device supports float64.

    In float64 the square of any float32 is finite.
    """
    return values.cpu().double()


def prototype_logits(f_inv: Tensor, prototypes: Tensor) -> Tensor:
    r"""Return the logits of the paper's parameter-free classifier (Section 3.1).

    .. math:: p(\mathrm{label}(x) = y) \propto \exp(-||f_{inv}(x) - r_y||^2)

    Parameters
    ----------
    f_inv : Tensor of shape (n, n_invariant)
        Invariant representations of rows.
    prototypes : Tensor of shape (n_classes, n_invariant)
        r_y of each class.

    Returns
    -------
    logits : Tensor of shape (n, n_classes)
        Negative squared distances.

    Examples
    --------
    >>> import torch
    >>> prototype_logits(torch.tensor([[0.0, 2.0]]), torch.tensor([[0.0, 0.0], [1.0, 1.0]]))
    tensor([[-4., -2.]])
    """
    return -(f_inv[:, None] - prototypes).square().sum(dim=2)  # (n, n_classes, n_invariant) before


class Styles(NamedTuple):
    r"""What the likelihood rule has learnt of v: p(v|y), and the weight of its divergence.

    The features of a row are not independent given r_y and v, so that log p(x|r_y,v), their sum,
    says the same several times. The weight :math:`\kappa` makes up for that; see `bound_by_class`.
    """

    p_v: ClassNormal
    weight: float


def terms_by_class(
    module: EquiVAEModule, x: Tensor, r: Tensor, p_v: ClassNormal | None = None
) -> LatentTerms:
    """Return the terms of the bound per class, at the mean of q(v | r_y, x).

    Parameters
    ----------
    module : EquiVAEModule
        The networks.
    x : Tensor of shape (n, *input_shape)
        The rows.
    r : Tensor of shape (n_classes, n_invariant)
        r_y of each class.
    p_v : ClassNormal, optional
        p(v|y) of these classes, in place of p(v).

    Returns
    -------
    terms : LatentTerms of shape (n, n_classes)
        One value per row and class.
    """
    h = module.equivariant.embed(x)
    terms = []
    for code, r_y in enumerate(r):
        r_y = r_y.expand(len(x), -1)
        q_v = module.equivariant(h, r_y)
        own = None if p_v is None else ClassNormal(p_v.mean[code], p_v.whitening[code])
        kl = kl_v(q_v) if own is None else kl_within_class(q_v, own)
        terms.append((module.decode(r_y, q_v.mean).log_prob(x), kl))
    return LatentTerms(*(torch.stack(term, dim=1) for term in zip(*terms, strict=True)))


def bound_by_class(
    module: EquiVAEModule, x: Tensor, r: Tensor, log_prior: Tensor, styles: Styles | None = None
) -> Tensor:
    r"""Return the bound on log p(x, y) per class (Eq. 4), at the mean of q(v | r_y, x).

    With styles, p(v|y) takes the place of p(v), and its divergence has a weight:

    .. math:: \log p(x|r_y, v) - \kappa \, D_{KL}[q(v|r_y,x) || p(v|y)] + \log p(y)

    A row that is encoded with a wrong r_y is often decoded well, but from a v that is unusual
    in that class.

    Parameters
    ----------
    module : EquiVAEModule
        The networks.
    x : Tensor of shape (n, *input_shape)
        The rows.
    r : Tensor of shape (n_classes, n_invariant)
        r_y of each class.
    log_prior : Tensor of shape (n_classes,)
        log p(y).
    styles : Styles, optional
        p(v|y) of these classes, and the weight.

    Returns
    -------
    bound : Tensor of shape (n, n_classes)
        One value per row and class.
    """
    terms = terms_by_class(module, x, r, None if styles is None else styles.p_v)
    weight = 1.0 if styles is None else styles.weight
    return labeled_elbo(LatentTerms(terms.reconstruction, weight * terms.kl_v), log_prior)


def class_logits(
    module: EquiVAEModule,
    x: Tensor,
    prototypes: Tensor,
    log_prior: Tensor,
    rule: str,
    trained: Tensor | None = None,
    scaling: Scaling | None = None,
    styles: Styles | None = None,
) -> Tensor:
    """Return unnormalised log-probabilities of the classes, in float64 and on the CPU.

    Classes that were added after training always get the probability that the prototypes give
    them, since q(y | x) has no output for them and the decoder was not trained on their r_y.
    The rule divides the rest among the classes of training.

    Parameters
    ----------
    module : EquiVAEModule
        The networks.
    x : Tensor of shape (n, *input_shape)
        The rows.
    prototypes : Tensor of shape (n_classes, n_invariant)
        r_y of each class; NaN for a class without any row, whose probability is 0.
    log_prior : Tensor of shape (n_classes,)
        log p(y).
    rule : {"prototype", "posterior", "likelihood"}
        How the probabilities are computed; see `predict_with` of the estimators.
    trained : Tensor of int, optional
        Positions of the classes of training; all classes by default.
    scaling : Scaling, optional
        Weights, and the temperatures that logits are divided by; none by default.
    styles : Styles, optional
        What the likelihood rule has learnt of v in the classes of training.

    Returns
    -------
    logits : Tensor of shape (n, n_classes)
        Unnormalised log-probabilities.
    """
    if scaling is None:
        scaling = Scaling(torch.zeros(len(prototypes), dtype=torch.float64))
    n_classes = len(scaling.log_weight)
    known = ~prototypes.isnan().any(dim=1).cpu()
    r = prototypes.nan_to_num()
    f_inv = module.f_inv(x)
    by_distance = prototype_logits(to_float64(f_inv), to_float64(r))
    by_distance = by_distance.masked_fill(~known, -torch.inf)[:, :n_classes]
    by_distance = (by_distance + scaling.log_weight) / scaling.prototype
    if rule == "prototype":
        return by_distance
    if trained is None:
        trained = torch.arange(len(r))
    if rule == "posterior":
        logits = to_float64(module.classify(x, f_inv))
    else:
        some = trained.to(r.device)
        logits = to_float64(bound_by_class(module, x, r[some], log_prior[some], styles))
    logits = logits.masked_fill(~known[trained], -torch.inf) / scaling.rule
    if len(trained) == len(r):
        return logits[:, :n_classes]
    trained = trained[: len(trained) - (len(r) - n_classes)]  # outputs to leave out come last
    left = by_distance[:, trained].logsumexp(dim=1, keepdim=True)
    divided = logits[:, : len(trained)].log_softmax(dim=1)
    return by_distance.index_copy(1, trained, divided + left)


def mixed_with_prior(p: Tensor, prior: Tensor, share: Tensor) -> Tensor:
    r"""Return class probabilities drawn towards the prior, in which the same class comes first.

    .. math:: \tilde p(y|x) = (1 - w) \, p(y|x) + w \, p(y)

    where w is the given share, or the largest at which the most probable class remains so.

    Parameters
    ----------
    p : Tensor of shape (n, n_classes)
        Class probabilities.
    prior : Tensor of shape (n_classes,)
        p(y).
    share : Tensor of shape (n,)
        How much of the prior to take, from 0 to 1.

    Returns
    -------
    p : Tensor of shape (n, n_classes)
        The mixture.

    Examples
    --------
    >>> import torch
    >>> p, prior = torch.tensor([[0.0, 1.0], [0.0, 1.0]]), torch.tensor([0.75, 0.25])
    >>> mixed_with_prior(p, prior, torch.tensor([0.5, 1.0]))
    tensor([[0.3750, 0.6250],
            [0.5000, 0.5000]])
    """
    largest, code = p.max(dim=1, keepdim=True)
    ahead, behind = largest - p, (prior - prior[code]).clamp(min=0.0)
    # the share at which another class draws level; 1 for classes that are not more frequent
    level = torch.where(behind > 0, ahead / (ahead + behind), 1.0).amin(dim=1)
    share = torch.minimum(share, level * ALMOST)[:, None]
    return (1 - share) * p + share * prior
