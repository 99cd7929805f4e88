"""After training: batch statistics, prototypes, styles, and codes of the rows."""

import copy
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.swa_utils import update_bn

from .._progress import begin
from ..fitted.compact import Positions, Taken, positions
from ..fitted.loop import BATCH_SIZE, map_batches
from ..fitted.model import FittedModel, for_inference
from ..fitted.prototypes import ClassMeans
from ..fitted.relative import fit_relative, relative_to_moments
from ..fitted.rows import NormalizedRows
from ..fitted.styles import StyleMoments, prior_moments
from ..fitted.transduction import Found, given, predict_rows, transduce
from ..model.distributions import kl_v_dims
from ..model.module import EquiVAEModule
from .averaging import Averaged
from .batches import OrderedBatches, TrainingRows
from .calibration import calibrate, in_background
from .composition import Codes
from .distributed import current_world
from .net import EquiVAENet
from .pseudo_labels import Report, confident_targets
from .row_evidence import Evidence
from .settings import TrainingSettings

# Number of rows that statistics of the trained networks are computed from, at most.
SOME_ROWS = 16_384
# The same for the distribution of v in each class, whose shape takes many rows to learn.
STYLE_ROWS = 65_536


class Trained(NamedTuple):
    """The result of training: the model, the net, codes and probabilities, and the evidence."""

    model: FittedModel
    net: EquiVAENet
    codes: Codes
    probabilities: NDArray[np.float32]
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
    class_weight: NDArray[np.float64] | None = None,
    evidence: Evidence | None = None,
    valid: TrainingRows | None = None,
    background: NDArray[np.floating] | None = None,
    strangers: Positions | None = None,
) -> Trained:
    """Compute prototypes, probabilities of unlabelled rows and styles, and return the result.

    With `old`, its prototypes and styles are updated. `class_weight` is for the model to keep.
    `count` may have an entry more than there are classes: the weight of the rows of no class,
    whose code is the number of classes. `background` are their prototypes from an earlier
    training. `strangers` are rows of `data` that were not learnt from.
    """
    # copied if there is no teacher, since the networks may be trained further
    module = for_inference(net.module_.teacher or copy.deepcopy(net.module_.module))
    report = net.criterion_.report
    # rows that were learnt with the experts' probabilities belong to their most probable class
    confidence = settings.objective.confidence if report is None else 0.0
    begin("prototypes")
    means = class_means(module, data, settings.objective.complement_pool, confidence)
    embeddings, n_classes = means.means, len(classes)
    if old is not None:
        before = torch.full_like(embeddings, torch.nan)
        before[:n_classes] = torch.from_numpy(old.class_embeddings)
        embeddings = means.update_means(before, settings.m_max)
    with torch.inference_mode():
        prototypes = module.invariant.head(embeddings.to(module.like)).cpu().numpy()
    if background is not None:  # none of these rows may be among those at hand
        some = prototypes[n_classes:]
        prototypes[n_classes:] = np.where(np.isnan(some), background, some)
    net.check_finite(prototypes[count > 0])
    v_mean, v_covariance = prior_moments(n_classes, module.n_latents[1])
    model = FittedModel(
        module=module,
        rows=data.spec,
        classes=classes,
        class_count=count[:n_classes],
        class_prior=count[:n_classes] / count[:n_classes].sum(),
        class_embeddings=embeddings[:n_classes].numpy(),
        prototypes=prototypes[:n_classes],
        v_mean=v_mean if old is None else old.v_mean,
        v_covariance=v_covariance if old is None else old.v_covariance,
        trained=np.arange(n_classes),
        kl_v=np.zeros(module.n_latents[1]) if old is None else old.kl_v,
        relative=relative_to_moments((v_mean, v_covariance)) if old is None else old.relative,
        class_weight=class_weight,
        background=prototypes[n_classes:],
        background_prior=float(count[n_classes:].sum() / count.sum()),
    )
    begin("styles")
    model = with_styles(model, data, settings)
    begin("calibration")
    model = calibrate(model, data, evidence, valid, settings, old, strangers)
    begin("labelling", f"labelling {np.count_nonzero(data.codes < 0):,} rows")
    codes, probabilities = transduction(model, data, settings)
    return Trained(model, net, codes, probabilities, report)


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
    codes, weight = Taken(data.codes, rows), Taken(data.weight, rows)
    map_batches(add, normalized, codes, weight, like=module.like)
    current_world().sum_arrays(means.sums.numpy(), means.weights.numpy())
    return means


def transduction(model: FittedModel, data: TrainingRows, settings: TrainingSettings) -> Found:
    """Return codes and probabilities of all rows; each process predicts a part of them."""
    world, rule, reject = current_world(), settings.predict_with, settings.reject
    codes = data.codes
    if len(model.background):
        codes = np.where(codes < len(model.classes), codes, -1).astype(codes.dtype)
    if world.alone:
        return transduce(model, data.X, codes, rule, reject)
    missing = positions(codes < 0)
    wide = np.maximum(codes, 0).astype(np.int32)  # not every dtype can be added up
    found = wide, given(codes, len(model.classes))[1]
    if world.rank > 0:
        for array in found:
            array[:] = 0
    predict_rows(model, data.X, rule, reject, world.share(missing), found)
    world.sum_arrays(*found)
    return found[0].astype(codes.dtype), found[1]


def with_styles(model: FittedModel, data: TrainingRows, settings: TrainingSettings) -> FittedModel:
    """Return the model with the distribution of v per class, from at most `STYLE_ROWS` rows.

    Unlabelled rows are of the class that is predicted; the likelihood rule is not at hand yet. Rows
    that q(y | x) takes for rows of no class have no style.
    """
    rule = "prototype" if settings.predict_with == "likelihood" else settings.predict_with
    moments = StyleMoments(len(model.classes), model.module.n_latents[1])
    prototypes = model.tensor(np.nan_to_num(model.prototypes))
    rows = np.arange(0, len(data.X), -(-len(data.X) // STYLE_ROWS))
    codes = data.codes[rows].astype(np.int64)
    rows, codes = rows[codes < len(model.classes)], codes[codes < len(model.classes)]

    def add(x: Tensor, code: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        unknown = code < 0
        if bool(unknown.any()):
            predicted = model.class_logits(x[unknown], rule).argmax(dim=1).to(code.device)
            code = code.masked_scatter(unknown, predicted)
            stranger = unknown & in_background(model, x)
            code = code.masked_fill(stranger, -1)
        q_v = model.module.encode(x, prototypes[code])
        kept = code >= 0
        parts = (q_v.mean[kept], q_v.variance[kept], code[kept])
        moments.update(*(part.cpu().numpy() for part in parts))
        return q_v.mean, kl_v_dims(q_v), code

    v, kl, codes = model.map(add, data.X, codes, rows=rows)
    kept = codes >= 0
    if not kept.any():  # rows of no class alone, in `partial_fit`
        return model
    v, codes, kl_v = v[kept], codes[kept], kl[kept].mean(axis=0)
    v_mean, v_covariance = moments.update_moments((model.v_mean, model.v_covariance))
    relative = fit_relative(v, codes, kl_v, (v_mean, v_covariance))
    return model.replace(v_mean=v_mean, v_covariance=v_covariance, kl_v=kl_v, relative=relative)
