"""The systems that EquiVAE is compared with: its own networks, other models, one training loop."""

from .aae import AAE
from .classifiers import LabeledNetwork, LabelNetwork, NeuralClassifier
from .loop import PeerClassifier, PeerTransformer
from .vae import M1, M2, Siddharth, StackedM2

__all__ = [
    "AAE",
    "M1",
    "M2",
    "LabelNetwork",
    "LabeledNetwork",
    "NeuralClassifier",
    "PeerClassifier",
    "PeerTransformer",
    "Siddharth",
    "StackedM2",
]
