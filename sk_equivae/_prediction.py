"""The three rules by which a class is predicted."""

import torch
from torch import Tensor

from ._distributions import kl_v
from ._module import EquiVAEModule
from ._objective import labeled_elbo
from ._prototypes import prototype_logits

RULES = ("prototype", "posterior", "likelihood")


def class_logits(
    module: EquiVAEModule,
    x: Tensor,
    prototypes: Tensor,
    log_prior: Tensor,
    rule: str,
    trained: Tensor | None = None,
) -> Tensor:
    """Unnormalised log-probabilities of the classes, in float64.

    Parameters
    ----------
    x : Tensor of shape (n, *input_shape)
        Normalised rows.
    prototypes : Tensor of shape (n_classes, n_invariant)
        NaN for a class of which no row was seen: its probability is 0.
    log_prior : Tensor of shape (n_classes,)
    rule : {"prototype", "posterior", "likelihood"}
    trained : Tensor of int, optional
        Positions of the classes of training, the outputs of q(y | x), where others have
        been added since. Those have the probability that the prototypes give them, and
        what is left is divided by the rule: q(y | x) has no output for a new class, and
        the decoder never saw its r.
    """
    known = ~prototypes.isnan().any(dim=1)
    r = prototypes.nan_to_num()
    f_inv = module.f_inv(x)
    # in float64 the square of the largest float32 is finite
    distances = prototype_logits(f_inv.double(), r.double())
    distances = distances.masked_fill(~known, -torch.inf)
    if rule == "prototype":
        return distances
    if trained is None:
        trained = torch.arange(len(r), device=r.device)
    if rule == "posterior":
        logits = module.classify(x, f_inv).double()
    else:
        logits = bound_by_class(module, x, r[trained], log_prior[trained]).double()
    logits = logits.masked_fill(~known[trained], -torch.inf)
    if len(trained) == len(r):
        return logits
    left = distances[:, trained].logsumexp(dim=1, keepdim=True)
    return distances.index_copy(1, trained, logits.log_softmax(dim=1) + left)


def bound_by_class(module: EquiVAEModule, x: Tensor, r: Tensor, log_prior: Tensor) -> Tensor:
    """The bound on log p(x, y) for each class (Eq. 4), at the mean of q(v | r_y, x).

    Returns
    -------
    bound : Tensor of shape (n, n_classes)
    """
    h = module.equivariant.embed(x)
    bounds = []
    for r_y, log_p_y in zip(r, log_prior, strict=True):
        r_y = r_y.expand(len(x), -1)
        q_v = module.equivariant(h, r_y)
        reconstruction = module.decode(r_y, q_v.mean).log_prob(x)
        bounds.append(labeled_elbo(reconstruction, kl_v(q_v), log_p_y))
    return torch.stack(bounds, dim=1)
