"""Displays of what was learnt, in the manner of scikit-learn.

A display takes data in `__init__`, computes them in `from_estimator`, and draws them in
`plot`, which keeps the artists. matplotlib is imported when something is drawn.

Reading order: `checks`, `colors`, `legend`, `plane`, `latent_space`, `latent_usage`,
`training_history`, `mosaic`, `table`, `samples`, `interpolation`, `style_transfer`,
`latent_grid`.
"""

from .interpolation import InterpolationDisplay
from .latent_grid import LatentGridDisplay
from .latent_space import LatentSpaceDisplay
from .latent_usage import LatentUsageDisplay
from .samples import SamplesDisplay
from .style_transfer import StyleTransferDisplay
from .training_history import TrainingHistoryDisplay

__all__ = [
    "InterpolationDisplay",
    "LatentGridDisplay",
    "LatentSpaceDisplay",
    "LatentUsageDisplay",
    "SamplesDisplay",
    "StyleTransferDisplay",
    "TrainingHistoryDisplay",
]
