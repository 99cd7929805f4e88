"""The densities of the model, each once.

=====================  =====================================================
p(v)                   :func:`prior_v`, a unit normal
q(v | r_y, x)          :func:`posterior_v`, a diagonal normal (Eq. 3)
p(x | r_y, v)          :func:`likelihood_x`, Bernoulli or Gaussian features
KL[q(v | ...) || p(v)] :func:`kl_v`
KL[q(y | x) || p(y)]   :func:`kl_y`
=====================  =====================================================
"""

import torch
from torch import Tensor
from torch.distributions import Bernoulli, Distribution, Independent, Normal, kl_divergence

# Outside this range the normal carries no more information than at its ends,
# and its exponential overflows: the bound stays finite however training goes.
LOG_VARIANCE_RANGE = (-10.0, 4.0)

# The smallest standard deviation of a Gaussian feature, in units of the
# feature's own: below it the density of a constant feature grows for ever.
MIN_SCALE = 0.1


def prior_v(like: Tensor) -> Distribution:
    r"""The prior :math:`p(v) = \mathcal{N}(0, I)`, of the shape and dtype of `like`."""
    zero = torch.zeros_like(like)
    return Independent(Normal(zero, torch.ones_like(like), validate_args=False), 1)


def posterior_v(mean: Tensor, log_variance: Tensor) -> Independent:
    r"""The approximate posterior of the equivariant latent (Eq. 3).

    .. math:: q(v|r_y, x) = \mathcal{N}\big(\mu(r_y, x), \sigma^2(r_y, x) I\big)
    """
    scale = (0.5 * log_variance.clamp(*LOG_VARIANCE_RANGE)).exp()
    return Independent(Normal(mean, scale, validate_args=False), 1)


def likelihood_x(name: str, output: Tensor, log_scale: Tensor) -> Independent:
    r"""The likelihood :math:`p(x | r_y, v)` of independent features.

    Parameters
    ----------
    name : {"bernoulli", "gaussian"}
        With "bernoulli" `output` holds logits; with "gaussian" it holds means,
        and the standard deviation is `exp(log_scale)`, not below `MIN_SCALE`.
    """
    features: Distribution
    if name == "bernoulli":
        features = Bernoulli(logits=output, validate_args=False)
    else:
        scale = log_scale.exp().clamp(min=MIN_SCALE)
        features = Normal(output, scale, validate_args=False)
    return Independent(features, output.ndim - 1)


def kl_v(q_v: Distribution) -> Tensor:
    r""":math:`D_{KL}[q(v|r_y, x) || p(v)]`, one value a row."""
    return kl_divergence(q_v, prior_v(q_v.mean))


def kl_y(q_y: Tensor, log_prior: Tensor) -> Tensor:
    r""":math:`D_{KL}[q(y|x) || p(y)]`, one value a row; :math:`0 \log 0 = 0`.

    `Categorical` is of no use here: it renormalises a one-hot row to
    probabilities of `eps`, and the divergence is then not exactly `-log p(y)`.
    """
    possible = q_y > 0
    log_ratio = q_y.clamp(min=torch.finfo(q_y.dtype).tiny).log() - log_prior
    return (q_y * log_ratio.masked_fill(~possible, 0.0)).sum(dim=1)
