"""`EquiVAEModule`: all networks of the model. Training is elsewhere.

The generative model (Eq. 1) of a row x of class y is::

    y ~ Categorical(class_prior)
    r = r_y, computed from other rows of class y (Eq. 2)
    v ~ Normal(0, I)
    x ~ p(x | r, v)

and the approximate posterior is::

    q(v, y | x) = q(v | r_y, x) q(y | x)         (Eqs. 3 and 5)
"""

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Distribution

from .distributions import Features, likelihood_x, posterior_v
from .layers import initialize, output_layer
from .mixed import Layout, MixedColumns, fill_missing
from .networks import Architecture, make_body, make_decoder_body
from .randomness import dropout, private_global_generator

Latents = tuple[int, int]


class WithBody(nn.Module):
    """A network with a body. With `amp` the body computes in bfloat16; the rest is too small."""

    body: nn.Module
    amp: bool = False

    def run_body(self, x: Tensor) -> Tensor:
        """Return the body's features of x."""
        if not self.amp:
            return self.body(x)
        with torch.autocast(x.device.type, torch.bfloat16):
            return self.body(x).to(x.dtype)


class InvariantEncoder(WithBody):
    """f_inv(x) = head(embed(x)); r_y is the head of a mean of embeddings."""

    def __init__(
        self, input_shape: tuple[int, ...], sizes: Architecture, n_invariant: int, n_classes: int
    ):
        super().__init__()
        self.body, n_features = make_body(
            sizes.invariant_body, input_shape, sizes, sizes.batch_norm, sizes.is_residual
        )
        self.dense = nn.Linear(n_features, sizes.hidden[0])
        self.hidden = nn.Linear(*sizes.hidden)
        self.output = output_layer(sizes.hidden[1], n_invariant)
        self.linear = output_layer(n_invariant, n_classes)  # used in training only

    def embed(self, x: Tensor) -> Tensor:
        """Return one embedding per row."""
        return F.relu(self.dense(self.run_body(fill_missing(x))))

    def head(self, h: Tensor) -> Tensor:
        """Return f_inv(x) for the embedding of a row, or r_y for a mean of embeddings."""
        return self.output(F.relu(self.hidden(h)))


class EquivariantEncoder(WithBody):
    """q(v | r_y, x), from the features of its own body and a dense layer on r_y."""

    def __init__(self, input_shape: tuple[int, ...], sizes: Architecture, n_latents: Latents):
        super().__init__()
        n_invariant, n_equivariant = n_latents
        self.body, n_features = make_body(sizes.equivariant_body, input_shape, sizes)
        self.dense = nn.Linear(n_features, sizes.hidden[0])
        self.dense_r = nn.Linear(n_invariant, sizes.hidden[1])
        n_joint = sum(sizes.hidden)
        self.hidden_mean = nn.Linear(n_joint, sizes.hidden[1])
        self.mean = output_layer(sizes.hidden[1], n_equivariant)
        self.hidden_variance = nn.Linear(n_joint, sizes.hidden[1])
        self.log_variance = output_layer(sizes.hidden[1], n_equivariant)

    def embed(self, x: Tensor) -> Tensor:
        """Return one embedding per row."""
        return F.relu(self.dense(self.run_body(fill_missing(x))))

    def forward(self, h: Tensor, r: Tensor) -> Distribution:
        """Return q(v | r_y, x) for the embeddings h of rows (Eq. 3)."""
        joint = torch.cat([h, F.relu(self.dense_r(r))], dim=1)
        mean = self.mean(F.relu(self.hidden_mean(joint)))
        return posterior_v(mean, self.log_variance(F.relu(self.hidden_variance(joint))))


