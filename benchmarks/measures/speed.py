"""Ratios of times of two ways of doing the same thing, taken in turns.

Other work on the machine slows both ways alike, so that a ratio means something where a time alone
does not. Each measurement returns pairs of sides, functions that return their own seconds.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from benchmarks.data.draws import balanced
from benchmarks.job import Job
from benchmarks.peers.loop import Adam
from sk_equivae import EquiVAEClassifier, Objective
from sk_equivae.model import Architecture, EquiVAEModule, semi_supervised_elbo
from sk_equivae.model.bounds import CountedRows
from sk_equivae.model.complements import ComplementPool
from sk_equivae.presets import paper

ROWS, INFERENCE_ROWS, BATCH, INFERENCE_BATCH = 2_000, 10_000, 128, 1_024
LABELS, MANY_CLASSES, MAX_SHIFT = 200, 100, 2
ROOT = Path(__file__).parents[2]
OTHERS = "import sklearn, skorch, torch"

Side = Callable[[], float]
Pairs = dict[str, tuple[Side, Side]]  # the ratio is that of the first to the second


def measure_speed(job: Job) -> dict[str, Any]:
    """The ratios of one measurement, each with its quartiles; the setting is its name."""
    start, cpu = time.perf_counter(), time.process_time()
    pairs, n = PAIRS[job.run.setting]
    measures = {name: compare(*sides, job.few(n, 1)) for name, sides in pairs(job).items()}
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    times = {"wall": round(wall, 2), "cpu": round(cpu, 2), "threads": torch.get_num_threads()}
    return {**times, "errors": {}, "measures": measures}


def compare(slow: Side, quick: Side, n: int) -> dict[str, Any]:
    """Time both sides in turns, after a round that does not count."""
    rounds = np.array([[slow(), quick()] for _ in range(n + (n > 1))])[-n:]
    medians = np.median(rounds, axis=0)
    lower, upper = np.percentile(rounds[:, 0] / rounds[:, 1], [25, 75])
    figures = {"ratio": medians[0] / medians[1], "lower": lower, "upper": upper}
    figures = {name: round(float(value), 4) for name, value in figures.items()}
    return {**figures, "seconds": [round(float(m), 5) for m in medians], "n": n}


def timed(function: Callable[..., Any], *arguments: Any) -> Side:
    """A side whose seconds are those of a function."""

    def seconds() -> float:
        start = time.perf_counter()
        function(*arguments)
        return time.perf_counter() - start

    return seconds


def step(estimator: EquiVAEClassifier, X: NDArray, y: NDArray) -> Side:
    """A side whose seconds are those of one step in the last epoch of a short fit."""

    def seconds() -> float:
        last = estimator.fit(X, y).history_[-1]
        return last["dur"] / last["train_batch_count"]

    return seconds


def images(job: Job, n: int) -> tuple[NDArray, NDArray]:
    split = job.split(np.random.RandomState(job.run.seed))
    n = job.few(n, 100)
    return split.X[:n], split.y[:n]


def complements(job: Job) -> Pairs:
    """A supervised step with m_max=10 beside one with m_max=1, by the paper's parameters."""
    usual = {**paper("mnist"), "batch_size": BATCH, "max_epochs": 1, "random_state": 0}
    ten, one = (EquiVAEClassifier(**{**usual, "m_max": m}) for m in (10, 1))
    rows = images(job, ROWS)
    return {"m_max 10 to 1": (step(ten, *rows), step(one, *rows))}


