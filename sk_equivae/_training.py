"""From an estimator's parameters to a net that is ready to train."""

import contextlib
import copy
from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from skorch.callbacks import (
    EarlyStopping,
    GradientNormClipping,
    LRScheduler,
    ProgressBar,
)
from skorch.helper import predefined_split
from skorch.utils import noop
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from torch.optim.swa_utils import update_bn

from ._augment import make_augment
from ._batches import OrderedBatches, RowDataset, TrainBatches, count_steps
from ._device import fits_on, resolve_amp, resolve_device, to_device, try_compile
from ._inputs import shift_and_scale
from ._label_posterior import confident_targets
from ._module import EquiVAEModule
from ._net import Adam, Averaged, CosineDecay, EquiVAENet, KLWarmup
from ._objective import EquiVAEObjective
from ._prototypes import ClassMeans
from ._styles import StyleMoments

if TYPE_CHECKING:
    from ._base import BaseEquiVAE

EPOCHS = 15
# Small data sets are gone through until so many rows have been seen. Tabular rows that all have
# labels are learnt sooner.
LEAST_ROWS_SEEN, LEAST_ROWS_SEEN_EASY = 20_000, 5_000
# Large ones no longer than until so many have. With few labels the classes are found in the first
# epoch, and mistakes are not unlearnt in later ones.
MOST_ROWS_SEEN, MOST_ROWS_SEEN_UNLABELED = 500_000, 150_000
# Labels are spread over the graph if they are no larger a part of the rows; of more labels the
# network learns what the graph does not know.
MOST_LABELED = 1 / 6
MAX_BATCH = 256
# For images only: v of a few features, when it is free, takes over what r should hold.
KL_WARMUP = 0.4
MIN_BATCHES = 100
VALIDATION_BATCH = 512
INFERENCE_BATCH = 1024
# As many are enough for statistics of a trained network.
SOME_ROWS = 16_384


