"""`train`: from rows and settings to a `FittedModel`. The functions follow in calling order."""

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.swa_utils import update_bn

from ..fitted.loop import BATCH_SIZE, map_batches
from ..fitted.model import FittedModel, for_inference
from ..fitted.prototypes import ClassMeans
from ..fitted.rows import NormalizedRows
from ..fitted.styles import StyleMoments, prior_moments
from ..fitted.threads import compute_threads
from ..model.module import EquiVAEModule
from ..model.randomness import private_global_generator
from .augment import make_augment
from .averaging import Averaged
from .batches import Codes, OrderedBatches, TrainingRows
from .device import fits_on, set_precision
from .net import EquiVAENet, make_net
from .objective import EquiVAEObjective
from .pseudo_labels import Problem, confident_targets
from .settings import Plan, TrainingSettings, make_plan, n_latents

# Number of rows that statistics of the trained networks are computed from, at most.
SOME_ROWS = 16_384


class Trained(NamedTuple):
    """The result of training: the model, the net, and one class code per row."""

    model: FittedModel
    net: EquiVAENet
    codes: Codes


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
        The result.
    """
    rows, valid = data, None
    if settings.early_stopping and not incremental:
        rows, valid = split_validation(data, settings.validation_fraction, settings.seed)
    count = class_counts(data, len(classes))
    if previous is not None and incremental:
        count += previous.model.class_count
    prior = count / count.sum()
    with _user_noise(settings), compute_threads(data.spec):
        module = make_networks(settings, data, len(classes), previous)
        like = module.module.like
        rows, valid = rows.like(like), None if valid is None else valid.like(like)
        plan = make_plan(settings, rows, incremental)
        objective = make_objective(settings, plan, rows, module.module, prior)
        net = make_net(settings, plan, module, objective, rows, valid, incremental)
        if previous is not None and incremental and previous.net is not None:
            net.resume(previous.net)
        if objective.sources and not incremental:
            rows.evidence = prepare_evidence(objective, rows, len(classes), settings.seed)
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
    return summarize(net, data.like(like), classes, count, settings, old)


# -------------------------------------------------------------------- before training


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
def _user_noise(settings: TrainingSettings) -> Iterator[None]:
    """Seed PyTorch's global generators, which users' networks and augmentations may use."""
    networks = settings.networks.architecture((1, 1))
    if not networks.has_user_networks and not callable(settings.augment):
        yield
        return
    with private_global_generator(settings.seed, settings.device):
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
    augment = make_augment(settings.augment, data.spec.is_image, bool((data.own_codes < 0).any()))
    sources = settings.objective.sources()
    objective = EquiVAEObjective(
        prior, module.n_hidden, settings.m_max, settings.objective, plan, sources, augment
    )
    return objective.to(module.like.dtype)


def prepare_evidence(
    objective: EquiVAEObjective, data: TrainingRows, n_classes: int, seed: int
) -> NDArray[np.float32] | None:
    """Return the class probabilities of all rows by the sources, before training."""
    problem = Problem(data, n_classes, seed)
    for source in objective.sources:
        source.prepare(problem)
    return problem.evidence


# -------------------------------------------------------------------- after training


def refresh_batch_norm(module: Averaged, data: TrainingRows, seed: int) -> None:
    """Compute batch statistics for the averaged weights, from rows that are not augmented."""
    if module.teacher is None:
        return
    # batches have equal weight, so they hold random rows and are about equally large
    rows = np.random.RandomState(seed).permutation(data.rows)[:SOME_ROWS]
    size = -(-len(rows) // -(-len(rows) // BATCH_SIZE))
    batches = OrderedBatches(data.subset(rows), size)
    update_bn((inputs["x"] for inputs, _ in batches), module.teacher)


def summarize(
    net: EquiVAENet,
    data: TrainingRows,
    classes: NDArray[Any],
    count: NDArray[np.float64],
    settings: TrainingSettings,
    old: FittedModel | None,
) -> Trained:
    """Compute prototypes, codes of unlabelled rows and styles, and return the result.

    With `old`, its prototypes and styles are updated.
    """
    # copied if there is no teacher, since the networks may be trained further
    module = for_inference(net.module_.teacher or copy.deepcopy(net.module_.module))
    means = class_means(module, data, settings.objective)
    embeddings = means.means
    if old is not None:
        embeddings = means.update_means(torch.from_numpy(old.class_embeddings), settings.m_max)
    with torch.inference_mode():
        prototypes = module.invariant.head(embeddings.to(module.like)).cpu().numpy()
    net.check_finite(prototypes[count > 0])
    v_mean, v_covariance = prior_moments(len(classes), module.n_latents[1])
    model = FittedModel(
        module=module,
        rows=data.spec,
        classes=classes,
        class_count=count,
        class_prior=count / count.sum(),
        class_embeddings=embeddings.numpy(),
        prototypes=prototypes,
        v_mean=v_mean if old is None else old.v_mean,
        v_covariance=v_covariance if old is None else old.v_covariance,
        trained=np.arange(len(classes)),
    )
    codes = model.fill_codes(data.X, data.codes, settings.predict_with)
    return Trained(with_styles(model, data.X, codes), net, codes)


def class_means(module: EquiVAEModule, data: TrainingRows, objective: Any) -> ClassMeans:
    """Return the mean embedding of the labelled and confident rows of each class."""
    means = ClassMeans(module.n_classes, module.n_hidden)
    rows = data.rows
    if objective.complement_pool == "labeled":
        rows = rows[data.own_codes >= 0]

    def add(x: Tensor, y: Tensor, weight: Tensor) -> None:
        h = module.invariant.embed(x)
        if bool((y < 0).any()):
            q_y = module.classify(x, module.invariant.head(h)).softmax(dim=1)
            y = confident_targets(y, q_y, objective.confidence)
        means.update(h, y, weight)

    normalized = NormalizedRows(data.X, data.spec, module.like, rows)
    map_batches(add, normalized, data.codes[rows], data.weight[rows], like=module.like)
    return means


def with_styles(model: FittedModel, X: NDArray[Any], codes: Codes) -> FittedModel:
    """Return the model with mean and covariance of v per class, from at most `SOME_ROWS` rows."""
    moments = StyleMoments(len(model.classes), model.module.n_latents[1])
    prototypes = model.tensor(np.nan_to_num(model.prototypes))
    rows = np.arange(0, len(X), -(-len(X) // SOME_ROWS))

    def add(x: Tensor, y: Tensor) -> None:
        q_v = model.module.encode(x, prototypes[y])
        moments.update(*(t.cpu().numpy() for t in (q_v.mean, q_v.variance, y)))

    model.map(add, X, codes[rows], rows=rows)
    v_mean, v_covariance = moments.update_moments((model.v_mean, model.v_covariance))
    return model.replace(v_mean=v_mean, v_covariance=v_covariance)
