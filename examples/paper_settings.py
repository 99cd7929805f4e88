"""What it takes to reproduce the paper with few labels, on MNIST.

    python -m examples.paper_settings "weight 25" [--labels 100] [--seed 0] [--epochs 20]
    python -m examples.paper_settings --report

A variant of the paper's settings is trained on MNIST with 55,000 training images. After every
epoch the errors on the 5,000 validation images are printed; at the end those on the test images.
The environment variable SK_EQUIVAE_DATA names a folder with MNIST's files; without it they come
from OpenML. The results are added to docs/paper_settings.json. The report makes the table and the
plot of docs/paper_settings.md from it. A variant takes half an hour or more on one core.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import time
from operator import itemgetter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when numpy and torch are imported

import numpy as np
import torch
from skorch.callbacks import Callback

import sk_equivae
from sk_equivae import EquiVAEClassifier
from sk_equivae.model_selection import hide_labels
from sk_equivae.presets import paper

DOCS = Path(__file__).parents[1] / "docs"
# On the axis of the plot, in %.
TICKS = (1, 2, 3, 5, 7, 8, 9, 10, 12, 15, 20, 30, 50, 80)
# The exact sum over ten classes takes three times as long. At first, when all classes are
# plausible, the three that are kept may hold little more than 30%.
QUICK = {"objective__class_threshold": 1e-3}
AT_ONCE = {"objective__labeled_warmup": 0}  # all rows from the first batch
# Labelled rows have half of the weight, and in a batch they are half of the rows. A weight of 0.5
# on the mean of their log q(y|x) is then that of the paper: 1 for each row.
HALVES = {**AT_ONCE, "objective__labeled_share": 0.5}
VARIANTS = {
    "weight 25, labelled rows first": {},
    "weight 1, labelled rows first": {"objective__label_weight": 1.0},
    "weight 25": AT_ONCE,
    "weight 10": {**AT_ONCE, "objective__label_weight": 10.0},
    "weight 1": {**AT_ONCE, "objective__label_weight": 1.0},
    "weight 25, dropout 0.1": {**AT_ONCE, "networks__dropout": 0.1},
    "weight 25, stale complements": {**AT_ONCE, "objective__min_complements": 0},
    "halves, the paper's weight": {**HALVES, "objective__label_weight": 0.5},
    "halves, weight 25": {**HALVES, "objective__label_weight": 25.0},
}


class Curve(Callback):
    """Record the error of q(y|x) on validation rows after every epoch."""

    def __init__(self, x, y):
        self.x, self.y = x, y
        self.errors = []  # shared with the copy that training uses

    def on_epoch_end(self, net, **kwargs):
        """Predict the validation rows."""
        module = net.module_.predictor.eval()
        with torch.inference_mode():
            codes = torch.cat([module(x).argmax(dim=1) for x in self.x.split(1000)])
        self.errors.append(float((codes != self.y).double().mean()))
        print(f"epoch {len(self.errors)}: {100 * self.errors[-1]:.2f}%", flush=True)


def measure(split, name, n_labels, seed, epochs=None):
    """Return the curve and the errors on test rows of one variant."""
    few = hide_labels(split.y, n_per_class=n_labels // 10, random_state=seed)
    x = torch.from_numpy(split.X_valid).float()[:, None] / 255
    curve = Curve(x, torch.from_numpy(split.y_valid))
    model = EquiVAEClassifier(**paper("mnist", n_labels), random_state=seed, callbacks=[curve])
    model.set_params(**QUICK, **VARIANTS[name])
    if epochs is not None:
        model.set_params(max_epochs=epochs)
    start = time.time()
    model.fit(split.X, few)
    found = {"variant": name, "n_labels": n_labels, "seed": seed, "epochs": model.n_iter_}
    found["wall_s"] = round(time.time() - start)
    found["curve"] = [round(error, 4) for error in curve.errors]
    for rule in ("posterior", "prototype", "likelihood"):
        model.set_params(predict_with=rule)
        found[rule] = round(1 - float(model.score(split.X_test, split.y_test)), 4)
    return found


def commit():
    """Return the commit; raise if files were changed since."""
    git = ["git", "describe", "--always", "--dirty"]
    name = subprocess.run(git, capture_output=True, text=True, cwd=DOCS).stdout.strip()
    if name.endswith("-dirty"):
        raise SystemExit("There are uncommitted changes: commit them first, or use a clean clone.")
    return name


def table(results):
    """Return the results as lines of markdown."""
    lines = [
        "| variant | labels | epochs | posterior, test | prototype, test | likelihood, test | "
        "seed |",
        "|---|---|---|---|---|---|---|",
    ]
    for found in sorted(results, key=itemgetter("n_labels", "variant", "seed")):
        errors = " | ".join(
            f"{100 * found[rule]:.2f}%" for rule in ("posterior", "prototype", "likelihood")
        )
        lines.append(
            f"| {found['variant']} | {found['n_labels']} | {found['epochs']} | {errors} | "
            f"{found['seed']} |"
        )
    return lines


def plot(results, path):
    """Draw the curves on validation rows."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    colors: dict[str, str] = {}  # seeds of a variant share a colour, and a line of the legend
    n_epochs = max(len(found["curve"]) for found in results)
    for found in results:
        errors = 100 * np.array(found["curve"])
        label = f"{found['variant']}, {found['n_labels']} labels"
        is_first = label not in colors
        color = colors.setdefault(label, f"C{len(colors)}")
        steps = np.arange(1, len(errors) + 1)
        ax.plot(steps, errors, marker=".", color=color, label=label if is_first else None)
        ax.annotate(f" {found['seed']}", (steps[-1], errors[-1]), color=color, va="center")
    ax.set_xlim(0.5, n_epochs + 1)
    ax.axhline(8.9, color="gray", linestyle=":", label="published, 100 labels (test)")
    ax.set(
        xlabel="epoch (seed at the end of a line)",
        ylabel="validation error of q(y|x), %",
        yscale="log",
    )
    ticks = [tick for tick in TICKS if ax.get_ylim()[0] <= tick <= ax.get_ylim()[1]]
    ax.set_yticks(ticks, [f"{tick}" for tick in ticks])
    ax.set_yticks([], minor=True)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(fontsize="small", loc="outside lower center", ncols=2)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def report():
    """Make the table and the plot from the results."""
    results = json.loads((DOCS / "paper_settings.json").read_text())
    text = "<!-- variants -->\n" + "\n".join(table(results)) + "\n<!-- end -->"
    page = DOCS / "paper_settings.md"
    changed = re.sub(
        r"<!-- variants -->.*?<!-- end -->", lambda _: text, page.read_text(), flags=re.DOTALL
    )
    page.write_text(changed)
    plot(results, DOCS / "paper_settings.png")


def main():
    """Measure one variant, or make the report."""
    from benchmarks.datasets import idx_set

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("variant", nargs="?", choices=VARIANTS)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    if args.variant is not None:
        at = commit()
        split = idx_set("mnist", "mnist_784", None)
        found = measure(split, args.variant, args.labels, args.seed, args.epochs)
        versions = {"sk_equivae": sk_equivae.__version__, "torch": torch.__version__,
                    "python": platform.python_version()}  # fmt: skip
        found |= {"commit": at, "threads": torch.get_num_threads(), "versions": versions}
        path = DOCS / "paper_settings.json"
        results = json.loads(path.read_text()) if path.exists() else []
        path.write_text(json.dumps([*results, found], indent=1) + "\n")
    if args.report:
        report()


if __name__ == "__main__":
    main()
