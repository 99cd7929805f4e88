"""Classifiers without a generative part: the network of q(y|x) alone, and one on f_inv."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sk_equivae import Networks, Photographic, RandomAffine, SwapFeatures
from sk_equivae.model import Architecture
from sk_equivae.model.layers import output_layer
from sk_equivae.model.module import LabelPosterior

from .loop import Losses, PeerModule, Units

# The least that training on few labelled rows alone takes.
MIN_STEPS, MIN_EPOCHS = 2_000, 20
# As many rows as EquiVAE sees by default when some have no label.
MIN_ROWS_SEEN, MAX_ROWS_SEEN, MAX_PHOTOGRAPHS_SEEN = 20_000, 500_000, 700_000


class LabelNetwork(PeerModule):
    """EquiVAE's network of q(y|x), with no f_inv(x) beside its own embedding of x.

    Without a threshold it learns from the labelled rows alone. With one it is FixMatch (Sohn et
    al. 2020) on our body: the moving average of the weights labels a weakly changed row, and
    where it is sure the strongly changed row must get the same label.
    """

    def __init__(
        self, units: Units, n_classes: int, threshold: float | None = None, augment: bool = True,
        batch_norm: bool = True, decay: float = 0.99,
    ):  # fmt: skip
        super().__init__()
        own = Networks() if batch_norm else Networks(body="paper", batch_norm=False)
        sizes, is_image = own.architecture((16, 16), units.shape), len(units.shape) == 3
        self.student = LabelPosterior(units.shape, sizes, 0, n_classes)
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.threshold, self.decay = threshold, decay
        self.max_rows_seen = MAX_PHOTOGRAPHS_SEEN if sizes.is_residual else MAX_ROWS_SEEN
        of_images = Photographic() if sizes.is_residual else RandomAffine()
        strong = of_images if is_image else SwapFeatures() if threshold else None
        weak = RandomAffine(rotation=0, scale=0, shear=0, shift=0.035)  # a pixel of 28
        self.strong, self.weak = (strong, weak if is_image else None) if augment else (None, None)

    def initialize(self, generator: torch.Generator) -> None:
        super().initialize(generator)
        self.teacher.load_state_dict(self.student.state_dict())

    def groups(self) -> dict[str, list[nn.Parameter]]:
        return {"loss": list(self.student.parameters())}

    def auto_epochs(self, n_rows: int, batch_size: int) -> int:
        if self.threshold is None:
            return max(MIN_EPOCHS, -(-MIN_STEPS // math.ceil(n_rows / batch_size)))
        return min(max(15, -(-MIN_ROWS_SEEN // n_rows)), max(2, self.max_rows_seen // n_rows))

    def classify(self, x: Tensor) -> Tensor:
        """Logits of the averaged network."""
        return self.teacher(x, x.new_empty(len(x), 0), None)

    def losses(self, x: Tensor, y: Tensor, generator: torch.Generator) -> Losses:
        unlabeled = y < 0
        targets = y
        if bool(unlabeled.any()):
            self.teacher.eval()
            with torch.no_grad():
                seen = x[unlabeled] if self.weak is None else self.weak(x[unlabeled], generator)
                probability, code = self.classify(seen).softmax(dim=1).max(dim=1)
            targets = y.index_put((unlabeled,), code.where(probability >= self.threshold, -1))
        changed = x if self.strong is None else self.strong(x, generator)
        logits = self.student(changed, x.new_empty(len(x), 0), generator)
        each = F.cross_entropy(logits, targets, ignore_index=-1, reduction="none")
        loss = each[~unlabeled].mean()
        if bool(unlabeled.any()):
            loss = loss + each[unlabeled].mean()  # rows that are not sure count as 0
        yield "loss", loss

    @torch.no_grad()
    def after_step(self) -> None:
        for mean, value in zip(self.teacher.parameters(), self.student.parameters(), strict=True):
            mean.lerp_(value, 1 - self.decay)
        for mean, value in zip(self.teacher.buffers(), self.student.buffers(), strict=True):
            mean.copy_(value)  # of batch normalisation


class NeuralClassifier(PeerModule):
    """The paper's neural classifier on f_inv: dense layers of 128 and 64 units with dropout."""

    labeled_only = True

    def __init__(self, units: Units, n_classes: int, dropout: float = 0.5):
        super().__init__()
        first, second = Architecture().hidden
        self.layers = nn.Sequential(
            nn.Linear(math.prod(units.shape), first), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(first, second), nn.ReLU(), nn.Dropout(dropout),
            output_layer(second, n_classes),
        )  # fmt: skip

    def classify(self, x: Tensor) -> Tensor:
        return self.layers(x)

    def losses(self, x: Tensor, y: Tensor, generator: torch.Generator) -> Losses:
        yield "loss", F.cross_entropy(self.classify(x), y)
