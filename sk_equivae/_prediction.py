"""The three rules by which a class is predicted."""

import torch
from torch import Tensor

from ._device import exact
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
    """Unnormalised log-probabilities of the classes, in float64 and on the CPU.

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
    known = ~prototypes.isnan().any(dim=1).cpu()
    r = prototypes.nan_to_num()
    f_inv = module.f_inv(x)
    distances = prototype_logits(exact(f_inv), exact(r)).masked_fill(~known, -torch.inf)
    if rule == "prototype":
        return distances
    if trained is None:
        trained = torch.arange(len(r))
    if rule == "posterior":
        logits = exact(module.classify(x, f_inv))
    else:
        some = trained.to(r.device)
        logits = exact(bound_by_class(module, x, r[some], log_prior[some]))
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
