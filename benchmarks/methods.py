"""The methods: one function each, from a `Task` to an estimator."""

from typing import Any

from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.peers.aae import AAE
from benchmarks.peers.classifiers import LabeledNetwork, LabelNetwork, NeuralClassifier
from benchmarks.peers.loop import PeerClassifier, PeerTransformer
from benchmarks.peers.vae import M1, M2, Siddharth, StackedM2
from benchmarks.registry import Method, Task, method
from sk_equivae import EquiVAEClassifier, EquiVAETransformer
from sk_equivae.presets import EPOCHS, PAPER, paper

N_COMPONENTS = 50
# SVC's time grows with more than the square of the rows, and it is trained again and again.
MOST_UNLABELED = 5_000
PEER_EPOCHS, STACKED_EPOCHS = 10, 40
# As EquiVAE does by default: a sum over all ten classes takes three times as long.
CLASS_THRESHOLD = 0.01
# Weight of log q(y | x) in M2. With 0.1, which its paper has for thousands of epochs, q(y | x)
# follows the bound into wrong classes within the few epochs of ours.
ALPHA = 10.0
FIXMATCH_THRESHOLD = 0.95
NETWORK_RATE = 3e-3  # EquiVAE's

# ---------------------------------------------------------------- EquiVAE


@method("equivae", "EquiVAE", takes_images=True)
def equivae(task: Task) -> Any:
    return EquiVAEClassifier(random_state=task.seed)


@method("equivae-neural", "EquiVAE, neural classifier on f_inv", takes_images=True)
def equivae_neural(task: Task) -> Any:
    classifier = PeerClassifier(NeuralClassifier, random_state=task.seed)
    return Pipeline(
        [("equivae", EquiVAETransformer(random_state=task.seed)), ("neural", classifier)]
    )


def papers_way(entry: Method, task: Task) -> dict[str, Any]:
    """The paper's parameters for a method, as `set_params` takes them."""
    labels = None if task.labels == "all" else int(task.labels)
    name = task.dataset.name
    known = paper(name, labels) if name in EPOCHS else PAPER
    if entry.name == "network":
        # with few labels alone the paper's epochs would be a few dozen steps
        epochs = known.get("max_epochs", "auto") if labels is None else "auto"
        return {
            "options": {"augment": False, "batch_norm": False, "decay": 0.0},
            "lr": known["lr"],
            "batch_size": known["batch_size"],
            "max_epochs": epochs,
        }
    prefix = "equivae__" if entry.name == "equivae-neural" else ""
    return {prefix + key: value for key, value in known.items()}


# ---------------------------------------------------------------- networks without our model


@method("network", "label network, labels alone", takes_images=True, labeled_only=True)
def network(task: Task) -> Any:
    return PeerClassifier(LabeledNetwork, lr=NETWORK_RATE, random_state=task.seed)


@method(
    "fixmatch",
    "label network, FixMatch",
    takes_images=True,
    note=(
        "FixMatch on EquiVAE's body and budget: its paper has Wide ResNets, RandAugment and a "
        "million steps"
    ),
)
def fixmatch(task: Task) -> Any:
    options = {"threshold": FIXMATCH_THRESHOLD}
    return PeerClassifier(LabelNetwork, options, lr=NETWORK_RATE, random_state=task.seed)


@method(
    "m2",
    "M2 (Kingma et al. 2014)",
    takes_images=True,
    note=(
        "M2: convolutions instead of dense layers, weight of log q(y|x) 10 instead of 0.1, classes "
        "below q(y|x) = 0.01 left out of the sum, 10 epochs instead of thousands"
    ),
)
def m2(task: Task) -> Any:
    options = {"alpha": ALPHA, "class_threshold": CLASS_THRESHOLD}
    return PeerClassifier(M2, options, max_epochs=PEER_EPOCHS, random_state=task.seed)


