"""Few labels on scikit-learn's 8x8 digits, beside what scikit-learn has for it.

`python -m benchmarks.digits` runs what is not there yet and prints the table; results
are in `benchmarks/results/digits`. Seeds choose the split, the labels and the weights.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.results import FOLDER, mean_and_error, read, run_once
from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import load_few_digits

METHODS: dict[str, Callable[..., Any]] = {
    "EquiVAE": EquiVAEClassifier,
    "EquiVAE, labels alone": EquiVAEClassifier,
    "LabelSpreading (knn, 7)": lambda **_: LabelSpreading(kernel="knn", n_neighbors=7),
    "SelfTraining (SVC, C=10)": lambda random_state, **_: SelfTrainingClassifier(
        SVC(probability=True, C=10, random_state=random_state)
    ),
}
RULES = ("prototype", "posterior", "likelihood")


def measure(method: str, n_labels: int, seed: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Errors in per cent: on the test part, and on the unlabelled training rows."""
    X, y, X_test, y_test = load_few_digits(n_labels, random_state=seed)
    truth = load_few_digits(None, random_state=seed)[1]
    if "EquiVAE" not in method:
        X, X_test = (rows.reshape(len(rows), -1) for rows in (X, X_test))
    unlabeled = y < 0
    X_unlabeled, y_unlabeled = X[unlabeled], truth[unlabeled]
    if method.endswith("labels alone"):
        X, y = X[~unlabeled], y[~unlabeled]
    estimator = METHODS[method](random_state=seed, **parameters)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The `probability` parameter", FutureWarning)
        estimator.fit(X, y)
    figures: dict[str, Any] = {"fit_seconds": round(time.perf_counter() - start, 2)}
    for rule in RULES if "EquiVAE" in method else RULES[:1]:
        if "EquiVAE" in method:
            estimator.set_params(predict_with=rule)
        figures[rule] = {
            "test_error": 100 * float(np.mean(estimator.predict(X_test) != y_test)),
            "unlabeled_error": 100 * float(np.mean(estimator.predict(X_unlabeled) != y_unlabeled)),
        }
    return figures


def run(method: str, n_labels: int, seed: int, parameters: dict[str, Any], folder: Path) -> None:
    name = "".join(c if c.isalnum() else "-" for c in method.lower())
    config = {"method": method, "labels_a_class": n_labels, "seed": seed, **parameters}
    path = folder / f"{name}_{n_labels}_{seed}.json"
    run_once(path, config, lambda: measure(method, n_labels, seed, parameters))


def table(folder: Path) -> str:
    """The mean test error and its standard error, a row a method."""
    errors: dict[tuple[str, str], dict[int, list[float]]] = {}
    for result in read(folder):
        config = result["config"]
        for rule in RULES:
            if rule in result:
                row = errors.setdefault((config["method"], rule), {})
                row.setdefault(config["labels_a_class"], []).append(result[rule]["test_error"])
    labels = sorted({n for row in errors.values() for n in row})
    lines = [
        "| test error, % | " + " | ".join(f"{n} labels a class" for n in labels) + " |",
        "|---|" + "---|" * len(labels),
    ]
    for (method, rule), row in errors.items():
        name = f"{method}, {rule}" if "EquiVAE" in method else method
        cells = [mean_and_error(row[n]) if n in row else "" for n in labels]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.digits", description=__doc__)
    parser.add_argument("--labels", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--output", type=Path, default=FOLDER / "digits")
    parser.add_argument("--smoke", action="store_true", help="one epoch, to see that it runs")
    arguments = parser.parse_args(argv)
    jobs = []
    for method in arguments.methods:
        parameters = {"max_epochs": 1} if arguments.smoke and "EquiVAE" in method else {}
        jobs += [
            delayed(run)(method, n_labels, seed, parameters, arguments.output)
            for seed in arguments.seeds
            for n_labels in arguments.labels
        ]
    Parallel(n_jobs=arguments.jobs)(jobs)
    print(table(arguments.output))


if __name__ == "__main__":
    main()
