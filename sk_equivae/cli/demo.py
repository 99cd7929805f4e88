"""The demo: handwritten digits with few labels, compared with scikit-learn.

Run it with `sk-equivae demo`.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import accuracy_score
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from ..datasets import load_few_digits
from ..display import LatentSpaceDisplay, SamplesDisplay
from ..estimators import EquiVAEClassifier

Rows = NDArray[Any]
Data = tuple[Rows, Rows, Rows, Rows]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the demo."""
    parser.add_argument("--output", default="digits.png", help="the picture (default: %(default)s)")
    parser.add_argument(
        "--labels", type=int, default=10, help="labels per digit (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument(
        "--epochs",
        type=int,
        default=None,
        help="number of epochs (default: chosen by the estimator)",
    )


def peers(n_labels: int, seed: int) -> dict[str, Any]:
    """Return the estimators of scikit-learn for few labels, on flat images."""
    spreading = ("LabelSpreading (knn, 7)", LabelSpreading(kernel="knn", n_neighbors=7))
    # Self-training needs probabilities. Those of the SVC itself make the stronger peer;
    # versions of scikit-learn without them get calibrated ones.
    if "probability" in SVC().get_params():
        svc = SVC(probability=True, C=10, gamma="scale", random_state=seed)
        return dict([spreading, ("SelfTraining (SVC)", SelfTrainingClassifier(svc))])
    svc = CalibratedClassifierCV(
        SVC(C=10, gamma="scale"), method="temperature", cv=min(5, n_labels), ensemble=False
    )
    return dict([spreading, ("SelfTraining (calibrated SVC)", SelfTrainingClassifier(svc))])


def compare(
    data: Data, make_estimator: Callable[[], Any], n_labels: int, seed: int
) -> tuple[Any, list[tuple[str, float, float]]]:
    """Train all on the same rows.

    Return the fitted EquiVAE, and the name, the accuracy and the seconds of each estimator.
    """
    X_train, y_train, X_test, y_test = data
    flat_train, flat_test = (X.reshape(len(X), -1) for X in (X_train, X_test))
    labeled = y_train >= 0
    model = make_estimator()
    runs = [
        ("EquiVAE", model, X_train, y_train, X_test),
        *(
            (name, peer, flat_train, y_train, flat_test)
            for name, peer in peers(n_labels, seed).items()
        ),
        ("EquiVAE, labels alone", make_estimator(), X_train[labeled], y_train[labeled], X_test),
    ]
    results = []
    for name, estimator, X, y, X_new in runs:
        start = time.perf_counter()
        with warnings.catch_warnings():
            # scikit-learn deprecates `probability`; see `peers`
            warnings.filterwarnings("ignore", "The `probability` parameter", FutureWarning)
            estimator.fit(X, y)
        seconds = time.perf_counter() - start
        results.append((name, accuracy_score(y_test, estimator.predict(X_new)), seconds))
    return model, results


def draw(model: Any, X: Rows, y: Rows, seed: int, path: str) -> None:
    """Draw generated digits and the two latent spaces into one picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # not by pyplot, which may open windows
    figure = Figure(figsize=(15, 4.8))
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.12)
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 3, width_ratios=[1.25, 1, 1])
    SamplesDisplay.from_estimator(model, n_samples=8, random_state=seed, ax=axes[0])
    LatentSpaceDisplay.from_estimator(model, X, y, ax=axes[1:])
    figure.savefig(path, dpi=120)


def run(arguments: argparse.Namespace) -> None:
    """Train, compare, draw, and explain the picture."""
    if arguments.labels < 2:
        raise ValueError(
            f"--labels: expected at least 2 labels of each digit, got {arguments.labels}."
        )
    data = load_few_digits(arguments.labels, random_state=arguments.seed)
    n_train, n_test = len(data[1]), len(data[3])
    n_labeled = int(np.sum(data[1] >= 0))
    print(
        f"Handwritten digits, 8x8 pixels. Of {n_train} images to learn from, {n_labeled} have a "
        f"label ({arguments.labels} of each digit).\nAccuracy is on {n_test} other images."
    )

    def make_estimator() -> EquiVAEClassifier:
        epochs = "auto" if arguments.epochs is None else arguments.epochs
        return EquiVAEClassifier(max_epochs=epochs, random_state=arguments.seed)

    model, results = compare(data, make_estimator, arguments.labels, arguments.seed)
    width = max(len(name) for name, _, _ in results)
    print(f"\n{'':{width}}  accuracy  seconds")
    for name, accuracy, seconds in results:
        print(f"{name:{width}}  {accuracy:8.1%}  {seconds:7.1f}")

    draw(model, data[2], data[3], arguments.seed, arguments.output)
    print(
        f"\nThe picture is in {arguments.output}.\n"
        "Left: generated digits, one column per class: what they share comes from r of the\n"
        "class, what differs within a column from v.\n"
        "Middle: r of the test images, coloured by their true digit; the classes should be\n"
        "separate, each around its cross.\n"
        "Right: v of the same images, which describes how a digit is written rather than\n"
        "which digit it is; the more the colours mix, the less it depends on the class."
    )
