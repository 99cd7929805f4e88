"""Ratios of times of two ways of doing the same thing, taken in turns.

Other work on the machine slows both ways alike, so that a ratio means something where a time alone
does not. Each function below returns pairs of sides; `measure_speed` times them.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from benchmarks.data.draws import balanced
from benchmarks.job import Job
from sk_equivae import EquiVAEClassifier, Objective
from sk_equivae.model import Architecture, EquiVAEModule, semi_supervised_elbo
from sk_equivae.model.bounds import CountedRows
from sk_equivae.model.complements import ComplementPool
from sk_equivae.presets import paper

ROWS, SMOKE_ROWS = 2_000, 100
BATCH = 128
LABELS = 200
MANY_CLASSES, MAX_SHIFT = 100, 2
INFERENCE_ROWS, INFERENCE_BATCH = 10_000, 1_024
ROOT = Path(__file__).parents[2]
OTHERS = "import sklearn, skorch, torch"
PACKAGE = "import sk_equivae"

Side = Callable[[], float]
Pair = tuple[Side, Side]  # the ratio is that of the first to the second


def measure_speed(job: Job) -> dict[str, Any]:
    """The ratios of one measurement, each with its quartiles; the setting is its name."""
    start, cpu = time.perf_counter(), time.process_time()
    pairs = PAIRS[job.run.setting](job)
    n = job.few(REPETITIONS[job.run.setting], 1)
    measures = {name: compare(*pair, n) for name, pair in pairs.items()}
    return {
        "wall": round(time.perf_counter() - start, 2),
        "cpu": round(time.process_time() - cpu, 2),
        "threads": torch.get_num_threads(),
        "errors": {},
        "measures": measures,
    }


def compare(slow: Side, quick: Side, n: int) -> dict[str, float]:
    """Time both sides in turns, after one round that does not count."""
    rounds = np.array([[slow(), quick()] for _ in range(n + 1)][1:])
    ratios = rounds[:, 0] / rounds[:, 1]
    lower, upper = np.percentile(ratios, [25, 75])
    medians = np.median(rounds, axis=0)
    return {
        "ratio": round(float(medians[0] / medians[1]), 4),
        "lower": round(float(lower), 4),
        "upper": round(float(upper), 4),
        "seconds": [round(float(m), 5) for m in medians],
        "n": n,
    }


def timed(function: Callable[[], Any]) -> Side:
    """A side whose seconds are those of a function."""

    def seconds() -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    return seconds


def step(estimator: EquiVAEClassifier, X: NDArray, y: NDArray) -> Side:
    """A side whose seconds are those of one step in the last epoch of a short fit."""

    def seconds() -> float:
        last = estimator.fit(X, y).history_[-1]
        return last["dur"] / last["train_batch_count"]

    return seconds


def images(job: Job) -> tuple[NDArray, NDArray]:
    split = job.split(np.random.RandomState(job.run.seed))
    n = job.few(ROWS, SMOKE_ROWS)
    return split.X[:n], split.y[:n]


def shifted(X: NDArray, n_classes: int, seed: int) -> tuple[NDArray, NDArray]:
    """As many rows of any number of classes: a class is one image, at any place."""
    rng = np.random.RandomState(seed)
    y = rng.permutation(np.arange(len(X)) % n_classes)
    shifts = rng.randint(-MAX_SHIFT, MAX_SHIFT + 1, size=(len(X), 2))
    rows = [np.roll(X[k], shift, axis=(0, 1)) for k, shift in zip(y, shifts, strict=True)]
    return np.stack(rows), y


# ---------------------------------------------------------------- the measurements


def complements_pairs(job: Job) -> dict[str, Pair]:
    """A supervised step with m_max=10 beside one with m_max=1, by the paper's parameters."""
    X, y = images(job)
    usual = {**paper("mnist"), "batch_size": BATCH, "max_epochs": 1, "random_state": 0}
    ten, one = (EquiVAEClassifier(**{**usual, "m_max": m}) for m in (10, 1))
    return {"m_max 10 to 1": (step(ten, X, y), step(one, X, y))}


