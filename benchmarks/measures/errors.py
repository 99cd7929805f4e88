"""Test errors, and how good the probabilities are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.job import Job, by_rule, expected_warnings

N_BINS = 15
N_NOISE = 1_000


def error(estimator: Any, X: NDArray, y: NDArray) -> float:
    """Per cent of rows whose predicted class is wrong."""
    with expected_warnings():
        return round(100 * float(np.mean(estimator.predict(X) != y)), 4)


def measure_errors(job: Job) -> dict[str, Any]:
    """Errors on test and, where there are any, validation rows, of one fit; and probabilities.

    Of these the log-loss and expected calibration error on test rows, and the confidence on noise,
    drawn uniformly between the smallest and the largest value of each feature: a row that belongs
    to no class should not be put into one with confidence.
    """
    rows, estimator = job.rows(), job.estimator()
    figures = job.fit(estimator, rows)
    X, y = rows.test
    noise = noise_like(rows.X, job.few(N_NOISE, 20), job.run.seed)
    errors, measures, valid = {}, {}, {}
    for rule in by_rule(estimator):
        errors[rule] = error(estimator, X, y)
        if len(rows.valid[1]):
            valid[rule] = error(estimator, *rows.valid)
        if hasattr(estimator, "predict_proba"):
            with expected_warnings():
                p, p_noise = (probabilities(estimator, each) for each in (X, noise))
            codes = np.searchsorted(estimator.classes_, y)
            measures[rule] = {
                "log_loss": round(log_loss(p, codes), 5),
                "ece": round(100 * calibration_error(p, codes), 4),
                "noise": round(100 * float(p_noise.max(axis=1).mean()), 3),
            }
    return {**figures, "errors": errors, "measures": measures | ({"valid": valid} if valid else {})}


def probabilities(estimator: Any, X: NDArray) -> NDArray:
    """Those of `predict_proba`; where it has none, all classes alike."""
    p = estimator.predict_proba(X)
    return np.where(np.isnan(p), 1 / p.shape[1], p)


def noise_like(X: NDArray, n: int, seed: int) -> NDArray:
    """Rows of the same shape and dtype, each feature uniform over its range."""
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    rows = np.random.RandomState(seed).uniform(low, high, size=(n, *X.shape[1:]))
    return (rows.round() if X.dtype == np.uint8 else rows).astype(X.dtype)


def log_loss(p: NDArray, codes: NDArray) -> float:
    """Mean of -log p of the true class; a p below 1e-15 counts as 1e-15."""
    return float(-np.log(np.clip(p[np.arange(len(p)), codes], 1e-15, 1)).mean())


def calibration_error(p: NDArray, codes: NDArray) -> float:
    """Expected calibration error: 15 bins of equal width by the largest probability."""
    confidence, right = p.max(axis=1), p.argmax(axis=1) == codes
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, confidence) - np.bincount(bins, right)
    return float(np.abs(gaps).sum() / len(p))
