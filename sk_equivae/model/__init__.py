"""The model of the paper in plain PyTorch: densities, networks, complements, bounds, rules.

Reading order: `distributions`, `layers`, `residual`, `given`, `networks`, `randomness`,
`module`, `complements`, `bounds`, `rules`. Each file imports only from those before it.
"""

from .bounds import labeled_elbo, semi_supervised_elbo, unlabeled_elbo
from .module import EquiVAEModule
from .networks import Architecture

__all__ = [
    "Architecture",
    "EquiVAEModule",
    "labeled_elbo",
    "semi_supervised_elbo",
    "unlabeled_elbo",
]
