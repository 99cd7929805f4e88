"""Small modules and objectives in float64, for tests of the parts."""

import numpy as np
import torch
from scipy import stats

from sk_equivae import Objective
from sk_equivae.fitted import RowSpec
from sk_equivae.model.module import EquiVAEModule
from sk_equivae.training.batches import TrainingRows
from sk_equivae.training.objective import EquiVAEObjective
from sk_equivae.training.settings import Networks, Plan

# labelled and unlabelled rows of three classes
MIXED = torch.tensor([0, 1, -1, 2, 0, -1, 1, 2, -1])
LABELED = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
PRIOR = [0.2, 0.3, 0.5]
# what v takes for noise in tests that use the fixture `same_noise`
NOISE = torch.tensor([0.7, -1.1], dtype=torch.float64)
# every added term is computed, since none has the weight 0
ALL_TERMS = {"consistency_weight": 1.0, "prototype_weight": 1.0}
# fields of `Objective` for Eq. 7 with the exact sum, and log q(y | x) of labelled rows
PLAIN = {
    "class_threshold": 0.0,
    "complement_pool": "labeled",
    "confidence": 0.95,
    "label_weight": 1.0,
    "consistency_weight": 0.0,
    "alignment": None,
    "graph": None,
    "discriminant": None,
    "experts": None,
}


def tiny_module(
    input_shape=(4,), n_classes=3, n_latents=(3, 2), likelihood="gaussian", seed=0, **networks
):
    """A module; other parameters are those of `Networks`, without batch normalisation."""
    sizes = Networks(**{"batch_norm": False, **networks}).architecture(n_latents)
    return EquiVAEModule(input_shape, n_classes, n_latents, likelihood, sizes, seed).double()


def tiny_objective(
    module,
    *,
    labeled_share=0.5,
    prior=None,
    m_max=1000,
    augment=None,
    prototype_weight=0.0,
    sources=None,
    **fields,
):
    """An objective for `module`; every class of the batch stands in whole, and no added terms.

    Other parameters are fields of `Objective`; the sources of beliefs are those that the
    fields name, unless they are given.
    """
    settings = Objective(**{**PLAIN, **fields})
    most = 3 if settings.max_classes == "auto" else settings.max_classes
    threshold = 0.01 if settings.class_threshold == "auto" else settings.class_threshold
    plan = Plan(1, 32, labeled_share, prototype_weight, 0.0, threshold, most)
    prior = np.full(module.n_classes, 1 / module.n_classes) if prior is None else np.array(prior)
    sources = settings.sources() if sources is None else sources
    return EquiVAEObjective(
        prior, module.n_hidden, m_max, settings, plan, sources, augment
    ).double()


def row_spec(input_shape, row_shape=None, dtype=np.float64, shift=0.0, scale=1.0):
    """The units of rows: as they are, unless a shift or a scale is given."""
    return RowSpec(
        row_shape=row_shape or input_shape,
        input_shape=input_shape,
        dtype=np.dtype(dtype),
        likelihood="gaussian",
        max_value=1.0,
        shift=np.asarray(shift, dtype=np.float64),
        scale=np.asarray(scale, dtype=np.float64),
        value_range=(-np.inf, np.inf),
    )


def make_codes(n_labeled, n_unlabeled, n_classes=3):
    """Codes of labelled and unlabelled rows, in random order."""
    codes = np.r_[np.arange(n_labeled) % n_classes, np.full(n_unlabeled, -1)]
    return np.random.RandomState(0).permutation(codes)


def make_rows(X, codes=None, weight=None, input_shape=None, **units):
    """Rows of flat X in float64; see `row_spec` for their units."""
    spec = row_spec(input_shape or X.shape[1:], X.shape[1:], X.dtype, **units)
    return TrainingRows(X, spec, codes, weight).like(torch.zeros((), dtype=torch.float64))


def random_rows(*shape, seed=0):
    return torch.from_numpy(np.random.RandomState(seed).normal(size=shape))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def batch(y, shape=(4,), weight=None):
    """The inputs and codes of a batch, as `TrainingRows` gives them."""
    weight = torch.ones(len(y)) if weight is None else weight
    return {"x": random_rows(len(y), *shape), "weight": weight.double()}, y


def evaluate(module, objective, y, shape=(4,), weight=None, teacher=None):
    """All terms in eval mode: every other row of a class stands in, and nothing is dropped."""
    with torch.no_grad():
        terms, _ = objective.eval()(module.eval(), *batch(y, shape, weight), seeded(), teacher)
    return terms


def middle_confidence(module):
    """q(y | x), and a confidence that some of the unlabelled rows reach."""
    q_y = module.classify(batch(MIXED)[0]["x"]).softmax(dim=1).detach()
    return q_y, q_y[MIXED < 0].amax(dim=1).sort().values[1].item()


def has_gradient(network):
    return any(p.grad is not None and bool(p.grad.any()) for p in network.parameters())


# -------------------------------------------------------------------- the bounds as plain loops


def plain_terms(module, x, y, n, code):
    """log p(x | r_y, v) and KL of v for the row n, were it of class `code` (Eq. 4)."""
    others = [x[i] for i in range(len(x)) if y[i] == code and i != n]
    h = torch.stack([module.invariant.embed(other[None])[0] for other in others])
    r = module.invariant.head(h.mean(dim=0, keepdim=True))
    q_v = module.encode(x[n : n + 1], r)
    mean, scale = q_v.mean[0], q_v.stddev[0]
    output = module.decoder(r, (mean + scale * NOISE)[None])[0]
    if module.likelihood == "gaussian":
        density = stats.norm.logpdf(x[n], output).sum()
    else:
        p = 1 / (1 + np.exp(-output.numpy()))
        density = (x[n].numpy() * np.log(p) + (1 - x[n].numpy()) * np.log(1 - p)).sum()
    kl = 0.5 * (mean**2 + scale**2 - 1 - 2 * scale.log()).sum().item()
    return float(density), kl


@torch.no_grad()
def plain_labeled(module, x, y):
    """The mean of Eq. 4 over the labelled rows."""
    bounds = []
    for n in np.flatnonzero(y.numpy() >= 0):
        density, kl = plain_terms(module, x, y, n, y[n])
        bounds.append(density - kl + np.log(PRIOR[y[n]]))
    return np.mean(bounds)


@torch.no_grad()
def plain_unlabeled(module, x, y):
    """The mean of Eq. 6 over the unlabelled rows."""
    bounds = []
    for n in np.flatnonzero(y.numpy() < 0):
        q = module.classify(x[n : n + 1]).softmax(dim=1)[0].tolist()
        bound = 0.0
        for code in range(3):
            density, kl = plain_terms(module, x, y, n, code)
            bound += q[code] * (density - kl)
            bound -= q[code] * np.log(q[code] / PRIOR[code])
        bounds.append(bound)
    return np.mean(bounds)