def auto_epochs(n_rows: int, is_image: bool, any_unlabeled: bool) -> int:
    """The rule behind `max_epochs="auto"`: 15 epochs, more of few rows and fewer of many.

    Examples
    --------
    >>> some = (150, 10_000, 55_000, 1_000_000)
    >>> [auto_epochs(n_rows, is_image=True, any_unlabeled=False) for n_rows in some]
    [134, 15, 9, 2]
    >>> [auto_epochs(n_rows, is_image=True, any_unlabeled=True) for n_rows in some]
    [134, 15, 2, 2]
    >>> [auto_epochs(n_rows, is_image=False, any_unlabeled=False) for n_rows in some]
    [34, 15, 9, 2]
    """
    least = LEAST_ROWS_SEEN if is_image or any_unlabeled else LEAST_ROWS_SEEN_EASY
    most = MOST_ROWS_SEEN_UNLABELED if any_unlabeled else MOST_ROWS_SEEN
    return min(max(EPOCHS, -(-least // n_rows)), max(2, most // n_rows))


def auto_batch_size(n_rows: int, batch_size: int) -> int:
    """The rule behind `max_batch_size="auto"`: 256, but at least 100 batches an epoch.

    Examples
    --------
    >>> auto_batch_size(60_000, 64), auto_batch_size(20_000, 64), auto_batch_size(1_000, 64)
    (256, 128, 64)
    """
    while 2 * batch_size <= MAX_BATCH and n_rows // (2 * batch_size) >= MIN_BATCHES:
        batch_size *= 2
    return batch_size


def auto_prototype_weight(input_shape: tuple[int, ...]) -> float:
    """The rule behind `prototype_weight="auto"`: grows with the bound."""
    return max(1.0, float(np.prod(input_shape)) / 12)


def n_latents(latent_dim: Any) -> tuple[int, int]:
    """`latent_dim` as the sizes of r and v."""
    sizes = (latent_dim, latent_dim) if isinstance(latent_dim, Integral) else tuple(latent_dim)
    if len(sizes) != 2 or not all(isinstance(size, Integral) and int(size) > 0 for size in sizes):
        raise ValueError(
            "latent_dim should be a positive int, or a pair of them: (invariant, equivariant); "
            f"got {latent_dim!r}."
        )
    return int(sizes[0]), int(sizes[1])


def split_validation(data: RowDataset, fraction: float, seed: int) -> tuple[RowDataset, RowDataset]:
    """Training rows, and validation rows: a part of the labelled ones of each class.

    Every class has at least one labelled row in both.
    """
    rows, codes = data.rows, data.codes
    labeled = rows[codes[rows] >= 0]
    classes, counts = np.unique(codes[labeled], return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"early_stopping=True needs a validation part with every class; got {len(labeled)} "
            f"labelled rows of {len(classes)} classes, {counts.min()} in the smallest. Expected at "
            "least 2 labelled rows a class: label more rows, or set early_stopping=False."
        )
    rng = np.random.RandomState(seed)
    taken = []
    for code, count in zip(classes, counts, strict=True):
        members = rng.permutation(labeled[codes[labeled] == code])
        taken.append(members[: np.clip(round(fraction * count), 1, count - 1)])
    valid = np.sort(np.concatenate(taken))
    return data.subset(np.setdiff1d(rows, valid)), data.subset(valid)


@contextlib.contextmanager
def own_randomness(seed: int, device: str) -> Iterator[None]:
    """Seed torch's global generators inside, and put them back after.

    Our own noise comes from generators of our own; this is for the networks of
    users, which may hold `nn.Dropout`.
    """
    on_cuda = device.startswith("cuda")
    with torch.cuda.device(device) if on_cuda else contextlib.nullcontext():
        cuda = [torch.cuda.current_device()] if on_cuda else []
        with torch.random.fork_rng(devices=cuda):
            torch.default_generator.manual_seed(seed)  # torch.manual_seed is for all devices
            if on_cuda:
                torch.cuda.manual_seed(seed)
            yield


def make_module(estimator: "BaseEquiVAE", X: NDArray, n_classes: int, seed: int) -> Averaged:
    """Fresh networks for the rows of X."""
    spec = estimator._spec
    shift, scale = shift_and_scale(X, spec)
    module = EquiVAEModule(
        spec.input_shape,
        n_classes,
        n_latents(estimator.latent_dim),
        spec.likelihood,
        shift,
        scale,
        torch.Generator().manual_seed(seed),
        batch_norm=estimator.batch_norm,
        invariant_body=estimator.invariant_body,
        equivariant_body=estimator.equivariant_body,
        posterior_body=estimator.posterior_body,
        decoder=estimator.decoder,
    ).to(getattr(torch, estimator.dtype))
    if spec.is_image:
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return Averaged(module, estimator.ema_decay)


def set_precision(estimator: "BaseEquiVAE", module: EquiVAEModule, device: str) -> None:
    """Mixed precision and compiled bodies, as the estimator's parameters ask for."""
    amp = resolve_amp(estimator.amp, device, estimator.dtype)
    for part in module.parts:
        part.amp = amp
    if not estimator.compile:
        return
    x = torch.zeros((2, *estimator._spec.input_shape), dtype=module.scale.dtype, device=device)
    h = torch.zeros((2, module.decoder.dense.out_features), dtype=x.dtype, device=device)
    for part in module.parts:
        if not try_compile(part.body, h if part is module.decoder else x):
            break  # the others would fail alike


def make_objective(estimator: "BaseEquiVAE", module: Averaged, codes: NDArray) -> EquiVAEObjective:
    """The objective that the estimator's parameters ask for."""
    spec = estimator._spec
    weight = estimator.prototype_weight
    objective = EquiVAEObjective(
        module.module.posterior.output.out_features,
        module.module.invariant.dense.out_features,
        m_max=estimator.m_max,
        class_threshold=estimator.class_threshold,
        complement_pool=estimator.complement_pool,
        confidence=estimator.confidence,
        distribution_alignment=estimator.distribution_alignment,
        label_weight=estimator.label_weight,
        consistency_weight=estimator.consistency_weight,
        prototype_weight=auto_prototype_weight(spec.input_shape) if weight == "auto" else weight,
        augment=make_augment(estimator.augment, spec.is_image, bool((codes < 0).any())),
    )
    return objective.to(module.module.scale.dtype)


def spreads_labels(estimator: "BaseEquiVAE", module: Averaged, data: RowDataset) -> bool:
    """Whether labels are few enough, and there is a teacher who labels the other rows."""
    labeled_part = float(np.mean(data.codes[data.rows] >= 0))
    few = labeled_part <= MOST_LABELED
    return estimator.label_spreading and module.teacher is not None and few


def _make_callbacks(
    estimator: "BaseEquiVAE", n_steps: int | None, has_validation: bool
) -> list[Any]:
    callbacks: list[Any] = []
    if estimator.lr_decay == "cosine" and n_steps is not None:
        schedule = LRScheduler(LambdaLR, lr_lambda=CosineDecay(n_steps), step_every="batch")
        callbacks.append(("lr_decay", schedule))
    warmup = estimator.kl_warmup
    if warmup == "auto":
        warmup = KL_WARMUP if estimator._spec.is_image else 0.0
    if warmup > 0 and n_steps is not None:
        callbacks.append(("kl_warmup", KLWarmup(max(1, round(warmup * n_steps)))))
    if estimator.gradient_clip is not None:
        callbacks.append(("gradient_clip", GradientNormClipping(estimator.gradient_clip)))
    if has_validation:
        stopping = EarlyStopping(
            monitor="valid_loss",
            patience=estimator.n_iter_no_change,
            load_best=True,
            sink=print if estimator.verbose else noop,
        )
        callbacks.append(("early_stopping", stopping))
    for given in estimator.callbacks or []:
        # copied, since training writes to them and parameters stay as they were given
        if isinstance(given, tuple):
            callbacks.append((given[0], copy.copy(given[1])))
        else:
            callbacks.append(copy.copy(given))
    if estimator.verbose:
        callbacks.append(("progress", ProgressBar()))
    return callbacks


def make_net(
    estimator: "BaseEquiVAE",
    module: Averaged,
    data: RowDataset,
    valid: RowDataset | None,
    n_epochs: int | None,
    device: str,
    seed: int,
) -> EquiVAENet:
    """A net that trains `module` for `n_epochs`; for one at a constant rate without a number."""
    codes = data.codes[data.rows]
    batch_size = estimator.batch_size
    largest = estimator.max_batch_size or batch_size
    if largest == "auto":
        largest = auto_batch_size(len(data), batch_size)
    largest = max(batch_size, largest) if n_epochs else batch_size
    n_steps = count_steps(codes, batch_size, largest, n_epochs) if n_epochs else None
    return EquiVAENet(
        module,
        criterion=make_objective(estimator, module, codes),
        optimizer=Adam,
        optimizer__fused=device.startswith(("cpu", "cuda")),
        lr=estimator.lr,
        max_epochs=n_epochs or 1,
        batch_size=batch_size,
        iterator_train=TrainBatches,
        iterator_train__max_batch_size=largest,
        iterator_train__max_epochs=n_epochs or 1,
        iterator_train__m_max=estimator.m_max,
        iterator_train__rng=np.random.RandomState(seed),
        iterator_valid=OrderedBatches,
        iterator_valid__batch_size=VALIDATION_BATCH,
        train_split=None if valid is None else predefined_split(valid),
        callbacks=_make_callbacks(estimator, n_steps, valid is not None),
        device=device,
        verbose=int(estimator.verbose > 1),
        **({} if estimator.verbose > 1 else {"callbacks__print_log": None}),  # formats in vain
        generator=torch.Generator(device).manual_seed(seed),
    ).initialize()


def train(
    estimator: "BaseEquiVAE",
    data: RowDataset,
    class_prior: NDArray,
    old: EquiVAENet | None,
    incremental: bool,
) -> EquiVAENet:
    """A trained net; `old` is not changed.

    Parameters
    ----------
    data : RowDataset
    class_prior : ndarray of shape (n_classes,)
    old : EquiVAENet or None
        Where to go on from.
    incremental : bool
        One epoch at a constant rate, going on with the optimiser's state too.
    """
    seed = check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max)
    device = resolve_device(estimator.device, estimator.dtype)
    valid = None
    if estimator.early_stopping and not incremental:
        data, valid = split_validation(data, estimator.validation_fraction, seed)
    n_epochs = estimator.max_epochs
    if n_epochs == "auto":
        any_unlabeled = bool((data.codes[data.rows] < 0).any())
        n_epochs = auto_epochs(len(data), estimator._spec.is_image, any_unlabeled)
    with own_randomness(seed, device):
        if old is not None and incremental:
            net = old.for_one_epoch(estimator.lr)
        else:
            module = (
                make_module(estimator, data.X, len(class_prior), seed)
                if old is None
                else _copied(old, estimator.latent_dim)
            )
            epochs = None if incremental else n_epochs
            net = make_net(estimator, module, data, valid, epochs, device, seed)
        share, labeled = estimator.labeled_share, data.codes[data.rows] >= 0
        if share == "auto" or labeled.all():
            share = float(np.average(labeled, weights=data.weight[data.rows]))
        net.criterion_.set_data(class_prior, share)
        if spreads_labels(estimator, net.module_, data) and not incremental:
            from ._graph import graph_posterior  # half of the package's import time

            data.posterior = graph_posterior(net.module_.module, data, len(class_prior), seed)
        for part in {net.module_.module, net.module_.predictor}:
            set_precision(estimator, part, device)
        if fits_on(data.X.nbytes, device):
            data = data.on(device)
        net.partial_fit(data)
    for part in net.module_.predictor.parts:
        part.amp = False  # predictions are exact
    _refresh_batch_norm(net, data, seed)
    net.train_split = None  # it holds the validation rows
    net.forget_schedule()
    net.module = net.criterion = None  # skorch would pickle them beside `module_` once more
    return net


def _copied(old: EquiVAENet, latent_dim: Any) -> Averaged:
    """The networks of a warm start."""
    sizes = old.module_.module.n_latents
    if sizes != n_latents(latent_dim):
        raise ValueError(
            f"warm_start=True goes on with the networks of the last fit, whose latent_dim is "
            f"{sizes}; got latent_dim={latent_dim!r}. Set it back, or set warm_start=False."
        )
    return copy.deepcopy(old.module_)


def _refresh_batch_norm(net: EquiVAENet, data: RowDataset, seed: int) -> None:
    """Statistics for the averaged weights, of rows as they will come, not augmented."""
    if net.module_.teacher is None:
        return
    # every batch counts alike: rows in any order, and no batch smaller than the others
    rows = np.random.RandomState(seed).permutation(data.rows)[:SOME_ROWS]
    size = -(-len(rows) // -(-len(rows) // INFERENCE_BATCH))
    teacher = net.module_.teacher
    update_bn(
        (to_device(x, teacher.scale) for x, *_ in OrderedBatches(data.subset(rows), size)), teacher
    )


def style_moments(module: EquiVAEModule, prototypes: Tensor, data: RowDataset) -> StyleMoments:
    """Moments of v within the classes of the rows, all labelled; of some rows if they are many."""
    moments = StyleMoments(len(prototypes), module.n_latents[1])
    some = data.subset(data.rows[:: -(-len(data) // SOME_ROWS)])
    with torch.inference_mode():
        for x, y, _ in OrderedBatches(some, INFERENCE_BATCH):
            x, y = module.normalize(to_device(x, prototypes)), to_device(y, prototypes)
            q_v = module.encode(x, prototypes[y])
            moments.update(*(t.cpu().numpy() for t in (q_v.mean, q_v.variance, y)))
    return moments


def class_means(net: EquiVAENet, data: RowDataset, pool: str, confidence: float) -> ClassMeans:
    """Mean embeddings of the classes: of labelled rows, and of confident ones if they count."""
    module = net.module_.predictor.eval()
    means = ClassMeans(len(net.criterion_.log_prior), module.invariant.dense.out_features)
    if pool == "labeled":
        data = data.subset(data.rows[data.codes[data.rows] >= 0])
    with torch.inference_mode():
        for x, y, weight in OrderedBatches(data, INFERENCE_BATCH):
            x, y = module.normalize(to_device(x, module.scale)), to_device(y, module.scale)
            h = module.invariant.embed(x)
            if bool((y < 0).any()):
                q_y = module.classify(x, module.invariant.head(h)).softmax(dim=1)
                y = confident_targets(y, q_y, confidence)
            means.update(h, y, weight)
    return means