@method(
    "m1m2",
    "M1+M2 (Kingma et al. 2014)",
    takes_images=True,
    note="M1+M2: as M2; 10 epochs of M1 and 40 of M2",
)
def m1m2(task: Task) -> Any:
    options = {"alpha": ALPHA, "class_threshold": CLASS_THRESHOLD}
    lower = PeerTransformer(M1, max_epochs=PEER_EPOCHS, random_state=task.seed)
    upper = PeerClassifier(StackedM2, options, max_epochs=STACKED_EPOCHS, random_state=task.seed)
    return Pipeline([("m1", lower), ("m2", upper)])


@method(
    "siddharth",
    "Disentangled VAE (Siddharth et al. 2017)",
    takes_images=True,
    note="Siddharth et al.: our convolutions, 10 epochs instead of hundreds",
)
def siddharth(task: Task) -> Any:
    return PeerClassifier(Siddharth, max_epochs=PEER_EPOCHS, random_state=task.seed)


@method(
    "aae",
    "Adversarial autoencoder (Makhzani et al. 2015)",
    takes_images=True,
    note=(
        "adversarial autoencoder: our convolutions and Adam instead of dense layers and SGD, 10 "
        "epochs instead of hundreds"
    ),
)
def aae(task: Task) -> Any:
    return PeerClassifier(AAE, max_epochs=PEER_EPOCHS, random_state=task.seed)


# ---------------------------------------------------------------- scikit-learn


def scaled(task: Task, estimator: Any) -> Any:
    """After a StandardScaler, if features have units of their own."""
    return make_pipeline(StandardScaler(), estimator) if task.dataset.has_units else estimator


def on_pca(task: Task, estimator: Any) -> Any:
    """After a PCA, for images."""
    pca = PCA(N_COMPONENTS, svd_solver="covariance_eigh", random_state=task.seed)
    return make_pipeline(pca, estimator)


def self_trained_svc(task: Task) -> Any:
    return SelfTrainingClassifier(SVC(probability=True, C=10, random_state=task.seed))


@method("spreading", "LabelSpreading (knn, 7)")
def spreading(task: Task) -> Any:
    return scaled(task, LabelSpreading(kernel="knn", n_neighbors=7))


@method(
    "selftraining",
    "SelfTraining (SVC, C=10)",
    max_unlabeled=MOST_UNLABELED,
    note="SelfTraining gets at most 5,000 of the unlabelled rows",
)
def selftraining(task: Task) -> Any:
    return scaled(task, self_trained_svc(task))


@method("svc", "SVC (C=10), labels alone", labeled_only=True)
def svc(task: Task) -> Any:
    return scaled(task, SVC(C=10, random_state=task.seed))


@method("logistic", "logistic regression, labels alone", labeled_only=True)
def logistic(task: Task) -> Any:
    return scaled(task, LogisticRegression(max_iter=2_000))


@method("trees", "ExtraTrees (300), labels alone", labeled_only=True)
def trees(task: Task) -> Any:
    return ExtraTreesClassifier(300, random_state=task.seed)


@method("spreading-pca", "LabelSpreading (knn, 7) on PCA")
def spreading_pca(task: Task) -> Any:
    return on_pca(task, LabelSpreading(kernel="knn", n_neighbors=7))


@method(
    "selftraining-pca",
    "SelfTraining (SVC, C=10) on PCA, 5,000 rows",
    max_unlabeled=MOST_UNLABELED,
    max_labeled=MOST_UNLABELED,
)
def selftraining_pca(task: Task) -> Any:
    return on_pca(task, self_trained_svc(task))


@method(
    "boosting",
    "HistGradientBoosting, labels alone, at most 20,000 rows",
    labeled_only=True,
    max_labeled=20_000,
)
def boosting(task: Task) -> Any:
    return HistGradientBoostingClassifier(random_state=task.seed)


@method("neighbors-pca", "k nearest neighbours (5) on PCA, labels alone", labeled_only=True)
def neighbors_pca(task: Task) -> Any:
    return on_pca(task, KNeighborsClassifier())
