"""Speed of single steps: complements, classes, arithmetic, and M2 in pyro.

Both sides of a comparison have the same weights and the same batches. Adam's learning rate is
0: a step costs the same, and the weights stay what they are, at the start of training or at
its end.
"""

import copy
import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.plain import (
    PlainObjective,
    Start,
    Steps,
    our_objective,
    start_of,
    with_plain_layers,
)
from benchmarks.timing import Bench, Side, alternate, compare, quartiles, timed
from sk_equivae import EquiVAEClassifier
from sk_equivae._batches import epoch_batches
from sk_equivae._label_posterior import truncate
from sk_equivae.datasets import mask_labels
from sk_equivae.presets import paper

BATCH, SMOKE_BATCH = 128, 16
N_BATCHES = 4
ROWS, SMOKE_ROWS = 10_000, 150
M_MAX = (1, 4, 7, 10)
CLASSES = (10, 26, 100)
N_LABELS = 1_000  # of ROWS; with them a short training ends in a confident q(y | x)
EPOCHS = 4
MATRIX = 2_048
MAX_SHIFT = 2


# ---------------------------------------------------------------- what is measured on


def shifted(images: NDArray, n_classes: int, n: int, seed: int) -> tuple[NDArray, NDArray]:
    """n rows of as many classes as one likes: a class is one image, at any place."""
    rng = np.random.RandomState(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    shifts = rng.randint(-MAX_SHIFT, MAX_SHIFT + 1, size=(n, 2))
    X = [np.roll(images[k], shift, axis=(0, 1)) for k, shift in zip(y, shifts, strict=True)]
    return np.stack(X), y


def labelled_rows(bench: Bench, n_classes: int) -> tuple[NDArray, NDArray]:
    """Digits if there are ten classes; else shifted images."""
    n = bench.few(ROWS, SMOKE_ROWS)
    X, y = bench.split[:2]
    return (X[:n], y[:n]) if n_classes == 10 else shifted(X, n_classes, n, bench.seed)


def few_labelled_rows(bench: Bench, n_classes: int) -> tuple[NDArray, NDArray]:
    X, y = labelled_rows(bench, n_classes)
    n_per_class = max(2, bench.few(N_LABELS, len(X) // 10) // n_classes)
    return X, mask_labels(y, n_per_class, random_state=bench.seed)


def batches_of(start: Start, size: int, seed: int) -> list[NDArray]:
    """Rows of a few batches, as training would draw them."""
    rng = np.random.RandomState(seed)
    drawn = epoch_batches(start.data.codes, size, start.estimator.m_max, rng)
    return [rows for rows, _ in zip(drawn, range(N_BATCHES), strict=False)]


def our_side(start: Start, batches: Sequence[NDArray]) -> Side:
    step = Steps(start.averaged, our_objective(start), lr=0.0)
    rows = cycle(batches)
    return timed(lambda: step(start.data[next(rows)]))


def at_start(bench: Bench, n_classes: int) -> Start:
    """Semi-supervised training by the defaults, before its first step."""
    estimator = EquiVAEClassifier(random_state=bench.seed)
    return start_of(estimator, *few_labelled_rows(bench, n_classes))


def at_end(bench: Bench, n_classes: int) -> Start:
    """The same after a short training, in which q(y | x) becomes confident."""
    start = at_start(bench, n_classes)
    if n_classes not in bench.trained:
        estimator = EquiVAEClassifier(max_epochs=bench.few(EPOCHS, 1), random_state=bench.seed)
        bench.trained[n_classes] = estimator.fit(*few_labelled_rows(bench, n_classes)).net_
    net = copy.deepcopy(bench.trained[n_classes])
    return dataclasses.replace(start, averaged=net.module_, objective=net.criterion_)


# ---------------------------------------------------------------- the measurements


def measure_complements(bench: Bench) -> dict[str, Any]:
    """Supervised step against the plain reading, which embeds each row's m complements anew.

    By the paper's parameters. The plain reading has our layers once ("plain"), so that what
    differs is the complements, and once PyTorch's own, channels first ("written"), as one would
    write it. It is timed at m=1 and at m=m_max; its cost is linear in m, so that of an m drawn
    from 1 to m_max is on average half-way between them.
    """
    sides: dict[str, Side] = {}
    measured = M_MAX[: bench.few(len(M_MAX), 2)]
    for m_max in measured:
        parameters = {**paper("mnist"), "m_max": m_max, "random_state": bench.seed}
        ours, plain, written = (
            start_of(EquiVAEClassifier(**parameters), *labelled_rows(bench, 10)) for _ in range(3)
        )
        batches = batches_of(ours, bench.few(BATCH, SMOKE_BATCH), bench.seed)
        sides[f"ours {m_max}"] = our_side(ours, batches)
        for name, start in ("plain", plain), ("written", with_plain_layers(written)):
            step = Steps(start.averaged, PlainObjective(start), lr=0.0)
            sides[f"{name}, least {m_max}"] = _with_m(step, batches, 1)
            sides[f"{name}, most {m_max}"] = _with_m(step, batches, m_max)
    seconds = alternate(sides, bench.repetitions(24))
    for m in measured:
        for name in ("plain", "written"):
            ends = seconds[f"{name}, least {m}"], seconds[f"{name}, most {m}"]
            seconds[f"{name} {m}"] = (ends[0] + ends[1]) / 2
    medians = [float(np.median(seconds[f"ours {m}"])) for m in measured]
    return {
        "m_max": {str(m): compare(seconds, f"plain {m}", f"ours {m}") for m in measured},
        "m_is_m_max": {str(m): compare(seconds, f"plain, most {m}", f"ours {m}") for m in measured},
        "as_written": {str(m): compare(seconds, f"written {m}", f"ours {m}") for m in measured},
        "slowest_to_quickest_m_max": max(medians) / min(medians),
        "batch": len(batches[0]),
    }


def _with_m(step: Steps, batches: Sequence[NDArray], m: int) -> Side:
    rows = cycle(batches)
    return timed(lambda: step(next(rows), m))


def measure_classes(bench: Bench) -> dict[str, Any]:
    """Semi-supervised step against the exact sum, which decodes all classes of each row.

    At the start the weights are fresh; at the end they come from a short training on 10,000
    rows with 1,000 labels. Ten classes are digits, more are shifted images.
    """
    figures: dict[str, Any] = {}
    for n_classes in CLASSES[: bench.few(len(CLASSES), 2)]:
        for stage, begin in ("start", at_start), ("end", at_end):
            ours, exact = begin(bench, n_classes), begin(bench, n_classes)
            exact.objective.class_threshold = 0.0
            batches = batches_of(ours, bench.few(BATCH, SMOKE_BATCH), bench.seed)
            sides = {"exact": our_side(exact, batches), "ours": our_side(ours, batches)}
            seconds = alternate(sides, bench.repetitions(max(8, 400 // n_classes)))
            figures[f"{n_classes} {stage}"] = compare(seconds, "exact", "ours") | {
                "decoded": {
                    name: decoded_classes(start, batches)
                    for name, start in (("exact", exact), ("ours", ours))
                }
            }
    return {"classes": figures, "batch": len(batches[0])}


def decoded_classes(start: Start, batches: Sequence[NDArray]) -> float:
    """How many classes of an unlabelled row the objective decodes, on average."""
    module, teacher, objective = start.averaged.module, start.averaged.teacher, start.objective
    counts = []
    with torch.no_grad():
        for rows in batches:
            x, y, _ = start.data[rows]
            q_y = teacher.classify(module.normalize(x[y < 0])).softmax(dim=1)
            counts.append((truncate(q_y, objective.class_threshold) > 0).sum(dim=1))
    return float(torch.cat(counts).double().mean())


def measure_arithmetic(bench: Bench) -> dict[str, Any]:
    """GFLOP/s of training steps and of `transform`, and of a product of large matrices.

    What PyTorch counts is matrix products and convolutions; all else costs time only.
    """
    size = bench.few(MATRIX, 256)
    a, b = torch.rand(2, size, size, generator=torch.Generator().manual_seed(bench.seed))
    X, y = labelled_rows(bench, 10)
    fitted = EquiVAEClassifier(max_epochs=1, random_state=bench.seed).fit(X[:100], y[:100])
    work: dict[str, Callable[[], Any]] = {
        "matrix product": partial(torch.mm, a, b),
        "transform": partial(fitted.transform, X),
    }
    for batch in (SMOKE_BATCH,) if bench.smoke else (BATCH, 2 * BATCH):
        supervised = start_of(EquiVAEClassifier(random_state=bench.seed), X, y)
        for name, start in ("supervised", supervised), ("semi-supervised", at_start(bench, 10)):
            rows = batches_of(start, batch, bench.seed)[0]
            step = Steps(start.averaged, our_objective(start), lr=0.0)
            work[f"{name} step, batch {batch}"] = partial(step, start.data[rows])
    flops = {name: count_flops(function) for name, function in work.items()}
    seconds = alternate({name: timed(f) for name, f in work.items()}, bench.repetitions(40))
    rates = {name: flops[name] / np.median(seconds[name]) / 1e9 for name in work}
    return {
        "gflop_per_second": rates,
        "share": {name: rate / rates["matrix product"] for name, rate in rates.items()},
        "flop": flops,
        "seconds": {name: quartiles(values) for name, values in seconds.items()},
    }


def count_flops(function: Callable[[], Any]) -> int:
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops()


def measure_pyro(bench: Bench) -> dict[str, Any]:
    """Our step at the end of training against M2 in pyro, by unlabelled rows a second."""
    import pyro

    from benchmarks.m2 import M2

    start = at_end(bench, 10)
    ours = start.averaged.module
    batches = batches_of(start, bench.few(BATCH, SMOKE_BATCH), bench.seed)
    generator = torch.Generator().manual_seed(bench.seed)
    m2 = M2(start.data.input_shape, 10, ours.n_latents[1], generator)
    m2.to(memory_format=torch.channels_last)  # as our networks
    optimizer = torch.optim.Adam(m2.parameters(), lr=0.0, fused=True)
    rows = cycle(batches)

    def step() -> None:
        x, y, _ = start.data[next(rows)]
        optimizer.zero_grad()
        m2.loss(ours.normalize(x), y).backward()
        optimizer.step()

    with pyro.validation_enabled(False), torch.random.fork_rng(devices=[]):
        sides = {"pyro": timed(step), "ours": our_side(start, batches)}
        figures = compare(alternate(sides, bench.repetitions(40)), "pyro", "ours")
    n_unlabeled = int((start.data.codes[batches[0]] < 0).sum())
    return figures | {
        "unlabelled_rows_per_second": {
            name: n_unlabeled / figures["seconds"][name]["median"] for name in sides
        },
        "batch": len(batches[0]),
        "pyro": pyro.__version__,
    }
