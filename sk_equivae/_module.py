"""`EquiVAEModule`: the networks of the model, and nothing of its training.

The generative model (Eq. 1) of a row x of class y is::

    y ~ Categorical(class_prior)
    r = r_y, from other rows of class y          (Eq. 2)
    v ~ Normal(0, I)
    x ~ p(x | r, v)

and inference goes by::

    q(v, y | x) = q(v | r_y, x) q(y | x)         (Eqs. 3 and 5)
"""

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Independent

from ._distributions import likelihood_x, posterior_v
from ._networks import Body, initialize, make_body, make_decoder_body, output_layer

DROPOUT = 0.1

# With v of unit noise at first the decoder learns to do without it, and the posterior
# collapses; with little noise v is of use from the first step.
FIRST_LOG_VARIANCE = -3.0

# Adam moves every parameter by about the learning rate, whatever its gradient; the scale
# of a Gaussian has a long way to go.
LOG_SCALE_RATE = 10.0


def _dropout(h: Tensor, generator: torch.Generator | None) -> Tensor:
    """Dropout that draws from `generator`; without one, the identity."""
    if generator is None:
        return h
    keep = torch.empty_like(h).bernoulli_(1 - DROPOUT, generator=generator)
    return h * keep / (1 - DROPOUT)


class WithBody(nn.Module):
    """A network with a body, which may compute in bfloat16; the rest is too small to gain."""

    body: nn.Module
    amp = False

    def run_body(self, x: Tensor) -> Tensor:
        if not self.amp:
            return self.body(x)
        with torch.autocast(x.device.type, torch.bfloat16):
            return self.body(x).to(x.dtype)


class InvariantEncoder(WithBody):
    """f_inv(x) = head(embed(x)); the mean over complements is taken between the two."""

    def __init__(
        self,
        body: Body,
        input_shape: tuple,
        hidden: tuple[int, int],
        n_invariant: int,
        n_classes: int,
        batch_norm: bool,
    ):
        super().__init__()
        self.body, n_features = make_body(body, input_shape, batch_norm)
        self.dense = nn.Linear(n_features, hidden[0])
        self.hidden = nn.Linear(hidden[0], hidden[1])
        self.output = output_layer(hidden[1], n_invariant)
        self.linear = output_layer(n_invariant, n_classes)  # used in training only

    def embed(self, x: Tensor) -> Tensor:
        return F.relu(self.dense(self.run_body(x)))

    def head(self, h: Tensor) -> Tensor:
        return self.output(F.relu(self.hidden(h)))


class EquivariantEncoder(WithBody):
    """q(v | r_y, x) from a body of its own and a dense layer of r_y."""

    def __init__(self, body: Body, input_shape: tuple, hidden: tuple[int, int], n_latents: tuple):
        super().__init__()
        n_invariant, n_equivariant = n_latents
        self.body, n_features = make_body(body, input_shape)
        self.dense = nn.Linear(n_features, hidden[0])
        self.dense_r = nn.Linear(n_invariant, hidden[1])
        n_joint = hidden[0] + hidden[1]
        self.hidden_mean = nn.Linear(n_joint, hidden[1])
        self.mean = output_layer(hidden[1], n_equivariant)
        self.hidden_variance = nn.Linear(n_joint, hidden[1])
        self.log_variance = output_layer(hidden[1], n_equivariant)

    def embed(self, x: Tensor) -> Tensor:
        return F.relu(self.dense(self.run_body(x)))

    def forward(self, h: Tensor, r: Tensor) -> Independent:
        joint = torch.cat([h, F.relu(self.dense_r(r))], dim=1)
        mean = self.mean(F.relu(self.hidden_mean(joint)))
        return posterior_v(mean, self.log_variance(F.relu(self.hidden_variance(joint))))


class LabelPosterior(WithBody):
    """Logits of q(y | x), from a body of its own and stop_grad(f_inv(x))."""

    def __init__(
        self,
        body: Body,
        input_shape: tuple,
        hidden: tuple[int, int],
        n_invariant: int,
        n_classes: int,
        batch_norm: bool,
    ):
        super().__init__()
        self.body, n_features = make_body(body, input_shape, batch_norm)
        self.dense = nn.Linear(n_features, hidden[0])
        self.hidden = nn.ModuleList(
            [nn.Linear(hidden[0] + n_invariant, hidden[0]), nn.Linear(hidden[0], hidden[1])]
        )
        self.output = output_layer(hidden[1], n_classes)

    def forward(self, x: Tensor, f_inv: Tensor, generator: torch.Generator | None) -> Tensor:
        h = torch.cat([F.relu(self.dense(self.run_body(x))), f_inv.detach()], dim=1)
        for layer in self.hidden:
            h = _dropout(F.relu(layer(h)), generator)
        return self.output(h)


