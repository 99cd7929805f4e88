"""Errors of imputed values, of tables with values removed."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OrdinalEncoder

from benchmarks.datasets import raw_table
from benchmarks.job import Job, Rows
from benchmarks.registry import Setting

MAX_ROWS = 2_000
Rng = np.random.RandomState


def removed(X: NDArray, share: float, rng: Rng, by_column: bool = False) -> NDArray:
    """Which values to remove: at random, or the more likely the larger another column is."""
    n, n_columns = X.shape
    chance = np.full(X.shape, share)
    for i in range(n_columns if by_column else 0):
        other = X[:, rng.choice(np.delete(np.arange(n_columns), i))]
        rank = np.argsort(np.argsort(other + 1e-9 * rng.rand(n))) / n
        chance[:, i] = np.clip(2 * share * rank, 0, 0.95)
    return (rng.rand(n, n_columns) < chance) & ~np.isnan(X)


SETTINGS = {
    f"{kind}-{share}": Setting(f"{share}% {title}", draw=partial(removed, by_column=kind == "mar"))
    for kind, title in (("mcar", "at random"), ("mar", "by another column"))
    for share in (10, 30, 50)
}


def measure_imputation(job: Job) -> dict[str, Any]:
    """Mean over the columns: RMSE by the standard deviation, or the share of wrong categories."""
    rng = Rng(job.run.seed)
    X, y, n_numbers = raw_table(job.run.dataset, job.data)
    X = X[rng.permutation(len(X))[: job.few(MAX_ROWS, 60)]]
    X[:, n_numbers:] = OrdinalEncoder().fit_transform(np.where(X == "", None, X)[:, n_numbers:])
    X = X.astype(np.float64)
    hidden = job.setting.draw(X, int(job.run.setting.split("-")[1]) / 100, rng)
    gaps = np.where(hidden, np.nan, X)
    imputer = job.estimator().set_params(categorical_features=np.arange(X.shape[1]) >= n_numbers)
    figures = job.fit(imputer, Rows(gaps, y[: len(X)], y, (X, y), (X, y), ""))
    filled, errors = imputer.transform(gaps), []
    for i in np.flatnonzero(hidden.any(axis=0) & (np.nanstd(X, axis=0) > 0)):
        true, found = X[hidden[:, i], i], filled[hidden[:, i], i]
        rmse = np.sqrt(np.mean((true - found) ** 2)) / np.nanstd(X[:, i])
        errors.append(rmse if i < n_numbers else np.mean(true != found))
    return {
        **figures,
        "errors": {"predict": round(100 * float(np.mean(errors)), 3)},
        "measures": {},
    }
