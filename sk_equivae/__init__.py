"""Invariant and equivariant representations of data in classes, for scikit-learn."""

from ._classifier import EquiVAEClassifier
from ._display import LatentSpaceDisplay, LearningCurveDisplay
from ._display_grids import LatentGridDisplay, StyleTransferDisplay
from ._display_images import InterpolationDisplay, SamplesDisplay
from ._explore import explore
from ._transformer import EquiVAETransformer

__version__ = "0.1.0"

__all__ = [
    "EquiVAEClassifier",
    "EquiVAETransformer",
    "InterpolationDisplay",
    "LatentGridDisplay",
    "LatentSpaceDisplay",
    "LearningCurveDisplay",
    "SamplesDisplay",
    "StyleTransferDisplay",
    "explore",
]
