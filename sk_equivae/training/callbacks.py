"""The skorch callbacks of training: schedules, early stopping, progress."""

import copy
from typing import Any

from skorch.callbacks import (
    Callback,
    EarlyStopping,
    GradientNormClipping,
    LRScheduler,
    ProgressBar,
)
from skorch.utils import noop
from torch.optim.lr_scheduler import CosineAnnealingLR

from .distributed import current_world
from .settings import Plan, TrainingSettings
from .world import World


class KLWarmup(Callback):
    """Raise the weight of KL[q(v | r_y, x) || p(v)] from 0 to 1 over the first steps.

    With the full weight from the start, v loses its information before the decoder has learnt
    to use it, and is slow to recover.

    Parameters
    ----------
    n_steps : int
        Number of steps until the weight is 1.
    """

    def __init__(self, n_steps: int):
        self.n_steps = n_steps

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Reset the step."""
        self.step_ = 0

    def on_batch_begin(
        self, net: Any, batch: Any = None, training: bool = False, **kw: Any
    ) -> None:
        """Set the weight for the next step."""
        if training:
            net.criterion_.kl_weight = min(1.0, self.step_ / self.n_steps)
            self.step_ += 1

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        """Set the weight to 1."""
        net.criterion_.kl_weight = 1.0


class SameHistory(Callback):
    """Give all processes the history of the first, so that they all stop in the same epoch.

    Parameters
    ----------
    world : World
        The processes.
    """

    def __init__(self, world: World):
        self.world = world

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Replace what was recorded of the epoch."""
        row = {key: value for key, value in net.history[-1].items() if key != "batches"}
        net.history[-1].update(self.world.first(lambda: row))


def check_callbacks(callbacks: list[Any] | None) -> None:
    """Raise if an element of the list is not a callback."""
    for given in callbacks or []:
        callback = _callback(given)
        if not isinstance(callback, Callback) and not callable(callback):
            raise ValueError(
                "callbacks should be a list of skorch callbacks, or of pairs of a name and a "
                f"callback; got {given!r} in it."
            )


def _callback(given: Any) -> Any:
    """Return the callback itself if a pair of a name and a callback is given."""
    return given[1] if isinstance(given, tuple) and len(given) == 2 else given


def _is_scheduler(given: Any) -> bool:
    """Return whether a callback is a learning-rate scheduler."""
    callback = _callback(given)
    kind = callback if isinstance(callback, type) else type(callback)
    return issubclass(kind, LRScheduler)


class Progress(ProgressBar):
    """A progress bar for batches whose number differs between epochs."""

    def _get_batches_per_epoch_phase(self, net: Any, dataset: Any, training: bool) -> int:
        if dataset is None:
            return 0
        if not training:
            return -(-len(dataset) // net.iterator_valid__batch_size)
        batches = net.get_iterator(dataset, training=True).steps_per_epoch()
        return int(batches[min(len(net.history) - 1, len(batches) - 1)])


def make_callbacks(
    settings: TrainingSettings, plan: Plan, n_steps: int, incremental: bool, has_validation: bool
) -> list[Any]:
    """Return the callbacks of one training, followed by copies of the user's callbacks.

    Parameters
    ----------
    settings : TrainingSettings
        The parameters of the estimator.
    plan : Plan
        The resolved settings.
    n_steps : int
        Number of training steps.
    incremental : bool
        Whether `partial_fit` was called.
    has_validation : bool
        Whether there are validation rows, for early stopping.

    Returns
    -------
    callbacks : list
        Callbacks, or pairs of a name and a callback.
    """
    objective = settings.objective
    callbacks: list[Any] = []
    world = current_world()
    if not world.alone:
        callbacks.append(("same_history", SameHistory(world)))
    given_rate = any(_is_scheduler(given) for given in settings.callbacks or [])
    if objective.lr_decay == "cosine" and not incremental and not given_rate:
        schedule = LRScheduler(CosineAnnealingLR, T_max=n_steps, step_every="batch")
        callbacks.append(("lr_decay", schedule))
    if plan.kl_warmup > 0:
        callbacks.append(("kl_warmup", KLWarmup(max(1, round(plan.kl_warmup * n_steps)))))
    if objective.gradient_clip is not None:
        callbacks.append(("gradient_clip", GradientNormClipping(objective.gradient_clip)))
    if has_validation:
        by_accuracy = settings.early_stopping == "accuracy"
        stopping = EarlyStopping(
            monitor="valid_accuracy" if by_accuracy else "valid_loss",
            lower_is_better=not by_accuracy,
            patience=settings.n_iter_no_change,
            load_best=True,
            sink=print if settings.verbose else noop,
        )
        callbacks.append(("early_stopping", stopping))
    for given in settings.callbacks or []:
        # copied, since training changes callbacks but must not change parameters
        own = copy.copy(_callback(given))
        callbacks.append((given[0], own) if isinstance(given, tuple) else own)
    if settings.verbose:
        callbacks.append(("progress", Progress()))
    return callbacks
