"""The skorch net that trains the module, as overrides of skorch's hooks."""

import copy
import inspect
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch import NeuralNetClassifier
from torch import Tensor

from ..fitted.rows import RowSpec, to_device
from ..model.module import EquiVAEModule
from .averaging import Averaged
from .batches import Batch, BatchInputs, OrderedBatches, TrainBatches, TrainingRows
from .callbacks import make_callbacks
from .checkpoint import Checkpoint
from .distributed import current_world
from .objective import EquiVAEObjective
from .settings import Plan, TrainingSettings
from .term_log import TermLog

VALIDATION_BATCH = 512
VALIDATION_SEED = 0


class Adam(torch.optim.Adam):
    """Adam without the decorators that keep `torch.compile` from compiling it.

    These import the compiler, which may take longer than a whole fit. They are not needed, since
    only networks are compiled here.
    """

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))


class StoppedByCallback(KeyboardInterrupt):
    """Training was ended by a callback, not by the user."""


class EquiVAENet(NeuralNetClassifier):
    """Train an `Averaged` module with an `EquiVAEObjective` as the criterion.

    As a skorch classifier it takes rows in the user's units and predicts class codes by
    q(y | x).

    Parameters
    ----------
    *args, **kwargs : tuple and dict
        Arguments of `skorch.NeuralNetClassifier`.
    spec : RowSpec
        Shape and scaling of rows.
    generator : torch.Generator
        Source of the random numbers of training steps.
    """

    callbacks_: list[tuple[str, Any]]

    def __init__(self, *args: Any, spec: RowSpec, generator: torch.Generator, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.spec = spec
        self.generator = generator
        self.epoch_terms = {"train": TermLog(), "valid": TermLog()}
        self.interrupted = False

    # ---------------------------------------------------------------- steps

    def get_dataset(self, X: Any, y: Any = None) -> TrainingRows | BatchInputs:
        """Return an array in the user's units as a data set; a data set is returned as it is."""
        if isinstance(X, TrainingRows):
            return X
        if isinstance(X, dict):  # the inputs of one batch, which a scoring callback passes on
            return BatchInputs(X)
        X = np.asarray(X)
        codes = None if y is None else np.asarray(y)
        rows = TrainingRows(X.reshape(len(X), -1), self.spec, codes)
        return rows.like(self.module_.predictor.like)

    def _terms(
        self, batch: Batch, module: EquiVAEModule, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss, the logits, and the terms for the history."""
        inputs, y = batch
        if "own" in inputs:  # counted on the CPU, so that nothing waits for the device
            inputs = {**inputs, "own": inputs["own"].nonzero()[:, 0]}
        inputs = {name: to_device(value, module.like) for name, value in inputs.items()}
        terms, logits = self.criterion_(module, inputs, y, generator, self.module_.teacher)
        stacked = torch.stack([terms[name].detach() for name in self.criterion_.term_names])
        stacked = torch.cat([stacked, terms["kl_v_dims"]])
        return -terms["objective"], logits.detach(), stacked

    def _set_training(self, training: bool = True) -> None:
        # setting the mode of all layers in each step would be slow
        parts = (self.module_, self.module_.module, self.module_.predictor, self.criterion_)
        if any(part.training != training for part in parts):
            super()._set_training(training)

    def train_step_single(self, batch: Batch, **fit_params: Any) -> dict[str, Any]:
        """Compute the loss of a batch and its gradient."""
        self._set_training(True)
        world = current_world()
        if not world.alone:
            # by the place in training, so that a checkpoint need not hold a state per process
            place = len(self.history), len(self.history[-1]["batches"])
            self.generator.manual_seed(world.seed(self.noise, *place))
        loss, logits, terms = self._terms(batch, self.module_.module, self.generator)
        loss.backward()
        n_rows = len(batch[1]) if world.batch is None else world.batch.n_rows
        if not world.alone:
            terms = world.synchronize(self.module_.module, terms)
            loss = -terms[0]  # of all rows of the batch
        self.epoch_terms["train"].append(terms, n_rows)
        return {"loss": loss, "y_pred": logits}

    def validation_step(self, batch: Batch, **fit_params: Any) -> dict[str, Any]:
        """Compute the loss of a batch with the networks that predict."""
        self._set_training(False)
        # the same random numbers in each epoch, so that epochs can be compared
        generator = torch.Generator(self.device).manual_seed(VALIDATION_SEED)
        with torch.no_grad():
            loss, logits, terms = self._terms(batch, self.module_.predictor, generator)
        self.epoch_terms["valid"].append(terms, len(batch[1]))
        return {"loss": loss, "y_pred": logits}

    # ---------------------------------------------------------------- hooks

    def on_train_begin(self, net: Any, *args: Any, **kwargs: Any) -> None:
        """Look up the weights that are averaged."""
        super().on_train_begin(net, *args, **kwargs)
        self.module_.start()
        if not current_world().alone:
            self.noise = int(torch.randint(2**62, (), generator=self.generator, device=self.device))

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, **kw: Any) -> None:
        """Update the average of the weights, and raise if training has diverged."""
        super().on_batch_end(net, batch, training, **kw)
        if not training:
            return
        self.module_.update()
        loss = self.history[-1]["batches"][-1]["train_loss"]
        if not math.isfinite(loss):
            self._raise_diverged(f"the loss became {loss}")

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Record the terms of the epoch, averaged over its rows."""
        super().on_epoch_end(net, **kwargs)
        names = self.criterion_.term_names
        for part, collected in self.epoch_terms.items():
            if not len(collected):
                continue
            means = collected.mean().tolist()
            for name, value in zip(names, means[: len(names)], strict=True):
                self.history.record(f"{part}_{name}", value)
            self.history.record(f"{part}_kl_v_dims", means[len(names) :])
            self.epoch_terms[part] = TermLog()
        self.history.record("lr", self.optimizer_.param_groups[0]["lr"])

    def on_train_end(self, net: Any, *args: Any, **kwargs: Any) -> None:
        """Free what only training needs, and raise if weights are not finite."""
        super().on_train_end(net, *args, **kwargs)
        self.module_.stop()
        self.epoch_terms = {"train": TermLog(), "valid": TermLog()}
        if not all(bool(p.isfinite().all()) for p in self.module_.parameters()):
            self._raise_diverged("weights became infinite or NaN")

    def check_finite(self, prototypes: NDArray[np.floating]) -> None:
        """Raise if the prototypes of the classes are not finite."""
        if not np.isfinite(prototypes).all():
            self._raise_diverged("representations of classes became infinite or NaN")

    def _raise_diverged(self, what: str) -> None:
        raise RuntimeError(
            f"Training diverged in epoch {len(self.history)}: {what}. Expected finite values. "
            "Try a lower `lr`, `Objective(gradient_clip=1.0)`, smaller weights of the added "
            "terms (`prototype_weight`, `label_weight`), or features on a more even scale. "
            "The estimator is left as it was before."
        )

    def notify(self, method_name: str, **cb_kwargs: Any) -> None:
        """Call the callbacks, and tell a KeyboardInterrupt that they raise from the user's."""
        try:
            super().notify(method_name, **cb_kwargs)
        except KeyboardInterrupt as interrupt:
            raise StoppedByCallback from interrupt

    def fit_loop(self, *args: Any, **kwargs: Any) -> "EquiVAENet":
        """Train, and record whether the user interrupted it."""
        self.interrupted = False
        try:
            return super().fit_loop(*args, **kwargs)
        except StoppedByCallback:
            raise
        except torch.OutOfMemoryError as error:
            raise RuntimeError(
                f"Batches of {self.batch_size} rows or more do not fit into the memory of "
                f"{self.device}. Lower `batch_size` and `Objective(max_batch_size=...)`, or set "
                "`Networks(amp=True)`. The estimator is left as it was before."
            ) from error
        except KeyboardInterrupt:
            self.interrupted = True
            raise

    # ---------------------------------------------------------------- before and after

    def resume(self, old: "EquiVAENet") -> None:
        """Take over the state of another net: optimiser, class memory and random generators."""
        # copied, since Adam writes to its state in place
        self.optimizer_.load_state_dict(copy.deepcopy(old.optimizer_.state_dict()))
        for group in self.optimizer_.param_groups:
            group["lr"] = self.lr
        self.criterion_.memory.load_state_dict(old.criterion_.memory.state_dict())
        if self.generator.device == old.generator.device:
            self.generator.set_state(old.generator.get_state())
        self.iterator_train__rng.set_state(old.iterator_train__rng.get_state())

    def take_history(self) -> list[dict[str, Any]]:
        """Return the history of the finished epochs, without batches, and clear that of the net."""
        rows = [{k: v for k, v in row.items() if k != "batches"} for row in self.history]
        self.initialize_history()
        return [row for row in rows if "train_loss" in row]

    def forget_training(self) -> None:
        """Drop what belongs to a single training: data, schedules and best weights."""
        self.train_split = None
        made_for_it = ("same_history", "lr_schedule", "kl_warmup", "early_stopping", "progress")
        self.callbacks_ = [pair for pair in self.callbacks_ if pair[0] not in made_for_it]
        self.callbacks = None
        self.module = self.criterion = None  # skorch would copy them in addition to `module_`


def _softmax(logits: Tensor) -> Tensor:
    return logits.softmax(dim=-1)


def make_net(
    settings: TrainingSettings,
    plan: Plan,
    module: Averaged,
    objective: EquiVAEObjective,
    data: TrainingRows,
    valid: TrainingRows | None,
    incremental: bool,
    checkpoint: Checkpoint | None = None,
) -> EquiVAENet:
    """Return an initialised net that trains `module`.

    Parameters
    ----------
    settings : TrainingSettings
        The parameters of the estimator.
    plan : Plan
        The resolved settings.
    module : Averaged
        The networks.
    objective : EquiVAEObjective
        The criterion.
    data, valid : TrainingRows
        Rows to train on, and rows for validation or None.
    incremental : bool
        Whether `partial_fit` was called.

    Returns
    -------
    net : EquiVAENet
        The net.
    """
    from skorch.helper import predefined_split

    batches: dict[str, Any] = {
        "max_batch_size": plan.max_batch_size,
        "max_epochs": plan.n_epochs,
        "labeled_fraction": settings.objective.labeled_fraction,
        "m_max": settings.m_max,
        "min_complements": settings.objective.min_complements,
        "rng": np.random.RandomState(settings.seed),
        "n_warmup": plan.n_warmup,
    }
    n_steps = sum(TrainBatches(data, settings.batch_size, **batches).steps_per_epoch())
    callbacks = make_callbacks(settings, plan, n_steps, incremental, valid is not None)
    start = (0, 0)
    if checkpoint is not None:
        callbacks.append(("checkpoint", checkpoint))  # the last one, since it restores the others
        start = checkpoint.start
    return EquiVAENet(
        module,
        criterion=objective,
        optimizer=Adam,
        optimizer__fused=settings.device.startswith(("cpu", "cuda")),
        lr=settings.lr,
        max_epochs=plan.n_epochs - start[0],
        batch_size=settings.batch_size,
        iterator_train=TrainBatches,
        **{f"iterator_train__{name}": value for name, value in batches.items()},
        iterator_train__start=start,
        iterator_valid=OrderedBatches,
        iterator_valid__batch_size=VALIDATION_BATCH,
        train_split=None if valid is None else predefined_split(valid),
        callbacks=callbacks,
        callbacks__valid_acc=None,  # the objective records the accuracy
        device=settings.device,
        verbose=0,
        callbacks__print_log=None,  # `StepProgress` prints a table
        classes=list(range(len(objective.log_prior))),
        predict_nonlinearity=_softmax,
        spec=data.spec,
        generator=torch.Generator(settings.device).manual_seed(settings.seed),
    ).initialize()
