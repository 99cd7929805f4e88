"""The bounds of the paper as named terms, and their total.

Every function returns what is to be *maximised*; the loss is the negative of
the total. Where a name of a term appears in `history_` it is the average a row:

==================  ========================================================
`reconstruction`    E_q log p(x | r_y, v)
`kl_v`              KL[q(v | r_y, x) || p(v)]
`kl_y`              KL[q(y | x) || p(y)], unlabelled rows
`log_p_y`           log p(y), labelled rows
`elbo`              reconstruction - kl_v - kl_y + log_p_y (Eq. 7)
`log_q_y`           log q(y | x) of labelled rows, added to Eq. 4
`consistency`       log q(y | x) of confident unlabelled rows
`prototype`         log-softmax of the distance to one's own class
`linear`            the same by linear functions of f_inv(x) instead of distances
`objective`         the weighted total
==================  ========================================================
"""

import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ._complements import complements, draw_m, leave_one_out
from ._distributions import kl_v, kl_y
from ._label_posterior import align, combine, confident_targets, truncate
from ._module import EquiVAEModule
from ._prototypes import prototype_logits

# log p(y) of a class that has been announced but not seen.
SMALLEST_PRIOR = 1e-6

# The mean of q(y | x) over unlabelled rows moves by 1 - MEAN_DECAY of the way at each step.
MEAN_DECAY = 0.99

# Weight of `linear` relative to `prototype`. Where f_inv does not tell classes apart yet,
# distances alone are least wrong when all are 0, and there they have no gradient: f_inv stays
# a constant. Linear functions have no such trap.
LINEAR = 3.0

TERMS = (
    "objective", "elbo", "reconstruction", "kl_v", "kl_y", "log_p_y",
    "log_q_y", "consistency", "prototype", "linear",
)  # fmt: skip


def labeled_elbo(reconstruction: Tensor, kl_v: Tensor, log_p_y: Tensor) -> Tensor:
    r"""The bound on log p(x, y), one value a row (Eq. 4).

    .. math:: \mathcal{L}_{lab} = E_{q(v|r_y,x)} \log p(x|r_y, v)
              - D_{KL}[q(v|r_y,x) || p(v)] + \log p(y)
    """
    return reconstruction - kl_v + log_p_y


def unlabeled_elbo(q_y: Tensor, reconstruction: Tensor, kl_v: Tensor, log_prior: Tensor) -> Tensor:
    r"""The bound on log p(x), one value a row (Eq. 6).

    .. math:: \mathcal{L}_{unlab} = E_{q(y|x)} \Big[ E_{q(v|r_y,x)} \log p(x|r_y, v)
              - D_{KL}[q(v|r_y,x) || p(v)] \Big] - D_{KL}[q(y|x) || p(y)]

    Parameters
    ----------
    q_y, reconstruction, kl_v : Tensor of shape (n, n_classes)
        The last two may hold anything finite where `q_y` is 0.
    log_prior : Tensor of shape (n_classes,)
    """
    return (q_y * (reconstruction - kl_v)).sum(dim=1) - kl_y(q_y, log_prior)


def semi_supervised_elbo(
    labeled: Tensor, unlabeled: Tensor, labeled_weight: Tensor, unlabeled_weight: Tensor
) -> Tensor:
    r"""The bound on all rows (Eq. 7), estimated from the rows of a batch.

    .. math:: \mathcal{L}_{semi} = \sum_{x\ unlab.} \mathcal{L}_{unlab}
              + \sum_{(x, y)\ lab.} \mathcal{L}_{lab}

    The weights, one a row, turn the two sums over the batch into estimates of
    the sums over the data.
    """
    return (labeled_weight * labeled).sum() + (unlabeled_weight * unlabeled).sum()


def _log_probability(logits: Tensor, targets: Tensor) -> Tensor:
    """The log-probability of the target class of each row; 0 where the target is -1."""
    return -F.cross_entropy(logits, targets, ignore_index=-1, reduction="none")


