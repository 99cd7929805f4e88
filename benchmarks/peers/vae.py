"""Deep generative models of labelled rows, with the one-hot class in the place of r_y.

M1, M2 and M1+M2: Kingma et al., Semi-supervised learning with deep generative models, 2014. M2 is
p(y) p(z) p(x | y, z) with q(y, z | x) = q(y | x) q(z | x, y) and a uniform p(y); M1 is a plain VAE.
Siddharth et al., Learning disentangled representations with semi-supervised deep generative
models, 2017, have M2's model and another objective.
"""

import math
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Independent, Normal

from sk_equivae.model import Architecture, labeled_elbo, unlabeled_elbo
from sk_equivae.model.bounds import LatentTerms
from sk_equivae.model.distributions import kl_v, kl_y, likelihood_x
from sk_equivae.model.module import Decoder, EquivariantEncoder, LabelPosterior

from .loop import Losses, PeerModule, Units

KL_WARMUP = 0.4  # EquiVAE's, of images


def draw(q: Independent, generator: torch.Generator) -> Tensor:
    """A draw from a normal, through which gradients pass."""
    noise = torch.randn(q.mean.shape, generator=generator, dtype=q.mean.dtype)
    return q.mean + q.stddev * noise


def mean_of(values: Tensor, chosen: Tensor) -> Tensor:
    """The mean of the chosen values; 0 if there are none."""
    return (values * chosen).sum() / chosen.sum().clamp(min=1)


