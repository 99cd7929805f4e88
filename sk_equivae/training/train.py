"""`train`: from rows and settings to a `FittedModel`. The functions follow in calling order."""

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .._progress import Progress, begin, current, showing
from ..fitted.model import FittedModel
from ..fitted.threads import compute_threads
from ..model.module import EquiVAEModule
from ..model.randomness import private_global_generator
from .augment import make_augment
from .averaging import Averaged
from .background import count_classes
from .batches import TrainingRows
from .checkpoint import Checkpoint, fingerprint, read_checkpoint
from .device import fits_on, set_precision
from .distributed import joined, own_device
from .evidence import find_evidence
from .forecast import Forecast, rows_after_training, source_seconds, step_seconds
from .held_out import set_aside, split_validation
from .net import EquiVAENet, make_net
from .objective import EquiVAEObjective
from .row_evidence import Evidence
from .settings import Plan, TrainingSettings, is_photograph, make_plan, n_latents
from .state import Saved
from .summary import Trained, refresh_batch_norm, summarize
from .weighting import class_weights
from .world import World

# Rows by which processes that train together check that they have the same data.
COMPARED_ROWS = 4096


@dataclass(frozen=True)
class Previous:
    """The result of an earlier training, to go on from.

    Attributes
    ----------
    model : FittedModel
        The model.
    net : EquiVAENet or None
        The net, with the state of training; None if the estimator was pickled in between.
    """

    model: FittedModel
    net: EquiVAENet | None


def train(
    data: TrainingRows,
    classes: NDArray[Any],
    settings: TrainingSettings,
    previous: Previous | None = None,
    incremental: bool = False,
    valid: TrainingRows | None = None,
) -> Trained:
    """Train networks on rows.

    Parameters
    ----------
    data : TrainingRows
        The rows.
    classes : ndarray of shape (n_classes,)
        The labels that the codes stand for.
    settings : TrainingSettings
        The parameters of the estimator.
    previous : Previous, optional
        An earlier training to go on from; it is not changed.
    incremental : bool, default=False
        Train for one epoch at a constant rate, and go on with the optimiser's state, class counts
        and prototypes of `previous`. If False, only its networks are used.
    valid : TrainingRows, optional
        Rows for early stopping; by default a part of the labelled rows.

    Returns
    -------
    trained : Trained
        The result; the same in all processes that train together.
    """
    with joined() as world:
        settings = common_settings(data, classes, settings, world, valid)
        title = "partial_fit" if incremental else "fit"
        with showing(Progress(title) if settings.verbose else None):
            return _train(data, classes, settings, previous, incremental, valid, world)


def _train(
    data: TrainingRows,
    classes: NDArray[Any],
    settings: TrainingSettings,
    previous: Previous | None,
    incremental: bool,
    valid: TrainingRows | None,
    world: World,
) -> Trained:
    settings, checkpoint = open_checkpoint(data, classes, settings, world, valid)
    before = None if previous is None else previous.model
    weight = class_weights(data, classes, settings.class_weight)
    data, count = count_classes(data, len(classes), settings, before, incremental, world)
    rows = data
    if weight is not None:  # for the objective; p(y) and the prototypes are those of `data`
        all_weights = np.append(weight, 1.0)  # rows of no class come last
        rows = data.weighted(all_weights)
        valid = None if valid is None else valid.weighted(all_weights)
    if settings.early_stopping and not incremental and valid is None:
        rows, valid = split_validation(rows, settings.validation_fraction, settings.seed)
    strangers = None
    if settings.reject is not None and not incremental:
        rows, strangers = set_aside(rows, settings.seed)
    prior = count / count.sum()
    with _user_noise(settings, world), compute_threads(data.spec):
        module = make_networks(settings, data, len(count), previous)
        world.copy_first(module)
        like = module.module.like
        rows, valid = rows.like(like), None if valid is None else valid.like(like)
        plan = make_plan(settings, rows, incremental)
        objective = make_objective(settings, plan, rows, module.module, prior, weight)
        net = make_net(settings, plan, module, objective, rows, valid, incremental, checkpoint)
        if previous is not None and incremental and previous.net is not None:
            net.resume(previous.net)
        plan_progress(net, objective, rows, settings, incremental)
        if objective.sources and not incremental:
            rows.evidence = prepare_evidence(
                objective, rows, len(count), settings, checkpoint, world
            )
        for part in {module.module, module.predictor}:
            set_precision(part, settings.networks.amp, settings.networks.compile, like)
        if fits_on(rows.X.nbytes, settings.device):
            rows.normalized.keep_on_device()
        net.partial_fit(rows)
        if net.interrupted and not any("train_loss" in epoch for epoch in net.history):
            raise KeyboardInterrupt("Training was interrupted in the first epoch. Nothing changed.")
        for network in module.predictor.parts:
            network.amp = False  # predictions are exact
        begin("batch statistics")
        refresh_batch_norm(module, rows, settings.seed)
    net.forget_training()
    old = before if incremental else None
    background = None if before is None or not len(before.background) else before.background
    trained = summarize(
        net, data.like(like), classes, count, settings, old, weight, rows.evidence, valid,
        background, strangers,
    )  # fmt: skip
    if checkpoint is None:
        return trained
    if not net.interrupted:
        checkpoint.finish()
    return trained._replace(checkpoint_error=checkpoint.error)


