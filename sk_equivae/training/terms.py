"""The terms that training adds to the bound, each a small function of a `View`.

A `View` is one batch as the networks see it. A term is computed only if its weight is not 0.
In `history_` it is the average per row, beside the terms of `sk_equivae.model.bounds`:

==================  ========================================================
`log_q_y`           log q(y | x) of labelled rows, added to Eq. 4
`consistency`       log q(y | x) of confident unlabelled rows
`prototype`         log-probability of a row's class by distance to the classes
`linear`            the same by linear functions of f_inv(x)
`accuracy`          of q(y | x) on the labelled rows, as training sees them
==================  ========================================================

To add a term, write a function of a `View`, name it in `TERMS`, and give it a weight in
`term_weights`, from a field of `Objective`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..model.complements import leave_one_out
from ..model.module import EquiVAEModule
from ..model.rules import prototype_logits
from .settings import Objective, Plan


class ClassMemory(nn.Module):
    """The last mean embedding of each class, for batches that hold none of its rows.

    Parameters
    ----------
    n_classes, n_hidden : int
    """

    means: Tensor
    seen: Tensor

    def __init__(self, n_classes: int, n_hidden: int):
        super().__init__()
        self.register_buffer("means", torch.zeros(n_classes, n_hidden))
        self.register_buffer("seen", torch.zeros(n_classes, dtype=torch.bool))

    def update(self, h: Tensor, codes: Tensor) -> None:
        """Keep the means of the classes of a batch; -1 in `codes` counts for none."""
        means, _, counts = leave_one_out(h.detach(), codes, len(self.seen))
        present = (counts > 0)[:, None]
        self.means = torch.where(present, means, self.means)
        self.seen = self.seen | present[:, 0]


@dataclass
class View:
    """One batch, as the networks see it.

    Attributes
    ----------
    module : EquiVAEModule
    x : Tensor of shape (n, *input_shape)
    y : Tensor of shape (n,)
        -1 for unlabelled rows.
    h, f_inv : Tensor of shape (n, n_hidden) and (n, n_invariant)
        Of the augmented rows.
    logits : Tensor of shape (n, n_classes)
        Of q(y | x) of the augmented rows.
    q_y : Tensor of shape (n, n_classes)
        What is believed of the classes: one-hot for labelled rows.
    targets : Tensor of shape (n,)
        Codes of labelled and of confident rows, else -1.
    labeled, unlabeled : Tensor of shape (n,)
        Weights that average the labelled and the unlabelled rows.
    positions : Tensor of shape (n_unlabeled,)
        Of the unlabelled rows.
    memory : ClassMemory
    """

    module: EquiVAEModule
    x: Tensor
    y: Tensor
    h: Tensor
    f_inv: Tensor
    logits: Tensor
    q_y: Tensor
    targets: Tensor
    labeled: Tensor
    unlabeled: Tensor
    positions: Tensor
    memory: "ClassMemory"

    def log_probability(self, logits: Tensor) -> Tensor:
        """Return the log-probability of the target of each row; 0 where there is none."""
        return -F.cross_entropy(logits, self.targets, ignore_index=-1, reduction="none")


def log_q_y(view: View) -> Tensor:
    r"""Return :math:`\log q(y|x)` of labelled rows, which the paper adds to Eq. 4."""
    return (view.labeled * view.log_probability(view.logits)).sum()


def consistency(view: View) -> Tensor:
    """Return log q(y | x) of confident unlabelled rows at the class that they are taken for."""
    return (view.unlabeled * view.log_probability(view.logits)).sum()


def prototype(view: View) -> Tensor:
    """Return the log-probability of a row's class by distance, the row itself left out."""
    head, memory = view.module.invariant.head, view.memory
    means, others, counts = leave_one_out(view.h, view.targets, len(memory.seen))
    means = torch.where((counts > 0)[:, None], means, memory.means)
    logits = prototype_logits(view.f_inv, head(means))  # (n, n_classes)
    logits = logits.masked_fill((counts == 0) & ~memory.seen, -torch.inf)
    own = -(view.f_inv - head(others)).square().sum(dim=1, keepdim=True)
    code = view.targets.clamp(min=0)[:, None]
    has_others = counts[code] > 1
    logits = logits.scatter(1, code, torch.where(has_others, own, logits.gather(1, code)))
    return ((view.labeled + view.unlabeled) * view.log_probability(logits)).sum()


def linear(view: View) -> Tensor:
    """Return the log-probability of a row's class by a linear function of f_inv(x)."""
    logits = view.module.invariant.linear(view.f_inv)
    return ((view.labeled + view.unlabeled) * view.log_probability(logits)).sum()


TERMS: dict[str, Callable[[View], Tensor]] = {
    "log_q_y": log_q_y,
    "consistency": consistency,
    "prototype": prototype,
    "linear": linear,
}


def term_weights(objective: Objective, plan: Plan) -> dict[str, float]:
    """Return the weights of the added terms that are not 0."""
    weights = {
        "log_q_y": objective.label_weight,
        "consistency": objective.consistency_weight,
        "prototype": plan.prototype_weight,
        "linear": plan.prototype_weight * objective.linear_weight,
    }
    return {name: float(weight) for name, weight in weights.items() if weight}


def accuracy(view: View) -> Tensor:
    """Return the accuracy of q(y | x) on labelled rows; NaN without any."""
    right = (view.logits.argmax(dim=1) == view.y).to(view.labeled.dtype)
    total = view.labeled.sum()
    return torch.where(total > 0, (view.labeled * right).sum() / total, torch.nan)