class OneHotVAE(PeerModule):
    """q(y | x), q(z | x, y) and p(x | y, z)."""

    kl_warmup = 0.0  # the part of training in which the weight of KL[q(z|x,y) || p(z)] grows

    def __init__(self, units: Units, n_classes: int, n_latent: int = 50):
        super().__init__()
        self.sizes = Architecture()
        latents = (n_classes, n_latent)
        if n_classes > 1:
            self.posterior = LabelPosterior(units.shape, self.sizes, 0, n_classes)
        self.encoder = EquivariantEncoder(units.shape, self.sizes, latents)
        self.decoder = Decoder(units.shape, self.sizes, latents)
        self.n_classes = n_classes
        self.likelihood = units.likelihood

    def initialize(self, generator: torch.Generator) -> None:
        super().initialize(generator)
        nn.init.constant_(self.encoder.log_variance.bias, self.sizes.first_log_variance)

    def classify(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Logits of q(y | x); a generator switches dropout on."""
        return self.posterior(x, x.new_empty(len(x), 0), generator)

    def terms(self, x: Tensor, h: Tensor, y: Tensor, generator: torch.Generator) -> LatentTerms:
        """E log p(x | y, z) and KL[q(z | x, y) || p(z)] as it counts by now, of embedded rows."""
        q_z = self.encoder(h, y)
        output = self.decoder(y, draw(q_z, generator))
        p_x = likelihood_x(self.likelihood, output, self.decoder.scale)
        weight = min(1.0, self.progress / self.kl_warmup) if self.kl_warmup else 1.0
        return LatentTerms(p_x.log_prob(x), weight * kl_v(q_z))

    def one_hot(self, codes: Tensor) -> Tensor:
        return F.one_hot(codes, self.n_classes).float()

    @property
    def log_prior(self) -> Tensor:
        return torch.full((self.n_classes,), -math.log(self.n_classes))


class M2(OneHotVAE):
    """Kingma's M2 and its objective J^alpha, per row.

    alpha is the weight of the mean of log q(y | x) over labelled rows; 0.1 in the paper. Classes
    below `class_threshold` are left out of the sum over y; the paper leaves none out.
    """

    def __init__(
        self, units: Units, n_classes: int, alpha: float = 0.1, class_threshold: float = 0.0
    ):
        super().__init__(units, n_classes)
        self.alpha, self.class_threshold = alpha, class_threshold

    def losses(self, x: Tensor, y: Tensor, generator: torch.Generator) -> Losses:
        labeled, known = y >= 0, self.one_hot(y.clamp(min=0))
        logits = self.classify(x, generator)
        q_y = logits.softmax(dim=1)
        least = q_y.max(dim=1, keepdim=True).values.clamp(max=self.class_threshold)
        kept = q_y * (q_y >= least)
        kept = torch.where(labeled[:, None], known, kept / kept.sum(dim=1, keepdim=True))
        pairs = kept.detach().nonzero(as_tuple=True)  # only these classes are decoded
        rows, classes = pairs
        h = self.encoder.embed(x)[rows]
        of_pairs = self.terms(x[rows], h, self.one_hot(classes), generator)
        empty = torch.zeros_like(kept)
        terms = LatentTerms(*(empty.index_put(pairs, term) for term in of_pairs[:2]))
        own = LatentTerms(*((kept * term).sum(dim=1) for term in terms[:2]))
        on_labeled = labeled_elbo(own, self.log_prior[0])
        on_unlabeled = unlabeled_elbo(terms, kept, self.log_prior)
        log_q = (known * logits.log_softmax(dim=1)).sum(dim=1)
        bound = self.labeled_share * mean_of(on_labeled, labeled)
        bound = bound + (1 - self.labeled_share) * mean_of(on_unlabeled, ~labeled)
        yield "loss", -bound - self.alpha * mean_of(log_q, labeled)


class M1(OneHotVAE):
    """A VAE: the only class is always 1."""

    kl_warmup = KL_WARMUP  # with all of the KL from the start most of z would never be used

    def encode(self, x: Tensor) -> Tensor:
        """The means of q(z | x), and beside them its standard deviations."""
        q_z = self.encoder(self.encoder.embed(x), x.new_ones(len(x), 1))
        return torch.cat([q_z.mean, q_z.stddev], dim=1)  # (n, 2 n_latent)

    def losses(self, x: Tensor, y: Tensor, generator: torch.Generator) -> Losses:
        terms = self.terms(x, self.encoder.embed(x), x.new_ones(len(x), 1), generator)
        yield "loss", (terms.kl_v - terms.reconstruction).mean()


class StackedM2(M2):
    """M2 of latents that are drawn anew from M1's q(z | x) in each step, as its authors do."""

    kl_warmup = KL_WARMUP
    standardize = False  # where M1 makes no use of a latent, unit variance would be noise

    def __init__(self, units: Units, n_classes: int, **options: float):
        self.n_drawn = units.shape[0] // 2
        super().__init__(replace(units, shape=(self.n_drawn,)), n_classes, **options)

    def classify(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Logits of q(y | x) of a draw; of the means, if deviations are beside them."""
        return super().classify(x[:, : self.n_drawn], generator)

    def losses(self, x: Tensor, y: Tensor, generator: torch.Generator) -> Losses:
        mean, stddev = x.split(self.n_drawn, dim=1)
        return super().losses(draw(Independent(Normal(mean, stddev), 1), generator), y, generator)


class Siddharth(OneHotVAE):
    """M2's model; y of an unlabelled row is drawn, and labelled rows have a weight of their own.

    The draw is from a Concrete distribution, a relaxed one-hot vector through which gradients pass.
    Labelled rows make up the fraction `supervision_rate` of the objective, and alpha is the
    weight of their log q(y | x).
    """

    alpha, supervision_rate, temperature = 50.0, 0.2, 0.66

    def draw_class(self, logits: Tensor, generator: torch.Generator) -> Tensor:
        """A relaxed one-hot vector: softmax((logits + Gumbel noise) / temperature)."""
        tiny = torch.finfo(logits.dtype).tiny
        exponential = torch.empty_like(logits).exponential_(generator=generator)
        gumbel = -exponential.clamp(min=tiny).log()
        return ((logits + gumbel) / self.temperature).softmax(dim=1)

    def losses(self, x: Tensor, y: Tensor, generator: torch.Generator) -> Losses:
        labeled, known = y >= 0, self.one_hot(y.clamp(min=0))
        logits = self.classify(x, generator)
        classes = torch.where(labeled[:, None], known, self.draw_class(logits, generator))
        terms = self.terms(x, self.encoder.embed(x), classes, generator)
        bound = labeled_elbo(terms, torch.zeros(()))
        log_q = (known * logits.log_softmax(dim=1)).sum(dim=1)
        supervised = bound + self.log_prior[0] + self.alpha * log_q
        unsupervised = bound - kl_y(logits.softmax(dim=1), self.log_prior)
        rate = self.supervision_rate if self.labeled_share < 1 else 1.0
        bound = rate * mean_of(supervised, labeled) + (1 - rate) * mean_of(unsupervised, ~labeled)
        yield "loss", -bound
