"""Invariant and equivariant representations of data in classes, for scikit-learn."""

from ._version import __version__
from ._warnings import InputWarning
from .display import (
    InterpolationDisplay,
    LatentGridDisplay,
    LatentSpaceDisplay,
    LatentUsageDisplay,
    SamplesDisplay,
    StyleTransferDisplay,
    TrainingHistoryDisplay,
)
from .estimators import EquiVAEClassifier, EquiVAEImputer, EquiVAETransformer, load
from .explore import explore
from .files import ArchiveError
from .training.augment import SwapFeatures
from .training.pictures import Photographic, RandomAffine
from .training.pseudo_labels import Alignment, Discriminant, Experts, Graph
from .training.settings import Networks, Objective

__all__ = [
    "Alignment",
    "ArchiveError",
    "Discriminant",
    "EquiVAEClassifier",
    "EquiVAEImputer",
    "EquiVAETransformer",
    "Experts",
    "Graph",
    "InputWarning",
    "InterpolationDisplay",
    "LatentGridDisplay",
    "LatentSpaceDisplay",
    "LatentUsageDisplay",
    "Networks",
    "Objective",
    "Photographic",
    "RandomAffine",
    "SamplesDisplay",
    "StyleTransferDisplay",
    "SwapFeatures",
    "TrainingHistoryDisplay",
    "__version__",
    "explore",
    "load",
]
