"""The rules behind every "auto" of training, and the settings of one fit."""

import sys
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..batches import TrainBatches, TrainingRows
from .networks import Networks, is_photograph
from .objective import Objective

# Small data sets are passed over until this many rows have been seen. The second number is for
# tabular rows that are all labelled, which are learnt faster.
MIN_ROWS_SEEN, MIN_ROWS_SEEN_EASY = 20_000, 5_000
# Large data sets are passed over until at most this many rows have been seen. The second number is
# for photographs, whose classes are found slowly.
MAX_ROWS_SEEN, MAX_PHOTOGRAPHS_SEEN = 500_000, 700_000
# Training on photographs starts with labelled rows alone: a part of the other batches, and at most
# this many.
WARMUP_PART, MAX_WARMUP = 0.25, 1_000
# Largest number of epochs; for very few rows, which make up a single batch per epoch.
MAX_STEPS_OF_FEW_ROWS = 500
KL_WARMUP = 0.4
# With the full rate from the start, units of the decoder and of q(v|r,x) die in the first steps.
LR_WARMUP = 0.3
# Which classes are left out of the sum over classes, for images and for tabular rows.
CLASS_THRESHOLD, MAX_CLASSES = (1e-2, 1e-3), (3, sys.maxsize)
HIDDEN_FRACTION = 0.25


