"""Three rules to compute class probabilities of a row: prototype, posterior and likelihood."""

import torch
from torch import Tensor

from .bounds import labeled_elbo, latent_terms
from .module import EquiVAEModule

RULES = ("prototype", "posterior", "likelihood")


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


def bound_by_class(module: EquiVAEModule, x: Tensor, r: Tensor, log_prior: Tensor) -> Tensor:
    """Return the bound on log p(x, y) per class (Eq. 4), at the mean of q(v | r_y, x).

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

    Returns
    -------
    bound : Tensor of shape (n, n_classes)
        One value per row and class.
    """
    h = module.equivariant.embed(x)
    bounds = []
    for r_y, log_p_y in zip(r, log_prior, strict=True):
        terms = latent_terms(module, x, h, r_y.expand(len(x), -1))
        bounds.append(labeled_elbo(terms, log_p_y))
    return torch.stack(bounds, dim=1)


def class_logits(
    module: EquiVAEModule,
    x: Tensor,
    prototypes: Tensor,
    log_prior: Tensor,
    rule: str,
    trained: Tensor | None = None,
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

    Returns
    -------
    logits : Tensor of shape (n, n_classes)
        Unnormalised log-probabilities.
    """
    known = ~prototypes.isnan().any(dim=1).cpu()
    r = prototypes.nan_to_num()
    f_inv = module.f_inv(x)
    by_distance = prototype_logits(to_float64(f_inv), to_float64(r))
    by_distance = by_distance.masked_fill(~known, -torch.inf)
    if rule == "prototype":
        return by_distance
    if trained is None:
        trained = torch.arange(len(r))
    if rule == "posterior":
        logits = to_float64(module.classify(x, f_inv))
    else:
        some = trained.to(r.device)
        logits = to_float64(bound_by_class(module, x, r[some], log_prior[some]))
    logits = logits.masked_fill(~known[trained], -torch.inf)
    if len(trained) == len(r):
        return logits
    left = by_distance[:, trained].logsumexp(dim=1, keepdim=True)
    return by_distance.index_copy(1, trained, logits.log_softmax(dim=1) + left)
