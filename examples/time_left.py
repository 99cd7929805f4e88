"""How well the progress bar of `fit` knows the time left.

    python -m examples.time_left [--wall] [CASE ...]

Fits of different sizes are run, and the time left that the bar shows after 10%, 20%, ..., 90% of a
fit is compared with the time that was left. By default the clock is the time of the process, which
other programs on the machine do not disturb; `--wall` takes that on the wall.
"""

import argparse
import contextlib
import io
import time
from unittest import mock

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification

from sk_equivae import EquiVAEClassifier, Objective
from sk_equivae._progress import Progress
from sk_equivae.model_selection import hide_labels
from sk_equivae.training import train

ALLOWED = 0.2
PARTS = np.arange(1, 10) / 10


def digits(n_rows, size=8):
    """Return digits, repeated to the number of rows."""
    X, y = load_digits(return_X_y=True)
    X = np.tile(X.reshape(-1, 8, 8) / 16, (-(-n_rows // len(X)), 1, 1))[:n_rows]
    y = np.tile(y, -(-n_rows // len(y)))[:n_rows]
    return np.kron(X, np.ones((size // 8, size // 8))), y


def table(n_rows, n_columns=20):
    """Return rows of four classes."""
    return make_classification(n_rows, n_columns, n_informative=8, n_classes=4, random_state=0)


# rows, labels per class (None: all), and parameters
CASES = {
    "digits, 1,797 rows, 10 labels": (lambda: digits(1797), 10, {}),
    "digits, 1,797 rows, all labels": (lambda: digits(1797), None, {}),
    "digits, 300 rows, 5 labels": (lambda: digits(300), 5, {"max_epochs": 30}),
    "digits of 24x24, 1,000 rows, 10 labels": (lambda: digits(1000, 24), 10, {"max_epochs": 8}),
    "growing batches, 6,000 rows, 10 labels": (
        lambda: digits(6000), 10, {"max_epochs": 6, "objective": Objective(max_batch_size=256)}),
    "growing batches, 6,000 rows, all labels": (
        lambda: digits(6000), None, {"max_epochs": 3, "objective": Objective(max_batch_size=256)}),
    "wine, 178 rows, 5 labels": (lambda: load_wine(return_X_y=True), 5, {}),
    "cancer, 569 rows, 10 labels": (lambda: load_breast_cancer(return_X_y=True), 10, {}),
    "table, 3,000 rows, 10 labels": (lambda: table(3000), 10, {}),
    "table, 20,000 rows, all labels": (lambda: table(20_000), None, {"max_epochs": 6}),
    "early stopping, 1,500 rows, all labels": (
        lambda: digits(1500), None, {"early_stopping": True, "max_epochs": 8}),
}  # fmt: skip


class Recorder(Progress):
    """Progress that keeps what it would show."""

    def __init__(self, title, clock):
        super().__init__(title, clock=clock)
        self.seen = []

    def _draw(self, text, at_once=False):
        self.seen.append((self.elapsed, self.left, text))
        super()._draw(text, at_once)


def measure(make_rows, n_labels, params, clock):
    """Return the seconds of a fit, and the time left as shown and as it was, for each part."""
    X, y = make_rows()
    if n_labels is not None:
        y = hide_labels(y, n_per_class=n_labels, random_state=0)
    made = []

    def record(title):
        made.append(Recorder(title, clock))
        return made[-1]

    with mock.patch.object(train, "Progress", record), contextlib.redirect_stderr(io.StringIO()):
        EquiVAEClassifier(random_state=0, verbose=1, **params).fit(X, y)
    progress = made[0]
    total = clock() - progress.start
    passed, left, texts = zip(*progress.seen, strict=True)
    at = np.searchsorted(passed, PARTS * total, side="right") - 1
    return total, np.array(left)[at], total - np.array(passed)[at], [texts[i] for i in at]


def main(argv=None):
    """Measure the cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="parts of the names of cases (default: all)")
    parser.add_argument("--wall", action="store_true", help="time on the wall")
    parser.add_argument("--verbose", action="store_true", help="what the bar said")
    arguments = parser.parse_args(argv)
    clock = time.perf_counter if arguments.wall else time.process_time
    n_right = n_all = 0
    print(f"{'':42}seconds  error of the time left at 10%, 20%, ..., 90%")
    for name, case in CASES.items():
        if arguments.cases and not any(part in name for part in arguments.cases):
            continue
        total, shown, true, texts = measure(*case, clock)
        errors = shown / true - 1
        right = bool((np.abs(errors) <= ALLOWED).all())
        n_right, n_all = n_right + right, n_all + 1
        told = " ".join(f"{error:+4.0%}" for error in errors)
        print(f"{name:42}{total:7.1f}  {told}  {'yes' if right else 'NO'}", flush=True)
        if arguments.verbose:
            print("\n".join(f"    {text}" for text in texts))
    print(f"Within {ALLOWED:.0%} at every tenth: {n_right} of {n_all} fits.")


if __name__ == "__main__":
    main()