class Decoder(WithBody):
    """The output of p(x | r_y, v): logits or means."""

    def __init__(self, body: Body, output_shape: tuple, hidden: tuple[int, int], n_latents: tuple):
        super().__init__()
        n_invariant, n_equivariant = n_latents
        self.dense_r = nn.Linear(n_invariant, hidden[1])
        self.dense_v = nn.Linear(n_equivariant, hidden[1])
        self.dense = nn.Linear(2 * hidden[1], hidden[0])
        self.body = make_decoder_body(body, hidden[0], output_shape)
        self.log_scale = nn.Parameter(torch.zeros(()))

    def forward(self, r: Tensor, v: Tensor) -> Tensor:
        h = torch.cat([F.relu(self.dense_r(r)), F.relu(self.dense_v(v))], dim=1)
        return self.run_body(F.relu(self.dense(h)))


class EquiVAEModule(nn.Module):
    """All networks of the model, for rows of one shape and a number of classes.

    Parameters
    ----------
    input_shape : tuple
        `(channels, height, width)` of an image or `(n_features,)` of a tabular row.
    n_classes : int
    n_latents : (int, int)
        Sizes of r and v.
    likelihood : {"bernoulli", "gaussian"}
    shift, scale : Tensor
        x enters the networks as `(x - shift) / scale`; each broadcasts against
        `(n, *input_shape)`.
    generator : torch.Generator
        Source of the initial weights.
    batch_norm : bool
        Normalise batches in the bodies of f_inv and q(y | x), the two that classify. In the
        path of v it costs more of the bound than it gives.
    invariant_body, equivariant_body, posterior_body, decoder : see `_networks`
    """

    shift: Tensor
    scale: Tensor

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_classes: int,
        n_latents: tuple[int, int],
        likelihood: str,
        shift: Tensor,
        scale: Tensor,
        generator: torch.Generator,
        batch_norm: bool = False,
        invariant_body: Body = None,
        equivariant_body: Body = None,
        posterior_body: Body = None,
        decoder: Body = None,
    ):
        super().__init__()
        # Appendix B: (128, 64) units for 16 latent dimensions, half for 8.
        hidden = (128, 64) if max(n_latents) > 8 else (64, 32)
        n_invariant = n_latents[0]
        self.invariant = InvariantEncoder(
            invariant_body, input_shape, hidden, n_invariant, n_classes, batch_norm
        )
        self.equivariant = EquivariantEncoder(equivariant_body, input_shape, hidden, n_latents)
        self.posterior = LabelPosterior(
            posterior_body, input_shape, hidden, n_invariant, n_classes, batch_norm
        )
        self.decoder = Decoder(decoder, input_shape, hidden, n_latents)
        self.n_latents = n_latents
        self.likelihood = likelihood
        self.register_buffer("shift", shift)
        self.register_buffer("scale", scale)
        bodies = [invariant_body, equivariant_body, posterior_body, decoder]
        for given, part in zip(bodies, self.parts, strict=True):
            kept = copy.deepcopy(part.body) if given is not None else None
            initialize(part, generator)
            if kept is not None:
                part.body = kept  # it may be pre-trained
        nn.init.constant_(self.equivariant.log_variance.bias, FIRST_LOG_VARIANCE)

    @property
    def parts(self) -> tuple[WithBody, ...]:
        return self.invariant, self.equivariant, self.posterior, self.decoder

    def forward(self, x: Tensor) -> Tensor:
        """Logits of q(y | x) of rows in the user's units."""
        return self.classify(self.normalize(x))

    def normalize(self, x: Tensor) -> Tensor:
        """Rows in the user's units to what the networks see."""
        x = x.to(self.scale.dtype) - self.shift
        # No row of any data set lies there; one that does must not give infinities.
        return x.div_(self.scale).clamp_(-1e6, 1e6)

    def denormalize(self, x: Tensor) -> Tensor:
        """The inverse of `normalize`."""
        return x * self.scale + self.shift

    def f_inv(self, x: Tensor) -> Tensor:
        """The invariant representation of single rows."""
        return self.invariant.head(self.invariant.embed(x))

    def classify(
        self, x: Tensor, f_inv: Tensor | None = None, generator: torch.Generator | None = None
    ) -> Tensor:
        """Logits of q(y | x); a generator switches dropout on."""
        return self.posterior(x, self.f_inv(x) if f_inv is None else f_inv, generator)

    def encode(self, x: Tensor, r: Tensor) -> Independent:
        """q(v | r_y, x)."""
        return self.equivariant(self.equivariant.embed(x), r)

    def decode(self, r: Tensor, v: Tensor) -> Independent:
        """p(x | r_y, v)."""
        return likelihood_x(
            self.likelihood, self.decoder(r, v), self.decoder.log_scale * LOG_SCALE_RATE
        )
