"""The paper's Figures 3, 4 and 5 for MNIST and Figure 4 for SVHN, from trained models.

`python -m benchmarks.figures --data DIR` trains what is not trained yet and writes pictures
into `docs`. All show validation rows, as in the paper.
"""

import argparse
import io
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.models import Models, Trained, add_options, labels_option, parse
from sk_equivae import (
    InterpolationDisplay,
    LatentGridDisplay,
    LatentSpaceDisplay,
    LearningCurveDisplay,
    SamplesDisplay,
    StyleTransferDisplay,
)

DOCS = Path(__file__).parent.parent / "docs"
MAX_BYTES = 300_000
DPI = (110, 90, 75, 60, 50, 40)
N_POINTS = 2_000  # more hide one another
EPOCHS_2D = 5
FIGURE_5_DIGITS = (3, 4, 5, 6)


def figure_3(models: Models, labels: Any, seed: int) -> Figure:
    """r and v in two dimensions, coloured by class, and the course of training."""
    model = models.get("mnist", labels, seed).estimator
    X, y = (rows[:N_POINTS] for rows in models.split("mnist")[2:4])
    figure = new_figure(15, 4.4)
    axes = figure.subplots(1, 3, width_ratios=(1, 1, 1.1))
    LatentSpaceDisplay.from_estimator(model, X, y, ax=axes[:2], s=6)
    LearningCurveDisplay.from_estimator(model, ax=axes[2])
    return figure


def figure_4(models: Models, labels: Any, seed: int, dataset: str, note: str = "") -> Figure:
    """Samples of each class, ways between rows of the same class, and content by style."""
    trained = models.get(dataset, labels, seed)
    first, second = examples(trained, *models.split(dataset)[2:4])
    figure = new_figure(16, 5.4)
    axes = figure.subplots(1, 3)
    SamplesDisplay.from_estimator(trained.estimator, n_samples=10, random_state=seed, ax=axes[0])
    InterpolationDisplay.from_estimator(trained.estimator, first, second, n_steps=8, ax=axes[1])
    StyleTransferDisplay.from_estimator(trained.estimator, first, first, ax=axes[2])
    if note:
        figure.supxlabel(note, fontsize="small")
    return figure


def figure_5(models: Models, labels: Any, seed: int) -> Figure:
    """With two dimensions of r and of v: where rows lie, and what lies where."""
    model = models.get("mnist", labels, seed, latent_dim=2, max_epochs=EPOCHS_2D).estimator
    X, y = (rows[:N_POINTS] for rows in models.split("mnist")[2:4])
    figure = new_figure(16, 8.4)
    top, bottom = figure.subfigures(2, 1, height_ratios=(1.25, 1))
    axes = top.subplots(1, 3)
    LatentSpaceDisplay.from_estimator(model, X, y, ax=axes[:2], s=6)
    LatentGridDisplay.from_estimator(model, latent="invariant", n_steps=14, ax=axes[2])
    for digit, ax in zip(FIGURE_5_DIGITS, bottom.subplots(1, 4), strict=True):
        LatentGridDisplay.from_estimator(model, label=digit, n_steps=11, ax=ax)
        ax.set_title(f"v, at r of {digit}")
    return figure


def examples(trained: Trained, X: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    """Two rows of each class, the first in their order that the model takes for their class.

    The verbs go by predicted classes where the paper goes by known ones.
    """
    wrong = trained.estimator.predict(X) != y
    order = np.argsort(wrong, kind="stable")
    pairs = [order[y[order] == label][:2] for label in np.unique(y)]
    first, second = zip(*(pair for pair in pairs if len(pair) == 2), strict=True)
    return X[list(first)], X[list(second)]


def new_figure(width: float, height: float) -> Figure:
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path, resolutions: Sequence[int] = DPI) -> None:
    """Write a picture of at most 256 colours, as fine as fits into `MAX_BYTES`."""
    import matplotlib.pyplot as plt
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    for dpi in resolutions:
        buffer = io.BytesIO()
        figure.savefig(buffer, dpi=dpi)
        Image.open(buffer).convert("RGB").quantize(256).save(path, optimize=True)
        if path.stat().st_size < MAX_BYTES:
            break
    plt.close(figure)


FIGURES: dict[str, Callable[..., Figure]] = {
    "mnist_figure_3": figure_3,
    "mnist_figure_4": partial(figure_4, dataset="mnist"),
    "mnist_figure_5": figure_5,
    "svhn_figure_4": partial(figure_4, dataset="svhn"),
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    add_options(parser)
    parser.add_argument("--labels", type=labels_option, default="all", help="a number, or all")
    parser.add_argument("--figures", nargs="+", default=list(FIGURES), choices=list(FIGURES))
    parser.add_argument(
        "--svhn-note", default="", help="printed below SVHN's figure: where its images come from"
    )
    arguments, models = parse(parser, argv, DOCS)
    matplotlib.use("Agg")
    for name in arguments.figures:
        options = {"note": arguments.svhn_note} if name.startswith("svhn") else {}
        figure = FIGURES[name](models, arguments.labels, arguments.seed, **options)
        save(figure, arguments.output / f"{name}.png", DPI[-1:] if models.smoke else DPI)
        print(arguments.output / f"{name}.png")


if __name__ == "__main__":
    main()
