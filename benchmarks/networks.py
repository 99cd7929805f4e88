"""The network of q(y|x) alone, without the generative part: what EquiVAE is compared with."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from torch.optim.swa_utils import update_bn

from sk_equivae._augment import make_augment
from sk_equivae._batches import OrderedBatches, RowDataset, TrainBatches, count_steps
from sk_equivae._inputs import DTYPES, InputSpec, flatten, make_spec, shift_and_scale
from sk_equivae._labels import UNLABELED, check_labeled, encode_labels
from sk_equivae._module import LabelPosterior
from sk_equivae._net import Averaged, CosineDecay
from sk_equivae._networks import initialize
from sk_equivae._training import auto_batch_size, auto_epochs, own_randomness

HIDDEN = (128, 64)
# The least that training on few labelled rows alone takes, and EquiVAE's number of passes.
MIN_STEPS, MIN_EPOCHS = 2_000, 20
# The weak view of an image: shifted by up to this part of half its width, a pixel in 28.
WEAK_SHIFT = 0.07
INFERENCE_BATCH = 1024

Augment = Callable[[Tensor, torch.Generator], Tensor]


def random_shift(x: Tensor, generator: torch.Generator) -> Tensor:
    """Each image shifted a little.

    Parameters
    ----------
    x : Tensor of shape (n, c, h, w)
    generator : torch.Generator
    """
    theta = torch.eye(2, 3, dtype=x.dtype).repeat(len(x), 1, 1)
    u = torch.rand((len(x), 2), generator=generator, dtype=x.dtype) * 2 - 1
    theta[:, :, 2] = WEAK_SHIFT * u
    grid = F.affine_grid(theta, list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, padding_mode="border", align_corners=False)


class LabelNetwork(nn.Module):
    """`LabelPosterior` with no f_inv(x) beside its own embedding of x.

    Parameters
    ----------
    spec : InputSpec
    n_classes : int
    shift, scale : Tensor
        Rows enter as `(x - shift) / scale`.
    batch_norm : bool
    generator : torch.Generator
        Source of the initial weights.
    """

    shift: Tensor
    scale: Tensor

    def __init__(
        self,
        spec: InputSpec,
        n_classes: int,
        shift: Tensor,
        scale: Tensor,
        batch_norm: bool,
        generator: torch.Generator,
    ):
        super().__init__()
        self.posterior = LabelPosterior(None, spec.input_shape, HIDDEN, 0, n_classes, batch_norm)
        self.register_buffer("shift", shift)
        self.register_buffer("scale", scale)
        initialize(self, generator)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of rows in the user's units."""
        return self.classify(self.normalize(x))

    def normalize(self, x: Tensor) -> Tensor:
        return (x.to(self.scale.dtype) - self.shift) / self.scale

    def classify(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Logits of normalised rows; a generator switches dropout on."""
        return self.posterior(x, x.new_empty(len(x), 0), generator)


class NetworkClassifier(ClassifierMixin, BaseEstimator):
    """EquiVAE's network of q(y|x), two dropout layers with it, as a classifier on the CPU.

    Without a threshold it is trained on the labelled rows alone: with `augment=None`,
    `batch_norm=False` and `ema_decay=0` it is the paper's benchmark classifier. With a
    threshold it is trained on all rows in the way of FixMatch: the moving average of its
    weights labels a weakly changed row, and where it is sure the strongly changed row must
    get the same label.

    Parameters
    ----------
    threshold : float or None, default=None
        From which probability on an unlabelled row is learnt from. None: from none.

    max_epochs : int or "auto", default="auto"
        "auto" without a threshold is 20, or as many as make 2,000 steps; with one, EquiVAE's.

    batch_size, max_batch_size, lr, lr_decay, augment, batch_norm, ema_decay
        As EquiVAE's; `augment` is the strong change.

    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)

    history_ : list of dict
        One for each epoch: the mean loss, and which part of the unlabelled rows was sure.
    """

    def __init__(
        self,
        threshold=None,
        *,
        max_epochs="auto",
        batch_size=64,
        max_batch_size="auto",
        lr=3e-3,
        lr_decay="cosine",
        augment="auto",
        batch_norm=True,
        ema_decay=0.99,
        random_state=None,
    ):
        self.threshold = threshold
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.max_batch_size = max_batch_size
        self.lr = lr
        self.lr_decay = lr_decay
        self.augment = augment
        self.batch_norm = batch_norm
        self.ema_decay = ema_decay
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> "NetworkClassifier":
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n, n_features), (n, h, w) or (n, h, w, c)
        y : array-like of shape (n,)
            -1 marks unlabelled rows.
        """
        X, row_shape = self._flat(X)
        codes, self.classes_ = encode_labels(y)
        check_labeled(codes, self.classes_, UNLABELED, n_least=2)
        if self.threshold is None:
            X, codes = X[codes >= 0], codes[codes >= 0]
        self._spec = make_spec(X, row_shape, None, "auto")
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        with own_randomness(seed, "cpu"):
            self._train(RowDataset(X, self._spec.input_shape, codes), seed)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Probabilities of the classes, in the order of `classes_`."""
        check_is_fitted(self)
        data = RowDataset(self._flat(X)[0], self._spec.input_shape)
        with torch.inference_mode():
            parts = [self.network_(x) for x, _, _ in OrderedBatches(data, INFERENCE_BATCH)]
            return torch.cat(parts).softmax(dim=1).numpy()

    def predict(self, X: ArrayLike) -> NDArray:
        """The most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _flat(self, X: Any) -> tuple[NDArray, tuple[int, ...] | None]:
        """Flat rows, and the shape of an image."""
        X, row_shape = flatten(X)
        return check_array(X, dtype=DTYPES), row_shape

    def _batches(self, data: RowDataset, seed: int) -> TrainBatches:
        largest = self.max_batch_size or self.batch_size
        if largest == "auto":
            largest = auto_batch_size(len(data), self.batch_size)
        n_epochs = self.max_epochs
        if n_epochs == "auto" and self.threshold is None:
            n_batches = count_steps(data.codes, self.batch_size, self.batch_size, 1)
            n_epochs = max(MIN_EPOCHS, -(-MIN_STEPS // n_batches))
        elif n_epochs == "auto":
            n_epochs = auto_epochs(len(data), len(data.input_shape) == 3, any_unlabeled=True)
        rng = np.random.RandomState(seed)
        # m_max=1: there are no complements to find, rows come in any company
        return TrainBatches(data, self.batch_size, largest, n_epochs, 1, rng)

    def _train(self, data: RowDataset, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        batches = self._batches(data, seed)
        sizes = (self.batch_size, batches.max_batch_size, batches.max_epochs)
        n_steps = count_steps(data.codes, *sizes)
        shift, scale = (t.float() for t in shift_and_scale(data.X, self._spec))
        network = LabelNetwork(
            self._spec, len(self.classes_), shift, scale, self.batch_norm, generator
        )
        if self._spec.is_image:
            network.to(memory_format=torch.channels_last)
        averaged = Averaged(network, self.ema_decay).train()
        optimizer = torch.optim.Adam(network.parameters(), lr=self.lr, fused=True)
        decay = CosineDecay(n_steps) if self.lr_decay == "cosine" else lambda step: 1.0
        schedule = LambdaLR(optimizer, decay)
        strong = make_augment(self.augment, self._spec.is_image, bool((data.codes < 0).any()))

        averaged.start()
        self.history_ = []
        for epoch in range(1, batches.max_epochs + 1):
            terms = []
            for x, y, _ in batches:
                loss, sure = self._loss(averaged, network.normalize(x), y, strong, generator)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                averaged.update()
                terms.append((float(loss.detach()), sure))
            mean_loss, sure = np.mean(terms, axis=0).tolist()
            self.history_.append({"epoch": epoch, "train_loss": mean_loss, "sure": sure})
        averaged.stop()
        self.network_ = averaged.predictor
        update_bn(OrderedBatches(data, INFERENCE_BATCH), self.network_)
        self.network_.eval()

    def _loss(
        self,
        averaged: Averaged,
        x: Tensor,
        y: Tensor,
        strong: Augment | None,
        generator: torch.Generator,
    ) -> tuple[Tensor, float]:
        """The cross-entropy of labelled and of sure rows, and the part of rows that are sure."""
        unlabeled = y < 0
        targets, sure = y, 0.0
        if bool(unlabeled.any()):
            weak = random_shift if self._spec.is_image and strong is not None else None
            probability, code = self._taught(averaged, x[unlabeled], weak, generator)
            code[probability < self.threshold] = -1
            targets = y.index_put((unlabeled,), code)
            sure = float((code >= 0).float().mean())
        changed = x if strong is None else strong(x, generator)
        logits = averaged.module.classify(changed, generator)
        losses = F.cross_entropy(logits, targets, ignore_index=-1, reduction="none")
        loss = losses[~unlabeled].mean()
        if bool(unlabeled.any()):
            loss = loss + losses[unlabeled].mean()  # rows that are not sure count as 0
        return loss, sure

    def _taught(
        self, averaged: Averaged, x: Tensor, weak: Augment | None, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """The teacher's most probable class of each row, and its probability."""
        teacher = averaged.predictor.eval()
        with torch.no_grad():
            x = x if weak is None else weak(x, generator)
            probability, code = teacher.classify(x).softmax(dim=1).max(dim=1)
        averaged.module.train()  # it may be its own teacher
        return probability, code
