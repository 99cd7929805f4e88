"""The skorch `NeuralNet` that trains the module: hooks only."""

import copy
import inspect
import math
import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from skorch import NeuralNet
from skorch.callbacks import Callback
from torch import Tensor, nn

from ._device import exact, to_device
from ._module import EquiVAEModule
from ._objective import TERMS

VALIDATION_SEED = 0


class Averaged(nn.Module):
    """A module that trains, and the moving average of its weights that predicts.

    The first steps average over the few weights that there are: after n steps the decay
    is min(decay, (1 + n) / (10 + n)).

    Parameters
    ----------
    module : EquiVAEModule
    decay : float
        With 0 there is no average: the module itself predicts.
    """

    def __init__(self, module: EquiVAEModule, decay: float):
        super().__init__()
        self.module = module
        self.teacher: EquiVAEModule | None = None
        if decay > 0:
            self.teacher = copy.deepcopy(module).requires_grad_(False)
        self.decay = decay
        self.n_steps = 0

    @property
    def predictor(self) -> EquiVAEModule:
        return self.module if self.teacher is None else self.teacher

    def start(self) -> None:
        """Look up the weights once: to do so at each step costs more than the average."""
        self._weights: list[Tensor] = list(self.module.parameters())
        self._statistics = list(self.module.buffers())
        if self.teacher is not None:
            self._averages: list[Tensor] = list(self.teacher.parameters())
            self._copies = list(self.teacher.buffers())

    def stop(self) -> None:
        """Forget what `start` looked up."""
        for name in ("_weights", "_statistics", "_averages", "_copies"):
            self.__dict__.pop(name, None)

    @torch.no_grad()
    def update(self) -> None:
        """Move the average towards the weights of the module."""
        if self.teacher is None:
            return
        self.n_steps += 1
        decay = min(self.decay, (1 + self.n_steps) / (10 + self.n_steps))
        torch._foreach_lerp_(self._averages, self._weights, 1 - decay)
        torch._foreach_copy_(self._copies, self._statistics)


class Adam(torch.optim.Adam):
    """Adam without torch's guard against compiling what it need not compile.

    The guard imports the compiler, which takes longer than many a fit. Only networks are ever
    compiled here, so there is nothing to guard.
    """

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))


class CosineDecay:
    """Factor of the learning rate that falls from 1 to 0 over `n_steps`."""

    def __init__(self, n_steps: int):
        self.n_steps = n_steps

    def __call__(self, step: int) -> float:
        return 0.5 * (1 + math.cos(math.pi * min(step / self.n_steps, 1.0)))


def check_callbacks(callbacks: list[Any] | None) -> None:
    """Raise if something else than a callback is among the callbacks."""
    for given in callbacks or []:
        callback = given[1] if isinstance(given, tuple) and len(given) == 2 else given
        if not isinstance(callback, Callback) and not callable(callback):
            raise ValueError(
                "callbacks should be a list of skorch callbacks, or of pairs of a name and a "
                f"callback; got {given!r} in it."
            )


class KLWarmup(Callback):
    """Raise the weight of KL[q(v | r_y, x) || p(v)] from 0 to 1 over the first steps.

    With its whole weight from the start, v is dropped before the decoder has learnt to
    use it, and is slow to come back.

    Parameters
    ----------
    n_steps : int
    """

    def __init__(self, n_steps: int):
        self.n_steps = n_steps

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        self.step_ = 0

    def on_batch_begin(
        self, net: Any, batch: Any = None, training: bool = False, **kw: Any
    ) -> None:
        if training:
            net.criterion_.kl_weight = min(1.0, self.step_ / self.n_steps)
            self.step_ += 1

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        net.criterion_.kl_weight = 1.0


