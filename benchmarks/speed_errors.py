"""How soon the paper's error is reached, and what the shortened sum over classes costs."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch.callbacks import Callback

from benchmarks.data import few_labels
from benchmarks.plain import start_of, train_bare
from benchmarks.timing import Bench
from sk_equivae import EquiVAEClassifier
from sk_equivae._batches import OrderedBatches, RowDataset
from sk_equivae._label_posterior import confident_targets
from sk_equivae._module import EquiVAEModule
from sk_equivae._prototypes import ClassMeans, prototype_logits
from sk_equivae._training import INFERENCE_BATCH
from sk_equivae.presets import paper

RULES = ("prototype", "posterior")
# The paper's errors in per cent (its Tables 1 and 2), on the test set.
PAPER_ERROR = {100: 8.90, "all": 0.82}
# Between two looks at the validation error: so many seconds of training, or so much of it.
LOOK_SECONDS, LOOK_PART = 2.0, 0.03
# Of so many rows, labelled and unlabelled, prototypes are made to look at the error.
PROTOTYPE_ROWS = 5_000
SHORT_ROWS, SHORT_EPOCHS, SHORT_SEEDS = 10_000, 2, (0, 1, 2)
SHORT_LABELS = 100


def measure_threshold(bench: Bench) -> dict[str, Any]:
    """Validation errors with the default `class_threshold`, and with the exact sum."""
    n, epochs = bench.few(SHORT_ROWS, 200), bench.few(SHORT_EPOCHS, 1)
    split = bench.split
    errors: dict[str, dict[str, list[float]]] = {}
    for name, parameters in ("default", {}), ("exact", {"class_threshold": 0.0}):
        errors[name] = {rule: [] for rule in RULES}
        for seed in SHORT_SEEDS[: bench.few(len(SHORT_SEEDS), 1)]:
            y = few_labels(split.y_train[:n], SHORT_LABELS, seed)
            model = EquiVAEClassifier(max_epochs=epochs, random_state=seed, **parameters)
            model.fit(split.X_train[:n], y)
            for rule in RULES:
                wrong = model.set_params(predict_with=rule).predict(split.X_valid) != split.y_valid
                errors[name][rule].append(100 * float(np.mean(wrong)))
    return {"valid_error": errors, "rows": n, "labels": SHORT_LABELS, "epochs": epochs}


def measure_to_error(bench: Bench, labels: Any) -> dict[str, Any]:
    """Seconds and epochs until the validation error first reaches the paper's figure.

    For a plain reading of the paper in a bare loop, for the paper's parameters in the
    estimator, and for the estimator's defaults. A training ends when both rules have reached
    the figure, or after `minutes`.
    """
    split = bench.split
    n = bench.few(len(split.X_train), 200)
    X, y = split.X_train[:n], few_labels(split.y_train[:n], labels, bench.seed)
    preset = paper("mnist", None if labels == "all" else labels)
    figures = {}
    for name, parameters in ("plain", preset), ("paper", preset), ("ours", {}):
        if bench.smoke:
            parameters = {**parameters, "max_epochs": 1}
        estimator = EquiVAEClassifier(random_state=bench.seed, **parameters)
        watch = Watch(bench, y, estimator, PAPER_ERROR[labels])
        if name == "plain":
            train_bare(start_of(estimator, X, y), plain=True, after_step=watch)
        else:
            estimator.set_params(callbacks=[Watching(watch)]).fit(X, y)
        figures[name] = watch.figures()
    return {"training": figures, "labels": labels, "paper_error": PAPER_ERROR[labels]}


class Watch:
    """Looks at the validation error now and then, with the clock stopped.

    The clock starts when a watch is made.

    Parameters
    ----------
    bench : Bench
    y : ndarray of shape (n,)
        Labels of the training rows, the first of the split; -1 where there is none.
    estimator : EquiVAEClassifier
        Says who counts as one of a class.
    target : float
        The error to reach, in per cent.
    """

    def __init__(self, bench: Bench, y: NDArray, estimator: EquiVAEClassifier, target: float):
        split = bench.split
        self.target, self.limit = target, 60 * bench.minutes
        self.n_passed, self.n_rows = 0, int((y < 0).sum()) or len(y)
        self.looks: list[dict[str, Any]] = []
        self.stopped = False
        self.confidence = estimator.confidence
        rows = np.flatnonzero(y >= 0)[:PROTOTYPE_ROWS]
        if estimator.complement_pool == "confident":
            rows = np.concatenate([rows, np.flatnonzero(y < 0)[:PROTOTYPE_ROWS]])
        input_shape = (1, *split.X_train.shape[1:])
        self.known = RowDataset(split.X_train[: len(y)], input_shape, y, rows=rows)
        self.valid = RowDataset(split.X_valid, input_shape, split.y_valid)
        self.seconds = self.next_look = self.looked_for = 0.0
        self.start = time.perf_counter()

    def __call__(self, module: EquiVAEModule, codes: NDArray) -> bool:
        """After a step: look if it is time, and say whether to stop.

        Parameters
        ----------
        module : EquiVAEModule
            The one that predicts.
        codes : ndarray of shape (n,)
            Of the batch.
        """
        self.n_passed += int((codes < 0).sum()) or len(codes)
        before = time.perf_counter()
        self.seconds = before - self.start - self.looked_for
        if self.seconds >= self.next_look:
            self.looks.append(
                {
                    "seconds": self.seconds,
                    "epochs": self.n_passed / self.n_rows,
                    "valid_error": self.errors(module),
                }
            )
            all_reached = all(self.first(rule) for rule in RULES)
            self.stopped = all_reached or self.seconds > self.limit
            self.next_look = self.seconds + max(LOOK_SECONDS, LOOK_PART * self.seconds)
            self.looked_for += time.perf_counter() - before
        return self.stopped

    @torch.inference_mode()
    def errors(self, module: EquiVAEModule) -> dict[str, float]:
        """Validation errors in per cent, by both rules."""
        training = module.training
        module.eval()
        r = self._prototypes(module)
        wrong = dict.fromkeys(RULES, 0)
        for x, y, _ in OrderedBatches(self.valid, INFERENCE_BATCH):
            x = module.normalize(x)
            f_inv = module.f_inv(x)
            logits = prototype_logits(f_inv, r), module.classify(x, f_inv)
            for rule, values in zip(RULES, logits, strict=True):
                wrong[rule] += int((values.argmax(dim=1) != y).sum())
        module.train(training)
        return {rule: 100 * n / len(self.valid) for rule, n in wrong.items()}

    def _prototypes(self, module: EquiVAEModule) -> torch.Tensor:
        """r of the classes, of labelled rows and of confident ones if they count."""
        n_classes = module.posterior.output.out_features
        means = ClassMeans(n_classes, module.invariant.dense.out_features)
        for x, y, weight in OrderedBatches(self.known, INFERENCE_BATCH):
            x = module.normalize(x)
            h = module.invariant.embed(x)
            q_y = module.classify(x, module.invariant.head(h)).softmax(dim=1)
            means.update(h, confident_targets(y, q_y, self.confidence), weight)
        return module.invariant.head(means.means.to(h.dtype))

    def first(self, rule: str) -> dict[str, float] | None:
        """When the error was at most the target for the first time; None if it never was."""
        for look in self.looks:
            if look["valid_error"][rule] <= self.target:
                return {"seconds": look["seconds"], "epochs": look["epochs"]}
        return None

    def figures(self) -> dict[str, Any]:
        """When the target was reached, how long training went on, and all looks."""
        reached = {rule: self.first(rule) for rule in RULES}
        whole = not self.stopped
        return {"reached": reached, "seconds": self.seconds, "whole": whole, "looks": self.looks}


class Watching(Callback):
    """Calls a `Watch` after each step of a net."""

    def __init__(self, watch: Callable[[EquiVAEModule, NDArray], bool]):
        self.watch = watch

    def on_batch_end(
        self, net: Any, batch: Any = None, training: bool = False, **kwargs: Any
    ) -> None:
        if training and self.watch(net.module_.predictor, batch[1].numpy()):
            raise KeyboardInterrupt  # how callbacks of skorch end training
