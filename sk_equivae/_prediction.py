"""The three rules by which a class is predicted."""

import torch
from torch import Tensor

from ._distributions import kl_v
from ._module import EquiVAEModule
from ._objective import labeled_elbo
from ._prototypes import prototype_logits

RULES = ("prototype", "posterior", "likelihood")


def class_logits(
    module: EquiVAEModule, x: Tensor, prototypes: Tensor, log_prior: Tensor, rule: str
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
    """
    known = ~prototypes.isnan().any(dim=1)
    r = prototypes.nan_to_num()
    if rule == "prototype":
        # in float64 the square of the largest float32 is finite
        logits = prototype_logits(module.f_inv(x).double(), r.double())
    elif rule == "posterior":
        logits = module.classify(x).double()
    else:
        logits = bound_by_class(module, x, r, log_prior).double()
    return logits.masked_fill(~known, -torch.inf)


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
