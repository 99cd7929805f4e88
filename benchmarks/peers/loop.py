"""The training loop of all peers, and the two estimators that run it."""

import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from sk_equivae.model.layers import initialize
from sk_equivae.model.randomness import private_global_generator

INFERENCE_BATCH = 1024
LABELED_FRACTION = 1 / 3  # of a batch that holds unlabelled rows too, as EquiVAE's
NEARLY_BINARY = 0.25


Losses = Iterator[tuple[str, Tensor]]


class Adam(torch.optim.Adam):
    """Without torch's guard against compilation, which would import the compiler in a timed fit."""

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))


@dataclass(frozen=True)
class Units:
    """How rows enter the networks: as (x - shift) / scale."""

    shape: tuple[int, ...]  # (channels, height, width) or (n_features,)
    likelihood: str  # "bernoulli" or "gaussian"
    shift: NDArray
    scale: NDArray

    @classmethod
    def of(cls, X: NDArray, standardize: bool = True) -> "Units":
        """Ink on paper is a Bernoulli in [0, 1]; all else is standardised and Gaussian."""
        shape = (*X.shape[3:], *X.shape[1:3]) if X.ndim == 4 else X.shape[1:]
        shape = (1, *shape) if len(shape) == 2 else shape
        top = 255.0 if X.dtype == np.uint8 else 1.0
        if not standardize:
            return cls(shape, "gaussian", np.zeros(()), np.ones(()))
        if (len(shape) == 1 or shape[0] == 1) and X.min() >= 0 and X.max() <= top:
            x = X[:5_000] / top
            if (x * (1 - x)).mean() < NEARLY_BINARY * x.mean() * (1 - x.mean()):
                return cls(shape, "bernoulli", np.zeros(()), np.full((), top))
        last = (shape[0], *(1 for _ in shape[1:]))  # by channel, or by feature
        groups = X.reshape(-1, shape[0])
        mean, scale = (f(groups, axis=0, dtype=np.float64).reshape(last) for f in (np.mean, np.std))
        return cls(shape, "gaussian", mean, np.where(scale > 0, scale, 1))

    def __call__(self, X: NDArray) -> Tensor:
        """Rows as the networks see them."""
        if len(self.shape) == 3:
            X = X.reshape(len(X), *self.shape[1:], self.shape[0]).transpose(0, 3, 1, 2)
        x = torch.from_numpy(((X - self.shift) / self.scale).astype(np.float32))
        return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x


