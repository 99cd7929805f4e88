"""Figures 3, 4 and 5 of the paper, on MNIST with all labels.

    python -m examples.paper_figures FOLDER [DATASET]

Two models are trained with the defaults, one of them with two dimensions of r and of v, and saved
in FOLDER; a model that is there already is not trained again. The figures show validation rows.
They go to docs/, with docs/paper_figures.json, which tells commit, versions and time. A model takes
10 to 20 minutes on one core. With "digits", scikit-learn's digits take the place of MNIST, and
nothing but the models and the figures in FOLDER is written. SK_EQUIVAE_DATA names a folder with
MNIST's files.
"""

import argparse
import json
import os
import platform
import subprocess
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when numpy and torch are imported

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import torch

import sk_equivae
from sk_equivae import (
    EquiVAEClassifier,
    InterpolationDisplay,
    LatentGridDisplay,
    LatentSpaceDisplay,
    SamplesDisplay,
    StyleTransferDisplay,
    TrainingHistoryDisplay,
)
from sk_equivae.datasets import load_few_digits

DOCS = Path(__file__).parents[1] / "docs"
MODELS = {"usual": {}, "plane": {"latent_dim": 2}}
N_POINTS, N_STEPS, DPI = 2_000, 8, 110


def rows(dataset):
    """Return training rows with all labels, and rows to draw."""
    if dataset == "digits":
        return load_few_digits(n_per_class=None)
    from benchmarks.datasets import idx_set

    split = idx_set("mnist", "mnist_784", None)
    return split.X, split.y, split.X_valid, split.y_valid


def fitted(folder, dataset, name, X, y, at):
    """Return a model from the folder, or train it and save it there, and how it was trained."""
    path = folder / f"{dataset}_{name}.equivae"
    told = path.with_suffix(".json")  # written last, so that what it tells of is there
    if not told.exists():
        start = time.time()
        EquiVAEClassifier(**MODELS[name], random_state=0).fit(X, y).save(path)
        told.write_text(json.dumps({"wall_s": round(time.time() - start), "commit": at}))
    return EquiVAEClassifier.load(path), json.loads(told.read_text())


def pairs(X, y):
    """Return two rows of each class that differ in slant and thickness more than most."""
    first, second = [], []
    for label in np.unique(y):
        own = X[y == label][:60]
        flat = own.reshape(len(own), -1).astype(float)
        distance = np.square(flat[:, None] - flat).sum(axis=2)
        i, j = np.unravel_index(np.argsort(distance, axis=None)[-len(own)], distance.shape)
        first.append(own[i])
        second.append(own[j])
    return np.stack(first), np.stack(second)


def figure_3(model, X, y):
    """Draw r and v of rows on a plane, and the bound as it grows."""
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.4), layout="constrained")
    LatentSpaceDisplay.from_estimator(model, X[:N_POINTS], y[:N_POINTS], ax=axes[:2])
    TrainingHistoryDisplay.from_estimator(model, ax=axes[2])
    return figure


def figure_4(model, X, y):
    """Draw samples, paths from one row to another, and the class of a row in another's style."""
    figure, axes = plt.subplots(1, 3, figsize=(16, 5.4), layout="constrained")
    SamplesDisplay.from_estimator(model, n_samples=10, random_state=0, ax=axes[0])
    is_right = model.predict(X) == y  # of others r would change too
    first, second = pairs(X[is_right], y[is_right])
    InterpolationDisplay.from_estimator(model, first, second, n_steps=N_STEPS, ax=axes[1])
    one_each = X[[np.flatnonzero(y == label)[0] for label in np.unique(y)]]
    StyleTransferDisplay.from_estimator(model, one_each, one_each, ax=axes[2])
    return figure


def figure_5(model, X, y):
    """Draw a model of two dimensions: its rows, the range of r, and that of v in four classes."""
    figure = plt.figure(figsize=(16, 9.4), layout="constrained")
    grid = figure.add_gridspec(2, 12, height_ratios=[1.2, 1])
    top = [figure.add_subplot(grid[0, i : i + 4]) for i in (0, 4, 8)]
    LatentSpaceDisplay.from_estimator(model, X[:N_POINTS], y[:N_POINTS], ax=top[:2])
    LatentGridDisplay.from_estimator(model, latent="invariant", n_steps=14, ax=top[2])
    for i, label in zip((0, 3, 6, 9), model.classes_[3:7], strict=True):
        ax = figure.add_subplot(grid[1, i : i + 3])
        LatentGridDisplay.from_estimator(model, label=label, n_steps=11, ax=ax)
    return figure


FIGURES = {"3": (figure_3, "usual"), "4": (figure_4, "usual"), "5": (figure_5, "plane")}


def commit():
    """Return the commit; raise if files were changed since."""
    git = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    name = subprocess.run(git, capture_output=True, text=True, cwd=DOCS).stdout.strip()
    if name.endswith("-dirty"):
        raise SystemExit("There are uncommitted changes: commit them first, or use a clean clone.")
    return name


def main():
    """Train what is missing, and draw the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("dataset", nargs="?", choices=("mnist", "digits"), default="mnist")
    args = parser.parse_args()
    is_final = args.dataset == "mnist"
    at = commit() if is_final else None
    args.folder.mkdir(parents=True, exist_ok=True)
    X, y, X_valid, y_valid = rows(args.dataset)
    models = {name: fitted(args.folder, args.dataset, name, X, y, at) for name in MODELS}
    for number, (draw, name) in FIGURES.items():
        figure = draw(models[name][0], X_valid, y_valid)
        target = DOCS if is_final else args.folder
        path = target / f"{args.dataset}_figure_{number}.png"
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
        plt.close(figure)
    if is_final:
        versions = {"sk_equivae": sk_equivae.__version__, "torch": torch.__version__,
                    "python": platform.python_version()}  # fmt: skip
        found = {"seed": 0, "versions": versions, "threads": torch.get_num_threads()}
        found |= {name: trained for name, (_, trained) in models.items()}
        (DOCS / "paper_figures.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
