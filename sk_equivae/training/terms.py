"""The terms that training adds to the bound, each a small function of a `View`.

A `View` is one batch and what the networks compute from it. A term is computed only if its weight
is not 0. `history_` records its average per row, next to the terms of `sk_equivae.model.bounds`:

==================  ========================================================
`log_q_y`           log q(y | x) of labelled rows, added to Eq. 4
`consistency`       log q(y | x) of confident, or of weighed, unlabelled rows
`prototype`         log-probability of a row's class by distance to the prototypes
`linear`            log-probability of a row's class by a linear function of f_inv(x)
`accuracy`          accuracy of q(y | x) on labelled rows; augmented, in training
`log_loss`          log-loss of q(y | x) on the same rows; no term of the objective either
==================  ========================================================

To add a term, write a function of a `View`, register it in `TERMS`, and give it a weight in
`term_weights`, usually from a field of `Objective`.
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

# Smallest log-probability that counts.
LOWEST = -1e4


class ClassMemory(nn.Module):
    """The latest mean embedding of the labelled rows of each class.

    It serves unlabelled rows in batches without rows of the class.

    Parameters
    ----------
    n_classes, n_hidden : int
        Number of classes, and size of an embedding.
    """

    means: Tensor
    seen: Tensor

    def __init__(self, n_classes: int, n_hidden: int):
        super().__init__()
        self.register_buffer("means", torch.zeros(n_classes, n_hidden))
        self.register_buffer("seen", torch.zeros(n_classes, dtype=torch.bool))

    def update(self, h: Tensor, codes: Tensor) -> None:
        """Store the class means of a batch; rows with code -1 are ignored."""
        means, _, counts = leave_one_out(h.detach(), codes, len(self.seen))
        present = (counts > 0)[:, None]
        self.means = torch.where(present, means, self.means)
        self.seen = self.seen | present[:, 0]


@dataclass
class View:
    """One batch, and what the networks compute from it.

    Attributes
    ----------
    module : EquiVAEModule
        The networks.
    x : Tensor of shape (n, *input_shape)
        The rows, not augmented.
    y : Tensor of shape (n,)
        Class codes; -1 for unlabelled rows.
    h, f_inv : Tensor of shape (n, n_hidden) and (n, n_invariant)
        Embeddings and invariant representations of the augmented rows.
    logits : Tensor of shape (n, n_classes)
        Logits of q(y | x) for the augmented rows.
    q_y : Tensor of shape (n, n_classes)
        Class probabilities that training assumes; one-hot for labelled rows.
    targets : Tensor of shape (n,)
        Class codes of labelled rows and of confident unlabelled ones, else -1.
    labeled, unlabeled : Tensor of shape (n,)
        Weights that average over the labelled, and over the unlabelled rows.
    positions : Tensor of shape (n_unlabeled,)
        Positions of the unlabelled rows.
    own : Tensor of shape (n_own,)
        Positions of the rows that are not complements only, whose weight is 0.
    memory : ClassMemory
        Mean embeddings of the classes in earlier batches.
    whole : tuple of Tensor
        `h`, `targets` and `y`, followed by those of the other processes that train on the
        same batch.
    soft : Tensor of shape (n, n_classes) or None
        Class probabilities to learn instead of `targets`.
    log_weight : Tensor of shape (n_classes,) or float
        Logarithm of the weights of the classes.
    shares : (float, float)
        Weights of the two averages, over labelled and over unlabelled rows, in the terms. Equal
        unless `soft` is given: then every row of the data counts the same.
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
    own: Tensor
    memory: "ClassMemory"
    whole: tuple[Tensor, ...]
    soft: Tensor | None = None
    log_weight: Tensor | float = 0.0
    shares: tuple[float, float] = (1.0, 1.0)

    @property
    def of_labeled(self) -> Tensor:
        """Weights of the labelled rows in the terms, of shape (n,)."""
        return self.shares[0] * self.labeled

    @property
    def of_unlabeled(self) -> Tensor:
        """Weights of the unlabelled rows in the terms, of shape (n,)."""
        return self.shares[1] * self.unlabeled

    def log_probability(self, logits: Tensor) -> Tensor:
        """Return the log-probability of the target of each row; 0 for rows without a target.

        With `soft` it is the expectation over the classes, the negative cross-entropy.
        """
        if self.soft is not None:
            # a class that was not seen yet has probability 0
            return (self.soft * logits.log_softmax(dim=1).clamp(min=LOWEST)).sum(dim=1)
        return -F.cross_entropy(logits, self.targets, ignore_index=-1, reduction="none")


