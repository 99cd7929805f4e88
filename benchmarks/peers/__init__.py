"""The systems that the paper compares with, as scikit-learn estimators.

Each has the networks, the batches and the label handling of this library: what differs is the
model. -1 marks unlabelled rows.
"""

from .aae import AAEClassifier
from .labels_only import NeuralClassifier
from .m2 import M1Transformer, M2Classifier, StackedM2Classifier
from .siddharth import SiddharthClassifier

__all__ = [
    "AAEClassifier",
    "M1Transformer",
    "M2Classifier",
    "NeuralClassifier",
    "SiddharthClassifier",
    "StackedM2Classifier",
]
