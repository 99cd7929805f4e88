"""The function that training maximises: the bound of the paper plus weighted terms."""

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ..model.bounds import TERMS as BOUND_TERMS
from ..model.bounds import CountedRows, semi_supervised_elbo
from ..model.complements import ComplementPool
from ..model.mixed import hide
from ..model.module import EquiVAEModule
from .augment import Augment
from .distributed import current_world
from .pseudo_labels import Experts, Report, Source, UnlabeledRows, confident_targets, truncate
from .settings import Objective, Plan
from .terms import SCORES, TERMS, ClassMemory, View, term_weights
from .world import World

# Smallest p(y), for classes that were announced in `partial_fit` but have no rows yet.
SMALLEST_PRIOR = 1e-6


class EquiVAEObjective(nn.Module):
    """The objective of one batch, and all terms that it consists of.

    Parameters
    ----------
    class_prior : ndarray of shape (n_classes,)
        Class probabilities p(y).
    n_hidden : int
        Size of an embedding, the input of the head of f_inv.
    m_max : int
        Largest number of complements.
    objective : Objective
        The user's settings.
    plan : Plan
        The same settings with every "auto" resolved.
    sources : list of Source
        Sources of class probabilities for unlabelled rows.
    augment : callable or None
        Takes a batch and a generator, and returns a batch.
    class_weight : ndarray of shape (n_classes,), optional
        Weights of the classes, which prediction by distance goes by; 1 by default.
    """

    log_prior: Tensor
    log_weight: Tensor

    def __init__(
        self,
        class_prior: NDArray[np.float64],
        n_hidden: int,
        m_max: int,
        objective: Objective,
        plan: Plan,
        sources: list[Source],
        augment: Augment | None,
        class_weight: NDArray[np.float64] | None = None,
    ):
        super().__init__()
        log_prior = torch.from_numpy(np.log(np.maximum(class_prior, SMALLEST_PRIOR)))
        self.register_buffer("log_prior", log_prior)
        weight = np.ones(len(class_prior)) if class_weight is None else class_weight
        self.register_buffer("log_weight", torch.from_numpy(np.log(weight)))
        self.memory = ClassMemory(len(class_prior), n_hidden)
        self.m_max = m_max
        self.settings = objective
        self.plan = plan
        self.sources = sources
        self.augment = augment
        self.weights = term_weights(objective, plan)
        self.kl_weight = 1.0

    @property
    def experts(self) -> Experts | None:
        """The source that weighs opinions on tabular rows, if there is one."""
        return next((source for source in self.sources if isinstance(source, Experts)), None)

    @property
    def report(self) -> Report | None:
        """What the experts found out before training; None if they were not asked."""
        return None if self.experts is None else self.experts.report_

    @property
    def term_names(self) -> list[str]:
        """Names of all terms, in the order of the history."""
        return ["objective", *BOUND_TERMS, *self.weights, *SCORES]

    def forward(
        self,
        module: EquiVAEModule,
        inputs: dict[str, Tensor],
        y: Tensor,
        generator: torch.Generator,
        teacher: EquiVAEModule | None = None,
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Return all terms, averaged over the batch, and the logits of q(y | x).

        Parameters
        ----------
        module : EquiVAEModule
            The networks to train.
        inputs : dict of str to Tensor
            The batch: x, weight and, if there are any, evidence and `own`, the positions of
            rows that are not there as complements only.
        y : Tensor of shape (n,)
            Class codes; -1 for unlabelled rows. It may be on the CPU, so that counting
            unlabelled rows does not wait for the device.
        generator : torch.Generator
            Source of the random numbers.
        teacher : EquiVAEModule, optional
            The networks that label unlabelled rows. Without it the module itself does, with
            gradient, as in the paper.

        Returns
        -------
        terms : dict of str to Tensor
            One scalar for each of `term_names`.
        logits : Tensor of shape (n, n_classes)
            Logits of q(y | x) for the augmented rows.
        """
        view = self._view(module, inputs, y, generator, teacher)
        terms = self._bound(view, generator)
        kl_weight = self.settings.kl_weight * self.kl_weight if self.training else 1.0
        total = terms["elbo"] + (1 - kl_weight) * terms["kl_v"]
        for name, weight in self.weights.items():
            terms[name] = TERMS[name](view)
            total = total + weight * terms[name]
        scores = {name: score(view) for name, score in SCORES.items()}
        return {"objective": total, **terms, **scores}, view.logits

    def _view(
        self,
        module: EquiVAEModule,
        inputs: dict[str, Tensor],
        y: Tensor,
        generator: torch.Generator,
        teacher: EquiVAEModule | None,
    ) -> View:
        x = inputs["x"]
        positions = (y < 0).nonzero()[:, 0].to(x.device)
        y = y.to(x.device)
        changed = x
        if self.training and self.augment is not None:
            changed = self.augment(x, generator)
        h = module.invariant.embed(changed)
        f_inv = module.invariant.head(h)
        logits = module.classify(changed, f_inv, generator if self.training else None)
        q_y = F.one_hot(y.clamp(min=0), len(self.log_prior)).to(x.dtype)
        world = current_world() if self.training else World()
        if len(positions) if world.batch is None else world.batch.n_unlabeled:
            if self._learns_evidence(inputs):
                believed = inputs["evidence"][positions]
            elif teacher is not None:
                believed = self._believe(x[positions], positions, teacher, inputs.get("evidence"))
            elif changed is x:
                believed = logits[positions].softmax(dim=1)
            else:
                believed = module.classify(x[positions]).softmax(dim=1)
            q_y = q_y.index_put((positions,), believed)
        # the experts' probabilities are learnt as they are; other beliefs only if confident
        soft = q_y if self._learns_evidence(inputs) else None
        targets = confident_targets(y, q_y, self.settings.confidence if soft is None else 0.0)
        q_y = truncate(q_y, self.plan.class_threshold, self.plan.max_classes)
        labeled, unlabeled = _mean_weights(y, inputs["weight"], world)
        own = inputs.get("own", torch.arange(len(y), device=x.device))
        whole = world.exchange(h, targets, y)
        return View(
            module, x, y, h, f_inv, logits, q_y, targets, labeled, unlabeled, positions,
            own, self.memory, whole, soft, self.log_weight, self._shares(soft),
        )  # fmt: skip

    def _shares(self, soft: Tensor | None) -> tuple[float, float]:
        """Return the weights of labelled and of unlabelled rows in the terms; their mean is 1.

        With the weight of all others together, a few labels would be learnt by heart, and the
        networks would differ from the experts wherever these do not follow a single label.
        """
        share = self.plan.labeled_share
        return (1.0, 1.0) if soft is None else (2 * share, 2 * (1 - share))

    def _learns_evidence(self, inputs: dict[str, Tensor]) -> bool:
        """Whether a batch has class probabilities that experts have weighed."""
        return "evidence" in inputs and self.report is not None

    def _believe(
        self, x: Tensor, positions: Tensor, teacher: EquiVAEModule, evidence: Tensor | None
    ) -> Tensor:
        """Return the class probabilities of unlabelled rows, revised by all sources."""
        own = None if evidence is None else evidence[positions]
        rows = UnlabeledRows(x, own, teacher, self.log_prior, self.training)
        q_y = self.log_prior.exp().expand(len(x), -1)
        for source in self.sources:
            q_y = source.revise(q_y, rows)
        return q_y

    def _bound(self, view: View, generator: torch.Generator) -> dict[str, Tensor]:
        """Return Eq. 7 and its terms for a batch."""
        counted = self._counted(view, generator)
        h, targets, y = view.whole
        codes = targets if self.settings.complement_pool == "confident" else y
        memory = self.memory
        # rows of validation are in no earlier batch
        earlier = y if self.training else torch.full_like(y, -1)
        pool = ComplementPool(
            h, codes, earlier, self.m_max, self.training, memory.means, memory.seen
        )
        seen, layout = None, view.module.layout
        if self.training and layout is not None and self.plan.hidden_fraction > 0:
            seen = hide(view.x, layout, self.plan.hidden_fraction, generator)
        terms = semi_supervised_elbo(
            view.module, view.x, view.y, view.q_y, pool, counted, self.log_prior, generator, seen
        )
        if self.training:
            memory.update(*current_world().in_order(h, y))
        return terms

    def _counted(self, view: View, generator: torch.Generator) -> CountedRows:
        """Return the rows of the batch that enter the bound, and their weights.

        In training these are the unlabelled rows, and a random part of the labelled rows,
        according to `labeled_share`. If labels are few, their rows are in every batch, to be
        classified and to serve as complements. If they all entered the bound each time, it would
        overfit them.
        """
        y, share, n_unlabeled = view.y, self.plan.labeled_share, len(view.positions)
        n_labeled = len(view.own) - n_unlabeled
        n_most = share * n_unlabeled
        all_count = n_most >= (1 - share) * n_labeled or not n_unlabeled
        labeled = view.labeled
        if all_count or not self.training:
            rows = view.own
        else:
            n_few = max(1, round(n_most / (1 - share)))
            order = torch.rand(y.shape, generator=generator, device=y.device)
            few = order.masked_fill(view.labeled == 0, -1.0).topk(min(n_few, n_labeled)).indices
            rows = torch.cat([view.positions, few])
            labeled = labeled * torch.zeros_like(labeled).index_fill(0, few, 1.0)
        labeled = _normalize(labeled)
        if self.training and not current_world().alone:
            labeled = labeled * view.labeled.sum()  # the part of this process
        labeled_share = share if self.training else 1.0
        return CountedRows(
            rows, labeled_share * labeled, (1 - share) * view.unlabeled, n_unlabeled > 0
        )


def _normalize(weight: Tensor, total: float | None = None) -> Tensor:
    """Return weights divided by their sum, or by a given total, unless it is 0."""
    tiny = torch.finfo(weight.dtype).tiny
    return weight / (weight.sum().clamp(min=tiny) if total is None else max(total, tiny))


def _mean_weights(y: Tensor, weight: Tensor, world: World) -> tuple[Tensor, Tensor]:
    """Return weights that average over the labelled, and over the unlabelled rows of a batch.

    With several processes these are averages over the rows of all of them.
    """
    totals = (None, None) if world.batch is None else world.batch[2:]
    return _normalize(weight * (y >= 0), totals[0]), _normalize(weight * (y < 0), totals[1])