class EquiVAENet(NeuralNet):
    """Trains an `Averaged` module with an `EquiVAEObjective` as its criterion.

    Parameters
    ----------
    generator : torch.Generator
        Source of all noise in training.
    """

    callbacks_: list[tuple[str, Any]]

    def __init__(self, *args: Any, generator: torch.Generator, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.generator = generator
        self.epoch_terms: dict[str, list[tuple[Tensor, float]]] = {"train": [], "valid": []}
        self.stopped_by_callback = False

    def __getstate__(self) -> dict[str, Any]:
        """The generator by its state, which can be read where its device is not."""
        state = super().__getstate__()
        generator = state["generator"]
        return {**state, "generator": (generator.get_state(), generator.initial_seed())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        generator_state, seed = state.pop("generator")
        super().__setstate__(state)
        self.generator = torch.Generator(self.device)
        try:
            self.generator.set_state(generator_state)
        except RuntimeError:  # it was one of another device
            self.generator.manual_seed(seed)

    def _terms(
        self,
        batch: tuple[Tensor, ...],
        module: EquiVAEModule,
        generator: torch.Generator,
        part: str,
    ) -> dict[str, Tensor]:
        x, y, *rest = batch
        x, *rest = (to_device(tensor, module.scale) for tensor in (x, *rest))
        terms = self.criterion_(module, (x, y, *rest), generator, self.module_.teacher)
        stacked = torch.stack([terms[name].detach() for name in TERMS])
        self.epoch_terms[part].append((stacked, len(y)))
        return terms

    def _set_training(self, training: bool = True) -> None:
        # To set it anew for all layers at each step is slow.
        parts = (self.module_, self.module_.module, self.module_.predictor, self.criterion_)
        if any(part.training != training for part in parts):
            super()._set_training(training)

    def train_step_single(self, batch: tuple[Tensor, ...], **fit_params: Any) -> dict[str, Any]:
        self._set_training(True)
        terms = self._terms(batch, self.module_.module, self.generator, "train")
        loss = -terms["objective"]
        loss.backward()
        return {"loss": loss, "y_pred": None}

    def validation_step(self, batch: tuple[Tensor, ...], **fit_params: Any) -> dict[str, Any]:
        self._set_training(False)
        # The same noise at each epoch, so that epochs can be compared.
        generator = torch.Generator(self.device).manual_seed(VALIDATION_SEED)
        with torch.no_grad():
            terms = self._terms(batch, self.module_.predictor, generator, "valid")
        return {"loss": -terms["objective"], "y_pred": None}

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, **kw: Any) -> None:
        super().on_batch_end(net, batch, training, **kw)
        if not training:
            return
        self.module_.update()
        loss = self.history[-1]["batches"][-1]["train_loss"]
        if not math.isfinite(loss):
            self._raise_diverged(f"the loss became {loss}")

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        super().on_epoch_end(net, **kwargs)
        for part, collected in self.epoch_terms.items():
            if not collected:
                continue
            sizes = torch.tensor([size for _, size in collected], dtype=torch.float64)
            values = exact(torch.stack([terms for terms, _ in collected]))
            for name, value in zip(TERMS, (sizes @ values / sizes.sum()).tolist(), strict=True):
                self.history.record(f"{part}_{name}", value)
            self.epoch_terms[part] = []
        self.history.record("lr", self.optimizer_.param_groups[0]["lr"])

    def on_train_begin(self, net: Any, *args: Any, **kwargs: Any) -> None:
        super().on_train_begin(net, *args, **kwargs)
        self.module_.start()

    def on_train_end(self, net: Any, *args: Any, **kwargs: Any) -> None:
        super().on_train_end(net, *args, **kwargs)
        self.module_.stop()
        self.epoch_terms = {"train": [], "valid": []}
        if not all(bool(p.isfinite().all()) for p in self.module_.parameters()):
            self._raise_diverged("weights became infinite or NaN")

    def forget_schedule(self) -> None:
        """Drop what was made for a whole training, and holds its optimiser and best weights."""
        made_for_it = ("lr_decay", "kl_warmup", "early_stopping")
        self.callbacks_ = [pair for pair in self.callbacks_ if pair[0] not in made_for_it]
        self.callbacks = None

    def for_one_epoch(self, lr: float) -> "EquiVAENet":
        """A copy that goes on for an epoch at a constant rate, whatever it was made for."""
        net = copy.deepcopy(self)
        net.max_epochs = net.iterator_train__max_epochs = 1
        net.iterator_train__max_batch_size = net.batch_size
        for group in net.optimizer_.param_groups:
            group["lr"] = lr
        return net

    def check_finite(self, prototypes: NDArray) -> None:
        """Raise unless the trained networks give finite representations of the classes."""
        if not np.isfinite(prototypes).all():
            self._raise_diverged("representations of classes became infinite or NaN")

    def take_history(self) -> list[dict[str, Any]]:
        """Rows of the finished epochs, without their batches; the net's own history is emptied."""
        rows = [{k: v for k, v in row.items() if k != "batches"} for row in self.history]
        self.initialize_history()
        return [row for row in rows if "train_loss" in row]

    def _raise_diverged(self, what: str) -> None:
        raise RuntimeError(
            f"Training diverged in epoch {len(self.history)}: {what}. Expected finite values. "
            "Try a lower `lr` or `gradient_clip`, smaller weights of the added terms "
            "(`prototype_weight`, `label_weight`), or features on a more even scale. "
            "The estimator is left as it was before."
        )

    def notify(self, method_name: str, **cb_kwargs: Any) -> None:
        try:
            super().notify(method_name, **cb_kwargs)
        except KeyboardInterrupt:  # how callbacks of skorch, early stopping too, end training
            self.stopped_by_callback = True
            raise

    def fit_loop(self, *args: Any, **kwargs: Any) -> "EquiVAENet":
        self.stopped_by_callback = False
        try:
            return super().fit_loop(*args, **kwargs)
        except KeyboardInterrupt:
            if not self.stopped_by_callback:
                warnings.warn(
                    f"Training was interrupted in epoch {len(self.history)}; the model keeps "
                    "what it had learnt by then. Call `fit` again to start anew, or set "
                    "`warm_start=True` first to go on.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            raise
