"""Kingma, Rezende, Mohamed and Welling, Semi-supervised learning with deep generative models, 2014.

M2 is the generative model p(y) p(z) p(x | y, z), with q(y, z | x) = q(y | x) q(z | x, y) and a
uniform p(y). M1 is a plain VAE. M1+M2 is M2 on what M1 makes of the rows::

    make_pipeline(M1Transformer(), StackedM2Classifier())
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from torch import Tensor
from torch.distributions import Independent, Normal

from benchmarks.checkpoints import Checkpoint
from sk_equivae._inputs import InputSpec
from sk_equivae._label_posterior import truncate
from sk_equivae._labels import UNLABELED
from sk_equivae._objective import labeled_elbo, unlabeled_elbo
from sk_equivae._training import KL_WARMUP

from .base import Peer, PeerClassifier
from .networks import OneHotVAE, draw, mean_of


class M2Module(OneHotVAE):
    """The networks of M2 and its objective, J^alpha of the paper, a row.

    Parameters
    ----------
    spec, n_classes, n_latent : see `OneHotVAE`
    alpha, class_threshold : see `M2Classifier`
    """

    def __init__(
        self,
        spec: InputSpec,
        n_classes: int,
        n_latent: int,
        alpha: float,
        class_threshold: float = 0.0,
    ):
        super().__init__(spec, n_classes, n_latent)
        self.alpha = alpha
        self.class_threshold = class_threshold

    def bounds(
        self, x: Tensor, y: Tensor, logits: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """-L(x, y) and -U(x) of the paper, one value a row; each holds for its own rows only."""
        labeled = y >= 0
        q_y = truncate(logits.softmax(dim=1), self.class_threshold)
        q_y = torch.where(labeled[:, None], self.one_hot(y.clamp(min=0)), q_y)
        pairs = q_y.detach().nonzero(as_tuple=True)  # only these classes are decoded
        rows, classes = pairs
        one_hot = self.one_hot(classes)
        q_z = self.encoder(self.encoder.embed(x)[rows], one_hot)
        p_x = self.decode(one_hot, draw(q_z, generator))
        empty = torch.zeros_like(q_y)
        reconstruction = empty.index_put(pairs, p_x.log_prob(x[rows]))
        divergence = empty.index_put(pairs, self.kl_z(q_z))  # (n, n_classes)
        log_prior = torch.full((self.n_classes,), -math.log(self.n_classes))
        own = (q_y * reconstruction).sum(dim=1), (q_y * divergence).sum(dim=1)
        return (
            labeled_elbo(*own, log_prior[0]),
            unlabeled_elbo(q_y, reconstruction, divergence, log_prior),
        )

    def losses(
        self, x: Tensor, y: Tensor, generator: torch.Generator
    ) -> Iterator[tuple[str, Tensor]]:
        logits = self.classify(x, generator)
        on_labeled, on_unlabeled = self.bounds(x, y, logits, generator)
        labeled = y >= 0
        log_q = logits.log_softmax(dim=1).gather(1, y.clamp(min=0)[:, None])[:, 0]
        share = self.labeled_share
        yield (
            "loss",
            -share * mean_of(on_labeled, labeled)
            - (1 - share) * mean_of(on_unlabeled, ~labeled)
            - self.alpha * mean_of(log_q, labeled),
        )


class M2Classifier(PeerClassifier):
    """M2; predicts by q(y | x).

    Parameters
    ----------
    latent_dim : int
        Size of z; 50 in the paper.
    alpha : float
        Weight of log q(y | x), averaged over labelled rows, beside the bound a row; 0.1 in the
        paper.
    class_threshold : float
        As in `EquiVAEClassifier`; 0 is the paper's sum over all classes.
    max_epochs, batch_size, max_batch_size, lr, random_state, checkpoint, verbose : see `Peer`
    """

    def __init__(
        self,
        latent_dim: int = 50,
        *,
        alpha: float = 0.1,
        class_threshold: float = 0.0,
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
        self.class_threshold = class_threshold

    def _make_module(self, spec: InputSpec, n_classes: int) -> M2Module:
        return M2Module(spec, n_classes, self.latent_dim, self.alpha, self.class_threshold)


class M1Module(OneHotVAE):
    """A VAE: q(z | x) and p(x | z), the only class being 1 always."""

    kl_warmup = KL_WARMUP  # with all of the KL from the start most of z would never be used

    def __init__(self, spec: InputSpec, n_latent: int):
        super().__init__(spec, 1, n_latent)

    def encode(self, x: Tensor) -> Tensor:
        """The means of q(z | x), and beside them its standard deviations."""
        q_z = self._posterior(x)
        return torch.cat([q_z.mean, q_z.stddev], dim=1)  # (n, 2 n_latent)

    def _posterior(self, x: Tensor) -> Any:
        return self.encoder(self.encoder.embed(x), x.new_ones(len(x), 1))

    def losses(
        self, x: Tensor, y: Tensor, generator: torch.Generator
    ) -> Iterator[tuple[str, Tensor]]:
        q_z = self._posterior(x)
        p_x = self.decode(x.new_ones(len(x), 1), draw(q_z, generator))
        yield "loss", (self.kl_z(q_z) - p_x.log_prob(x)).mean()


class M1Transformer(TransformerMixin, Peer):
    """M1; `transform` gives the means and the standard deviations of q(z | x), side by side.

    Labels are not looked at.

    Parameters
    ----------
    latent_dim : int
        Size of z; 50 in the paper.
    max_epochs, batch_size, max_batch_size, lr, random_state, checkpoint, verbose : see `Peer`
    """

    uses_labels = False

    def __init__(
        self,
        latent_dim: int = 50,
        *,
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

    def _make_module(self, spec: InputSpec, n_classes: int) -> M1Module:
        return M1Module(spec, self.latent_dim)

    def fit(self, X: ArrayLike, y: ArrayLike | None = None):
        self._fit(X, np.full(len(X), UNLABELED), n_classes=1)
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        return self._map("encode", X)


class StackedM2Module(M2Module):
    """M2 of latents that are drawn anew from M1's q(z | x) in each step, as its authors do.

    Parameters
    ----------
    spec : InputSpec
        Of rows as `M1Module.encode` gives them.
    n_classes, n_latent : see `OneHotVAE`
    alpha, class_threshold : see `M2Classifier`
    """

    kl_warmup = KL_WARMUP

    def __init__(self, spec: InputSpec, n_classes: int, *args: Any):
        n_drawn = spec.input_shape[0] // 2
        super().__init__(replace(spec, input_shape=(n_drawn,)), n_classes, *args)
        self.n_drawn = n_drawn

    def classify(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Logits of q(y | x) of a draw; of the means, if there are deviations beside them."""
        return super().classify(x[:, : self.n_drawn], generator)

    def losses(
        self, x: Tensor, y: Tensor, generator: torch.Generator
    ) -> Iterator[tuple[str, Tensor]]:
        mean, stddev = x.split(self.n_drawn, dim=1)
        return super().losses(draw(Independent(Normal(mean, stddev), 1), generator), y, generator)


class StackedM2Classifier(M2Classifier):
    """The upper half of M1+M2, after `M1Transformer`.

    M1's latents keep their unit: where M1 makes no use of one, unit variance would be noise.

    Parameters
    ----------
    latent_dim, alpha, class_threshold : see `M2Classifier`
    max_epochs, batch_size, max_batch_size, lr, random_state, checkpoint, verbose : see `Peer`
    """

    def _units(self, X: NDArray) -> tuple[Tensor, Tensor]:
        return torch.zeros(()), torch.ones(())

    def _make_module(self, spec: InputSpec, n_classes: int) -> StackedM2Module:
        return StackedM2Module(spec, n_classes, self.latent_dim, self.alpha, self.class_threshold)
