"""What can be done with r and v apart, as numbers, on MNIST.

`python -m benchmarks.generation --data DIR --labels all` trains what is not trained yet,
measures what is not measured yet and prints the table; results are in
`benchmarks/results/generation`. The seed chooses the labels, the weights and the draws.
"""

import argparse
import copy
import warnings
from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import getitem, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestCentroid
from sklearn.svm import SVC

from benchmarks.models import Models, Trained, add_options, labels_option, parse
from benchmarks.results import FOLDER, digest, mean_and_error, read, run_once

JUDGE_ROWS, JUDGE_ACCURACY = 20_000, 97.0
N_SAMPLES = 10_000
OUTLIER_ROWS = 2_000
OLD, NEW = tuple(range(8)), (8, 9)
NEW_ROWS, N_DRAWS = (1, 5, 20), 10
PARTS = {"valid": "validation rows", "test": "test rows"}


def flat(X: NDArray) -> NDArray[np.float32]:
    """Images as rows of pixels in [0, 1]."""
    return (X.reshape(len(X), -1) / np.float32(255)).astype(np.float32)


def rows_of(models: Models, dataset: str, part: str) -> tuple[NDArray, NDArray]:
    """Images and labels that no model was trained on: the validation or the test part."""
    split = models.split(dataset)
    return (split.X_test, split.y_test) if part == "test" else (split.X_valid, split.y_valid)


def share(right: NDArray) -> float:
    return 100 * float(np.mean(right))


class Judge:
    """An SVC on pixels, which knows real images only."""

    def __init__(self, models: Models):
        split = models.split("mnist")
        config = {"rows": JUDGE_ROWS, "kernel": "rbf", "C": 10, "smoke": models.smoke}

        def train() -> tuple[SVC, float]:
            svc = SVC(C=config["C"], kernel=config["kernel"], cache_size=1000)
            svc.fit(flat(split.X_train[:JUDGE_ROWS]), split.y_train[:JUDGE_ROWS])
            return svc, share(svc.predict(flat(split.X_test)) == split.y_test)

        self.svc, self.accuracy = models.once("judge", config, train)
        if self.accuracy < JUDGE_ACCURACY and not models.smoke:
            raise ValueError(
                f"Expected the judge to know at least {JUDGE_ACCURACY}% of real test images; got "
                f"{self.accuracy:.2f}%. Raise JUDGE_ROWS."
            )

    def agrees(self, X: NDArray, y: NDArray) -> NDArray[np.bool_]:
        return self.svc.predict(flat(X)) == y


# ---------------------------------------------------------------- the measurements


def measure_samples(models: Models, labels: Any, seed: int, part: str) -> dict[str, Any]:
    """Share of samples that an independent judge recognises as their class."""
    trained, judge = models.get("mnist", labels, seed), Judge(models)
    classes = trained.estimator.classes_
    n = len(classes) * 5 if models.smoke else N_SAMPLES
    X, y = trained.estimator.sample(n, np.resize(classes, n), random_state=seed)
    right = judge.agrees(X, y)
    return {
        "recognised": share(right),
        "of_class": {str(label): share(right[y == label]) for label in classes},
        "n_samples": n,
        "judge_accuracy": judge.accuracy,
        **trained.origin(),
    }


def measure_style(models: Models, labels: Any, seed: int, part: str) -> dict[str, Any]:
    """Whether results of style transfer keep the class of one row and take the v of the other."""
    trained, judge = models.get("mnist", labels, seed), Judge(models)
    model = trained.estimator.set_params(representation="equivariant")
    X, y = rows_of(models, "mnist", part)
    rng = np.random.RandomState(seed)
    content, style = rng.permutation(len(X)), rng.permutation(len(X))
    made = model.transfer_style(X[content], X[style])
    v, v_made = model.transform(X), model.transform(made)
    # the random row of a pair is the next pair's style: never the same row
    near, far = (np.linalg.norm(v_made - v[i], axis=1) for i in (style, np.roll(style, 1)))
    return {
        "class_kept": share(judge.agrees(made, y[content])),
        "style_nearer": share(near < far),
        "n_pairs": len(X),
        "judge_accuracy": judge.accuracy,
        **trained.origin(),
    }


