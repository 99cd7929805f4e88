"""The skorch callbacks of training: schedules, early stopping, progress."""

import copy
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from skorch.callbacks import (
    Callback,
    EarlyStopping,
    GradientNormClipping,
    LRScheduler,
)
from skorch.utils import noop
from torch.optim.lr_scheduler import LambdaLR

from .._progress import Progress, clock_text, current
from .distributed import current_world
from .settings import Plan, TrainingSettings
from .world import World


def rate_factor(step: int, n_steps: int, n_warmup: int, decays: bool) -> float:
    r"""Return what the learning rate is multiplied by in a step, counted from 0.

    .. math:: f(t) = \begin{cases}
        (t + 1) / w & t < w \\
        (1 + \cos(\pi (t - w) / (n - w))) / 2 & t \ge w
        \end{cases}

    Parameters
    ----------
    step : int
        The step t.
    n_steps, n_warmup : int
        Number n of all steps, and number w of the first ones, in which the rate rises.
    decays : bool
        Whether the rate falls after that; else it stays.

    Returns
    -------
    factor : float
        A number between 0 and 1.

    Examples
    --------
    >>> [rate_factor(t, n_steps=8, n_warmup=4, decays=True) for t in (0, 3, 4, 6, 8)]
    [0.25, 1.0, 1.0, 0.5, 0.0]
    """
    if step < n_warmup:
        return (step + 1) / n_warmup
    if not decays:
        return 1.0
    part = min(1.0, (step - n_warmup) / max(1, n_steps - n_warmup))
    return (1 + math.cos(math.pi * part)) / 2


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


class StepProgress(Callback):
    """Report each step to the progress bar, and print a line per epoch if asked to.

    Parameters
    ----------
    progress : Progress
        The bar.
    table : bool
        Whether to print a line per epoch.

    """

    def __init__(self, progress: Progress, table: bool):
        self.progress = progress
        self.table = table

    def start_from(self, first_epoch: int, forecast: Any, after: dict[str, float]) -> None:
        """Prepare for training.

        Parameters
        ----------
        first_epoch : int
            Number of epochs that were done before, by a fit that goes on.
        forecast : Forecast
            The time that the steps take.
        after : dict of str to float
            The phases after training, and how many rows in training they are worth.
        """
        self.first_epoch = first_epoch
        self.forecast = forecast
        self.after = after

    @property
    def n_epochs(self) -> int:
        """Number of epochs, those done before included."""
        return self.first_epoch + len(self.forecast.steps)

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Begin the phase."""
        self.progress.begin("training", f"epoch {self.first_epoch + 1}/{self.n_epochs}")
        self.last_ = self.progress.clock()
        self.epoch_start_ = self.last_
        if self.table:
            part = "" if net.train_split is None else "valid "
            names = ("epoch", f"{part}bound", f"{part}accuracy", "seconds", "time left")
            self.widths_ = [max(9, len(name)) for name in names]
            self._print(names)

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Measure the time since the last step, which validation has taken."""
        now = self.progress.clock()
        if self.forecast.n_done:
            self.forecast.gap(now - self.last_)
        self.last_ = self.epoch_start_ = now

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, **kw: Any) -> None:
        """Measure the step."""
        if not training:
            return
        forecast, place = self.forecast, self.forecast.epoch
        now = self.progress.clock()
        forecast.step(now - self.last_)
        self.last_ = now
        n_steps = int(forecast.steps[place])
        done = n_steps - int(forecast.steps[: place + 1].sum() - forecast.n_done)
        row = forecast.row_seconds
        self.progress.expected = {name: row * n_rows for name, n_rows in self.after.items()}
        self.progress.label = f"epoch {self.first_epoch + place + 1}/{self.n_epochs}"
        self.progress.advance(
            forecast.n_done / forecast.n_steps, forecast.rest, f", step {done}/{n_steps}"
        )

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Print a line of the table."""
        if not self.table:
            return
        row = net.history[-1]
        part = "train" if net.train_split is None else "valid"
        epoch = f"{self.first_epoch + self.forecast.epoch_before + 1}/{self.n_epochs}"
        values = (
            epoch,
            f"{row[part + '_elbo']:.2f}",
            f"{row[part + '_accuracy']:.1%}",
            f"{self.progress.clock() - self.epoch_start_:.1f}",
            clock_text(self.progress.left),
        )
        self._print(values)

    def _print(self, values: Sequence[str]) -> None:
        pairs = zip(values, self.widths_, strict=True)
        self.progress.say("  ".join(f"{value:>{width}}" for value, width in pairs))


def say(line: str) -> None:
    """Print a line, above the bar if there is one."""
    progress = current()
    print(line) if progress is None else progress.say(line)


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
    decays, n_warmup = objective.lr_decay == "cosine", round(plan.lr_warmup * n_steps)
    if (decays or n_warmup) and not incremental and not given_rate:
        factor = partial(rate_factor, n_steps=n_steps, n_warmup=n_warmup, decays=decays)
        schedule = LRScheduler(LambdaLR, lr_lambda=factor, step_every="batch")
        callbacks.append(("lr_schedule", schedule))
    if plan.kl_warmup > 0:
        callbacks.append(("kl_warmup", KLWarmup(max(1, round(plan.kl_warmup * n_steps)))))
    if objective.gradient_clip is not None:
        callbacks.append(("gradient_clip", GradientNormClipping(objective.gradient_clip)))
    if has_validation:
        score = settings.early_stopping if isinstance(settings.early_stopping, str) else "loss"
        stopping = EarlyStopping(
            monitor=f"valid_{score}",
            lower_is_better=score != "accuracy",
            patience=settings.n_iter_no_change,
            load_best=True,
            sink=say if settings.verbose else noop,
        )
        callbacks.append(("early_stopping", stopping))
    for given in settings.callbacks or []:
        # copied, since training changes callbacks but must not change parameters
        own = copy.copy(_callback(given))
        callbacks.append((given[0], own) if isinstance(given, tuple) else own)
    progress = current()
    if progress is not None:
        callbacks.append(("progress", StepProgress(progress, settings.verbose > 1)))
    return callbacks
