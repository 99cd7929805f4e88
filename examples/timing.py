"""Measure how long `fit` takes by rows and pixels, for the table in the README.

`python examples/timing.py` trains on generated images with 100 labels, one thread, and writes
docs/timing.json and the table. Seconds are of one core (CPU time), so that other work on the
machine does not count. Two epochs are measured, and the table counts them as often as there are
epochs by default; `python examples/timing.py --table` writes it anew, if that number has changed.
"""

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

ROOT = Path(__file__).parent.parent
ROWS = [1_000, 10_000, 60_000]
SHAPES = {"8x8": (8, 8), "28x28": (28, 28), "32x32x3": (32, 32, 3)}
SEED, N_LABELS, N_CLASSES = 0, 100, 10
# each further row takes as long as the others: larger sets are measured on this many rows
MAX_ROWS = 10_000


def images(n_rows, shape):
    """Return noisy copies of one image per class, as bytes, and few labels."""
    import numpy as np

    rng = np.random.RandomState(SEED)
    y = np.arange(n_rows) % N_CLASSES
    base = 200 * (rng.uniform(size=(N_CLASSES, *shape)) > 0.7)
    X = (base[y] + rng.randint(0, 55, size=(n_rows, *shape))).astype(np.uint8)
    return X, np.where(np.arange(n_rows) < N_LABELS, y, -1)


def default_epochs(n_rows, shape):
    """Return the number of epochs by default."""
    from sk_equivae.training.settings.networks import is_photograph
    from sk_equivae.training.settings.plan import auto_epochs

    photographs = is_photograph((*shape[2:], *shape[:2]))
    return auto_epochs(n_rows, is_image=True, any_unlabeled=True, photographs=photographs)


def measure(n_rows, shape):
    """Return the CPU seconds of a fit: before, per epoch and after."""
    from skorch.callbacks import Callback

    from sk_equivae import EquiVAEClassifier

    times = []

    class Clock(Callback):
        def on_train_begin(self, net, **kwargs):
            times.append(time.process_time())

        def on_epoch_end(self, net, **kwargs):
            times.append(time.process_time())

    n_measured = min(n_rows, MAX_ROWS)
    X, y = images(n_measured, shape)
    start = time.process_time()
    EquiVAEClassifier(max_epochs=2, callbacks=[Clock()], random_state=SEED).fit(X, y)
    end, more = time.process_time(), n_rows / n_measured
    before, epoch, after = times[0] - start, (times[2] - times[0]) / 2, end - times[2]
    return {"before_s": more * before, "epoch_s": more * epoch, "after_s": more * after,
            "n_measured": n_measured}  # fmt: skip


def total(fit, n_rows, shape):
    """Return the seconds of a whole fit by default."""
    # photographs start with batches of labelled rows; they are the same part of the two measured
    # epochs as of the whole training, and so are counted
    return fit["before_s"] + default_epochs(n_rows, shape) * fit["epoch_s"] + fit["after_s"]


def as_time(seconds):
    """Return seconds as a reader wants them, with two digits."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 600 else f"{seconds / 60:.0f} min"


def table(found):
    """Return the lines of the table."""
    lines = ["| images | " + " | ".join(SHAPES) + " |", "|---" * (1 + len(SHAPES)) + "|"]
    for n_rows in ROWS:
        fits = {shape: found["fits"][f"{n_rows} {name}"] for name, shape in SHAPES.items()}
        cells = (as_time(total(fit, n_rows, shape)) for shape, fit in fits.items())
        lines.append(f"| {n_rows:,} | " + " | ".join(cells) + " |")
    return lines


def write(found):
    """Put the table into the README."""
    page = ROOT / "README.md"
    before, rest = page.read_text().split("<!-- timing -->\n")
    after = rest.split("<!-- end -->", 1)[1]
    page.write_text(
        f"{before}<!-- timing -->\n" + "\n".join(table(found)) + "\n<!-- end -->" + after
    )


def main():
    """Measure everything and write it, or write the table alone."""
    if "--table" in sys.argv:
        write(json.loads((ROOT / "docs" / "timing.json").read_text()))
        return
    import torch

    import sk_equivae

    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=ROOT
    )
    fits = {f"{n} {name}": measure(n, shape) for name, shape in SHAPES.items() for n in ROWS}
    found = {
        "seed": SEED, "n_labels": N_LABELS, "commit": commit.stdout.strip(),
        "versions": {"sk_equivae": sk_equivae.__version__, "torch": torch.__version__,
                     "python": platform.python_version()},
        "processor": platform.processor() or platform.machine(), "fits": fits,
    }  # fmt: skip
    (ROOT / "docs" / "timing.json").write_text(json.dumps(found, indent=1) + "\n")
    write(found)


if __name__ == "__main__":
    main()
