"""Invariant and equivariant representations of data in classes, for scikit-learn."""

from ._version import __version__
from .display import (
    InterpolationDisplay,
    LatentGridDisplay,
    LatentSpaceDisplay,
    LearningCurveDisplay,
    SamplesDisplay,
    StyleTransferDisplay,
)
from .estimators import EquiVAEClassifier, EquiVAEImputer, EquiVAETransformer, load
from .explore import explore
from .files import ArchiveError
from .training.augment import RandomAffine, SwapFeatures
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
    "InterpolationDisplay",
    "LatentGridDisplay",
    "LatentSpaceDisplay",
    "LearningCurveDisplay",
    "Networks",
    "Objective",
    "RandomAffine",
    "SamplesDisplay",
    "StyleTransferDisplay",
    "SwapFeatures",
    "__version__",
    "explore",
    "load",
]
