"""Pictures of what was learnt; matplotlib is imported when something is drawn."""

from .grids import LatentGridDisplay, StyleTransferDisplay
from .latent_space import LatentSpaceDisplay
from .learning_curve import LearningCurveDisplay
from .samples import InterpolationDisplay, SamplesDisplay

__all__ = [
    "InterpolationDisplay",
    "LatentGridDisplay",
    "LatentSpaceDisplay",
    "LearningCurveDisplay",
    "SamplesDisplay",
    "StyleTransferDisplay",
]