# -------------------------------------------------------------------- before training


def common_settings(
    data: TrainingRows,
    classes: NDArray[Any],
    settings: TrainingSettings,
    world: World,
    valid: TrainingRows | None,
) -> TrainingSettings:
    """Return the settings of this process; raise if others have different data or parameters."""
    if world.alone:
        return settings
    world.check_same(fingerprint(data, classes, settings, COMPARED_ROWS, valid))
    return replace(
        settings,
        seed=world.first(lambda: settings.seed),
        device=own_device(settings.device),
        verbose=settings.verbose if world.rank == 0 else 0,
    )


def open_checkpoint(
    data: TrainingRows,
    classes: NDArray[Any],
    settings: TrainingSettings,
    world: World,
    valid: TrainingRows | None,
) -> tuple[TrainingSettings, Checkpoint | None]:
    """Return the settings, with the seed of the fit to go on from, and the checkpoint."""
    if settings.checkpoint is None:
        return settings, None
    path = Path(settings.checkpoint)

    def read() -> tuple[str, Saved | None]:
        digest = fingerprint(data, classes, settings, valid=valid)
        return digest, read_checkpoint(path, digest, settings)

    digest, saved = world.first(read)
    if saved is not None:
        settings = replace(settings, seed=saved.manifest["seed"])
    return settings, Checkpoint(path, digest, settings.seed, saved)


@contextlib.contextmanager
def _user_noise(settings: TrainingSettings, world: World) -> Iterator[None]:
    """Seed PyTorch's global generators, which users' networks and augmentations may use."""
    networks = settings.networks.architecture((1, 1))
    if not networks.has_user_networks and not callable(settings.augment):
        yield
        return
    with private_global_generator(settings.seed + world.rank, settings.device):
        yield


def make_networks(
    settings: TrainingSettings, data: TrainingRows, n_classes: int, previous: Previous | None
) -> Averaged:
    """Return new networks, or a copy of those of an earlier training."""
    decay = settings.objective.teacher_decay
    if previous is not None:
        if previous.net is not None:
            return copy.deepcopy(previous.net.module_).to(settings.device)
        module = copy.deepcopy(previous.model.module).requires_grad_(True)
        return Averaged(module.to(settings.device), decay)
    sizes = n_latents(settings.latent_dim)
    module = EquiVAEModule(
        data.spec.input_shape,
        n_classes,
        sizes,
        data.spec.likelihood,
        settings.networks.architecture(sizes, data.spec.input_shape),
        settings.seed,
        data.spec.layout,
    ).to(settings.device, getattr(torch, settings.dtype))
    if data.spec.is_image:
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return Averaged(module, decay)


def make_objective(
    settings: TrainingSettings,
    plan: Plan,
    data: TrainingRows,
    module: EquiVAEModule,
    prior: NDArray[np.float64],
    class_weight: NDArray[np.float64] | None = None,
) -> EquiVAEObjective:
    """Return the objective for the given rows."""
    any_unlabeled = bool((data.own_codes < 0).any())
    spec = data.spec
    augment = make_augment(
        settings.augment,
        spec.is_image,
        any_unlabeled,
        spec.layout,
        is_photograph(spec.input_shape),
    )
    sources = settings.objective.sources()
    objective = EquiVAEObjective(
        prior, module.n_hidden, settings.m_max, settings.objective, plan, sources, augment,
        class_weight,
    )  # fmt: skip
    return objective.to(module.like.dtype)


def plan_progress(
    net: EquiVAENet,
    objective: EquiVAEObjective,
    data: TrainingRows,
    settings: TrainingSettings,
    incremental: bool,
) -> None:
    """Measure what a training step takes, and tell the progress bar what is to come."""
    progress = current()
    if progress is None:
        return
    progress.begin("networks")
    batches = net.get_iterator(data, training=True)
    done, n_skipped = batches.epoch, batches.n_skipped
    steps, sizes = batches.steps_per_epoch()[done:], batches.sizes[done:]
    if not steps:  # all epochs were done before
        return
    steps[0] -= n_skipped
    module = net.module_
    measured = step_seconds(module, objective, data, sizes, settings, progress.clock)
    # tables are learnt with probabilities that do not change
    falling = data.spec.is_image and bool((data.own_codes < 0).any())
    forecast = Forecast(steps, sizes, measured, falling)
    after = rows_after_training(module, data, settings, forecast, progress.clock)
    dict(net.callbacks_)["progress"].start_from(done, forecast, after)
    before = {} if incremental else source_seconds(objective, data)
    rows = {name: forecast.row_seconds * n_rows for name, n_rows in after.items()}
    progress.expected = {**before, "training": forecast.rest, **rows}


def prepare_evidence(
    objective: EquiVAEObjective,
    data: TrainingRows,
    n_classes: int,
    settings: TrainingSettings,
    checkpoint: Checkpoint | None,
    world: World,
) -> Evidence | None:
    """Return the class probabilities of all rows by the sources, before training."""
    if checkpoint is not None and checkpoint.saved is not None:
        return checkpoint.evidence
    evidence, objective.sources = world.first(
        lambda: find_evidence(objective.sources, data, n_classes, settings.seed, settings.memory)
    )
    if checkpoint is not None:
        checkpoint.evidence = evidence
    return evidence