def log_q_y(view: View) -> Tensor:
    r"""Return :math:`\log q(y|x)` of labelled rows, which the paper adds to Eq. 4."""
    return (view.of_labeled * view.log_probability(view.logits)).sum()


def consistency(view: View) -> Tensor:
    """Return log q(y | x) of confident unlabelled rows at their predicted class."""
    return (view.of_unlabeled * view.log_probability(view.logits)).sum()


def prototype(view: View) -> Tensor:
    """Return the log-probability of a row's class by distance, to means without the row."""
    head, memory = view.module.invariant.head, view.memory
    h, targets, _ = view.whole
    means, others, counts = leave_one_out(h, targets, len(memory.seen))
    means = torch.where((counts > 0)[:, None], means, memory.means)
    logits = prototype_logits(view.f_inv, head(means))  # (n, n_classes)
    logits = logits.masked_fill((counts == 0) & ~memory.seen, -torch.inf)
    own = -(view.f_inv - head(others[: len(view.h)])).square().sum(dim=1, keepdim=True)
    code = view.targets.clamp(min=0)[:, None]
    logits = logits.scatter(1, code, own) + view.log_weight  # as in prediction
    # a row without others of its class has no r_y to be near to (Eq. 2)
    has_others = (counts[code] > 1)[:, 0] | (view.targets < 0)
    weight = (view.of_labeled + view.of_unlabeled) * has_others
    return (weight * view.log_probability(logits)).sum()


def linear(view: View) -> Tensor:
    """Return the log-probability of a row's class by a linear function of f_inv(x)."""
    logits = view.module.invariant.linear(view.f_inv)
    return ((view.of_labeled + view.of_unlabeled) * view.log_probability(logits)).sum()


TERMS: dict[str, Callable[[View], Tensor]] = {
    "log_q_y": log_q_y,
    "consistency": consistency,
    "prototype": prototype,
    "linear": linear,
}


def term_weights(objective: Objective, plan: Plan) -> dict[str, float]:
    """Return the weights of the terms in `TERMS`, without those that are 0."""
    weights = {
        "log_q_y": objective.label_weight,
        "consistency": objective.consistency_weight,
        "prototype": plan.prototype_weight,
        "linear": plan.prototype_weight * objective.linear_weight,
    }
    return {name: float(weight) for name, weight in weights.items() if weight}


def accuracy(view: View) -> Tensor:
    """Return the accuracy of q(y | x) on labelled rows; NaN if there are none."""
    return _mean_of_labeled(view, (view.logits.argmax(dim=1) == view.y).to(view.labeled.dtype))


def log_loss(view: View) -> Tensor:
    """Return the log-loss of q(y | x) on labelled rows; NaN if there are none."""
    losses = F.cross_entropy(view.logits, view.y, ignore_index=-1, reduction="none")
    return _mean_of_labeled(view, losses.detach())


def _mean_of_labeled(view: View, values: Tensor) -> Tensor:
    total = view.labeled.sum()
    if len(view.whole[2]) > len(view.y):  # the part of this process
        any_labeled = (view.whole[2] >= 0).any()
        return torch.where(any_labeled, (view.labeled * values).sum(), torch.nan)
    return torch.where(total > 0, (view.labeled * values).sum() / total, torch.nan)


# What `history_` records in addition; early stopping can go by it.
SCORES: dict[str, Callable[[View], Tensor]] = {"accuracy": accuracy, "log_loss": log_loss}
