"""The methods of the paper's tables, and what a user of scikit-learn would pick instead."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.checkpoints import steps_of
from benchmarks.networks import NetworkClassifier
from benchmarks.peers import (
    AAEClassifier,
    M1Transformer,
    M2Classifier,
    NeuralClassifier,
    SiddharthClassifier,
    StackedM2Classifier,
)
from sk_equivae import EquiVAEClassifier, EquiVAETransformer
from sk_equivae._prediction import RULES

N_COMPONENTS = 50
# As EquiVAE does by default: a sum over all ten classes takes three times as long.
CLASS_THRESHOLD = 0.01
# Weight of log q(y | x) in M2. With 0.1, as its paper has it for thousands of epochs, q(y | x)
# follows the bound into wrong classes within the few dozen epochs of ours.
ALPHA = 10.0
PRESETS = ("paper", "best")


class Method(NamedTuple):
    """A method, and what it needs.

    Attributes
    ----------
    words : str
        Its name in the tables.
    make : callable
        Takes a seed and gives an estimator.
    presets : tuple
        The settings that there are; methods of others have one.
    rules : tuple
        The values of `predict_with`, measured from one fit; one without such a parameter.
    images : bool
        It sees images; else rows of pixels in [0, 1].
    labeled_only : bool
        It cannot use unlabelled rows, and does not get them.
    max_rows : int or None
        So many rows of the training part, the labelled ones first, where more take too much
        memory or time.
    """

    words: str
    make: Callable[[int], Any]
    presets: tuple[str, ...] = ("default",)
    rules: tuple[str, ...] = ("predict",)
    images: bool = True
    labeled_only: bool = False
    max_rows: int | None = None


def on_pca(name: str, estimator: Any, seed: int) -> Pipeline:
    """An estimator after a PCA."""
    pca = PCA(N_COMPONENTS, svd_solver="covariance_eigh", random_state=seed)
    return Pipeline([("pca", pca), (name, estimator)])


METHODS: dict[str, Method] = {
    "benchmark": Method(
        "Benchmark neural classifier, labels alone",
        lambda seed: NetworkClassifier(random_state=seed),
        presets=PRESETS,
    ),
    "equivae-neural": Method(
        "EquiVAE, neural classifier on f_inv",
        lambda seed: Pipeline(
            [
                ("equivae", EquiVAETransformer(random_state=seed)),
                ("neural", NeuralClassifier(random_state=seed)),
            ]
        ),
        presets=PRESETS,
    ),
    "equivae": Method(
        "EquiVAE", lambda seed: EquiVAEClassifier(random_state=seed), PRESETS, rules=RULES
    ),
    "m2": Method(
        "M2 (Kingma et al. 2014)",
        lambda seed: M2Classifier(alpha=ALPHA, class_threshold=CLASS_THRESHOLD, random_state=seed),
    ),
    "m1m2": Method(
        "M1+M2 (Kingma et al. 2014)",
        lambda seed: Pipeline(
            [
                ("m1", M1Transformer(random_state=seed)),
                (
                    "m2",
                    StackedM2Classifier(
                        alpha=ALPHA, class_threshold=CLASS_THRESHOLD, random_state=seed
                    ),
                ),
            ]
        ),
    ),
    "siddharth": Method(
        "Disentangled VAE (Siddharth et al. 2017)",
        lambda seed: SiddharthClassifier(random_state=seed),
    ),
    "aae": Method(
        "Adversarial autoencoder (Makhzani et al. 2015)",
        lambda seed: AAEClassifier(random_state=seed),
    ),
    "label-spreading": Method(
        "LabelSpreading (knn, 7) on PCA",
        lambda seed: on_pca("spreading", LabelSpreading(kernel="knn", n_neighbors=7), seed),
        images=False,
    ),
    "self-training": Method(
        "SelfTraining (SVC, C=10) on PCA",
        lambda seed: on_pca(
            "training",
            SelfTrainingClassifier(SVC(probability=True, C=10, random_state=seed)),
            seed,
        ),
        images=False,
        max_rows=5_000,
    ),
    "boosting": Method(
        "HistGradientBoosting, labels alone",
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
        images=False,
        labeled_only=True,
        max_rows=20_000,
    ),
    "neighbors": Method(
        "k nearest neighbours (5) on PCA, labels alone",
        lambda seed: on_pca("neighbors", KNeighborsClassifier(), seed),
        images=False,
        labeled_only=True,
    ),
}


def set_epochs(estimator: Any, n_epochs: int) -> None:
    """Train all networks for so many epochs."""
    for _, step in steps_of(estimator, ""):
        if hasattr(step, "max_epochs"):
            step.set_params(max_epochs=n_epochs)


def training_rows(method: Method, y: NDArray) -> NDArray:
    """Which rows of the training part a method gets, in their order."""
    labeled, unlabeled = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)
    rows = labeled if method.labeled_only else np.concatenate([labeled, unlabeled])
    return np.sort(rows[: method.max_rows])
