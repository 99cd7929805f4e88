"""What training leaves: networks, prototypes, styles, classes and units.

Reading order: `rows`, `threads`, `loop`, `prototypes`, `styles`, `model`.
"""

from .model import FittedModel
from .rows import RowSpec

__all__ = ["FittedModel", "RowSpec"]
