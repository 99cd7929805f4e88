"""Long trainings that go on from where they were killed.

The state of a training is written to a file at the end of an epoch, once a minute at most,
and always after the last epoch. A training that is started again with the same file goes on
after the last epoch in it: weights, moving averages, the state of the optimiser, schedules and
all generators are put back, so that on the same machine, with the same number of threads and
the same code, it ends with the same bits as one that was never stopped. What is not repeated:
the epochs since the last writing are trained anew, and times count only the epochs that are in
the history. A finished training is taken from its file whole: benchmarks that train the same
estimator on the same rows share one training.
"""

import contextlib
import copy
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import torch
from sklearn.pipeline import Pipeline
from skorch.callbacks import Callback
from skorch.history import History
from tqdm import tqdm

from benchmarks.results import CACHE, commit, digest, whole
from sk_equivae._base import BaseEquiVAE
from sk_equivae._batches import RowDataset, TrainBatches, count_steps

FOLDER = CACHE / "checkpoints"


class Checkpoint:
    """The state of one training, in a file.

    Parameters
    ----------
    path : Path
    seconds : float
        The least time between two writings.

    Attributes
    ----------
    commits : list of str
        Of the source trees that have trained.
    finished : bool
        Whether the last epoch is in the file.
    """

    def __init__(self, path: Path, seconds: float = 60.0):
        self.path = path
        self.seconds = seconds
        self.commits: list[str] = []
        self.finished = False
        self._written = time.monotonic()

    def load(self) -> dict[str, Any] | None:
        """The state in the file; None if there is none."""
        if not self.path.exists():
            return None
        kept = joblib.load(self.path)
        self.commits, self.finished = kept["commits"], kept["finished"]
        return kept["state"]

    def save(self, state: dict[str, Any], last: bool) -> None:
        """Write a state, if it is time or the last one."""
        if not last and time.monotonic() - self._written < self.seconds:
            return
        self.commits = list(dict.fromkeys([*self.commits, commit()]))
        with whole(self.path, "wb") as file:
            joblib.dump({"commits": self.commits, "finished": last, "state": state}, file)
        self.finished = last
        self._written = time.monotonic()


def progress_bar(n_steps: int, n_done: int, verbose: int) -> tqdm:
    """A bar over all steps of a training, with the time left."""
    return tqdm(total=n_steps, initial=n_done, unit="step", disable=not verbose, leave=False)


def batches_from(dataset: RowDataset, epoch: int, **parameters: Any) -> TrainBatches:
    """Batches of a training of which `epoch` epochs are over."""
    batches = TrainBatches(dataset, **parameters)
    batches.epoch = epoch
    return batches


class Resume(Callback):
    """For `callbacks` of an EquiVAE: go on from a checkpoint, and write to it.

    Parameters
    ----------
    checkpoint : Checkpoint
    verbose : int
        1 shows a progress bar over the whole training.
    """

    def __init__(self, checkpoint: Checkpoint, verbose: int = 0):
        self.checkpoint = checkpoint
        self.verbose = verbose

    def on_train_begin(self, net: Any, X: Any = None, **kwargs: Any) -> None:
        state = self.checkpoint.load()
        self.n_epochs_ = net.max_epochs
        if state is not None:
            _put_back(net, state)
            # `fit_loop` trains for as many epochs as are left
            net.max_epochs = self.n_epochs_ - len(net.history)
            net.iterator_train = partial(batches_from, epoch=len(net.history))
        n_steps = count_steps(
            X.codes[X.rows], net.batch_size, net.iterator_train__max_batch_size, self.n_epochs_
        )
        n_done = sum(row["train_batch_count"] for row in net.history)
        self.bar_ = progress_bar(n_steps, n_done, self.verbose)

    def on_batch_end(
        self, net: Any, batch: Any = None, training: bool = False, **kwargs: Any
    ) -> None:
        if training:
            self.bar_.update()

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        self.checkpoint.save(_state(net), last=len(net.history) == self.n_epochs_)

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        self.bar_.close()
        del self.bar_  # a net is pickled with its callbacks
        net.max_epochs, net.iterator_train = self.n_epochs_, TrainBatches


