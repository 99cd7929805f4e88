"""Training and prediction of all peers."""

import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from benchmarks.checkpoints import Checkpoint, batches_from, progress_bar
from sk_equivae._batches import OrderedBatches, RowDataset, count_steps
from sk_equivae._inputs import DTYPES, InputSpec, flatten, make_spec, shift_and_scale
from sk_equivae._labels import UNLABELED, check_labeled, encode_labels
from sk_equivae._net import CosineDecay
from sk_equivae._training import INFERENCE_BATCH, own_randomness

from .networks import PeerModule


class Peer(BaseEstimator, ABC):
    """An estimator that trains a `PeerModule` by Adam, its rate falling as a cosine.

    Parameters
    ----------
    max_epochs : int or "auto"
        "auto" is 40, more if there are few rows.
    batch_size, max_batch_size, lr, random_state : see `EquiVAEClassifier`
    checkpoint : Checkpoint, optional
        Where to go on from, and what to write to.
    verbose : int
        1 shows a progress bar over the whole training.
    """

    MIN_EPOCHS, MIN_ROWS_SEEN = 40, 100_000

    def __init__(
        self,
        *,
        max_epochs: Any = "auto",
        batch_size: int = 64,
        max_batch_size: int = 256,
        lr: float = 1e-3,
        random_state: Any = None,
        checkpoint: Checkpoint | None = None,
        verbose: int = 0,
    ):
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.max_batch_size = max_batch_size
        self.lr = lr
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.verbose = verbose

    @abstractmethod
    def _make_module(self, spec: InputSpec, n_classes: int) -> PeerModule:
        """Fresh networks for rows of a kind."""

    def _fit(self, X: ArrayLike, codes: NDArray, n_classes: int) -> None:
        X, shape = flatten(check_array(X, dtype=DTYPES, allow_nd=True))
        self._spec = make_spec(X, shape, None, "auto")
        data = RowDataset(X, self._spec.input_shape, codes)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        generator = torch.Generator().manual_seed(seed)
        self._shift, self._scale = (t.float() for t in self._units(X))
        with own_randomness(seed, "cpu"):  # `nn.Dropout` draws from the global generator
            module = self._make_module(self._spec, n_classes)
            module.initialize(generator)
            module.labeled_share = float(np.mean(codes >= 0))
            self.module_ = module.to(memory_format=torch.channels_last)
            self._train(data, generator, np.random.RandomState(seed))

    def _units(self, X: NDArray) -> tuple[Tensor, Tensor]:
        """What is taken from each feature, and what it is divided by."""
        return shift_and_scale(X, self._spec)

    def _n_epochs(self, n_rows: int) -> int:
        if self.max_epochs != "auto":
            return self.max_epochs
        return max(self.MIN_EPOCHS, -(-self.MIN_ROWS_SEEN // n_rows))

    def _train(
        self, data: RowDataset, generator: torch.Generator, rng: np.random.RandomState
    ) -> None:
        n_epochs = self._n_epochs(len(data))
        optimizers = {n: torch.optim.Adam(p, self.lr) for n, p in self.module_.groups().items()}
        self.history_: list[dict[str, float]] = []
        n_done = self._put_back(optimizers, generator, rng)
        largest = max(self.batch_size, self.max_batch_size)
        n_steps = count_steps(data.codes, self.batch_size, largest, n_epochs)
        batches = batches_from(
            data, len(self.history_), batch_size=self.batch_size, max_batch_size=largest,
            max_epochs=n_epochs, m_max=1, rng=rng,
        )  # fmt: skip
        decay = CosineDecay(n_steps)
        with progress_bar(n_steps, n_done, self.verbose) as bar:
            for epoch in range(len(self.history_), n_epochs):
                start, n_before = time.perf_counter(), n_done
                sums = dict.fromkeys(optimizers, 0.0)
                for x, y, _ in batches:
                    self.module_.progress = n_done / n_steps
                    self._step(x, y, optimizers, self.lr * decay(n_done), generator, sums)
                    n_done += 1
                    bar.update()
                row = {f"train_{n}": value / (n_done - n_before) for n, value in sums.items()}
                seconds = time.perf_counter() - start
                self.history_.append({"epoch": epoch + 1, **row, "steps": n_done, "dur": seconds})
                if self.checkpoint is not None:
                    state = self._state(optimizers, generator, rng)
                    self.checkpoint.save(state, last=epoch + 1 == n_epochs)

    def _step(
        self,
        x: Tensor,
        y: Tensor,
        optimizers: dict[str, torch.optim.Optimizer],
        lr: float,
        generator: torch.Generator,
        sums: dict[str, float],
    ) -> None:
        self.module_.train()
        for name, loss in self.module_.losses(self._normalize(x), y, generator):
            self.module_.zero_grad()
            loss.backward()
            optimizers[name].param_groups[0]["lr"] = lr
            optimizers[name].step()
            sums[name] += loss.item()
            if not np.isfinite(sums[name]):
                raise RuntimeError(
                    f"Training diverged in epoch {len(self.history_) + 1}: expected a finite "
                    f"{name}, got {loss.item()}. Try a lower lr."
                )

    def _state(
        self, optimizers: dict, generator: torch.Generator, rng: np.random.RandomState
    ) -> dict[str, Any]:
        return {
            "module": self.module_.state_dict(),
            "optimizers": {name: o.state_dict() for name, o in optimizers.items()},
            "history": self.history_,
            "generator": generator.get_state(),
            "global_generator": torch.get_rng_state(),
            "batches": rng.get_state(),
        }

    def _put_back(
        self, optimizers: dict, generator: torch.Generator, rng: np.random.RandomState
    ) -> int:
        """Take over what is in the checkpoint; the number of steps that are over."""
        state = None if self.checkpoint is None else self.checkpoint.load()
        if state is None:
            return 0
        self.module_.load_state_dict(state["module"])
        for name, optimizer in optimizers.items():
            optimizer.load_state_dict(state["optimizers"][name])
        generator.set_state(state["generator"])
        torch.set_rng_state(state["global_generator"])
        rng.set_state(state["batches"])
        self.history_ = state["history"]
        return self.history_[-1]["steps"]

    def _normalize(self, x: Tensor) -> Tensor:
        return (x.float() - self._shift) / self._scale

    def _map(self, name: str, X: ArrayLike) -> NDArray:
        """A method of the module, of rows a batch at a time."""
        check_is_fitted(self, "module_")
        X, _ = flatten(check_array(X, dtype=DTYPES, allow_nd=True))
        data = RowDataset(X, self._spec.input_shape)
        function = getattr(self.module_.eval(), name)
        with torch.inference_mode():
            parts = [
                function(self._normalize(x)).numpy()
                for x, _, _ in OrderedBatches(data, INFERENCE_BATCH)
            ]
        return np.concatenate(parts)


class PeerClassifier(ClassifierMixin, Peer):
    """A peer whose module has `classify(x)`, the logits of q(y | x)."""

    def fit(self, X: ArrayLike, y: ArrayLike):
        codes, self.classes_ = encode_labels(y)
        check_labeled(codes, self.classes_, UNLABELED, n_least=2)
        self._fit(X, codes, len(self.classes_))
        return self

    def decision_function(self, X: ArrayLike) -> NDArray:
        return self._map("classify", X)

    def predict_proba(self, X: ArrayLike) -> NDArray:
        return torch.from_numpy(self.decision_function(X)).softmax(dim=1).numpy()

    def predict(self, X: ArrayLike) -> NDArray:
        return self.classes_[self.decision_function(X).argmax(axis=1)]
