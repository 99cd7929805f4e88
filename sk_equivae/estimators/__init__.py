"""scikit-learn's face: parameters, validation, `fit`, and what comes after it.

Reading order: `labels`, `inputs`, `parameters`, `going_on`, `base`, `representation`,
`generative`, `classifier`, `transformer`.
"""

from .classifier import EquiVAEClassifier
from .transformer import EquiVAETransformer

__all__ = ["EquiVAEClassifier", "EquiVAETransformer"]