def _state(net: Any) -> dict[str, Any]:
    """All that changes in training."""
    callbacks = dict(net.callbacks_)
    state = {
        "module": net.module_.state_dict(),
        "n_averaged": net.module_.n_steps,
        "criterion": net.criterion_.state_dict(),
        "optimizer": net.optimizer_.state_dict(),
        "history": [{k: v for k, v in row.items() if k != "batches"} for row in net.history],
        "generator": net.generator.get_state(),
        "global_generator": torch.get_rng_state(),
        "batches": net.iterator_train__rng.get_state(),
    }
    if "lr_decay" in callbacks:
        state["lr_decay"] = callbacks["lr_decay"].lr_scheduler_.state_dict()
    if "kl_warmup" in callbacks:
        state["kl_warmup"] = callbacks["kl_warmup"].step_
    return state


def _put_back(net: Any, state: dict[str, Any]) -> None:
    callbacks = dict(net.callbacks_)
    net.module_.load_state_dict(state["module"])
    net.module_.n_steps = state["n_averaged"]
    net.criterion_.load_state_dict(state["criterion"])
    net.optimizer_.load_state_dict(state["optimizer"])
    net.history = History(copy.deepcopy(state["history"]))
    net.generator.set_state(state["generator"])
    torch.set_rng_state(state["global_generator"])
    net.iterator_train__rng.set_state(state["batches"])
    if "lr_decay" in state:
        callbacks["lr_decay"].lr_scheduler_.load_state_dict(state["lr_decay"])
    if "kl_warmup" in state:
        callbacks["kl_warmup"].step_ = state["kl_warmup"]


def steps_of(estimator: Any, name: str) -> list[tuple[str, Any]]:
    """The steps of a pipeline; an estimator alone is its only step."""
    return estimator.steps if isinstance(estimator, Pipeline) else [(name, estimator)]


@contextlib.contextmanager
def attach_checkpoints(
    estimator: Any, name: str, place: dict[str, Any], folder: Path, verbose: int
) -> Iterator[list[Checkpoint]]:
    """Inside, `fit` goes on from checkpoints, and shows its progress.

    The name of a file holds a digest of `place` and of the parameters of the step and of those
    before it. EquiVAE's is the same whatever comes after it: the methods `equivae` and
    `equivae-neural` of the paper's tables share one training. What does not look at labels
    (`uses_labels = False`) is trained once for all numbers of them.

    Parameters
    ----------
    estimator : estimator
        A pipeline of steps, or one step.
    name : str
        Of the step that is not in a pipeline.
    place : dict
        What says which rows are trained on; "dataset", "labels" and "seed" among it.
    folder : Path
    verbose : int
        0 shows no progress.
    """
    checkpoints, before = [], []
    for step_name, step in steps_of(estimator, name):
        parameters = step.get_params()
        parameters.pop("predict_with", None)
        before.append(parameters)
        if not (isinstance(step, BaseEquiVAE) or "checkpoint" in parameters):
            continue
        seen = place if getattr(step, "uses_labels", True) else {**place, "labels": "any"}
        label = "_".join(str(seen[key]) for key in ("dataset", "labels", "seed"))
        path = folder / f"{step_name}_{label}_{digest({**seen, 'steps': before})}.joblib"
        checkpoints.append(Checkpoint(path))
        if isinstance(step, BaseEquiVAE):
            step.set_params(callbacks=[Resume(checkpoints[-1], verbose)])
        else:
            step.set_params(checkpoint=checkpoints[-1], verbose=verbose)
    yield checkpoints
    if not all(checkpoint.finished for checkpoint in checkpoints):
        raise KeyboardInterrupt  # EquiVAE keeps what it had learnt by then; a result must not
    for _, step in steps_of(estimator, name):
        if isinstance(step, BaseEquiVAE):
            step.set_params(callbacks=None)


def training_seconds(history: Sequence[dict[str, Any]]) -> float:
    """Seconds of all epochs of a training, whoever trained them."""
    return round(sum(row["dur"] for row in history), 2)
