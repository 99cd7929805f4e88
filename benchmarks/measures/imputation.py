"""Errors of imputed values, of tables with values removed."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from benchmarks.datasets import raw_table
from benchmarks.job import Job, Rows
from benchmarks.registry import Setting

MAX_ROWS = 2_000
Rng = np.random.RandomState


def removed(X: NDArray, share: float, rng: Rng, by_column: bool = False) -> NDArray:
    """Which values to remove: at random, or the more likely the larger another column is."""
    chance = np.full(X.shape, share)
    for i in range(X.shape[1] if by_column else 0):
        other = X[:, rng.choice(np.delete(np.arange(X.shape[1]), i))]
        rank = np.argsort(np.argsort(other + 1e-9 * rng.rand(len(X)))) / len(X)
        chance[:, i] = np.clip(2 * share * rank, 0, 0.95)
    return (rng.rand(*X.shape) < chance) & ~np.isnan(X)


SETTINGS = {
    f"{kind}-{share}": Setting(f"{share}% {title}", draw=partial(removed, by_column=kind == "mar"))
    for kind, title in (("mcar", "at random"), ("mar", "by another column"))
    for share in (10, 30, 50)
}


def measure_imputation(job: Job) -> dict[str, Any]:
    """Mean over the columns: RMSE by the standard deviation, or the share of wrong categories.

    The imputers of scikit-learn see categories one-hot, and the largest value of a block counts.
    """
    rng, imputer = Rng(job.run.seed), job.estimator()
    X, _, n_numbers = raw_table(job.run.dataset, job.data)
    X = X[rng.permutation(len(X))[: job.few(MAX_ROWS, 60)]]
    is_code = np.arange(X.shape[1]) >= n_numbers
    for part, encoder in (~is_code, StandardScaler()), (is_code, OrdinalEncoder()):
        if part.any():
            X[:, part] = encoder.fit_transform(np.where(X == "", None, X)[:, part])
    X = X.astype(np.float64)
    hidden = job.setting.draw(X, int(job.run.setting.split("-")[1]) / 100, rng)
    gaps, y = np.where(hidden, np.nan, X), np.zeros(len(X), dtype=int)
    if ours := "categorical_features" in imputer.get_params():
        imputer.set_params(categorical_features=is_code)
    sizes = np.where(ours | ~is_code, 1, np.nanmax(X, axis=0) + 1).astype(int)
    # one-hot, but NaN where the category is
    blocks = [g[:, None] if k == 1 else (g[:, None] == np.arange(k)) + 0 * g[:, None]
              for g, k in zip(gaps.T, sizes, strict=True)]  # fmt: skip
    rows = np.concatenate(blocks, axis=1)
    figures = job.fit(imputer, Rows(rows, y, y, (rows, y), (rows, y), ""))
    filled = np.split(imputer.transform(rows), np.cumsum(sizes)[:-1], axis=1)
    errors = []
    for i in np.flatnonzero(hidden.any(axis=0) & (np.nanstd(X, axis=0) > 0)):
        true, block = X[hidden[:, i], i], filled[i][hidden[:, i]]
        found = block[:, 0] if sizes[i] == 1 else block.argmax(axis=1)
        errors.append(
            np.mean(true != found) if is_code[i] else np.sqrt(np.mean((true - found) ** 2))
        )
    error = round(100 * float(np.mean(errors)), 3)
    return {**figures, "errors": {"predict": error}, "measures": {}}
