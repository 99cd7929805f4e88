"""The paper's neural classifier on f_inv: two dense layers of 128 and 64 units with dropout."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

from benchmarks.checkpoints import Checkpoint
from sk_equivae._inputs import InputSpec
from sk_equivae._labels import is_unlabeled
from sk_equivae._networks import output_layer

from .base import PeerClassifier
from .networks import HIDDEN, PeerModule


class NeuralModule(PeerModule):
    """Two dense layers, dropout after each, and the logits."""

    def __init__(self, spec: InputSpec, n_classes: int, dropout: float):
        super().__init__()
        n_inputs = int(np.prod(spec.input_shape))
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(n_inputs, HIDDEN[0]), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(HIDDEN[0], HIDDEN[1]), nn.ReLU(), nn.Dropout(dropout),
            output_layer(HIDDEN[1], n_classes),
        )  # fmt: skip

    def classify(self, x: Tensor) -> Tensor:
        return self.layers(x)

    def losses(
        self, x: Tensor, y: Tensor, generator: torch.Generator
    ) -> Iterator[tuple[str, Tensor]]:
        yield "loss", F.cross_entropy(self.classify(x), y)


class NeuralClassifier(PeerClassifier):
    """The classifier above, trained on the labelled rows alone.

    Parameters
    ----------
    dropout : float
    max_epochs, batch_size, max_batch_size, lr, random_state, checkpoint, verbose : see `Peer`
    """

    def __init__(
        self,
        dropout: float = 0.5,
        *,
        max_epochs: Any = "auto",
        batch_size: int = 64,
        max_batch_size: int = 256,
        lr: float = 1e-3,
        random_state: Any = None,
        checkpoint: Checkpoint | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            max_epochs=max_epochs, batch_size=batch_size, max_batch_size=max_batch_size, lr=lr,
            random_state=random_state, checkpoint=checkpoint, verbose=verbose,
        )  # fmt: skip
        self.dropout = dropout

    def _make_module(self, spec: InputSpec, n_classes: int) -> NeuralModule:
        return NeuralModule(spec, n_classes, self.dropout)

    def fit(self, X: ArrayLike, y: ArrayLike):
        labeled = ~is_unlabeled(y)
        return super().fit(np.asarray(X)[labeled], np.asarray(y)[labeled])
