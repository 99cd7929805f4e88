"""The probability distributions of the model.

=====================  =====================================================
p(v)                   :func:`prior_v`, a unit normal
q(v | r_y, x)          :func:`posterior_v`, a diagonal normal (Eq. 3)
p(x | r_y, v)          :func:`likelihood_x`, independent features
KL[q(v | ...) || p(v)] :func:`kl_v`
its dimensions         :func:`kl_v_dims`
KL[q(v | ...) || p(v|y)] :func:`kl_within_class`, p(v|y) fitted to each class
KL[q(y | x) || p(y)]   :func:`kl_y`
=====================  =====================================================

To add a likelihood, write a function of the decoder's output and the scale, and register
it in `LIKELIHOODS`.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Bernoulli, Distribution, Independent, Normal, kl_divergence

from .mixed import Layout, MixedColumns

# Limits of the log-variance of q(v | r_y, x). More extreme values carry no further information,
# and their exponential may overflow; the limits keep the bound finite.
LOG_VARIANCE_RANGE = (-10.0, 4.0)


def prior_v(like: Tensor) -> Distribution:
    r"""Return the prior :math:`p(v) = \mathcal{N}(0, I)` in the shape and dtype of `like`."""
    zero = torch.zeros_like(like)
    return Independent(Normal(zero, torch.ones_like(like), validate_args=False), 1)


def posterior_v(mean: Tensor, log_variance: Tensor) -> Distribution:
    r"""Return the approximate posterior of the equivariant latent (Eq. 3).

    .. math:: q(v|r_y, x) = \mathcal{N}\big(\mu(r_y, x), \sigma^2(r_y, x) I\big)
    """
    scale = (0.5 * log_variance.clamp(*LOG_VARIANCE_RANGE)).exp()
    return Independent(Normal(mean, scale, validate_args=False), 1)


def _bernoulli(output: Tensor, scale: Tensor) -> Distribution:
    return Bernoulli(logits=output, validate_args=False)


def _gaussian(output: Tensor, scale: Tensor) -> Distribution:
    return Normal(output, scale, validate_args=False)


LIKELIHOODS: dict[str, Callable[[Tensor, Tensor], Distribution]] = {
    "bernoulli": _bernoulli,
    "gaussian": _gaussian,
}


class Features(Independent[Distribution]):
    """Independent features, of which rows can be drawn with a generator."""

    def draw(self, generator: torch.Generator) -> Tensor:
        """Return drawn rows; the generator is on the CPU."""
        noise = torch.randn(self.mean.shape, generator=generator).to(self.mean)
        if isinstance(self.base_dist, Normal):
            return self.mean + self.stddev * noise
        uniform = torch.special.ndtr(noise)
        return (uniform < self.mean).to(self.mean)


class ObservedFeatures(Features):
    """Independent features of tabular rows; NaN is missing, and left out of the log-density."""

    def log_prob(self, x: Tensor) -> Tensor:
        """Return the log-density of the observed features, one value per row."""
        missing = x.isnan()
        density = self.base_dist.log_prob(x.masked_fill(missing, 0.0))
        return density.masked_fill(missing, 0.0).sum(dim=-1)


def likelihood_x(
    name: str, output: Tensor, scale: Tensor, layout: Layout | None = None
) -> Features | MixedColumns:
    r"""Return the likelihood :math:`p(x | r_y, v)` of independent features.

    Parameters
    ----------
    name : {"bernoulli", "gaussian", "mixed"}
        A key of `LIKELIHOODS`, or "mixed" for `MixedColumns`.
    output : Tensor of shape (n, ...)
        Output of the decoder: logits for "bernoulli", means for "gaussian".
    scale : Tensor
        Standard deviation of the features; not used by "bernoulli".
    layout : Layout, optional
        Where the columns are; for "mixed" only.

    Returns
    -------
    likelihood : Features or MixedColumns
        One distribution per row; `draw` draws rows.
    """
    if layout is not None:
        return MixedColumns(output, scale, layout)
    features = LIKELIHOODS[name](output, scale)
    if output.ndim == 2:
        return ObservedFeatures(features, 1)
    return Features(features, output.ndim - 1)


def kl_v(q_v: Distribution) -> Tensor:
    r"""Return :math:`D_{KL}[q(v|r_y, x) || p(v)]`, one value per row."""
    return kl_divergence(q_v, prior_v(q_v.mean))


def kl_v_dims(q_v: Distribution) -> Tensor:
    """Return the parts of `kl_v` that the dimensions of v contribute, of shape (n, n_equivariant).

    A dimension near 0 is not used: it tells nothing about a row.
    """
    assert isinstance(q_v, Independent)
    prior = prior_v(q_v.mean)
    assert isinstance(prior, Independent)
    return kl_divergence(q_v.base_dist, prior.base_dist)


class ClassNormal(NamedTuple):
    """p(v|y): normal distributions, one per class, fitted to v within the class.

    Attributes
    ----------
    mean : Tensor of shape (n_classes, n_equivariant)
        Their means.
    whitening : Tensor of shape (n_classes, n_equivariant, n_equivariant)
        The inverses of the Cholesky factors of their covariances.
    """

    mean: Tensor
    whitening: Tensor


def kl_within_class(q_v: Distribution, p_v: ClassNormal) -> Tensor:
    r"""Return :math:`D_{KL}[q(v|r_y, x) || p(v|y)]`, one value per row or pair of row and class.

    torch's own divergence of two multivariate normals solves triangular systems, which cannot be
    exported to ONNX.

    Parameters
    ----------
    q_v : Distribution of shape (n,) or (n, n_classes)
        q(v | r_y, x) of rows, for one class y or for all of them.
    p_v : ClassNormal
        p(v|y) of this class, without the first dimension, or of all classes.

    Returns
    -------
    kl : Tensor of shape (n,) or (n, n_classes)
        The divergence.

    Examples
    --------
    >>> import torch
    >>> q_v = posterior_v(torch.ones(1, 2), torch.zeros(1, 2))
    >>> unit = ClassNormal(torch.zeros(2), torch.eye(2))
    >>> kl_within_class(q_v, unit), kl_v(q_v)
    (tensor([1.]), tensor([1.]))
    """
    # all rows are multiplied by the matrix of a class, without a copy of it per row
    away = ((q_v.mean - p_v.mean)[..., None, :] @ p_v.whitening.mT)[..., 0, :]
    spread = q_v.variance * p_v.whitening.square().sum(dim=-2)
    scale = p_v.whitening.diagonal(dim1=-2, dim2=-1).log() + q_v.stddev.log()
    return (0.5 * (away.square() + spread - 1) - scale).sum(dim=-1)


def kl_y(q_y: Tensor, log_prior: Tensor) -> Tensor:
    r"""Return :math:`D_{KL}[q(y|x) || p(y)]`, one value per row, with :math:`0 \log 0 = 0`.

    `torch.distributions.Categorical` is not used: it replaces the zeros of a one-hot row by
    small numbers, so the divergence would not be exactly `-log p(y)`.
    """
    possible = q_y > 0
    log_ratio = q_y.clamp(min=torch.finfo(q_y.dtype).tiny).log() - log_prior
    return (q_y * log_ratio.masked_fill(~possible, 0.0)).sum(dim=1)