def classes_pairs(job: Job) -> dict[str, Pair]:
    """A semi-supervised step with the exact sum over classes beside that of the defaults."""
    pairs = {}
    X, y = images(job)
    for n_classes in (10, job.few(MANY_CLASSES, 12)):
        rows = (X, y) if n_classes == 10 else shifted(X, n_classes, job.run.seed)
        few = max(2, job.few(LABELS, 20) // n_classes) * n_classes
        labels = balanced(rows[1], few, np.random.RandomState(job.run.seed))[1]
        sides = (
            step(
                EquiVAEClassifier(
                    objective=objective, batch_size=BATCH, max_epochs=job.few(3, 1), random_state=0
                ),
                rows[0],
                labels,
            )
            for objective in (Objective(class_threshold=0.0), Objective())
        )
        pairs[f"{n_classes} classes, exact to truncated"] = tuple(sides)
    return pairs


def loop_pairs(job: Job) -> dict[str, Pair]:
    """Whole `fit` beside a bare loop of the same networks, bound, batch size and steps."""
    X, y = images(job)
    pairs = {}
    for batch in (128, 32)[: job.few(2, 1)]:
        parameters = {**paper("mnist"), "batch_size": batch, "max_epochs": job.few(5, 1)}
        estimator = EquiVAEClassifier(**parameters, random_state=0)
        estimator.set_params(objective__max_batch_size=None)
        whole = timed(lambda estimator=estimator: estimator.fit(X, y))
        bare = timed(lambda p=parameters: bare_loop(X, y, p))
        pairs[f"fit to bare loop, batch {batch}"] = (whole, bare)
    return pairs


def bare_loop(X: NDArray, y: NDArray, parameters: dict[str, Any]) -> None:
    """Train by Eq. 4 and log q(y | x), as one would write it with `sk_equivae.model` alone."""
    n_classes, batch = int(y.max()) + 1, parameters["batch_size"]
    latents, m_max = (parameters["latent_dim"],) * 2, parameters["m_max"]
    shape = (1, *X.shape[1:])
    module = EquiVAEModule(shape, n_classes, latents, "bernoulli", Architecture())
    module.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(module.parameters(), parameters["lr"], fused=True)
    generator = torch.Generator().manual_seed(0)
    prior = np.log(np.bincount(y, minlength=n_classes) / len(y))
    log_prior = torch.as_tensor(prior, dtype=torch.float32)
    means = torch.zeros(n_classes, module.n_hidden)
    seen = torch.zeros(n_classes, dtype=torch.bool)
    codes, images = torch.from_numpy(y), torch.from_numpy(X)
    for _ in range(parameters["max_epochs"]):
        for rows in torch.randperm(len(y), generator=generator).split(batch):
            x, code = images[rows, None].float() / 255, codes[rows]
            h = module.invariant.embed(x)
            pool = ComplementPool(h, code, m_max, True, means, seen)
            weight = torch.ones(len(rows))
            counted = CountedRows(torch.arange(len(rows)), weight, 0 * weight, False)
            q_y = F.one_hot(code, n_classes).float()
            bound = semi_supervised_elbo(module, x, code, q_y, pool, counted, log_prior, generator)[
                "elbo"
            ]
            logits = module.classify(x, module.invariant.head(h), generator)
            loss = F.cross_entropy(logits, code, reduction="sum") - bound
            optimizer.zero_grad()
            (loss / len(rows)).backward()
            optimizer.step()


def inference_pairs(job: Job) -> dict[str, Pair]:
    """`predict` and `transform` beside a bare forward pass of f_inv."""
    split = job.split(np.random.RandomState(job.run.seed))
    X = split.X[: job.few(INFERENCE_ROWS, 100)]
    model = EquiVAEClassifier(max_epochs=1, random_state=0).fit(split.X[:200], split.y[:200])
    bare = timed(lambda: bare_forward(model, X))
    return {
        "predict to bare forward": (timed(lambda: model.predict(X)), bare),
        "transform to bare forward": (timed(lambda: model.transform(X)), bare),
    }


def bare_forward(model: EquiVAEClassifier, X: NDArray) -> torch.Tensor:
    """f_inv of images, as one would write it in PyTorch."""
    fitted = model.model_
    flat = torch.from_numpy(X.reshape(len(X), -1))
    with torch.inference_mode():
        parts = [
            fitted.module.f_inv(fitted.rows.normalize(x, torch.float32))
            for x in flat.split(INFERENCE_BATCH)
        ]
        return torch.cat(parts)


def startup_pairs(job: Job) -> dict[str, Pair]:
    """The import of everything beside that of what the package is built on, each in a process."""
    return {"import to imports of its dependencies": (fresh(f"{OTHERS}; {PACKAGE}"), fresh(OTHERS))}


def fresh(code: str) -> Side:
    """A side whose seconds are those of some imports in a process of its own."""
    program = (
        f"import time; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
    )

    def seconds() -> float:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return float(done.stdout)

    return seconds


PAIRS: dict[str, Callable[[Job], dict[str, Pair]]] = {
    "complements": complements_pairs,
    "classes": classes_pairs,
    "loop": loop_pairs,
    "inference": inference_pairs,
    "startup": startup_pairs,
}
REPETITIONS = {"complements": 9, "classes": 5, "loop": 5, "inference": 15, "startup": 9}