def _row_weights(y: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Weights that average the labelled and the unlabelled rows of a batch."""
    tiny = torch.finfo(weight.dtype).tiny
    labeled, unlabeled = weight * (y >= 0), weight * (y < 0)
    return labeled / labeled.sum().clamp(min=tiny), unlabeled / unlabeled.sum().clamp(min=tiny)


class EquiVAEObjective(nn.Module):
    """The total that training maximises, for one batch.

    Parameters
    ----------
    n_classes : int
    n_hidden : int
        Size of the embedding between body and head of f_inv.
    m_max, class_threshold, complement_pool : see `EquiVAEClassifier`
    confidence, distribution_alignment : see `EquiVAEClassifier`
    label_weight, consistency_weight, prototype_weight : see `EquiVAEClassifier`
    augment : callable or None
        Takes a batch and a generator and returns a batch.
    """

    log_prior: Tensor
    mean_q_y: Tensor
    class_embeddings: Tensor
    seen: Tensor

    def __init__(
        self,
        n_classes: int,
        n_hidden: int,
        *,
        m_max: int,
        class_threshold: float,
        complement_pool: str,
        confidence: float,
        distribution_alignment: bool,
        label_weight: float,
        consistency_weight: float,
        prototype_weight: float,
        augment: Callable | None,
    ):
        super().__init__()
        self.register_buffer("log_prior", torch.full((n_classes,), -math.log(n_classes)))
        self.register_buffer("mean_q_y", torch.full((n_classes,), 1 / n_classes))
        # Where the batch holds nobody of a class, its last mean stands in.
        self.register_buffer("class_embeddings", torch.zeros(n_classes, n_hidden))
        self.register_buffer("seen", torch.zeros(n_classes, dtype=torch.bool))
        self.labeled_share = 1.0
        self.kl_weight = 1.0
        self.m_max = m_max
        self.class_threshold = class_threshold
        self.complement_pool = complement_pool
        self.confidence = confidence
        self.distribution_alignment = distribution_alignment
        self.label_weight = label_weight
        self.consistency_weight = consistency_weight
        self.prototype_weight = prototype_weight
        self.augment = augment

    def set_data(self, class_prior: NDArray, labeled_share: float) -> None:
        """Tell p(y), and what part of Eq. 7 the labelled rows make up."""
        log_prior = np.log(np.maximum(class_prior, SMALLEST_PRIOR))
        self.log_prior.copy_(torch.from_numpy(log_prior))
        self.mean_q_y.copy_(self.log_prior.exp())
        self.labeled_share = labeled_share

    def forward(
        self,
        module: EquiVAEModule,
        batch: tuple[Tensor, ...],
        generator: torch.Generator,
        teacher: EquiVAEModule | None = None,
    ) -> dict[str, Tensor]:
        """All terms, averaged over the batch; `objective` is their total.

        Parameters
        ----------
        batch : (x, y, weight) or (x, y, weight, posterior)
            y = -1 marks unlabelled rows. y may stay on the CPU, so that nobody waits for the
            device to count them. What the teacher says is multiplied by the posterior.
        teacher : EquiVAEModule, optional
            Gives q(y | x) of unlabelled rows, without gradient. Without one the
            module itself does, with gradient, as in the paper.
        """
        x, y, weight, *posterior = batch
        unlabeled = (y < 0).nonzero()[:, 0].to(x.device)
        y = y.to(x.device)
        x = module.normalize(x)
        seen_x = x
        if self.training and self.augment is not None:
            seen_x = self.augment(x, generator)
        h = module.invariant.embed(seen_x)
        f_inv = module.invariant.head(h)
        logits = module.classify(seen_x, f_inv, generator if self.training else None)

        own_logits = logits if seen_x is x else None
        q_y = self._label_posterior(module, x, y, unlabeled, own_logits, teacher, *posterior)
        targets = confident_targets(y, q_y, self.confidence)
        q_y = truncate(q_y, self.class_threshold)
        pool = targets if self.complement_pool == "confident" else y
        lab_weight, unlab_weight = _row_weights(y, weight)

        terms = self._bound(
            module, x, y, unlabeled, h, q_y, pool, lab_weight, unlab_weight, generator
        )
        log_q = _log_probability(logits, targets)
        terms["log_q_y"] = (lab_weight * log_q).sum()
        terms["consistency"] = (unlab_weight * log_q).sum()
        both = lab_weight + unlab_weight
        distances = self._prototype_logits(module, h, f_inv, targets)
        terms["prototype"] = (both * _log_probability(distances, targets)).sum()
        linear = module.invariant.linear(f_inv)
        terms["linear"] = (both * _log_probability(linear, targets)).sum()
        kl_weight = self.kl_weight if self.training else 1.0
        terms["objective"] = (
            terms["elbo"]
            + (1 - kl_weight) * terms["kl_v"]
            + self.label_weight * terms["log_q_y"]
            + self.consistency_weight * terms["consistency"]
            + self.prototype_weight * (terms["prototype"] + LINEAR * terms["linear"])
        )
        return terms

    def _label_posterior(
        self,
        module: EquiVAEModule,
        x: Tensor,
        y: Tensor,
        unlabeled: Tensor,
        logits: Tensor | None,
        teacher: EquiVAEModule | None,
        posterior: Tensor | None = None,
    ) -> Tensor:
        """q(y | x): one-hot for labelled rows, of shape (n, n_classes)."""
        q_y = F.one_hot(y.clamp(min=0), len(self.log_prior)).to(x.dtype)
        if len(unlabeled) == 0:
            return q_y
        if teacher is not None:
            with torch.no_grad():
                probability = teacher.classify(x[unlabeled]).softmax(dim=1)
                if self.distribution_alignment and self.training:
                    self.mean_q_y = self.mean_q_y.lerp(probability.mean(dim=0), 1 - MEAN_DECAY)
                    probability = align(probability, self.mean_q_y, self.log_prior)
                if posterior is not None:
                    probability = combine(probability, posterior[unlabeled])
        elif logits is not None:
            probability = logits[unlabeled].softmax(dim=1)
        else:
            probability = module.classify(x[unlabeled]).softmax(dim=1)
        return q_y.index_put((unlabeled,), probability)

    def _counted(self, y: Tensor, unlabeled: Tensor, generator: torch.Generator) -> Tensor:
        """The rows of the batch that the bound is taken of.

        In training these are the unlabelled rows, and as many random labelled ones as make
        up their share of Eq. 7: few labels are in every batch to be classified and to stand
        in for their class, but the bound would learn them by heart.
        """
        n_labeled = len(y) - len(unlabeled)
        n_most = self.labeled_share * len(unlabeled)
        all_count = n_most >= (1 - self.labeled_share) * n_labeled or not len(unlabeled)
        if all_count or not self.training:
            return torch.arange(len(y), device=y.device)
        n_few = max(1, round(n_most / (1 - self.labeled_share)))
        order = torch.rand(y.shape, generator=generator, device=y.device)
        few = order.masked_fill(y < 0, -1.0).topk(min(n_few, n_labeled)).indices
        return torch.cat([unlabeled, few])

    def _invariant(
        self,
        module: EquiVAEModule,
        h: Tensor,
        pool: Tensor,
        rows: Tensor,
        classes: Tensor,
        generator: torch.Generator,
    ) -> Tensor:
        """r_y for pairs of a row and a class, from complements in the batch (Eq. 2)."""
        m = draw_m(self.m_max, generator) if self.training else self.m_max
        weights = complements(rows, classes, pool, m, self.m_max, generator).to(h.dtype)
        alone = weights.sum(dim=1, keepdim=True) == 0
        stand_in = torch.where(self.seen[classes, None], self.class_embeddings[classes], h[rows])
        mean = torch.where(alone, stand_in, weights @ h)  # (n_pairs, n_hidden)
        if self.training:
            self._remember(h.detach(), pool)
        return module.invariant.head(mean)

    def _remember(self, h: Tensor, pool: Tensor) -> None:
        means, _, counts = leave_one_out(h, pool, len(self.log_prior))
        present = (counts > 0)[:, None]
        self.class_embeddings = torch.where(present, means, self.class_embeddings)
        self.seen = self.seen | present[:, 0]

    def _bound(
        self,
        module: EquiVAEModule,
        x: Tensor,
        y: Tensor,
        unlabeled: Tensor,
        h: Tensor,
        q_y: Tensor,
        pool: Tensor,
        lab_weight: Tensor,
        unlab_weight: Tensor,
        generator: torch.Generator,
    ) -> dict[str, Tensor]:
        """Eq. 7 and its terms; only classes of non-zero q(y | x) are decoded."""
        counted = self._counted(y, unlabeled, generator)
        place = torch.zeros_like(y).index_copy(
            0, counted, torch.arange(len(counted), device=y.device)
        )
        is_counted = torch.zeros_like(lab_weight).index_fill(0, counted, 1.0)
        lab_weight = lab_weight * is_counted
        lab_weight = lab_weight / lab_weight.sum().clamp(min=torch.finfo(lab_weight.dtype).tiny)
        if len(unlabeled):
            rows, classes = (q_y.detach() * is_counted[:, None]).nonzero(
                as_tuple=True
            )  # (n_pairs,)
        else:
            rows, classes = counted, y
        r = self._invariant(module, h, pool, rows, classes, generator)
        q_v = module.equivariant(module.equivariant.embed(x[counted])[place[rows]], r)
        noise = torch.randn(q_v.mean.shape, generator=generator, device=x.device, dtype=x.dtype)
        v = q_v.mean + q_v.stddev * noise
        pairs = (rows, classes)
        empty = torch.zeros_like(q_y)
        reconstruction = empty.index_put(pairs, module.decode(r, v).log_prob(x[rows]))
        divergence = empty.index_put(pairs, kl_v(q_v))  # (n, n_classes)

        share = self.labeled_share if self.training else 1.0
        lab_weight, unlab_weight = share * lab_weight, (1 - self.labeled_share) * unlab_weight
        per_row = lab_weight + unlab_weight
        log_p_y = self.log_prior[y.clamp(min=0)]
        elbo = semi_supervised_elbo(
            labeled_elbo((q_y * reconstruction).sum(1), (q_y * divergence).sum(1), log_p_y),
            unlabeled_elbo(q_y, reconstruction, divergence, self.log_prior),
            lab_weight,
            unlab_weight,
        )
        return {
            "elbo": elbo,
            "reconstruction": (per_row * (q_y * reconstruction).sum(dim=1)).sum(),
            "kl_v": (per_row * (q_y * divergence).sum(dim=1)).sum(),
            "kl_y": (unlab_weight * kl_y(q_y, self.log_prior)).sum(),
            "log_p_y": (lab_weight * log_p_y).sum(),
        }

    def _prototype_logits(
        self, module: EquiVAEModule, h: Tensor, f_inv: Tensor, targets: Tensor
    ) -> Tensor:
        """Distances of f_inv(x) to the classes of the batch, its own without x itself."""
        means, others, counts = leave_one_out(h, targets, len(self.log_prior))
        means = torch.where((counts > 0)[:, None], means, self.class_embeddings)
        logits = prototype_logits(f_inv, module.invariant.head(means))  # (n, n_classes)
        logits = logits.masked_fill((counts == 0) & ~self.seen, -torch.inf)
        own = -(f_inv - module.invariant.head(others)).square().sum(dim=1, keepdim=True)
        code = targets.clamp(min=0)[:, None]
        has_others = counts[code] > 1
        return logits.scatter(1, code, torch.where(has_others, own, logits.gather(1, code)))
