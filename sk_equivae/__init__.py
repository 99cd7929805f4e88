"""Invariant and equivariant representations of data in classes, for scikit-learn."""

from ._classifier import EquiVAEClassifier
from ._transformer import EquiVAETransformer

__version__ = "0.1.0"

__all__ = ["EquiVAEClassifier", "EquiVAETransformer"]
