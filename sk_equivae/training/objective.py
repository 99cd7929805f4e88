"""What training maximises: the bound of the paper plus added terms, each with a weight."""

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ..model.bounds import TERMS as BOUND_TERMS
from ..model.bounds import CountedRows, semi_supervised_elbo
from ..model.complements import ComplementPool
from ..model.module import EquiVAEModule
from .augment import Augment
from .pseudo_labels import Source, UnlabeledRows, confident_targets, truncate
from .settings import Objective, Plan
from .terms import TERMS, ClassMemory, View, accuracy, term_weights

# log p(y) of a class that has been announced but not seen.
SMALLEST_PRIOR = 1e-6


class EquiVAEObjective(nn.Module):
    """The total that training maximises, for one batch.

    Parameters
    ----------
    class_prior : ndarray of shape (n_classes,)
    n_hidden : int
        Size of the embedding between body and head of f_inv.
    m_max : int
    objective : Objective
    plan : Plan
    sources : list of Source
        What is believed of unlabelled rows.
    augment : callable or None
        Takes a batch and a generator and returns a batch.
    """

    log_prior: Tensor

    def __init__(
        self,
        class_prior: NDArray[np.float64],
        n_hidden: int,
        m_max: int,
        objective: Objective,
        plan: Plan,
        sources: list[Source],
        augment: Augment | None,
    ):
        super().__init__()
        log_prior = torch.from_numpy(np.log(np.maximum(class_prior, SMALLEST_PRIOR)))
        self.register_buffer("log_prior", log_prior)
        self.memory = ClassMemory(len(class_prior), n_hidden)
        self.m_max = m_max
        self.settings = objective
        self.plan = plan
        self.sources = sources
        self.augment = augment
        self.weights = term_weights(objective, plan)
        self.kl_weight = 1.0

    @property
    def term_names(self) -> list[str]:
        """The names of all terms, in the order of the history."""
        return ["objective", *BOUND_TERMS, *self.weights, "accuracy"]

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
        inputs : dict
            x, weight and, if there is any, evidence.
        y : Tensor of shape (n,)
            -1 marks unlabelled rows. It may be on the CPU, so that nothing waits for the
            device to count them.
        generator : torch.Generator
        teacher : EquiVAEModule, optional
            The networks that label unlabelled rows. Without it the module itself does,
            with gradient, as in the paper.
        """
        view = self._view(module, inputs, y, generator, teacher)
        terms = self._bound(view, generator)
        kl_weight = self.kl_weight if self.training else 1.0
        total = terms["elbo"] + (1 - kl_weight) * terms["kl_v"]
        for name, weight in self.weights.items():
            terms[name] = TERMS[name](view)
            total = total + weight * terms[name]
        return {"objective": total, **terms, "accuracy": accuracy(view)}, view.logits

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
        if len(positions):
            if teacher is not None:
                believed = self._believe(x[positions], positions, teacher, inputs.get("evidence"))
            elif changed is x:
                believed = logits[positions].softmax(dim=1)
            else:
                believed = module.classify(x[positions]).softmax(dim=1)
            q_y = q_y.index_put((positions,), believed)
        targets = confident_targets(y, q_y, self.settings.confidence)
        q_y = truncate(q_y, self.settings.class_threshold, self.settings.max_classes)
        labeled, unlabeled = _mean_weights(y, inputs["weight"])
        return View(
            module, x, y, h, f_inv, logits, q_y, targets, labeled, unlabeled, positions, self.memory
        )  # fmt: skip

    def _believe(
        self, x: Tensor, positions: Tensor, teacher: EquiVAEModule, evidence: Tensor | None
    ) -> Tensor:
        """Return what the sources believe of the classes of unlabelled rows."""
        own = None if evidence is None else evidence[positions]
        rows = UnlabeledRows(x, own, teacher, self.log_prior, self.training)
        q_y = self.log_prior.exp().expand(len(x), -1)
        for source in self.sources:
            q_y = source.revise(q_y, rows)
        return q_y

    def _bound(self, view: View, generator: torch.Generator) -> dict[str, Tensor]:
        """Return Eq. 7 and its terms for the rows that count."""
        counted = self._counted(view, generator)
        codes = view.targets if self.settings.complement_pool == "confident" else view.y
        pool = ComplementPool(
            view.h, codes, self.m_max, self.training, self.memory.means, self.memory.seen
        )
        terms = semi_supervised_elbo(
            view.module, view.x, view.y, view.q_y, pool, counted, self.log_prior, generator
        )
        if self.training:
            self.memory.update(view.h, codes)
        return terms

    def _counted(self, view: View, generator: torch.Generator) -> CountedRows:
        """Return the rows of the batch that the bound counts.

        In training these are the unlabelled rows, and as many random labelled ones as make
        up their share of Eq. 7: few labels are in every batch to be classified and to stand
        in for their class, but the bound would learn them by heart.
        """
        y, share, n_unlabeled = view.y, self.plan.labeled_share, len(view.positions)
        n_labeled = len(y) - n_unlabeled
        n_most = share * n_unlabeled
        all_count = n_most >= (1 - share) * n_labeled or not n_unlabeled
        labeled = view.labeled
        if all_count or not self.training:
            rows = torch.arange(len(y), device=y.device)
        else:
            n_few = max(1, round(n_most / (1 - share)))
            order = torch.rand(y.shape, generator=generator, device=y.device)
            few = order.masked_fill(y < 0, -1.0).topk(min(n_few, n_labeled)).indices
            rows = torch.cat([view.positions, few])
            labeled = labeled * torch.zeros_like(labeled).index_fill(0, few, 1.0)
        labeled = _normalize(labeled)
        labeled_share = share if self.training else 1.0
        return CountedRows(
            rows, labeled_share * labeled, (1 - share) * view.unlabeled, n_unlabeled > 0
        )


def _normalize(weight: Tensor) -> Tensor:
    """Return weights that sum to 1, or all 0."""
    return weight / weight.sum().clamp(min=torch.finfo(weight.dtype).tiny)


def _mean_weights(y: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return weights that average the labelled and the unlabelled rows of a batch."""
    return _normalize(weight * (y >= 0)), _normalize(weight * (y < 0))
