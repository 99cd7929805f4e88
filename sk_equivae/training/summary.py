"""After training: batch statistics, prototypes, codes of the rows, and styles."""

import copy
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.swa_utils import update_bn

from ..fitted.loop import BATCH_SIZE, map_batches, progress
from ..fitted.model import FittedModel, for_inference
from ..fitted.prototypes import ClassMeans
from ..fitted.rows import NormalizedRows
from ..fitted.styles import StyleMoments, prior_moments
from ..model.module import EquiVAEModule
from .averaging import Averaged
from .batches import Codes, OrderedBatches, TrainingRows
from .distributed import current_world
from .net import EquiVAENet
from .pseudo_labels import Report, confident_targets
from .settings import TrainingSettings

# Number of rows that statistics of the trained networks are computed from, at most.
SOME_ROWS = 16_384


class Trained(NamedTuple):
    """The result of training: the model, the net, one class code per row, and the evidence."""

    model: FittedModel
    net: EquiVAENet
    codes: Codes
    report: Report | None = None
    checkpoint_error: OSError | None = None


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
    report = net.criterion_.report
    # rows that were learnt with the experts' probabilities belong to their most probable class
    confidence = settings.objective.confidence if report is None else 0.0
    means = class_means(module, data, settings.objective.complement_pool, confidence)
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
    with progress("transduction_" if settings.verbose else None):
        codes = fill_codes(model, data, settings.predict_with)
    return Trained(with_styles(model, data.X, codes), net, codes, report)


def class_means(
    module: EquiVAEModule, data: TrainingRows, complement_pool: str, confidence: float
) -> ClassMeans:
    """Return the mean embedding of the labelled and confident rows of each class."""
    means = ClassMeans(module.n_classes, module.n_hidden)
    rows = data.rows
    if complement_pool == "labeled":
        rows = rows[data.own_codes >= 0]
    rows = current_world().share(rows)

    def add(x: Tensor, y: Tensor, weight: Tensor) -> None:
        h = module.invariant.embed(x)
        if bool((y < 0).any()):
            q_y = module.classify(x, module.invariant.head(h)).softmax(dim=1)
            y = confident_targets(y, q_y, confidence)
        means.update(h, y, weight)

    normalized = NormalizedRows(data.X, data.spec, module.like, rows)
    map_batches(add, normalized, data.codes[rows], data.weight[rows], like=module.like)
    current_world().sum_arrays(means.sums.numpy(), means.weights.numpy())
    return means


def fill_codes(model: FittedModel, data: TrainingRows, rule: str) -> Codes:
    """Return the codes of all rows, predicted where they are -1; each process predicts a part."""
    world = current_world()
    if world.alone:
        return model.fill_codes(data.X, data.codes, rule)
    missing = np.flatnonzero(data.codes < 0)
    found = np.zeros(len(missing), dtype=np.int64)
    own = world.share(np.arange(len(missing)))
    if len(own):
        found[own] = model.predict_codes(data.X, rule, rows=missing[own])
    world.sum_arrays(found)
    codes = data.codes.copy()
    codes[missing] = found
    return codes


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