class LabelPosterior(WithBody):
    """Logits of q(y | x), from the features of its own body and stop_grad(f_inv(x))."""

    def __init__(
        self, input_shape: tuple[int, ...], sizes: Architecture, n_invariant: int, n_classes: int
    ):
        super().__init__()
        self.body, n_features = make_body(
            sizes.posterior_body, input_shape, sizes, sizes.batch_norm, sizes.is_residual
        )
        n_embedding = sizes.hidden[0]
        first, second = sizes.posterior_hidden or sizes.hidden
        self.dense = nn.Linear(n_features, n_embedding)
        self.hidden = nn.ModuleList(
            [nn.Linear(n_embedding + n_invariant, first), nn.Linear(first, second)]
        )
        self.output = output_layer(second, n_classes)
        self.dropout = sizes.dropout

    def forward(self, x: Tensor, f_inv: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return the logits; with a generator dropout is on."""
        own = F.relu(self.dense(self.run_body(fill_missing(x))))
        h = torch.cat([own, f_inv.detach()], dim=1)
        for layer in self.hidden:
            h = dropout(F.relu(layer(h)), self.dropout, generator)
        return self.output(h)


class Decoder(WithBody):
    """The parameters of p(x | r_y, v): logits or means, and the scale of a Gaussian.

    Numeric columns of a table with other columns or missing values have a scale each.
    """

    def __init__(
        self,
        output_shape: tuple[int, ...],
        sizes: Architecture,
        n_latents: Latents,
        scale_shape: tuple[int, ...] = (),
    ):
        super().__init__()
        n_invariant, n_equivariant = n_latents
        first, second = sizes.hidden
        self.dense_r = nn.Linear(n_invariant, second)
        self.dense_v = nn.Linear(n_equivariant, second)
        self.dense = nn.Linear(2 * second, first)
        self.body = make_decoder_body(sizes.decoder, first, output_shape, sizes)
        self.log_scale = nn.Parameter(torch.zeros(scale_shape))
        self.log_scale_rate = sizes.log_scale_rate
        self.min_scale = sizes.min_scale

    @property
    def scale(self) -> Tensor:
        """Standard deviation of Gaussian features.

        Adam changes a parameter by about the learning rate per step, whatever its gradient.
        That is slow for the log of the scale, so `log_scale_rate` multiplies it.
        """
        return (self.log_scale * self.log_scale_rate).exp().clamp(min=self.min_scale)

    def forward(self, r: Tensor, v: Tensor) -> Tensor:
        """Return the logits or means of the features."""
        h = torch.cat([F.relu(self.dense_r(r)), F.relu(self.dense_v(v))], dim=1)
        return self.run_body(F.relu(self.dense(h)))


class EquiVAEModule(nn.Module):
    """All networks of the model.

    Rows must be normalised as by `sk_equivae.fitted.RowSpec`.

    Parameters
    ----------
    input_shape : tuple
        `(channels, height, width)` of an image or `(n_features,)` of a tabular row.
    n_classes : int
        Number of classes.
    n_latents : (int, int)
        Sizes of r and v.
    likelihood : {"bernoulli", "gaussian", "mixed"}
        Distribution of a pixel or feature.
    sizes : Architecture
        Sizes and parts of the networks.
    seed : int, default=0
        Seed of the initial weights.
    layout : Layout, optional
        Where the columns of a table are in a row; for "mixed" only.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_classes: int,
        n_latents: Latents,
        likelihood: str,
        sizes: Architecture,
        seed: int = 0,
        layout: Layout | None = None,
    ):
        super().__init__()
        self.input_shape = input_shape
        self.layout = layout
        self.n_classes = n_classes
        self.n_latents = n_latents
        self.likelihood = likelihood
        self.sizes = sizes
        with private_global_generator(seed):
            self.invariant = InvariantEncoder(input_shape, sizes, n_latents[0], n_classes)
            self.equivariant = EquivariantEncoder(input_shape, sizes, n_latents)
            self.posterior = LabelPosterior(input_shape, sizes, n_latents[0], n_classes)
            if layout is None:
                self.decoder = Decoder(input_shape, sizes, n_latents)
            else:
                scale_shape = (layout.n_numeric,) if layout.n_numeric else ()
                self.decoder = Decoder((layout.n_outputs,), sizes, n_latents, scale_shape)
        self._initialize(torch.Generator().manual_seed(seed))

    def _initialize(self, generator: torch.Generator) -> None:
        sizes = self.sizes
        given = (
            sizes.invariant_body, sizes.equivariant_body, sizes.posterior_body, sizes.decoder,
        )  # fmt: skip
        for network, part in zip(given, self.parts, strict=True):
            kept = copy.deepcopy(part.body) if network is not None else None
            initialize(part, generator)
            if kept is not None:
                part.body = kept  # the user's network may be pre-trained
        nn.init.constant_(self.equivariant.log_variance.bias, sizes.first_log_variance)

    @property
    def parts(self) -> tuple[WithBody, ...]:
        """The two encoders, the network of q(y | x) and the decoder."""
        return self.invariant, self.equivariant, self.posterior, self.decoder

    @property
    def like(self) -> Tensor:
        """A tensor on the device and in the dtype of the networks."""
        return self.decoder.log_scale

    @property
    def n_hidden(self) -> int:
        """Size of an embedding, the input of the head of f_inv."""
        return self.invariant.dense.out_features

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of q(y | x)."""
        return self.classify(x)

    def f_inv(self, x: Tensor) -> Tensor:
        """Return the invariant representation f_inv(x), one per row."""
        return self.invariant.head(self.invariant.embed(x))

    def classify(
        self, x: Tensor, f_inv: Tensor | None = None, generator: torch.Generator | None = None
    ) -> Tensor:
        """Return the logits of q(y | x) (Eq. 5); with a generator dropout is on."""
        return self.posterior(x, self.f_inv(x) if f_inv is None else f_inv, generator)

    def encode(self, x: Tensor, r: Tensor) -> Distribution:
        """Return q(v | r_y, x) (Eq. 3)."""
        return self.equivariant(self.equivariant.embed(x), r)

    def decode(self, r: Tensor, v: Tensor) -> Features | MixedColumns:
        """Return p(x | r_y, v) (Eq. 1)."""
        output, scale = self.decoder(r, v), self.decoder.scale
        return likelihood_x(self.likelihood, output, scale, self.layout)