def classes(job: Job) -> Pairs:
    """A semi-supervised step with the exact sum over classes beside that of the defaults."""
    pairs = {}
    for n_classes in (10, job.few(MANY_CLASSES, 12)):
        X, y = images(job, ROWS)
        rng = np.random.RandomState(job.run.seed)
        if n_classes > 10:  # a class is one image, at any place
            y = rng.permutation(np.arange(len(X)) % n_classes)
            shifts = rng.randint(-MAX_SHIFT, MAX_SHIFT + 1, size=(len(X), 2))
            X = np.stack([np.roll(X[k], by, (0, 1)) for k, by in zip(y, shifts, strict=True)])
        labels = balanced(y, max(2, job.few(LABELS, 20) // n_classes) * n_classes, rng)[1]
        fit = {"batch_size": BATCH, "max_epochs": job.few(3, 1), "random_state": 0}
        exact = EquiVAEClassifier(objective=Objective(class_threshold=0.0), **fit)
        sides = step(exact, X, labels), step(EquiVAEClassifier(**fit), X, labels)
        pairs[f"{n_classes} classes, exact to truncated"] = sides
    return pairs


def loop(job: Job) -> Pairs:
    """Whole `fit` beside a bare loop of the same networks, bound, batch size and steps."""
    rows, pairs = images(job, ROWS), {}
    for batch in (128, 32)[: job.few(2, 1)]:
        parameters = {**paper("mnist"), "batch_size": batch, "max_epochs": job.few(5, 1)}
        estimator = EquiVAEClassifier(**parameters, random_state=0)
        estimator.set_params(objective__max_batch_size=None)
        sides = timed(estimator.fit, *rows), timed(bare_loop, *rows, parameters)
        pairs[f"fit to bare loop, batch {batch}"] = sides
    return pairs


def bare_loop(X: NDArray, y: NDArray, parameters: dict[str, Any]) -> None:
    """Train by Eq. 4 and log q(y | x), as one would write it with `sk_equivae.model` alone."""
    n_classes, latents = int(y.max()) + 1, (parameters["latent_dim"],) * 2
    module = EquiVAEModule((1, *X.shape[1:]), n_classes, latents, "bernoulli", Architecture())
    module.to(memory_format=torch.channels_last)
    optimizer = Adam(module.parameters(), parameters["lr"], fused=True)
    generator = torch.Generator().manual_seed(0)
    log_prior = torch.from_numpy(np.bincount(y) / len(y)).float().log()
    means = torch.zeros(n_classes, module.n_hidden), torch.zeros(n_classes, dtype=torch.bool)
    codes, rows = torch.from_numpy(y), torch.from_numpy(X)
    for _ in range(parameters["max_epochs"]):
        for some in torch.randperm(len(y), generator=generator).split(parameters["batch_size"]):
            x, code, one = rows[some, None].float() / 255, codes[some], torch.ones(len(some))
            h = module.invariant.embed(x)
            pool = ComplementPool(h, code, code, parameters["m_max"], True, *means)
            counted = CountedRows(torch.arange(len(some)), one, 0 * one, False)
            q_y = F.one_hot(code, n_classes).float()
            inputs = (module, x, code, q_y, pool, counted, log_prior, generator)
            logits = module.classify(x, module.invariant.head(h), generator)
            log_q = -F.cross_entropy(logits, code, reduction="sum")
            optimizer.zero_grad()
            (-(semi_supervised_elbo(*inputs)["elbo"] + log_q) / len(some)).backward()
            optimizer.step()


def inference(job: Job) -> Pairs:
    """`predict` and `transform` beside a bare forward pass of f_inv."""
    X, y = images(job, INFERENCE_ROWS)
    model = EquiVAEClassifier(max_epochs=1, random_state=0).fit(X[:200], y[:200])
    verbs = {"predict": model.predict, "transform": model.transform}
    bare = timed(bare_forward, model, X)
    return {f"{name} to bare forward": (timed(verb, X), bare) for name, verb in verbs.items()}


def bare_forward(model: EquiVAEClassifier, X: NDArray) -> torch.Tensor:
    """f_inv of images, as one would write it in PyTorch."""
    fitted, rows = model.model_, torch.from_numpy(X.reshape(len(X), -1))
    normalize = partial(fitted.rows.normalize, dtype=torch.float32)
    with torch.inference_mode():
        return torch.cat([fitted.module.f_inv(normalize(x)) for x in rows.split(INFERENCE_BATCH)])


def startup(job: Job) -> Pairs:
    """The import of everything beside that of what the package is built on, each in a process."""

    def fresh(code: str) -> float:
        program = f"import time; start = time.time(); {code}; print(time.time() - start)"
        options: Any = {"cwd": ROOT, "capture_output": True, "text": True, "check": True}
        return float(subprocess.run([sys.executable, "-c", program], **options).stdout)

    everything = partial(fresh, f"{OTHERS}; import sk_equivae")
    return {"import to imports of its dependencies": (everything, partial(fresh, OTHERS))}


# The measurements, and how many rounds each one takes.
ROUNDS = ((complements, 9), (classes, 5), (loop, 5), (inference, 15), (startup, 9))
PAIRS = {pairs.__name__: (pairs, n) for pairs, n in ROUNDS}
