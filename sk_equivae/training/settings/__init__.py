"""The settings of training, and the rules behind every "auto".

Reading order: `nested`, `objective`, `networks`, `plan`.
"""

from .nested import NestedSettings
from .networks import NETWORKS, Networks, is_photograph
from .objective import OBJECTIVES, Objective
from .plan import Plan, TrainingSettings, make_plan, n_latents

__all__ = [
    "NETWORKS",
    "OBJECTIVES",
    "NestedSettings",
    "Networks",
    "Objective",
    "Plan",
    "TrainingSettings",
    "is_photograph",
    "make_plan",
    "n_latents",
]