def measure_reconstruction(models: Models, labels: Any, seed: int, part: str) -> dict[str, Any]:
    """Mean square error of pixels in [0, 1] by r and v, beside PCA with as many components."""
    trained = models.get("mnist", labels, seed)
    model = trained.estimator.set_params(representation="both")
    X, _ = rows_of(models, "mnist", part)
    Z = model.transform(X)
    pca = PCA(Z.shape[1], random_state=seed).fit(flat(models.split("mnist").X_train))
    made = {
        "mse": flat(model.inverse_transform(Z)),
        "mse_with_r_of_class": flat(model.reconstruct(X)),
        "mse_pca": pca.inverse_transform(pca.transform(flat(X))),
    }
    errors = {name: float(np.mean((rows - flat(X)) ** 2)) for name, rows in made.items()}
    return {**errors, "n_components": Z.shape[1], **trained.origin()}


def measure_outliers(models: Models, labels: Any, seed: int, part: str) -> dict[str, Any]:
    """AUROC of `score_samples` of a model of MNIST, Fashion-MNIST being the outliers."""
    return _outliers(models, models.get("mnist", labels, seed), "mnist", "fashion", part)


def measure_outliers_reverse(models: Models, labels: Any, seed: int, part: str) -> dict[str, Any]:
    """The same of a model of Fashion-MNIST, MNIST being the outliers."""
    return _outliers(models, models.get("fashion", labels, seed), "fashion", "mnist", part)


def _outliers(
    models: Models, trained: Trained, known: str, unknown: str, part: str
) -> dict[str, Any]:
    n = 5 if models.smoke else OUTLIER_ROWS
    inside, outside = (
        trained.estimator.score_samples(rows_of(models, dataset, part)[0][:n])
        for dataset in (known, unknown)
    )
    truth = np.repeat([1, 0], [len(inside), len(outside)])
    return {
        "auroc": float(roc_auc_score(truth, np.concatenate([inside, outside]))),
        "median_inside": float(np.median(inside)),
        "median_outside": float(np.median(outside)),
        "n_rows": len(truth),
        **trained.origin(),
    }


def nearest_centroid(train: NDArray, y: NDArray, rows: NDArray) -> NDArray:
    with warnings.catch_warnings():  # of margins that are black in all images
        warnings.filterwarnings("ignore", "self.within_class_std_dev_", UserWarning)
        return NearestCentroid().fit(train, y).predict(rows)


def measure_added(models: Models, labels: Any, seed: int, part: str) -> dict[str, Any]:
    """Accuracy on ten digits, of which two came after training with a few rows each."""
    trained = models.get("mnist", labels, seed, classes=OLD)
    split, (X, y) = models.split("mnist"), rows_of(models, "mnist", part)
    X_old, y_old = models.training_rows("mnist", labels, seed, OLD)
    labeled = y_old >= 0
    # as many components as r has, of all rows: EquiVAE sees the unlabelled ones as well
    n_components = trained.estimator.prototypes_.shape[1]
    pixels_old, pixels = flat(X_old), flat(X)
    rng = np.random.RandomState(seed)
    accuracy: dict[str, dict[str, list[float]]] = {name: {} for name in METHODS}
    for n_new in NEW_ROWS:
        for _ in range(2 if models.smoke else N_DRAWS):
            few = np.concatenate(
                [rng.choice(np.flatnonzero(split.y_train == k), n_new, replace=False) for k in NEW]
            )
            X_few, y_few = split.X_train[few], split.y_train[few]
            train = np.concatenate([pixels_old, flat(X_few)])
            known = np.concatenate([np.flatnonzero(labeled), len(X_old) + np.arange(len(few))])
            codes = np.concatenate([y_old[labeled], y_few])
            pca = PCA(n_components, svd_solver="covariance_eigh").fit(train)
            plane, test_plane = pca.transform(train[known]), pca.transform(pixels)
            predicted = (
                copy.deepcopy(trained.estimator).add_classes(X_few, y_few).predict(X),
                nearest_centroid(train[known], codes, pixels),
                nearest_centroid(plane, codes, test_plane),
            )
            for name, guess in zip(METHODS, predicted, strict=True):
                accuracy[name].setdefault(str(n_new), []).append(share(guess == y))
    return {"accuracy": accuracy, "n_components": n_components, **trained.origin()}


