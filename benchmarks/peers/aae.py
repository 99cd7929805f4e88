"""Makhzani et al., Adversarial autoencoders, 2015: the supervised and the semi-supervised one.

An encoder gives q(y | x), a softmax, and a code z; a decoder rebuilds x from the two. Instead of a
KL two discriminators make the distribution of z a unit normal, and that of y one-hot vectors. A
step has the paper's phases: reconstruction, the discriminators, the encoder against them, and
classification of labelled rows. The decoder gets the label itself where there is one; if all rows
have one, this is the supervised model, and y needs no discriminator.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sk_equivae.model import Architecture
from sk_equivae.model.distributions import likelihood_x
from sk_equivae.model.layers import output_layer
from sk_equivae.model.module import Decoder, LabelPosterior

from .loop import Losses, PeerModule, Units


def discriminator(n_inputs: int, n_hidden: int) -> nn.Module:
    """One logit: is it drawn from the prior?"""
    return nn.Sequential(
        nn.Linear(n_inputs, n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_hidden), nn.ReLU(),
        output_layer(n_hidden, 1),
    )  # fmt: skip


def says(logit: Tensor, real: bool) -> Tensor:
    """The cross-entropy of a discriminator whose answer should be `real`."""
    return F.binary_cross_entropy_with_logits(logit, torch.full_like(logit, float(real)))


class AAE(PeerModule):
    """The networks and the losses of the phases; z has 10 dimensions, as in the paper."""

    def __init__(self, units: Units, n_classes: int, n_latent: int = 10):
        super().__init__()
        sizes, self.sizes = Architecture(dropout=0.0), (n_classes, n_latent)
        self.encoder = LabelPosterior(units.shape, sizes, 0, n_classes + n_latent)
        self.decoder = Decoder(units.shape, sizes, self.sizes)
        self.judge_y, self.judge_z = (discriminator(n, sizes.hidden[0]) for n in self.sizes)
        self.n_classes, self.likelihood = n_classes, units.likelihood

    def groups(self) -> dict[str, list[nn.Parameter]]:
        encoder = [*self.encoder.parameters()]
        return {
            "reconstruction": [*encoder, *self.decoder.parameters()],
            "discriminators": [*self.judge_y.parameters(), *self.judge_z.parameters()],
            "deception": encoder,
            "classification": encoder,
        }

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of q(y | x) and the code z, from one network."""
        return self.encoder(x, x.new_empty(len(x), 0), None).split(self.sizes, dim=1)

    def classify(self, x: Tensor) -> Tensor:
        """Logits of q(y | x)."""
        return self.encode(x)[0]

    def reconstruction(self, x: Tensor, y: Tensor) -> Tensor:
        """-log p(x | y, z) per feature."""
        logits, z = self.encode(x)
        known = F.one_hot(y.clamp(min=0), self.n_classes).to(x.dtype)
        classes = torch.where((y >= 0)[:, None], known, logits.softmax(dim=1))
        p_x = likelihood_x(self.likelihood, self.decoder(classes, z), self.decoder.scale)
        return -p_x.log_prob(x).mean() / x[0].numel()

    def losses(self, x: Tensor, y: Tensor, generator: torch.Generator) -> Losses:
        yield "reconstruction", self.reconstruction(x, y)

        with torch.no_grad():
            logits, z = self.encode(x)
        codes = torch.randint(self.n_classes, (len(x),), generator=generator)
        true_y = F.one_hot(codes, self.n_classes).to(x.dtype)
        true_z = torch.randn(z.shape, generator=generator, dtype=z.dtype)
        against = says(self.judge_z(true_z), True) + says(self.judge_z(z), False)
        if self.labeled_share < 1:
            fake_y = logits.softmax(dim=1)
            against = against + says(self.judge_y(true_y), True) + says(self.judge_y(fake_y), False)
        yield "discriminators", against

        logits, z = self.encode(x)
        deception = says(self.judge_z(z), True)
        if self.labeled_share < 1:
            deception = deception + says(self.judge_y(logits.softmax(dim=1)), True)
        yield "deception", deception

        labeled = y >= 0
        if bool(labeled.any()):
            yield "classification", F.cross_entropy(self.classify(x[labeled]), y[labeled])
