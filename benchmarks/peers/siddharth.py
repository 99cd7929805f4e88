"""Siddharth et al., Learning disentangled representations with semi-supervised deep generative
models, 2017.

The generative model of M2, p(y) p(z) p(x | y, z), and q(y, z | x) = q(y | x) q(z | x, y); what
differs is the objective. With N unlabelled and M labelled rows it is::

    sum over unlabelled x of L(x)  +  gamma * sum over labelled (x, y) of L_sup(x, y)
    L(x)        = E_q log p(x, y, z) / q(y, z | x)
    L_sup(x, y) = E_q(z|x,y) log p(x, y, z) / q(z | x, y)  +  alpha log q(y | x)

where y of an unlabelled row is drawn from a Concrete distribution, a relaxed one-hot vector
through which gradients pass, and not summed over. With q factored in this order the importance
weights of L_sup are 1. gamma is given by the supervision rate rho = gamma M / (N + gamma M).
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from benchmarks.checkpoints import Checkpoint
from sk_equivae._distributions import kl_y
from sk_equivae._inputs import InputSpec
from sk_equivae._objective import labeled_elbo

from .base import PeerClassifier
from .networks import OneHotVAE, draw, mean_of


class SiddharthModule(OneHotVAE):
    """The networks and the objective above, a row.

    Parameters
    ----------
    spec, n_classes, n_latent : see `OneHotVAE`
    alpha, supervision_rate, temperature : see `SiddharthClassifier`
    """

    def __init__(
        self,
        spec: InputSpec,
        n_classes: int,
        n_latent: int,
        alpha: float,
        supervision_rate: float,
        temperature: float,
    ):
        super().__init__(spec, n_classes, n_latent)
        self.alpha = alpha
        self.supervision_rate = supervision_rate
        self.temperature = temperature

    def draw_class(self, logits: Tensor, generator: torch.Generator) -> Tensor:
        """A relaxed one-hot vector: softmax((logits + Gumbel noise) / temperature)."""
        tiny = torch.finfo(logits.dtype).tiny
        exponential = torch.empty_like(logits).exponential_(generator=generator)
        gumbel = -exponential.clamp(min=tiny).log()
        return ((logits + gumbel) / self.temperature).softmax(dim=1)

    def losses(
        self, x: Tensor, y: Tensor, generator: torch.Generator
    ) -> Iterator[tuple[str, Tensor]]:
        labeled, known = y >= 0, self.one_hot(y.clamp(min=0))
        logits = self.classify(x, generator)
        classes = torch.where(labeled[:, None], known, self.draw_class(logits, generator))
        q_z = self.encoder(self.encoder.embed(x), classes)
        p_x = self.decode(classes, draw(q_z, generator))
        log_prior = torch.full((self.n_classes,), -math.log(self.n_classes))
        bound = labeled_elbo(p_x.log_prob(x), self.kl_z(q_z), torch.zeros(()))
        supervised = bound + log_prior[0] + self.alpha * (known * logits.log_softmax(dim=1)).sum(1)
        unsupervised = bound - kl_y(logits.softmax(dim=1), log_prior)
        rate = self.supervision_rate if self.labeled_share < 1 else 1.0
        yield (
            "loss",
            -rate * mean_of(supervised, labeled) - (1 - rate) * mean_of(unsupervised, ~labeled),
        )


class SiddharthClassifier(PeerClassifier):
    """The model above; predicts by q(y | x).

    Parameters
    ----------
    latent_dim : int
        Size of z.
    alpha : float
        Weight of log q(y | x) of labelled rows.
    supervision_rate : float in (0, 1)
        What part of the objective the labelled rows make up.
    temperature : float
        Of the Concrete distribution.
    max_epochs, batch_size, max_batch_size, lr, random_state, checkpoint, verbose : see `Peer`
    """

    def __init__(
        self,
        latent_dim: int = 50,
        *,
        alpha: float = 50.0,
        supervision_rate: float = 0.2,
        temperature: float = 0.66,
        max_epochs: Any = "auto",
        batch_size: int = 64,
        max_batch_size: int = 256,
        lr: float = 1e-3,
        random_state: Any = None,
        checkpoint: Checkpoint | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            max_epochs=max_epochs, batch_size=batch_size, max_batch_size=max_batch_size, lr=lr,
            random_state=random_state, checkpoint=checkpoint, verbose=verbose,
        )  # fmt: skip
        self.latent_dim = latent_dim
        self.alpha = alpha
        self.supervision_rate = supervision_rate
        self.temperature = temperature

    def _make_module(self, spec: InputSpec, n_classes: int) -> SiddharthModule:
        return SiddharthModule(
            spec, n_classes, self.latent_dim, self.alpha, self.supervision_rate, self.temperature
        )
