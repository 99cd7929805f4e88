"""How long a search takes: one process, two, and two with a memory.

    python examples/search.py

Searches 2 values of m_max and 2 of latent_dim in 3 folds, on a table of which few rows are
labelled. Every process has a single thread. The searches run in turns, and all must give the same
scores.
"""

import argparse
import os
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"  # read when numpy and torch are imported

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV

from sk_equivae import EquiVAEClassifier
from sk_equivae.model_selection import SemiSupervisedKFold, hide_labels

GRID = {"m_max": [3, 7], "latent_dim": [8, 16]}


def seconds(n_jobs, memory, X, y, max_epochs):
    """Return the seconds of a search, without the last fit, and its scores."""
    model = EquiVAEClassifier(max_epochs=max_epochs, memory=memory, random_state=0)
    search = GridSearchCV(model, GRID, cv=SemiSupervisedKFold(3), n_jobs=n_jobs, refit=False)
    start = time.perf_counter()
    search.fit(X, y)
    return time.perf_counter() - start, search.cv_results_["mean_test_score"]


def main(n_rows, max_epochs, n_rounds):
    """Print the seconds of each search, and the ratios of their sums."""
    X, y = make_classification(n_rows, 40, n_informative=10, n_classes=4, random_state=0)
    few = hide_labels(y, n_per_class=15, random_state=0)
    # workers start, and import torch, before the clock does
    seconds(2, None, X[:500], hide_labels(y[:500], n_per_class=6, random_state=0), 1)
    total, scores = {}, []
    for _ in range(n_rounds):
        for name, n_jobs in (("1 process", 1), ("2 processes", 2), ("2 and a memory", 2)):
            with tempfile.TemporaryDirectory() as folder:
                memory = folder if "memory" in name else None
                spent, found = seconds(n_jobs, memory, X, few, max_epochs)
            total[name] = total.get(name, 0) + spent
            scores.append(found)
            print(f"{name:15} {spent:6.1f} s", flush=True)
    one, two, kept = total.values()
    print(f"2 processes: {one / two:.2f} times faster; with a memory {two / kept:.2f} times more")
    print(f"the same scores: {all(np.array_equal(found, scores[0]) for found in scores)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    main(arguments.rows, arguments.epochs, arguments.rounds)
