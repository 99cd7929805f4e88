"""Three ways from a row to class probabilities: prototype, posterior and likelihood."""

import torch
from torch import Tensor

from .bounds import labeled_elbo, latent_terms
from .module import EquiVAEModule

RULES = ("prototype", "posterior", "likelihood")


def to_float64(values: Tensor) -> Tensor:
    """Return values in float64, on the CPU since not every device has float64.

    The square of the largest float32 is finite there.
    """
    return values.cpu().double()


def prototype_logits(f_inv: Tensor, prototypes: Tensor) -> Tensor:
    r"""Return the logits of the paper's classifier without parameters (Section 3.1).

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


def bound_by_class(module: EquiVAEModule, x: Tensor, r: Tensor, log_prior: Tensor) -> Tensor:
    """Return the bound on log p(x, y) per class (Eq. 4), at the mean of q(v | r_y, x).

    Returns
    -------
    bound : Tensor of shape (n, n_classes)
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

    Parameters
    ----------
    module : EquiVAEModule
    x : Tensor of shape (n, *input_shape)
    prototypes : Tensor of shape (n_classes, n_invariant)
        NaN for a class without any row: its probability is 0.
    log_prior : Tensor of shape (n_classes,)
    rule : {"prototype", "posterior", "likelihood"}
    trained : Tensor of int, optional
        Positions of the classes of training, the outputs of q(y | x), if others have been
        added since. Those have the probability that the prototypes give them, and what is
        left is divided by the rule: q(y | x) has no output for a new class, and the decoder
        never saw its r.
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
