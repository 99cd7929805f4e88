"""One run: its rows, its estimator, its fit."""

import contextlib
import inspect
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from benchmarks.data.draws import balanced
from benchmarks.registry import DATASETS, METHODS, STUDIES, Method, Run, Split, Task

RULES = ("prototype", "posterior", "likelihood")
ONE_RULE = "predict"
SMOKE_ROWS, SMOKE_TEST_ROWS = 200, 60
# What is known of the peers, and is no news here.
EXPECTED_WARNINGS = (
    ("The `probability` parameter", FutureWarning),
    ("Classes .* have a single labelled row", UserWarning),
    # LabelSpreading, of rows that no label reaches: it takes them for the first class
    ("invalid value encountered in divide", RuntimeWarning),
    ("y contains no unlabeled samples", UserWarning),
    ("max_iter", ConvergenceWarning),
)


class Rows(NamedTuple):
    """What a method is trained on, and what it is measured on."""

    X: NDArray
    y: NDArray  # -1 where there is no label
    truth: NDArray  # all labels
    valid: tuple[NDArray, NDArray]  # rows and labels, of classes that have labels only
    test: tuple[NDArray, NDArray]
    note: str


def prepare(split: Split, method: Method, draw: Any, labels: Any, rng: Any) -> Rows:
    """Draw labels, and give a method the rows that it can use, as it takes them."""
    positions, y = draw(split.y, labels, rng)
    known = np.unique(y[y >= 0])
    parts = []
    for X, truth in (split.X_valid, split.y_valid), (split.X_test, split.y_test):
        kept = np.isin(truth, known)
        parts.append((view(X[kept], method.takes_images), truth[kept]))
    labeled = np.flatnonzero(y >= 0)[: method.max_labeled]
    unlabeled = np.flatnonzero(y < 0)[: 0 if method.labeled_only else method.max_unlabeled]
    used = np.sort(np.concatenate([labeled, unlabeled]))
    X = view(split.X[positions[used]], method.takes_images)
    return Rows(X, y[used], split.y[positions[used]], *parts, split.note)


def view(X: NDArray, as_images: bool = False) -> NDArray:
    """Images as they are, or flat rows with bytes as values in [0, 1]."""
    if as_images or X.ndim == 2:
        return X
    X = X.reshape(len(X), np.prod(X.shape[1:]))
    return X / np.float32(255) if X.dtype == np.uint8 else X


class Job:
    """A run that is about to be measured; a smoke run has one epoch on a slice of the data."""

    def __init__(self, run: Run, data: Path | None = None, smoke: bool = False):
        self.run, self.data, self.smoke = run, data, smoke
        self.study, self.method = STUDIES[run.study], METHODS[run.method]
        self.setting = self.study.settings[run.setting]
        self.task = Task(DATASETS[run.dataset], run.labels, run.seed)

    def few(self, usual: int, smoke: int) -> int:
        """A number of rows, epochs or repetitions; another one in a smoke run."""
        return smoke if self.smoke else usual

    def split(self, rng: np.random.RandomState) -> Split:
        """The rows of the data set, with all labels."""
        split = self.task.dataset.load(self.data, rng)
        if not self.smoke:
            return split
        sizes = (SMOKE_ROWS,) * 2 + (SMOKE_TEST_ROWS,) * 4
        return Split(*(part[:n] for part, n in zip(split, sizes, strict=False)), split.note)

    def rows(self) -> Rows:
        """Training rows with the labels of this seed, and rows to measure on."""
        rng = np.random.RandomState(self.run.seed)
        draw = self.setting.draw or balanced
        return prepare(self.split(rng), self.method, draw, self.run.labels, rng)

    def estimator(self) -> Any:
        """The method's estimator in this setting, not fitted."""
        estimator, changed = self.method.make(self.task), self.setting.parameters
        estimator.set_params(**(changed(self.method, self.task) if callable(changed) else changed))
        if self.smoke:
            short = [key for key in estimator.get_params() if key.endswith("max_epochs")]
            estimator.set_params(**dict.fromkeys(short, 1))
        return estimator

    def fit(self, estimator: Any, rows: Rows) -> dict[str, Any]:
        """Fit, and return the seconds of all that `fit` does, graph and labelling included."""
        with expected_warnings():
            wall, cpu = time.perf_counter(), time.process_time()
            estimator.fit(rows.X, rows.y)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        figures = {"wall": round(wall, 3), "cpu": round(cpu, 3), "threads": torch.get_num_threads()}
        figures |= {"n_labeled": int((rows.y >= 0).sum()), "n_unlabeled": int((rows.y < 0).sum())}
        return {**figures, "note": rows.note} if rows.note else figures

    def config(self) -> dict[str, Any]:
        """The estimator's parameters that are not its defaults, as JSON takes them."""
        parameters = self.estimator().get_params()
        own = {k: v for k, v in parameters.items() if not _is_default(self.estimator(), k, v)}
        return json.loads(json.dumps(own, default=lambda v: getattr(v, "__name__", repr(v))))


def _is_default(estimator: Any, key: str, value: Any) -> bool:
    """Whether a parameter, maybe of a nested estimator, is as its class has it."""
    if hasattr(value, "get_params") or key == "steps":
        return True  # its own parameters are told one by one
    *parents, last = key.split("__")
    for parent in parents:
        estimator = estimator.get_params().get(parent, estimator)
    known = inspect.signature(type(estimator)).parameters.get(last)
    return known is not None and repr(known.default) == repr(value)


@contextlib.contextmanager
def expected_warnings() -> Iterator[None]:
    """A context in which warnings that are known are not shown."""
    with warnings.catch_warnings():
        for message, category in EXPECTED_WARNINGS:
            warnings.filterwarnings("ignore", message, category)
        yield


def by_rule(estimator: Any) -> Iterator[str]:
    """Each way in which the estimator predicts, set in turn."""
    usual = estimator.get_params().get("predict_with")
    for rule in RULES if usual else (ONE_RULE,):
        if usual:
            estimator.set_params(predict_with=rule)
        yield rule
    if usual:
        estimator.set_params(predict_with=usual)
