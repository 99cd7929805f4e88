r"""After training: how far probabilities, and the classes themselves, are to be trusted.

The labelled rows are known by heart, so they say nothing of how often the model errs. Other rows
do. The temperature of a rule makes its probabilities agree best with what is believed of them, the
class probabilities b; see `temperatures`.

- Unlabelled rows: :math:`b \propto \sqrt{q(y|x) \, g(y|x)}`, where g is what was found out about
  the row before training, from the graph of neighbours or from held-out labels; without it q(y|x).
- If all rows are labelled: b is the label, and the row is augmented.
- Validation rows, if some were set aside: b is the label.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from torch import Tensor

from ..fitted.compact import Positions
from ..fitted.model import FittedModel
from ..fitted.novelty import find_novelty, statistics
from ..fitted.region import find_region
from ..fitted.rows import NormalizedRows
from ..model.rules import RULES
from .augment import Augment, make_augment
from .batches import TrainingRows
from .evidence import find_evidence
from .pseudo_labels import Graph
from .row_evidence import Evidence
from .settings import TrainingSettings
from .temperatures import best_likelihood, best_temperature

Floats = NDArray[np.floating[Any]]

# Rows that temperatures are learnt from, at most; the likelihood rule decodes all classes of each.
N_ROWS = 1024
# Rows that the region and the scores of known rows are computed from, and their values, at most.
N_REGION, N_VALUES = 4096, 2**24
# Fewer rows than this do not tell what is usual.
FEW = 50
# How much a row counts of which something is believed, if one with a label counts 1.
BELIEVED = 0.1
SMALLEST = 1e-12


class Rows(NamedTuple):
    """Rows to learn temperatures from.

    Attributes
    ----------
    data : TrainingRows
        The data set that they belong to.
    rows : ndarray of int
        Their positions in its X.
    beliefs : ndarray of shape (n_rows, n_classes) or None
        Class probabilities or labels; None if there is only q(y | x).
    weight : float
        Weight of each row.
    labeled : bool
        Whether `beliefs` are labels.
    augmented : bool
        Whether the rows are augmented first.
    """

    data: TrainingRows
    rows: Positions
    beliefs: Floats | None
    weight: float
    labeled: bool = True
    augmented: bool = False


def calibrate(
    model: FittedModel,
    data: TrainingRows,
    evidence: Evidence | None,
    valid: TrainingRows | None,
    settings: TrainingSettings,
    old: FittedModel | None,
    strangers: Positions | None = None,
) -> FittedModel:
    """Return the model with temperatures, and with what is usual for rows of known classes.

    Parameters
    ----------
    model : FittedModel
        The model, with prototypes.
    data, valid : TrainingRows and TrainingRows or None
        The training rows, and those that were set aside for validation.
    evidence : Evidence or None
        Class probabilities of all rows from before training.
    settings : TrainingSettings
        The parameters of the estimator.
    old : FittedModel or None
        The model before `partial_fit`.
    strangers : ndarray of int, optional
        Rows of `data` that were not learnt from.

    Returns
    -------
    model : FittedModel
        The model; without temperatures and region if `Objective.calibrate` is False, and with the
        likelihood rule of the paper.
    """
    rng = np.random.RandomState(settings.seed)
    if settings.objective.calibrate:
        found = _rows(model, data, evidence, valid, settings, rng)
        if old is None or sum(len(part.rows) for part in found) >= FEW:
            model = with_temperatures(model, found, settings)
        else:
            model = model.replace(temperature=old.temperature, style_weight=old.style_weight)
        most = min(N_REGION, max(FEW, N_VALUES // int(np.prod(data.spec.input_shape))))
        x = NormalizedRows(data.X, data.spec, model.module.like)[draw(data.rows, most, rng)]
        known = None if old is None else old.region
        region = find_region(x, settings.seed) if known is None else known.widen(x)
        model = model.replace(region=region)
    if old is not None and len(data) < FEW:
        return model.replace(novelty=old.novelty)
    return with_novelty(model, data, rng, strangers)


def draw(rows: Positions, n_most: int, rng: np.random.RandomState) -> Positions:
    """Return at most `n_most` random rows; if there are many rows, without permuting them all."""
    if len(rows) <= 4 * n_most:
        return rng.permutation(rows)[:n_most]
    return rows[rng.permutation(np.unique(rng.randint(len(rows), size=n_most)))]


# -------------------------------------------------------------------- temperatures


def _rows(
    model: FittedModel,
    data: TrainingRows,
    evidence: Evidence | None,
    valid: TrainingRows | None,
    settings: TrainingSettings,
    rng: np.random.RandomState,
) -> list[Rows]:
    """Return the rows to learn temperatures from, and what is believed of them."""
    n_classes, codes = len(model.classes), data.codes
    found = []
    if valid is not None:
        rows = draw(valid.rows[valid.own_codes < n_classes], N_ROWS, rng)
        found.append(Rows(valid, rows, np.eye(n_classes)[valid.codes[rows]], 1.0))
    unlabeled = data.rows[data.own_codes < 0]
    if len(unlabeled):
        rows = np.sort(draw(unlabeled, N_ROWS, rng))
        if evidence is None:
            evidence = _neighbors(data, rows, n_classes + len(model.background), settings, rng)
        if len(model.background):
            rows = rows[~model.map(lambda x: in_background(model, x), data.X, rows=rows)]
        beliefs = None if evidence is None else np.asarray(evidence[rows], dtype=np.float64)
        return [*found, Rows(data, rows, beliefs, BELIEVED, labeled=False)] if len(rows) else found
    if data.spec.is_image and settings.augment is None:
        return found  # changes that the user does not want
    is_part = valid is not None and valid.X is data.X
    rows = np.setdiff1d(data.rows, valid.rows) if valid is not None and is_part else data.rows
    rows = draw(rows, N_ROWS, rng)
    rows = rows[codes[rows] >= 0]
    labels = np.eye(n_classes)[codes[rows]]
    return [*found, Rows(data, rows, labels, BELIEVED, augmented=True)]


def _neighbors(
    data: TrainingRows,
    rows: NDArray[np.intp],
    n_outputs: int,
    settings: TrainingSettings,
    rng: np.random.RandomState,
) -> Evidence | None:
    """Return what the graph of neighbours says of images, if training had no use for it.

    That is so if many rows are labelled. Some of these, and as many others, are enough here.
    """
    graph = settings.objective._resolved("graph")
    if (
        not data.spec.is_image
        or not isinstance(graph, Graph)
        or not settings.objective.teacher_decay
    ):
        return None
    labeled, others = data.rows[data.own_codes >= 0], data.rows[data.own_codes < 0]
    some = [draw(part, N_REGION, rng) for part in (labeled, others)]
    part = data.subset(np.unique(np.concatenate([*some, rows])))
    graph = clone(graph).set_params(max_labeled=1.0)
    return find_evidence([graph], part, n_outputs, settings.seed)[0]


def in_background(model: FittedModel, x: Tensor) -> Tensor:
    """Return whether q(y | x) takes a row for one of no class."""
    if not len(model.background):
        return torch.zeros(len(x), dtype=torch.bool, device=x.device)
    return model.module.classify(x).argmax(dim=1) >= model.module.n_classes - len(model.background)


def with_temperatures(
    model: FittedModel, found: list[Rows], settings: TrainingSettings
) -> FittedModel:
    """Return the model with the temperatures of all rules, and the weight of v in the last one."""
    weight = model.style_weight or 1.0
    model = model.replace(temperature=dict.fromkeys(RULES, 1.0), style_weight=weight)
    temperature = dict(model.temperature)
    for rule in RULES if found else ():
        # the bound of classes that were added after training is not known
        if rule == "likelihood" and len(model.trained) == len(model.classes):
            parts = _believed(model, found, model.likelihood_terms, settings)
            temperature[rule], weight = best_likelihood(parts)
        else:
            ask = functools.partial(model.class_logits, rule=rule)
            temperature[rule] = best_temperature(_believed(model, found, ask, settings))
    return model.replace(temperature=temperature, style_weight=weight)


def _believed(
    model: FittedModel, found: list[Rows], ask: Callable[[Tensor], Any], settings: TrainingSettings
) -> list[Any]:
    """Return what is asked about rows, what is believed of them, and the weight of each row.

    Rows are augmented first if need be.
    """
    parts = []
    for part in found:
        generator = torch.Generator(settings.device).manual_seed(settings.seed)
        augment = None
        if part.augmented:
            kind = "auto" if settings.augment is None else settings.augment
            spec = part.data.spec
            augment = make_augment(kind, spec.is_image, True, spec.layout)

        def values(x: Tensor, augment: Augment | None = augment, g: Any = generator) -> Any:
            x = x if augment is None else augment(x, g)
            answer = ask(x)
            posterior = model.class_logits(x, "posterior").softmax(dim=1)
            return (*(answer if isinstance(answer, tuple) else (answer,)), posterior)

        *answers, posterior = model.map(values, part.data.X, rows=part.rows)
        if part.beliefs is None:
            beliefs = posterior
        elif part.labeled:
            beliefs = part.beliefs
        else:
            beliefs = np.sqrt(posterior * part.beliefs[:, : len(model.classes)])
        beliefs = beliefs + SMALLEST
        parts.append((*answers, beliefs / beliefs.sum(axis=1, keepdims=True), part.weight))
    return parts


# -------------------------------------------------------------------- known rows


def with_novelty(
    model: FittedModel,
    data: TrainingRows,
    rng: np.random.RandomState,
    strangers: Positions | None = None,
) -> FittedModel:
    """Return the model with the scores of rows that belong to known classes.

    These are rows that were not learnt from if there are any, or else unlabelled rows, unless they
    are few: the networks know labelled ones by heart.
    """
    unlabeled = data.rows[data.own_codes < 0]
    rows = unlabeled if len(unlabeled) >= FEW else data.rows
    rows = np.sort(draw(rows, N_REGION, rng)) if strangers is None else strangers
    prototypes, _, trained = model.with_background()
    n_background = len(model.background)

    def ask(x: Tensor) -> Tensor:
        return statistics(model.module, x, prototypes, trained, n_background)

    values = model.map(ask, data.X, rows=rows)
    if n_background:
        is_known = (values[:, 3:] < 0).any(axis=1)
        values = values[is_known] if is_known.any() else values
    values = values[np.isfinite(values).all(axis=1)]
    return model.replace(novelty=find_novelty(values)) if len(values) else model
