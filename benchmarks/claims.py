"""What the paper's figures show, as numbers.

How much of the class a probe finds in v, beside chance and beside what it finds in f_inv(x);
KL[q(v | r_y, x) || p(v)], which does not vanish; and a bound on log p(x).
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from benchmarks.data import Split
from sk_equivae import EquiVAEClassifier
from sk_equivae._distributions import kl_v

PROBE_ROWS = 10_000
# The bound decodes 16 samples of v for each class of a row.
BOUND_ROWS = 1_000
REPRESENTATIONS = {"v": "equivariant", "f_inv": "invariant"}


def probes(seed: int) -> dict[str, Any]:
    """A linear classifier and a small neural one."""
    return {
        "linear": LogisticRegression(max_iter=500),
        "neural": MLPClassifier((64,), max_iter=50, random_state=seed),
    }


def probe_accuracy(
    Z: NDArray, y: NDArray, Z_test: NDArray, y_test: NDArray, seed: int
) -> dict[str, float]:
    """Accuracy of each probe on test rows, in per cent."""
    accuracy = {}
    for name, probe in probes(seed).items():
        with warnings.catch_warnings():  # a probe need not be at its optimum
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = make_pipeline(StandardScaler(), probe).fit(Z, y)
        accuracy[name] = 100 * model.score(Z_test, y_test)
    return accuracy


def mean_kl_v(estimator: EquiVAEClassifier, X: NDArray) -> float:
    """KL[q(v | r_y, x) || p(v)] at the predicted class, in nats, averaged over rows."""
    r = estimator._tensor(estimator.prototypes_)

    def divergence(x: Tensor) -> Tensor:
        code = estimator._class_logits(x).argmax(dim=1)
        return kl_v(estimator._module.encode(x, r[code]))

    return float(estimator._map(divergence, estimator._rows(X)).mean())


def measure_claims(estimator: EquiVAEClassifier, split: Split, seed: int) -> dict[str, Any]:
    """All of it, on test rows.

    The probes learn from the true labels of training rows, whether the model saw them or not:
    they measure what is in a representation. v is that of the predicted class.
    """
    X, y = split.X_train[:PROBE_ROWS], split.y_train[:PROBE_ROWS]
    accuracy = {}
    for name, representation in REPRESENTATIONS.items():
        estimator.set_params(representation=representation)
        Z, Z_test = estimator.transform(X), estimator.transform(split.X_test)
        accuracy[name] = probe_accuracy(Z, y, Z_test, split.y_test, seed)
    bound = estimator.score_samples(split.X_test[:BOUND_ROWS], random_state=seed)
    return {
        "probe_accuracy": accuracy,
        "chance": 100 * float(np.bincount(split.y_test).max() / len(split.y_test)),
        "kl_v": mean_kl_v(estimator, split.X_test),
        "bound": float(bound.mean()),
        "probe_rows": len(y),
        "bound_rows": len(bound),
    }
