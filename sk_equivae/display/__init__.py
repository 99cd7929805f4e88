"""Displays of what was learnt, in the manner of scikit-learn.

A display takes data in `__init__`, computes them in `from_estimator`, and draws them in
`plot`, which keeps the artists. matplotlib is imported when something is drawn.

Reading order: `checks`, `plane`, `latent_space`, `learning_curve`, `mosaic`, `samples`,
`grids`.
"""

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
