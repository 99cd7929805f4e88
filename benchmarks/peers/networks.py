"""What the peers are made of: EquiVAE's own networks, with the one-hot class for r_y."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Independent

from sk_equivae._distributions import kl_v, likelihood_x
from sk_equivae._inputs import InputSpec
from sk_equivae._module import (
    FIRST_LOG_VARIANCE,
    LOG_SCALE_RATE,
    Decoder,
    EquivariantEncoder,
    LabelPosterior,
)
from sk_equivae._networks import initialize

HIDDEN = (128, 64)


class PeerModule(nn.Module, ABC):
    """The networks of a peer, and what they are trained for.

    Attributes
    ----------
    labeled_share : float
        What part of the training rows is labelled.
    progress : float
        What part of the training is over.
    """

    labeled_share = 1.0
    progress = 1.0

    def initialize(self, generator: torch.Generator) -> None:
        """Draw the first weights."""
        initialize(self, generator)

    @abstractmethod
    def losses(
        self, x: Tensor, y: Tensor, generator: torch.Generator
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield in turn the name of each optimiser and what it minimises.

        The optimiser makes its step before the next loss is asked for. y = -1 marks
        unlabelled rows.
        """

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """The parameters of each optimiser; one optimiser for all of them."""
        return {"loss": list(self.parameters())}


class OneHotVAE(PeerModule):
    """q(y | x), q(z | x, y) and p(x | y, z), the class as a one-hot vector.

    Parameters
    ----------
    spec : InputSpec
    n_classes : int
        1 gives a plain VAE, without q(y | x).
    n_latent : int
        Size of z.

    Attributes
    ----------
    kl_warmup : float
        The part of the training in which the weight of KL[q(z | x, y) || p(z)] grows from 0 to 1.
    """

    kl_warmup = 0.0

    def __init__(self, spec: InputSpec, n_classes: int, n_latent: int):
        super().__init__()
        shape, sizes = spec.input_shape, (n_classes, n_latent)
        if n_classes > 1:
            self.posterior = LabelPosterior(None, shape, HIDDEN, 0, n_classes, batch_norm=False)
        self.encoder = EquivariantEncoder(None, shape, HIDDEN, sizes)
        self.decoder = Decoder(None, shape, HIDDEN, sizes)
        self.n_classes = n_classes
        self.likelihood = spec.likelihood

    def initialize(self, generator: torch.Generator) -> None:
        super().initialize(generator)
        nn.init.constant_(self.encoder.log_variance.bias, FIRST_LOG_VARIANCE)

    def classify(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Logits of q(y | x); a generator switches dropout on."""
        return self.posterior(x, x.new_empty(len(x), 0), generator)

    def decode(self, y: Tensor, z: Tensor) -> Independent:
        """p(x | y, z)."""
        return likelihood_x(
            self.likelihood, self.decoder(y, z), self.decoder.log_scale * LOG_SCALE_RATE
        )

    def kl_z(self, q_z: Independent) -> Tensor:
        """KL[q(z | x, y) || p(z)], as it counts by now."""
        weight = min(1.0, self.progress / self.kl_warmup) if self.kl_warmup else 1.0
        return weight * kl_v(q_z)

    def one_hot(self, codes: Tensor) -> Tensor:
        return F.one_hot(codes, self.n_classes).float()


def draw(q: Independent, generator: torch.Generator) -> Tensor:
    """A draw from a normal, through which gradients pass."""
    noise = torch.randn(q.mean.shape, generator=generator, dtype=q.mean.dtype)
    return q.mean + q.stddev * noise


def mean_of(values: Tensor, chosen: Tensor) -> Tensor:
    """The mean of the chosen values; 0 if there are none."""
    return (values * chosen).sum() / chosen.sum().clamp(min=1)
