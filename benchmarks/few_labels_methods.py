"""Methods that learn from few labels: EquiVAE and what it is compared with."""

import contextlib
import json
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.checkpoints import FOLDER as CHECKPOINTS
from benchmarks.checkpoints import attach_checkpoints, training_seconds
from benchmarks.few_labels_data import DATASETS, Rows
from benchmarks.networks import NetworkClassifier
from sk_equivae import EquiVAEClassifier
from sk_equivae.presets import PAPER, paper

RULES = ("prototype", "posterior", "likelihood")
# SVC's time grows with more than the square of the rows, and it is trained again and again.
MOST_UNLABELED = 5_000
FIXMATCH_THRESHOLD = 0.95
# Of a long training so many epochs are told, evenly spread, the last one with them.
HISTORY_EPOCHS = 20
SMOKE_EPOCHS = {"max_epochs": 1}

# Parts of EquiVAE's defaults, and what they are when switched off.
OFF: dict[str, Any] = {
    "ema_decay": 0.0,
    "augment": None,
    "consistency_weight": 0.0,
    "complement_pool": "labeled",
    "distribution_alignment": False,
    "label_spreading": False,
    "prototype_weight": 0.0,
    "batch_norm": False,
    "kl_warmup": 0.0,
    "lr_decay": None,
    "labeled_share": 0.5,
}


class Method(NamedTuple):
    """A way to learn from few labels.

    Attributes
    ----------
    title : str
    make : callable
        Of a data set's name, a number of labels and a seed: an estimator.
    is_network : bool
        Takes images as they are, and standardises rows itself.
    most_unlabeled : int or None
        Takes so many unlabelled rows at most.
    """

    title: str
    make: Callable[[str, int, int], Any]
    is_network: bool = True
    most_unlabeled: int | None = None


def _paper(dataset: str, labels: int, seed: int) -> EquiVAEClassifier:
    """The paper has sizes and epochs for images of MNIST's kind; else they are the defaults."""
    own = DATASETS[dataset].load is None
    return EquiVAEClassifier(**(paper("mnist", labels) if own else PAPER), random_state=seed)


def _standardised(dataset: str, estimator: Any) -> Any:
    has_units = DATASETS[dataset].has_units
    return make_pipeline(StandardScaler(), estimator) if has_units else estimator


def _label_spreading(dataset: str, labels: int, seed: int) -> Any:
    return _standardised(dataset, LabelSpreading(kernel="knn", n_neighbors=7))


def _self_training(dataset: str, labels: int, seed: int) -> Any:
    svc = SVC(probability=True, C=10, random_state=seed)
    return _standardised(dataset, SelfTrainingClassifier(svc))


METHODS = {
    "equivae": Method("EquiVAE", lambda _, __, seed: EquiVAEClassifier(random_state=seed)),
    "paper": Method("EquiVAE, the paper's way", _paper),
    "fixmatch": Method(
        "label network alone, FixMatch",
        lambda _, __, seed: NetworkClassifier(FIXMATCH_THRESHOLD, random_state=seed),
    ),
    "network": Method(
        "label network alone, labelled rows",
        lambda _, __, seed: NetworkClassifier(random_state=seed),
    ),
    "spreading": Method("LabelSpreading (knn, 7)", _label_spreading, is_network=False),
    "selftraining": Method(
        "SelfTraining (SVC, C=10)", _self_training, False, most_unlabeled=MOST_UNLABELED
    ),
}


def make(method: str, dataset: str, labels: int, seed: int, smoke: bool = False) -> Any:
    """An estimator that is ready to fit."""
    estimator = METHODS[method].make(dataset, labels, seed)
    if smoke and METHODS[method].is_network:
        estimator.set_params(**SMOKE_EPOCHS)
    return estimator


def parameters_of(estimator: Any) -> dict[str, Any]:
    """All parameters of an estimator, as JSON has them."""
    return json.loads(json.dumps(estimator.get_params(), default=repr))


def flat(X: NDArray) -> NDArray:
    """Rows of numbers; images of bytes as values in [0, 1]."""
    X = X.reshape(len(X), -1)
    return X / np.float32(255) if X.dtype == np.uint8 else X


def limited(rows: Rows, most_unlabeled: int | None) -> Rows:
    """All labelled rows, and the first unlabelled ones."""
    if most_unlabeled is None:
        return rows
    left_out = np.flatnonzero(rows.y < 0)[most_unlabeled:]
    kept = np.delete(np.arange(len(rows.y)), left_out)
    return Rows(rows.X[kept], rows.y[kept], rows.parts)


def measure(
    method: str, estimator: Any, rows: Rows, place: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Errors in per cent on the parts, by rule; seconds of the fit; and how it went.

    Both parts are measured at once, so that there is one fit; what is chosen is chosen
    by "valid".

    Parameters
    ----------
    method : str
    estimator : estimator
        Not fitted.
    rows : Rows
    place : dict, optional
        Of a training that goes on from a checkpoint, see `attach_checkpoints`.
    """
    _, _, is_network, most_unlabeled = METHODS[method]
    rows = limited(rows, most_unlabeled)
    shaped = np.asarray if is_network else flat
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The `probability` parameter", FutureWarning)
        warnings.filterwarnings("ignore", "Classes .* have a single labelled row", UserWarning)
        # LabelSpreading, of rows that no label reaches: it takes them for the first class
        warnings.filterwarnings("ignore", "invalid value encountered in divide", RuntimeWarning)
        start = time.perf_counter()
        with contextlib.ExitStack() as stack:
            if place is not None:
                stack.enter_context(attach_checkpoints(estimator, method, place, CHECKPOINTS, 0))
            estimator.fit(shaped(rows.X), rows.y)
        seconds = round(time.perf_counter() - start, 2)
        if place is not None:
            seconds = training_seconds(estimator.history_)
        errors = {part: _errors(estimator, shaped(X), y) for part, (X, y) in rows.parts.items()}
    return {
        "fit_seconds": seconds,
        "n_labeled": int((rows.y >= 0).sum()),
        "n_unlabeled": int((rows.y < 0).sum()),
        "errors": errors,
        "history": thinned(getattr(estimator, "history_", [])),
    }


def _errors(estimator: Any, X: NDArray, y: NDArray) -> dict[str, float]:
    """The error of each rule of EquiVAE, or of the one rule that others have."""
    if not isinstance(estimator, EquiVAEClassifier):
        return {"predict": 100 * float(np.mean(estimator.predict(X) != y))}
    errors = {}
    for rule in RULES:
        estimator.set_params(predict_with=rule)
        errors[rule] = 100 * float(np.mean(estimator.predict(X) != y))
    return errors


def thinned(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Some epochs of a history, in five digits.

    Examples
    --------
    >>> [row["epoch"] for row in thinned([{"epoch": n} for n in range(1, 101)])]
    [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100]
    """
    every = -(-len(history) // HISTORY_EPOCHS) or 1
    return [
        {
            name: value if isinstance(value, int) else float(f"{value:.5g}")
            for name, value in row.items()
        }
        for row in history[::-1][::every][::-1]
    ]