METHODS = ("EquiVAE", "nearest centroid on pixels", "nearest centroid on PCA")
MEASUREMENTS: dict[str, Callable[[Models, Any, int, str], dict[str, Any]]] = {
    "samples": measure_samples,
    "style": measure_style,
    "reconstruction": measure_reconstruction,
    "outliers": measure_outliers,
    "outliers-reverse": measure_outliers_reverse,
    "added": measure_added,
}

# ---------------------------------------------------------------- the table


class Line(NamedTuple):
    """A line of the table, from a figure of a measurement."""

    words: str
    measurement: str
    figure: tuple[str, ...]
    bar: str = ""
    decimals: int = 2


LINES = (
    Line("The judge, on real test images, %", "samples", ("judge_accuracy",), "≥ 97"),
    Line(
        "Samples recognised as their class, %",
        "samples",
        ("recognised",),
        "≥ 95; ≥ 90 with 100 labels",
    ),
    Line("Style transfer: class kept, %", "style", ("class_kept",), "≥ 95"),
    Line(
        "Style transfer: v nearer to the style's than to a random row's, %",
        "style",
        ("style_nearer",),
        "≥ 95",
    ),
    Line(
        "Reconstruction by r and v, mean square error",
        "reconstruction",
        ("mse",),
        "≤ PCA",
        decimals=4,
    ),
    Line("Reconstruction by PCA with as many components", "reconstruction", ("mse_pca",), "", 4),
    Line("AUROC of MNIST against Fashion-MNIST", "outliers", ("auroc",), "", 4),
    Line("AUROC of Fashion-MNIST against MNIST", "outliers-reverse", ("auroc",), "", 4),
    *(
        Line(
            f"8 and 9 added from {n} row{'s' * (n > 1)} each, accuracy on all ten, %: {method}",
            "added",
            ("accuracy", method, str(n)),
            "> both peers" if method == METHODS[0] else "",
        )
        for n in NEW_ROWS
        for method in METHODS
    ),
)


def table(folder: Path) -> str:
    """A line a figure, a column for each number of labels; empty without results."""
    results = list(read(folder))
    if not results:
        return ""
    columns = dict(sorted((_column(result["config"]) for result in results), key=itemgetter(1)))
    lines = ["| | " + " | ".join(columns) + " | bar |", "|---|" + "---|" * (len(columns) + 1)]
    for line in LINES:
        row: dict[str, list[float]] = {name: [] for name in columns}
        for result in results:
            if result["config"]["measurement"] == line.measurement:
                value = reduce(getitem, line.figure, result)
                row[_column(result["config"])[0]] += value if isinstance(value, list) else [value]
        if any(row.values()):
            cells = [
                mean_and_error(values, line.decimals) if values else "" for values in row.values()
            ]
            lines.append(f"| {line.words} | " + " | ".join([*cells, line.bar]) + " |")
    return "\n".join(lines)


def _column(config: dict[str, Any]) -> tuple[str, tuple]:
    """The name of a result's column, and what columns are sorted by."""
    changed = "".join(f", {name}={value}" for name, value in config["parameters"].items())
    labels = config["labels"]
    order = (labels != "all", -1 if labels == "all" else -labels, config["part"], changed)
    return f"{labels} labels, {PARTS[config['part']]}{changed}", order


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generation", description=__doc__)
    add_options(parser)
    parser.add_argument("--labels", type=labels_option, default="all", help="a number, or all")
    parser.add_argument("--part", choices=list(PARTS), default="valid", help="rows to measure on")
    parser.add_argument(
        "--measurements", nargs="+", default=list(MEASUREMENTS), choices=list(MEASUREMENTS)
    )
    arguments, models = parse(parser, argv, FOLDER / "generation")
    for measurement in arguments.measurements:
        config = {
            "measurement": measurement,
            "labels": arguments.labels,
            "seed": arguments.seed,
            "part": arguments.part,
            "parameters": models.overrides,
        }
        name = f"{measurement}_{arguments.labels}_{arguments.seed}_{arguments.part}"
        name += f"_{digest(models.overrides)}" if models.overrides else ""
        measure = partial(
            MEASUREMENTS[measurement], models, arguments.labels, arguments.seed, arguments.part
        )
        run_once(arguments.output / f"{name}.json", config, measure)
    print(table(arguments.output))


if __name__ == "__main__":
    main()
