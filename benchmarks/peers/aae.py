"""Makhzani et al., Adversarial autoencoders, 2015: the supervised and the semi-supervised one.

An encoder gives q(y | x), a softmax, and a code z; a decoder rebuilds x from the two. In place of
a KL two discriminators make the distribution of z a unit normal, and that of y one-hot vectors.
A step has the paper's phases: reconstruction, the discriminators, the encoder against them, and
classification of labelled rows. The decoder gets the label itself where there is one; when all
rows have one, this is the supervised model, and y needs no discriminator.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.checkpoints import Checkpoint
from sk_equivae._distributions import likelihood_x
from sk_equivae._inputs import InputSpec
from sk_equivae._module import LOG_SCALE_RATE, Decoder
from sk_equivae._networks import make_body, output_layer

from .base import PeerClassifier
from .networks import HIDDEN, PeerModule


class Encoder(nn.Module):
    """Logits of q(y | x) and the code z, from one body."""

    def __init__(self, spec: InputSpec, n_classes: int, n_latent: int):
        super().__init__()
        self.body, n_features = make_body(None, spec.input_shape)
        self.dense = nn.Linear(n_features, HIDDEN[0])
        self.hidden = nn.Linear(HIDDEN[0], HIDDEN[1])
        self.logits = output_layer(HIDDEN[1], n_classes)
        self.code = output_layer(HIDDEN[1], n_latent)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = F.relu(self.hidden(F.relu(self.dense(self.body(x)))))
        return self.logits(h), self.code(h)


def discriminator(n_inputs: int) -> nn.Module:
    """One logit: is it drawn from the prior?"""
    hidden = HIDDEN[0]
    return nn.Sequential(
        nn.Linear(n_inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
        output_layer(hidden, 1),
    )  # fmt: skip


def says(logit: Tensor, real: bool) -> Tensor:
    """The cross-entropy of a discriminator whose answer should be `real`."""
    return F.binary_cross_entropy_with_logits(logit, torch.full_like(logit, float(real)))


class AAEModule(PeerModule):
    """The networks and the losses of the phases."""

    def __init__(self, spec: InputSpec, n_classes: int, n_latent: int):
        super().__init__()
        self.encoder = Encoder(spec, n_classes, n_latent)
        self.decoder = Decoder(None, spec.input_shape, HIDDEN, (n_classes, n_latent))
        self.judge_y, self.judge_z = discriminator(n_classes), discriminator(n_latent)
        self.n_classes = n_classes
        self.likelihood = spec.likelihood

    def groups(self) -> dict[str, list[nn.Parameter]]:
        encoder = list(self.encoder.parameters())
        return {
            "reconstruction": encoder + list(self.decoder.parameters()),
            "discriminators": [*self.judge_y.parameters(), *self.judge_z.parameters()],
            "deception": encoder,
            "classification": encoder,
        }

    def classify(self, x: Tensor) -> Tensor:
        """Logits of q(y | x)."""
        return self.encoder(x)[0]

    def reconstruction(self, x: Tensor, y: Tensor) -> Tensor:
        """-log p(x | y, z), a feature."""
        logits, z = self.encoder(x)
        known = F.one_hot(y.clamp(min=0), self.n_classes).to(x.dtype)
        classes = torch.where((y >= 0)[:, None], known, logits.softmax(dim=1))
        output = self.decoder(classes, z)
        p_x = likelihood_x(self.likelihood, output, self.decoder.log_scale * LOG_SCALE_RATE)
        return -p_x.log_prob(x).mean() / x[0].numel()

    def losses(
        self, x: Tensor, y: Tensor, generator: torch.Generator
    ) -> Iterator[tuple[str, Tensor]]:
        yield "reconstruction", self.reconstruction(x, y)

        with torch.no_grad():
            logits, z = self.encoder(x)
        codes = torch.randint(self.n_classes, (len(x),), generator=generator)
        true_y = F.one_hot(codes, self.n_classes).to(x.dtype)
        true_z = torch.randn(z.shape, generator=generator, dtype=z.dtype)
        against = says(self.judge_z(true_z), True) + says(self.judge_z(z), False)
        if self.labeled_share < 1:
            fake_y = logits.softmax(dim=1)
            against = against + says(self.judge_y(true_y), True) + says(self.judge_y(fake_y), False)
        yield "discriminators", against

        logits, z = self.encoder(x)
        deception = says(self.judge_z(z), True)
        if self.labeled_share < 1:
            deception = deception + says(self.judge_y(logits.softmax(dim=1)), True)
        yield "deception", deception

        labeled = y >= 0
        if bool(labeled.any()):
            yield "classification", F.cross_entropy(self.classify(x[labeled]), y[labeled])


class AAEClassifier(PeerClassifier):
    """The model above; predicts by q(y | x).

    Parameters
    ----------
    latent_dim : int
        Size of z; 10 in the paper.
    max_epochs, batch_size, max_batch_size, lr, random_state, checkpoint, verbose : see `Peer`
    """

    def __init__(
        self,
        latent_dim: int = 10,
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

    def _make_module(self, spec: InputSpec, n_classes: int) -> AAEModule:
        return AAEModule(spec, n_classes, self.latent_dim)
