"""What a user would write instead: M2 (Kingma et al., 2014) in pyro, with our bodies and decoder.

The generative model of an image x of class y is::

    y ~ Categorical(prior)
    z ~ Normal(0, I)
    x ~ Bernoulli(decoder(y, z))

and inference goes by q(y | x) q(z | x, y). The labels of unlabelled rows are enumerated in
parallel by `TraceEnum_ELBO`. Needs pyro-ppl (the extra "benchmarks").
"""

import pyro
import torch
import torch.nn.functional as F
from pyro import distributions as dist
from pyro.infer import Trace_ELBO, TraceEnum_ELBO
from torch import Tensor, nn

from sk_equivae._module import Decoder, EquivariantEncoder
from sk_equivae._networks import initialize, make_body, output_layer

HIDDEN = (128, 64)


class M2(nn.Module):
    """The networks, the model, the guide and the loss.

    The encoder of z and the decoder are those of EquiVAE, with the one-hot y in the place of
    r_y; q(y | x) has the same body.

    Parameters
    ----------
    input_shape : (channels, height, width)
    n_classes, n_latent : int
    label_weight : float
        Weight of log q(y | x) of labelled rows.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_classes: int,
        n_latent: int,
        generator: torch.Generator,
        label_weight: float = 1.0,
    ):
        super().__init__()
        self.input_shape = input_shape
        self.n_classes, self.n_latent = n_classes, n_latent
        self.label_weight = label_weight
        body, n_features = make_body(None, input_shape)
        self.classifier = nn.Sequential(
            body, nn.Linear(n_features, HIDDEN[0]), nn.ReLU(),
            nn.Linear(HIDDEN[0], HIDDEN[1]), nn.ReLU(), output_layer(HIDDEN[1], n_classes),
        )  # fmt: skip
        sizes = n_classes, n_latent
        self.encoder = EquivariantEncoder(None, input_shape, HIDDEN, sizes)
        self.decoder = Decoder(None, input_shape, HIDDEN, sizes)
        initialize(self, generator)

    def model(self, x: Tensor, y: Tensor | None = None) -> None:
        prior = x.new_full((self.n_classes,), 1 / self.n_classes)
        with pyro.plate("rows", len(x)):
            y = pyro.sample("y", dist.OneHotCategorical(prior), obs=y)
            z = pyro.sample("z", dist.Normal(0.0, x.new_ones(self.n_latent)).to_event(1))
            # (n, ...) where y is known, (n_classes, n, ...) where it is enumerated
            y = y.expand(*z.shape[:-1], self.n_classes)
            logits = self.decoder(y.reshape(-1, self.n_classes), z.reshape(-1, self.n_latent))
            logits = logits.reshape(*z.shape[:-1], *self.input_shape)
            # pixels between 0 and 1 are no sample of a Bernoulli, but have a likelihood
            p_x = dist.Bernoulli(logits=logits, validate_args=False)
            pyro.sample("x", p_x.to_event(len(self.input_shape)), obs=x)

    def guide(self, x: Tensor, y: Tensor | None = None) -> None:
        with pyro.plate("rows", len(x)):
            if y is None:
                q_y = dist.OneHotCategorical(logits=self.classifier(x))
                y = pyro.sample("y", q_y, infer={"enumerate": "parallel"})
            y = y.expand(*y.shape[:-2], len(x), self.n_classes)
            h = self.encoder.embed(x)
            h = h.expand(*y.shape[:-1], h.shape[-1])
            q_z = self.encoder(h.reshape(-1, h.shape[-1]), y.reshape(-1, self.n_classes))
            mean, scale = (t.reshape(*y.shape[:-1], -1) for t in (q_z.mean, q_z.stddev))
            pyro.sample("z", dist.Normal(mean, scale).to_event(1))

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """The negative bound on a batch, a row on average; y = -1 marks unlabelled rows."""
        labeled = y >= 0
        one_hot = F.one_hot(y[labeled], self.n_classes).to(x.dtype)
        enumerated = TraceEnum_ELBO(max_plate_nesting=1)
        loss = enumerated.differentiable_loss(self.model, self.guide, x[~labeled])
        loss = loss + Trace_ELBO().differentiable_loss(self.model, self.guide, x[labeled], one_hot)
        log_q_y = -F.cross_entropy(self.classifier(x[labeled]), y[labeled], reduction="sum")
        return (loss - self.label_weight * log_q_y) / len(x)
