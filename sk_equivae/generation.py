"""Generation, style transfer and new classes, as functions of a `FittedModel`.

Rows are flat on input, and have the shape, units and dtype of the user's X on output. Classes
are given as codes, positions in `model.classes`. Generated rows are means of p(x | r_y, v) unless
draws are asked for: the noise of p(x | r_y, v) is independent between features.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .fitted.loop import BATCH_SIZE
from .fitted.model import Codes, FittedModel
from .fitted.prototypes import ClassMeans
from .fitted.styles import from_class, prior_moments, to_class
from .model.distributions import prior_v
from .model.rules import to_float64

Rows = NDArray[Any]
Floats = NDArray[np.floating[Any]]


def sampled_classes(model: FittedModel) -> Codes:
    """Return the codes of the classes with a prototype and a prior above 0."""
    codes = np.flatnonzero(model.has_prototype & (model.class_prior > 0))
    if len(codes) == 0:
        raise ValueError(
            "Expected at least one class with labelled rows seen in training; got none. Call "
            "`partial_fit` with labelled rows first."
        )
    return codes


def draw_classes(model: FittedModel, n_samples: int, rng: np.random.RandomState) -> Codes:
    """Draw class codes from p(y)."""
    codes = sampled_classes(model)
    prior = model.class_prior[codes]
    return rng.choice(codes, n_samples, p=prior / prior.sum())


def sample(
    model: FittedModel, codes: Codes, generator: torch.Generator, noise: bool = False
) -> Rows:
    """Return one new row per code, with v ~ N(v_mean, v_covariance) of the class.

    With `noise`, rows are drawn from p(x | r_y, v).
    """
    u = torch.randn(len(codes), model.module.n_latents[1], generator=generator).numpy()
    v = to_class(u, codes, model.v_mean, model.v_covariance)
    return model.decode(model.r(codes), v, generator=generator if noise else None)


def reconstruct(model: FittedModel, X: Rows, rule: str, codes: Codes | None = None) -> Rows:
    """Encode and decode rows, with the mean of q(v | r_y, x) as v."""
    codes, v = model.latents(X, rule, codes)
    return model.decode(model.r(codes), v)


def interpolate(model: FittedModel, A: Rows, B: Rows, n_steps: int, rule: str) -> Rows:
    """Return paths from rows of A to rows of B, of shape (n, n_steps, *row_shape)."""
    (codes_a, v_a), (codes_b, v_b) = model.latents(A, rule), model.latents(B, rule)
    t = torch.linspace(0, 1, n_steps, dtype=torch.from_numpy(v_a).dtype)[:, None]

    def between(a: Floats, b: Floats) -> Floats:
        # `lerp` between equal values is exact, so r_y is constant within a class
        start, end = torch.from_numpy(a)[:, None], torch.from_numpy(b)[:, None]
        return torch.lerp(start, end, t).flatten(0, 1).numpy()  # (n * n_steps, n_latents)

    rows = model.decode(between(model.r(codes_a), model.r(codes_b)), between(v_a, v_b))
    return rows.reshape(len(v_a), n_steps, *model.rows.row_shape)


def transfer_style(
    model: FittedModel,
    content: Rows,
    style: Rows,
    rule: str,
    grid: bool = False,
    generator: torch.Generator | None = None,
) -> Rows:
    """Return rows with r_y of the content's class and v of the style.

    If the classes differ, v is standardised with the mean and covariance of v in its own class,
    and scaled back with those in the class of the content.

    Parameters
    ----------
    model : FittedModel
        The model.
    content, style : ndarray of shape (n, n_features)
        Rows that determine r_y, and rows that determine v.
    rule : {"prototype", "posterior", "likelihood"}
        How classes are predicted.
    grid : bool, default=False
        Combine every content with every style.
    generator : torch.Generator, optional
        Draw rows from p(x | r_y, v), instead of its mean.

    Returns
    -------
    X : ndarray of shape (n, *row_shape), or (n_content, n_style, *row_shape)
        The generated rows.
    """
    (codes, _), (style_codes, v) = model.latents(content, rule), model.latents(style, rule)
    n_content, n_style = len(codes), len(style_codes)
    if grid:
        codes, style_codes = np.repeat(codes, n_style), np.tile(style_codes, n_content)
        v = np.tile(v, (n_content, 1))
    moments = model.v_mean, model.v_covariance
    moved = to_class(from_class(v, style_codes, *moments), codes, *moments)
    v = np.where((codes == style_codes)[:, None], v.astype(np.float64), moved)
    rows = model.decode(model.r(codes), v, generator=generator)
    return rows.reshape(n_content, n_style, *model.rows.row_shape) if grid else rows


def score_samples(model: FittedModel, X: Rows, n_draws: int, generator: torch.Generator) -> Floats:
    """Return an importance-weighted bound on log p(x), one value per row."""
    codes = sampled_classes(model)
    noise = torch.randn(n_draws, model.module.n_latents[1], generator=generator)
    noise = model.tensor(noise)

    def bound(x: Tensor) -> Tensor:
        h = model.module.equivariant.embed(x)
        # an estimate of log p(x, y) per class
        joint = [_log_joint(model, x, h, code, noise) for code in codes]
        return torch.logsumexp(torch.stack(joint, dim=1), dim=1)

    return model.map(bound, X, batch_size=max(1, BATCH_SIZE // n_draws))


def _log_joint(model: FittedModel, x: Tensor, h: Tensor, code: int, noise: Tensor) -> Tensor:
    """Estimate log p(x, y) with samples of v from q(v | r_y, x), in float64."""
    module, n_draws = model.module, len(noise)
    r = model.tensor(model.prototypes[code]).expand(len(x), -1)
    q_v = module.equivariant(h, r)
    v = q_v.mean[:, None] + q_v.stddev[:, None] * noise  # (n, n_draws, n_equivariant)
    p_x = module.decode(r.repeat_interleave(n_draws, dim=0), v.flatten(0, 1))
    log_x = to_float64(p_x.log_prob(x.repeat_interleave(n_draws, dim=0)))
    v, stddev, drawn = to_float64(v), to_float64(q_v.stddev), to_float64(noise)
    log_q = prior_v(drawn).log_prob(drawn) - stddev.log().sum(dim=1, keepdim=True)
    log_ratio = prior_v(v).log_prob(v) - log_q  # (n, n_draws)
    log_p_x = torch.logsumexp(log_x.reshape(len(x), n_draws) + log_ratio, dim=1)
    return log_p_x - np.log(n_draws) + np.log(model.class_prior[code])


def add_classes(model: FittedModel, X: Rows, codes: Codes, new: NDArray[Any]) -> FittedModel:
    """Return a model with new classes, computed from a few rows of each without training.

    Parameters
    ----------
    model : FittedModel
        The model; it is not changed.
    X : ndarray of shape (n, n_features)
        Rows of the new classes.
    codes : ndarray of shape (n,)
        The class of each row, as a position in `new`.
    new : ndarray of shape (n_new,)
        Labels of the new classes, not in `model.classes`.

    Returns
    -------
    model : FittedModel
        The model with the new classes.
    """
    module = model.module
    means = ClassMeans(len(new), module.n_hidden)

    def add(x: Tensor, code: Tensor) -> None:
        means.update(module.invariant.embed(x), code, torch.ones(len(x)))

    model.map(add, X, codes)
    with torch.inference_mode():
        prototypes = module.invariant.head(means.means.to(module.like)).cpu().numpy()
    n_old, n_all = len(model.classes), len(model.classes) + len(new)
    classes = np.concatenate([model.classes, new])
    if model.classes.dtype.kind in "iu" and classes.dtype.kind == "f":
        classes = classes.astype(np.int64)  # the labels 8.0 and 9.0 added to 0, ..., 7
    order = np.argsort(classes, kind="stable")
    prior = np.full(len(new), model.class_prior.sum() / n_all)  # as frequent as the average class
    v_mean, v_covariance = prior_moments(len(new), module.n_latents[1])
    count = np.bincount(codes, minlength=len(new)).astype(np.float64)
    weight = model.class_weight

    def joined(old: NDArray[Any], added: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([old, added])[order]

    return model.replace(
        classes=classes[order],
        class_count=joined(model.class_count, count),
        class_prior=joined(model.class_prior * n_old / n_all, prior),
        class_embeddings=joined(model.class_embeddings, means.means.numpy()),
        prototypes=joined(model.prototypes, prototypes),
        v_mean=joined(model.v_mean, v_mean),
        v_covariance=joined(model.v_covariance, v_covariance),
        trained=np.argsort(order)[model.trained],
        relative=model.relative.joined((v_mean, v_covariance), order),
        class_weight=None if weight is None else joined(weight, np.ones(len(new))),
    )