class PeerModule(nn.Module):
    """The networks of a peer, made from `Units`, the number of classes and options of its own."""

    labeled_share = 1.0  # the part of the training rows that is labelled
    progress = 1.0  # the part of training that is over
    labeled_only = False  # learns from labelled rows only
    standardize = True

    def initialize(self, generator: torch.Generator) -> None:
        """Draw the first weights."""
        initialize(self, generator)

    def losses(self, x: Tensor, y: Tensor, generator: torch.Generator) -> Losses:
        """Yield each optimiser's name and loss; it steps at once. y is -1 if unknown."""
        raise NotImplementedError

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """The parameters of each optimiser."""
        return {"loss": list(self.parameters())}

    def after_step(self) -> None:
        """What is done after all optimisers have made their step."""

    def auto_epochs(self, n_rows: int, batch_size: int) -> int:
        """Of `max_epochs="auto"`."""
        return max(40, -(-100_000 // n_rows))


def epoch_batches(codes: NDArray, batch_size: int, rng: np.random.RandomState) -> Iterator[NDArray]:
    """Positions of rows, batch by batch, until each row has been in one.

    Of a batch with unlabelled rows a third is labelled: few labels come again and again.
    """
    labeled, unlabeled = (rng.permutation(np.flatnonzero(c)) for c in (codes >= 0, codes < 0))
    if not len(unlabeled) or not len(labeled):
        rows = np.concatenate([labeled, unlabeled])
        for start in range(0, len(rows), batch_size):
            yield rows[start : start + batch_size]
        return
    n_labeled = min(len(labeled), max(1, round(LABELED_FRACTION * batch_size)))
    n_batches = max(-(-len(unlabeled) // (batch_size - n_labeled)), -(-len(labeled) // n_labeled))
    again = np.resize(labeled, n_batches * n_labeled).reshape(n_batches, n_labeled)
    unlabeled = np.resize(unlabeled, max(len(unlabeled), n_batches))
    yield from map(np.append, np.array_split(unlabeled, n_batches), again)


class Peer(BaseEstimator):
    """Trains a `PeerModule` by Adam; the rate falls as a cosine while the batch grows."""

    def __init__(
        self, module: type[PeerModule], options: dict[str, Any] | None = None, *,
        max_epochs: Any = "auto", batch_size: int = 64, max_batch_size: int = 256,
        lr: float = 1e-3, random_state: Any = None,
    ):  # fmt: skip
        self.module, self.options, self.max_epochs = module, options, max_epochs
        self.batch_size, self.max_batch_size = batch_size, max_batch_size
        self.lr, self.random_state = lr, random_state

    def _fit(self, X: NDArray, codes: NDArray, n_classes: int) -> None:
        self.units_ = Units.of(X, self.module.standardize)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        rng, generator = np.random.RandomState(seed), torch.Generator().manual_seed(seed)
        with private_global_generator(seed):  # `nn.Dropout` draws from it
            module = self.module(self.units_, n_classes, **(self.options or {}))
            module.initialize(generator)
            module.labeled_share = float(np.mean(codes >= 0))
            self.module_ = module.to(memory_format=torch.channels_last)
            self._train(X, codes, generator, rng)
        self.module_.eval()

    def _train(self, X: NDArray, codes: NDArray, generator: Any, rng: Any) -> None:
        module, n_epochs = self.module_, self.max_epochs
        if n_epochs == "auto":
            n_epochs = module.auto_epochs(len(X), self.batch_size)
        optimizers = {name: Adam(p, self.lr) for name, p in module.groups().items()}
        largest = min(
            self.max_batch_size, len(X) / 100
        )  # 100 batches an epoch at least, as EquiVAE
        n_doublings = int(math.log2(max(1, largest / self.batch_size)))
        for epoch in range(n_epochs):
            size = self.batch_size * 2 ** (epoch * (n_doublings + 1) // n_epochs)
            batches = list(epoch_batches(codes, size, rng))
            for i, rows in enumerate(batches):
                module.progress = (epoch + i / len(batches)) / n_epochs
                lr = self.lr * (1 + math.cos(math.pi * module.progress)) / 2
                x, y = self.units_(X[rows]), torch.from_numpy(codes[rows])
                for name, loss in module.train().losses(x, y, generator):
                    if not torch.isfinite(loss):
                        raise RuntimeError(f"{name} of {type(module).__name__} diverged: {loss}.")
                    module.zero_grad()
                    loss.backward()
                    optimizers[name].param_groups[0]["lr"] = lr
                    optimizers[name].step()
                module.after_step()

    def _map(self, name: str, X: NDArray) -> NDArray:
        """A method of the module, of rows a batch at a time."""
        check_is_fitted(self, "module_")
        parts = np.array_split(X, -(-len(X) // INFERENCE_BATCH))
        with torch.inference_mode():
            return np.concatenate([getattr(self.module_, name)(self.units_(x)) for x in parts])


class PeerClassifier(ClassifierMixin, Peer):
    """A peer whose module has `classify(x)`, the logits of q(y | x); -1 marks unlabelled rows."""

    def fit(self, X: NDArray, y: NDArray) -> Self:
        if self.module.labeled_only:
            X, y = X[y != -1], y[y != -1]
        self.classes_ = np.unique(y[y != -1])
        codes = np.where(y == -1, -1, np.searchsorted(self.classes_, y))
        self._fit(X, codes, len(self.classes_))
        return self

    def predict_proba(self, X: NDArray) -> NDArray:
        return softmax(self._map("classify", X), axis=1)

    def predict(self, X: NDArray) -> NDArray:
        return self.classes_[self._map("classify", X).argmax(axis=1)]


class PeerTransformer(TransformerMixin, Peer):
    """A peer whose module has `encode(x)`; it does not look at labels."""

    def fit(self, X: NDArray, y: Any = None) -> Self:
        self._fit(X, np.full(len(X), -1), n_classes=1)
        return self

    def transform(self, X: NDArray) -> NDArray:
        return self._map("encode", X)