def auto_epochs(n_rows: int, is_image: bool, any_unlabeled: bool, photographs: bool = False) -> int:
    """Return the number of epochs for "auto": 15, more for few rows and fewer for many.

    Examples
    --------
    >>> some = (150, 10_000, 55_000, 1_000_000)
    >>> [auto_epochs(n_rows, is_image=True, any_unlabeled=False) for n_rows in some]
    [134, 15, 9, 2]
    >>> [auto_epochs(n_rows, is_image=True, any_unlabeled=True) for n_rows in some]
    [134, 15, 9, 2]
    >>> [auto_epochs(n_rows, is_image=False, any_unlabeled=False) for n_rows in some]
    [34, 15, 9, 2]
    >>> auto_epochs(6, is_image=False, any_unlabeled=True)
    500
    >>> auto_epochs(70_000, is_image=True, any_unlabeled=True, photographs=True)
    10
    """
    least = MIN_ROWS_SEEN if is_image or any_unlabeled else MIN_ROWS_SEEN_EASY
    most = MAX_PHOTOGRAPHS_SEEN if photographs else MAX_ROWS_SEEN
    many = min(-(-least // n_rows), MAX_STEPS_OF_FEW_ROWS)
    return min(max(15, many), max(2, most // n_rows))


def auto_batch_size(n_rows: int, batch_size: int) -> int:
    """Return `max_batch_size` for "auto": 256, or less to have 100 batches per epoch.

    Examples
    --------
    >>> auto_batch_size(60_000, 64), auto_batch_size(20_000, 64), auto_batch_size(1_000, 64)
    (256, 128, 64)
    """
    while 2 * batch_size <= 256 and n_rows // (2 * batch_size) >= 100:
        batch_size *= 2
    return batch_size


def auto_prototype_weight(row_shape: tuple[int, ...]) -> float:
    """Return `prototype_weight` for "auto", which grows with the number of features.

    Examples
    --------
    >>> auto_prototype_weight((1, 24, 24)), auto_prototype_weight((4,))
    (48.0, 1.0)
    """
    return max(1.0, float(np.prod(row_shape)) / 12)


def n_latents(latent_dim: Any) -> tuple[int, int]:
    """Return the sizes of r and v for `latent_dim`, an int or a pair.

    Examples
    --------
    >>> n_latents(16), n_latents((2, 3))
    ((16, 16), (2, 3))
    """
    sizes = (latent_dim, latent_dim) if isinstance(latent_dim, Integral) else tuple(latent_dim)
    if len(sizes) != 2 or not all(isinstance(size, Integral) and int(size) > 0 for size in sizes):
        raise ValueError(
            "latent_dim should be a positive int, or a pair of them: (invariant, equivariant); "
            f"got {latent_dim!r}."
        )
    return int(sizes[0]), int(sizes[1])


@dataclass(frozen=True)
class TrainingSettings:
    """The parameters of an estimator that training uses; see `EquiVAEClassifier`."""

    latent_dim: Any
    m_max: int
    predict_with: str
    reject: float | None
    objective: Objective
    networks: Networks
    class_weight: Any
    augment: Any
    max_epochs: Any
    batch_size: int
    lr: float
    early_stopping: bool | str
    validation_fraction: float
    n_iter_no_change: int
    callbacks: list[Any] | None
    device: str
    dtype: str
    seed: int
    free_seed: bool
    checkpoint: Any
    memory: Any
    verbose: int


@dataclass(frozen=True)
class Plan:
    """The settings of one fit with every "auto" resolved; see `Objective`.

    Attributes
    ----------
    n_epochs : int
        Number of epochs.
    max_batch_size : int
        Batch size at the end of training.
    labeled_share : float
        Weight of the labelled rows in Eq. 7.
    prototype_weight : float
        Weight of the term `prototype`.
    kl_warmup : float
        Fraction of training over which the weight of KL[q(v | r_y, x) || p(v)] rises.
    class_threshold, max_classes : float and int
        Which classes are left out of the sum over classes.
    hidden_fraction : float
        Fraction of the values of a table that is hidden from q(v | r_y, x).
    n_warmup : int
        Number of batches of labelled rows alone, before the others of the first epoch.
    lr_warmup : float
        Fraction of training over which the learning rate rises.
    """

    n_epochs: int
    max_batch_size: int
    labeled_share: float
    prototype_weight: float
    kl_warmup: float
    class_threshold: float
    max_classes: int
    hidden_fraction: float = 0.0
    n_warmup: int = 0
    lr_warmup: float = 0.0


def _labeled_share(labeled: NDArray[np.bool_], weight: NDArray[np.float64]) -> float:
    """Return the share of the labelled rows in the weights."""
    if weight.strides == (0,):  # a single value, repeated: an average would copy it for each row
        return float(np.count_nonzero(labeled) / len(labeled))
    return float(np.average(labeled, weights=weight))


def make_plan(settings: TrainingSettings, data: TrainingRows, incremental: bool) -> Plan:
    """Resolve every "auto" for the given rows.

    Parameters
    ----------
    settings : TrainingSettings
        The parameters of the estimator.
    data : TrainingRows
        The rows.
    incremental : bool
        Whether `partial_fit` was called: one epoch, and a constant batch size.

    Returns
    -------
    plan : Plan
        The numbers to train with.
    """
    objective, spec = settings.objective, data.spec
    labeled = data.own_codes >= 0
    n_epochs = settings.max_epochs
    if n_epochs == "auto":
        photographs = is_photograph(spec.input_shape)
        n_epochs = auto_epochs(len(data), spec.is_image, not labeled.all(), photographs)
    largest = objective.max_batch_size or settings.batch_size
    if largest == "auto":
        largest = auto_batch_size(len(data), settings.batch_size)
    share = objective.labeled_share
    if share == "auto" or labeled.all():
        share = _labeled_share(labeled, data.own_weight)
    weight, warmup = objective.prototype_weight, objective.kl_warmup
    if weight == "auto":
        weight = auto_prototype_weight(spec.row_shape)
    if warmup == "auto":
        warmup = KL_WARMUP if spec.is_image else 0.0
    lr_warmup = objective.lr_warmup
    if lr_warmup == "auto":
        lr_warmup = LR_WARMUP if spec.is_image else 0.0
    threshold, most = objective.class_threshold, objective.max_classes
    if threshold == "auto":
        threshold = CLASS_THRESHOLD[not spec.is_image]
    if most == "auto":
        most = MAX_CLASSES[not spec.is_image]
    hidden = objective.hidden_fraction
    if hidden == "auto":
        hidden = HIDDEN_FRACTION if spec.layout is not None and spec.layout.marked else 0.0
    largest = max(settings.batch_size, largest)
    return Plan(
        n_epochs=1 if incremental else n_epochs,
        max_batch_size=settings.batch_size if incremental else largest,
        labeled_share=share,
        prototype_weight=weight,
        kl_warmup=0.0 if incremental else warmup,
        lr_warmup=0.0 if incremental else lr_warmup,
        class_threshold=threshold,
        max_classes=most,
        hidden_fraction=hidden,
        n_warmup=0 if incremental else _warmup_batches(settings, data, n_epochs, largest),
    )


def _warmup_batches(
    settings: TrainingSettings, data: TrainingRows, n_epochs: int, max_batch_size: int
) -> int:
    """Return the number of batches of labelled rows alone with which training starts."""
    if (data.own_codes >= 0).all():
        return 0
    objective = settings.objective
    if objective.labeled_warmup != "auto":
        return int(objective.labeled_warmup)
    if not is_photograph(data.spec.input_shape):
        return 0
    others = TrainBatches(
        data,
        settings.batch_size,
        max_batch_size,
        n_epochs,
        objective.labeled_fraction,
        settings.m_max,
        objective.min_complements,
        np.random.RandomState(0),
    )
    return min(MAX_WARMUP, round(WARMUP_PART * sum(others.steps_per_epoch())))
