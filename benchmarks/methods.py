"""The methods: one entry each, a function from a `Task` to an estimator."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.peers.aae import AAE
from benchmarks.peers.classifiers import LabelNetwork, NeuralClassifier
from benchmarks.peers.loop import PeerClassifier, PeerTransformer
from benchmarks.peers.vae import M1, M2, Siddharth, StackedM2
from benchmarks.registry import Method, Task, method
from sk_equivae import EquiVAEClassifier, EquiVAETransformer
from sk_equivae.presets import EPOCHS, PAPER, paper


@method("equivae", "EquiVAE", takes_images=True)
def equivae(task: Task) -> Any:
    return EquiVAEClassifier(random_state=task.seed)


@method("equivae-neural", "EquiVAE, neural classifier on f_inv", takes_images=True)
def equivae_neural(task: Task) -> Any:
    transformer = EquiVAETransformer(random_state=task.seed)
    return Pipeline([("equivae", transformer), ("neural", peer(NeuralClassifier, task))])


def papers_way(entry: Method, task: Task) -> dict[str, Any]:
    """The paper's parameters for a method, as `set_params` takes them."""
    labels = None if task.labels == "all" else int(task.labels)
    name = task.dataset.name
    known = paper(name, labels) if name in EPOCHS else PAPER
    if entry.name == "network":
        # with few labels alone the paper's epochs would be a few dozen steps
        epochs = known.get("max_epochs", "auto") if labels is None else "auto"
        options = {"augment": False, "batch_norm": False, "decay": 0.0}
        own = {name: known[name] for name in ("lr", "batch_size")}
        return {"options": options, "max_epochs": epochs, **own}
    prefix = "equivae__" if entry.name == "equivae-neural" else ""
    return {prefix + key: value for key, value in known.items()}


def peer(module: Any, task: Task, **parameters: Any) -> Any:
    """A classifier that trains a module of `benchmarks.peers`."""
    return PeerClassifier(module, random_state=task.seed, **parameters)


def m1m2(task: Task, **parameters: Any) -> Any:
    """M2 on what M1 makes of the rows."""
    lower = PeerTransformer(M1, max_epochs=PEER_EPOCHS, random_state=task.seed)
    return Pipeline([("m1", lower), ("m2", peer(StackedM2, task, **parameters))])


# What differs from each method's own paper.
NOTES = json.loads(Path(__file__).with_name("notes.json").read_text(encoding="utf-8"))
PEER_EPOCHS = 10
RATE = 3e-3  # EquiVAE's
M2_OPTIONS = {"alpha": 10.0, "class_threshold": 0.01}
method("network", "label network, labels alone", takes_images=True, labeled_only=True)(
    partial(peer, LabelNetwork, lr=RATE)
)
method("fixmatch", "label network, FixMatch", takes_images=True, note=NOTES["fixmatch"])(
    partial(peer, LabelNetwork, options={"threshold": 0.95}, lr=RATE)
)
method("m2", "M2 (Kingma et al. 2014)", takes_images=True, note=NOTES["m2"])(
    partial(peer, M2, options=M2_OPTIONS, max_epochs=PEER_EPOCHS)
)
method("m1m2", "M1+M2 (Kingma et al. 2014)", takes_images=True, note=NOTES["m1m2"])(
    partial(m1m2, options=M2_OPTIONS, max_epochs=40)
)
SIDDHARTH = "Disentangled VAE (Siddharth et al. 2017)"
MAKHZANI = "Adversarial autoencoder (Makhzani et al. 2015)"
for key, title, network in (("siddharth", SIDDHARTH, Siddharth), ("aae", MAKHZANI, AAE)):
    made = partial(peer, network, max_epochs=PEER_EPOCHS)
    method(key, title, takes_images=True, note=NOTES[key])(made)


def plain(estimator: Any, task: Task) -> Any:
    """A scikit-learn estimator, standardised first if features have units of their own."""
    estimator = seeded(estimator, task)
    return make_pipeline(StandardScaler(), estimator) if task.dataset.has_units else estimator


def on_pca(estimator: Any, task: Task) -> Any:
    """The same after a PCA, for images."""
    pca = PCA(50, svd_solver="covariance_eigh", random_state=task.seed)
    return make_pipeline(pca, seeded(estimator, task))


def seeded(estimator: Any, task: Task) -> Any:
    """A copy whose generators start from the seed of the task."""
    estimator = clone(estimator)
    names = [name for name in estimator.get_params() if name.endswith("random_state")]
    return estimator.set_params(**dict.fromkeys(names, task.seed))


SPREADING = LabelSpreading(kernel="knn", n_neighbors=7)
SELF_TRAINING = SelfTrainingClassifier(SVC(probability=True, C=10))
# SVC's time grows with more than the square of the rows, and it is trained again and again.
FEW = {"max_unlabeled": 5_000, "max_labeled": 5_000}
ALONE = {"labeled_only": True}
TREES, LOGISTIC = ExtraTreesClassifier(300), LogisticRegression(max_iter=2_000)
TREES_IN_TURN = HistGradientBoostingClassifier()
BOOSTING = "HistGradientBoosting, labels alone, at most 20,000 rows"
NEIGHBORS = "k nearest neighbours (5) on PCA, labels alone"

method("spreading", "LabelSpreading (knn, 7)")(partial(plain, SPREADING))
method("selftraining", "SelfTraining (SVC, C=10)", **FEW, note=NOTES["selftraining"])(
    partial(plain, SELF_TRAINING)
)
method("selftraining-trees", "SelfTraining (ExtraTrees)", **FEW)(
    partial(plain, SelfTrainingClassifier(ExtraTreesClassifier(300)))
)
method("svc", "SVC (C=10), labels alone", **ALONE)(partial(plain, SVC(C=10)))
method("logistic", "logistic regression, labels alone", **ALONE)(partial(plain, LOGISTIC))
method("trees", "ExtraTrees (300), labels alone", **ALONE)(partial(plain, TREES))
method("spreading-pca", "LabelSpreading (knn, 7) on PCA")(partial(on_pca, SPREADING))
method("selftraining-pca", "SelfTraining (SVC, C=10) on PCA, 5,000 rows", **FEW)(
    partial(on_pca, SELF_TRAINING)
)
method("boosting", BOOSTING, **ALONE, max_labeled=20_000)(partial(plain, TREES_IN_TURN))
method("neighbors-pca", NEIGHBORS, **ALONE)(partial(on_pca, KNeighborsClassifier()))
