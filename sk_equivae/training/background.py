"""Rows of no class, as one more class of training that is not one of the answers."""

import copy

import numpy as np
from numpy.typing import NDArray

from ..fitted.compact import parts
from ..fitted.model import FittedModel
from .batches import TrainingRows
from .pseudo_labels import Graph, Unknown, find_unknown
from .settings import TrainingSettings
from .world import World


def class_counts(data: TrainingRows, n_classes: int) -> NDArray[np.float64]:
    """Return the total weight of the labelled rows per class."""
    count = np.zeros(n_classes)
    for part in parts(len(data.codes)):
        codes, weight = data.codes[part], data.weight[part]
        np.add.at(count, codes[codes >= 0], weight[codes >= 0])
    return count


def count_classes(
    data: TrainingRows,
    n_classes: int,
    settings: TrainingSettings,
    previous: FittedModel | None,
    incremental: bool,
    world: World,
) -> tuple[TrainingRows, NDArray[np.float64]]:
    """Return the rows and the weight per class, with those of no class if there are any.

    With `reject`, unlabelled rows that surely belong to no class get the code `n_classes`. The
    networks learn it like a class, so that similar rows are not taken for one of the others.

    Parameters
    ----------
    data : TrainingRows
        The rows.
    n_classes : int
        Number of classes.
    settings : TrainingSettings
        The parameters of the estimator.
    previous : FittedModel or None
        An earlier training to go on from.
    incremental : bool
        Whether the class counts of `previous` are added.
    world : World
        The processes that train together.

    Returns
    -------
    data : TrainingRows
        The rows.
    count : ndarray of shape (n_classes,) or (n_classes + 1,)
        Total weight per class.
    """
    count = class_counts(data, n_classes)
    if previous is not None:
        count += previous.class_count if incremental else 0.0
        if not len(previous.background):
            return data, count
        share = previous.background_prior  # the networks have an output for them
    else:
        looks = settings.reject is not None and not incremental
        unknown = _find(data, settings, world) if looks else None
        if unknown is None:
            return data, count
        share = unknown.share
        codes = data.codes.copy()
        codes[unknown.rows] = n_classes
        data = copy.copy(data)
        data.codes = codes
    return data, np.append(count, count.sum() * share / (1 - share))


def _find(data: TrainingRows, settings: TrainingSettings, world: World) -> Unknown | None:
    graph = settings.objective._resolved("graph")
    graph = graph if isinstance(graph, Graph) else Graph()
    return world.first(lambda: find_unknown(data, graph, settings.seed))
