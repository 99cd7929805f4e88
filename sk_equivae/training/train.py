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

from ..fitted.model import FittedModel
from ..fitted.threads import compute_threads
from ..model.module import EquiVAEModule
from ..model.randomness import private_global_generator
from .augment import make_augment
from .averaging import Averaged
from .batches import Evidence, TrainingRows
from .checkpoint import Checkpoint, fingerprint, read_checkpoint
from .device import fits_on, set_precision
from .distributed import joined, own_device
from .evidence import find_evidence
from .net import EquiVAENet, make_net
from .objective import EquiVAEObjective
from .settings import Plan, TrainingSettings, make_plan, n_latents
from .state import Saved
from .summary import Trained, refresh_batch_norm, summarize
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

    Returns
    -------
    trained : Trained
        The result; the same in all processes that train together.
    """
    with joined() as world:
        settings = common_settings(data, classes, settings, world)
        return _train(data, classes, settings, previous, incremental, world)


def _train(
    data: TrainingRows,
    classes: NDArray[Any],
    settings: TrainingSettings,
    previous: Previous | None,
    incremental: bool,
    world: World,
) -> Trained:
    settings, checkpoint = open_checkpoint(data, classes, settings, world)
    rows, valid = data, None
    if settings.early_stopping and not incremental:
        rows, valid = split_validation(data, settings.validation_fraction, settings.seed)
    count = class_counts(data, len(classes))
    if previous is not None and incremental:
        count += previous.model.class_count
    prior = count / count.sum()
    with _user_noise(settings, world), compute_threads(data.spec):
        module = make_networks(settings, data, len(classes), previous)
        world.copy_first(module)
        like = module.module.like
        rows, valid = rows.like(like), None if valid is None else valid.like(like)
        plan = make_plan(settings, rows, incremental)
        objective = make_objective(settings, plan, rows, module.module, prior)
        net = make_net(settings, plan, module, objective, rows, valid, incremental, checkpoint)
        if previous is not None and incremental and previous.net is not None:
            net.resume(previous.net)
        if objective.sources and not incremental:
            rows.evidence = prepare_evidence(
                objective, rows, len(classes), settings, checkpoint, world
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
        refresh_batch_norm(module, rows, settings.seed)
    net.forget_training()
    old = previous.model if previous is not None and incremental else None
    trained = summarize(net, data.like(like), classes, count, settings, old)
    if checkpoint is None:
        return trained
    if not net.interrupted:
        checkpoint.finish()
    return trained._replace(checkpoint_error=checkpoint.error)


# -------------------------------------------------------------------- before training


def common_settings(
    data: TrainingRows, classes: NDArray[Any], settings: TrainingSettings, world: World
) -> TrainingSettings:
    """Return the settings of this process; raise if others have different data or parameters."""
    if world.alone:
        return settings
    world.check_same(fingerprint(data, classes, settings, n_most=COMPARED_ROWS))
    return replace(
        settings,
        seed=world.first(lambda: settings.seed),
        device=own_device(settings.device),
        verbose=settings.verbose if world.rank == 0 else 0,
    )


def open_checkpoint(
    data: TrainingRows, classes: NDArray[Any], settings: TrainingSettings, world: World
) -> tuple[TrainingSettings, Checkpoint | None]:
    """Return the settings, with the seed of the fit to go on from, and the checkpoint."""
    if settings.checkpoint is None:
        return settings, None
    path = Path(settings.checkpoint)

    def read() -> tuple[str, Saved | None]:
        digest = fingerprint(data, classes, settings)
        return digest, read_checkpoint(path, digest, settings)

    digest, saved = world.first(read)
    if saved is not None:
        settings = replace(settings, seed=saved.manifest["seed"])
    return settings, Checkpoint(path, digest, settings.seed, saved)


def split_validation(
    data: TrainingRows, fraction: float, seed: int
) -> tuple[TrainingRows, TrainingRows]:
    """Return training and validation rows; both have a labelled row of every class."""
    rows, codes = data.rows, data.codes
    labeled = rows[codes[rows] >= 0]
    classes, counts = np.unique(codes[labeled], return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"early_stopping=True needs a validation part with every class; got {len(labeled)} "
            f"labelled rows of {len(classes)} classes, {counts.min()} in the smallest. Expected at "
            "least 2 labelled rows per class: label more rows, or set early_stopping=False."
        )
    rng = np.random.RandomState(seed)
    taken = []
    for code, count in zip(classes, counts, strict=True):
        members = rng.permutation(labeled[codes[labeled] == code])
        taken.append(members[: np.clip(round(fraction * count), 1, count - 1)])
    valid = np.sort(np.concatenate(taken))
    return data.subset(np.setdiff1d(rows, valid)), data.subset(valid)


def class_counts(data: TrainingRows, n_classes: int) -> NDArray[np.float64]:
    """Return the total weight of the labelled rows per class."""
    labeled = data.codes >= 0
    count = np.zeros(n_classes)
    np.add.at(count, data.codes[labeled], data.weight[labeled])
    return count


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
        settings.networks.architecture(sizes),
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
) -> EquiVAEObjective:
    """Return the objective for the given rows."""
    any_unlabeled = bool((data.own_codes < 0).any())
    augment = make_augment(settings.augment, data.spec.is_image, any_unlabeled, data.spec.layout)
    sources = settings.objective.sources()
    objective = EquiVAEObjective(
        prior, module.n_hidden, settings.m_max, settings.objective, plan, sources, augment
    )
    return objective.to(module.like.dtype)


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
