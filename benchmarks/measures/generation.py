"""What r and v hold, the bound, and what becomes of style transfer and samples."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from torch import Tensor

from benchmarks.job import Job, Rows, by_rule, view
from benchmarks.measures.errors import error
from sk_equivae import EquiVAEClassifier

PROBE_ROWS, TEST_ROWS, JUDGE_ROWS, SAMPLES_PER_CLASS = 10_000, 10_000, 20_000, 500
BOUND_ROWS = 1_000  # the bound decodes 16 samples of v for each class of a row
PROBES = {
    "linear": LogisticRegression(max_iter=500),
    "neural": MLPClassifier((128, 64), max_iter=50),
}


def measure_generation(job: Job) -> dict[str, Any]:
    """Probes of the class in v and f_inv(x), the bound, samples, reconstruction, style transfer.

    The probes learn from the true labels of training rows, whether the model saw them or not:
    they measure what is in a representation. v is that of the predicted class.
    """
    rows, model = job.rows(), job.estimator()
    figures = job.fit(model, rows)
    n, seed = job.few(PROBE_ROWS, 60), job.run.seed
    X, y = rows.X[:n], rows.truth[:n]
    X_test, y_test = (part[: job.few(TEST_ROWS, 60)] for part in rows.test)
    train, test = representations(model, X, seed), representations(model, X_test, seed + 1)
    sides = {name: (train[name], y, test[name], y_test, seed) for name in train}
    probes = {name: {kind: probe(kind, *s) for kind in PROBES} for name, s in sides.items()}
    bound = model.score_samples(X_test[: job.few(BOUND_ROWS, 10)], random_state=seed)
    _, mean, stddev = encoded(model, X_test)
    kl = ((mean**2 + stddev**2 - 1) / 2 - np.log(stddev)).mean(axis=0)  # by dimension of v
    measures = {
        "probes": probes,
        "chance": round(100 * float(np.bincount(y_test).max() / len(y_test)), 2),
        "kl_v": round(float(kl.sum()), 3),
        "kl_used": int((kl > 0.2).sum()),
        "bound": round(float(bound.mean()), 3),
        **judged(job, model, rows, X_test, y_test),
        **rebuilt(model, X_test, rows.X, seed),
    }
    errors = {rule: error(model, *rows.test) for rule in by_rule(model)}
    return {**figures, "errors": errors, "measures": measures}


def encoded(model: EquiVAEClassifier, X: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """The predicted class, mean and standard deviation of q(v | r_y, x) of each row."""
    fitted = model.model_

    def encode(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        code = fitted.class_logits(x, model.predict_with).argmax(dim=1)
        q_v = fitted.module.encode(x, fitted.tensor(fitted.prototypes)[code])
        return code, q_v.mean, q_v.stddev

    return fitted.map(encode, X.reshape(len(X), -1))


def representations(model: EquiVAEClassifier, X: NDArray, seed: int) -> dict[str, NDArray]:
    """f_inv(x), and v: mean or drawn, as it is or relative to its class, as `transform` has it."""
    codes, mean, stddev = encoded(model, X)
    drawn = mean + stddev * np.random.RandomState(seed).standard_normal(mean.shape)
    found = {"f_inv": model.model_.f_inv(X.reshape(len(X), -1)), "v_mean": mean, "v_drawn": drawn}
    v = {f"{name}_relative": relative(model, found[name], codes) for name in ("v_mean", "v_drawn")}
    returned = model.set_params(representation="equivariant").transform(X)
    return found | v | {"v_returned": returned}


def relative(model: EquiVAEClassifier, v: NDArray, codes: NDArray) -> NDArray:
    """v in units of its class: zero mean and unit covariance within the class."""
    lower = np.linalg.cholesky(model.v_covariance_)[codes]
    return np.linalg.solve(lower, (v - model.v_mean_[codes])[..., None])[..., 0]


def probe(kind: str, Z: NDArray, y: NDArray, Z_test: NDArray, y_test: NDArray, seed: int) -> float:
    """Accuracy of a probe on test rows, in per cent."""
    classifier = clone(PROBES[kind]).set_params(random_state=seed)
    with warnings.catch_warnings():  # a probe need not be at its optimum
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = make_pipeline(StandardScaler(), classifier).fit(Z, y)
    return round(100 * fitted.score(Z_test, y_test), 2)


def judged(job: Job, model: EquiVAEClassifier, rows: Rows, X: NDArray, y: NDArray) -> dict:
    """What an SVC that knows real rows only says of samples and of style transfer."""
    n = job.few(JUDGE_ROWS, 200)
    judge = SVC(C=10, cache_size=1000).fit(view(rows.X[:n]), rows.truth[:n])
    rng = np.random.RandomState(job.run.seed)
    wanted = np.repeat(model.classes_, job.few(SAMPLES_PER_CLASS, 3))
    samples, _ = model.sample(len(wanted), wanted, random_state=job.run.seed)
    content, style = rng.permutation(len(X)), rng.permutation(len(X))
    made = model.transfer_style(X[content], X[style])
    v, v_made = encoded(model, X)[1], encoded(model, made)[1]
    # the random row of a pair is the next pair's style: never the same row
    near, far = (np.linalg.norm(v_made - v[i], axis=1) for i in (style, np.roll(style, 1)))
    right = {
        "judge": judge.predict(view(X)) == y,
        "samples": judge.predict(view(samples)) == wanted,
        "class_kept": judge.predict(view(made)) == y[content],
        "style_nearer": near < far,
    }
    return {name: round(100 * float(np.mean(rows)), 2) for name, rows in right.items()}


def rebuilt(model: EquiVAEClassifier, X: NDArray, X_train: NDArray, seed: int) -> dict[str, float]:
    """Mean square error of rebuilt rows, beside PCA with as many components as r and v have."""
    Z = model.set_params(representation="both").transform(X)
    pixels, train = view(X), view(X_train)
    n_components = min(Z.shape[1], *train.shape)
    pca = PCA(n_components, svd_solver="covariance_eigh", random_state=seed).fit(train)
    by_pca = pca.inverse_transform(pca.transform(pixels))
    made = view(model.inverse_transform(Z))
    errors = {"mse": made - pixels, "mse_pca": by_pca - pixels}
    return {name: round(float(np.mean(error**2)), 6) for name, error in errors.items()}
