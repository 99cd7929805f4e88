"""The result of training: networks, prototypes, styles, classes and the scaling of rows.

Reading order: `rows`, `threads`, `loop`, `prototypes`, `styles`, `model`.
"""

from .model import FittedModel
from .rows import RowSpec

__all__ = ["FittedModel", "RowSpec"]
