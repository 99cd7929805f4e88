"""Small modules and objectives in float64, for tests of the parts."""

import numpy as np
import torch

from sk_equivae._module import EquiVAEModule
from sk_equivae._objective import EquiVAEObjective

# labelled and unlabelled rows of three classes
MIXED = torch.tensor([0, 1, -1, 2, 0, -1, 1, 2, -1])


def tiny_module(input_shape=(4,), n_classes=3, n_latents=(3, 2), likelihood="gaussian", **params):
    generator = torch.Generator().manual_seed(params.pop("seed", 0))
    shift, scale = params.pop("shift", torch.zeros(())), params.pop("scale", torch.ones(()))
    module = EquiVAEModule(
        input_shape, n_classes, n_latents, likelihood, shift, scale, generator, **params
    )
    return module.double()


def tiny_objective(module, *, labeled_share=0.5, prior=None, **params):
    """An objective for `module`; every class of the batch stands in whole, and no added terms."""
    n_classes = module.posterior.output.out_features
    chosen = {
        "m_max": 1000,
        "class_threshold": 0.0,
        "complement_pool": "labeled",
        "confidence": 0.95,
        "distribution_alignment": False,
        "label_weight": 1.0,
        "consistency_weight": 0.0,
        "prototype_weight": 0.0,
        "augment": None,
    }
    objective = EquiVAEObjective(
        n_classes, module.invariant.dense.out_features, **{**chosen, **params}
    ).double()
    prior = torch.full((n_classes,), 1 / n_classes) if prior is None else torch.as_tensor(prior)
    objective.set_data(prior.double().numpy(), labeled_share)
    return objective


def random_rows(*shape, seed=0):
    return torch.from_numpy(np.random.RandomState(seed).normal(size=shape))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def batch(y, shape=(4,), weight=None):
    weight = torch.ones(len(y)) if weight is None else weight
    return random_rows(len(y), *shape), y, weight.double()


def evaluate(module, objective, y, shape=(4,), weight=None, teacher=None):
    """All terms in eval mode: every other row of a class stands in, and nothing is dropped."""
    with torch.no_grad():
        return objective.eval()(module.eval(), batch(y, shape, weight), seeded(), teacher)


def middle_confidence(module):
    """q(y | x), and a confidence that some of the unlabelled rows reach."""
    q_y = module.classify(batch(MIXED)[0]).softmax(dim=1).detach()
    return q_y, q_y[MIXED < 0].amax(dim=1).sort().values[1].item()
