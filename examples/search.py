"""How long a search takes: one process, two, and two with a memory.

    python examples/search.py [N_ROUNDS]

Searches 2 values of m_max and 2 of latent_dim in 3 folds, on a table of which few rows are
labelled. Every process has a single thread. The searches run in turns, and all must give the same
scores. The results go to docs/search.json, and their table into docs/choosing.md. Nothing else
should run meanwhile.
"""

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when numpy and torch are imported

import numpy as np
import sklearn
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV

import sk_equivae
from sk_equivae import EquiVAEClassifier
from sk_equivae.model_selection import SemiSupervisedKFold, hide_labels

DOCS = Path(__file__).parents[1] / "docs"
GRID = {"m_max": [3, 7], "latent_dim": [8, 16]}
N_ROWS, N_COLUMNS, N_CLASSES, N_PER_CLASS = 10_000, 40, 4, 15
SEARCHES = {"one process": (1, False), "two processes": (2, False), "two and a memory": (2, True)}


def search(n_jobs, with_memory, X, y):
    """Return the seconds of a search, without the last fit, and its scores."""
    with tempfile.TemporaryDirectory() as folder:
        memory = folder if with_memory else None
        model = EquiVAEClassifier(max_epochs=1, memory=memory, random_state=0)
        cv = SemiSupervisedKFold(3)
        found = GridSearchCV(model, GRID, cv=cv, n_jobs=n_jobs, refit=False)
        start = time.perf_counter()
        found.fit(X, y)
        return time.perf_counter() - start, found.cv_results_["mean_test_score"]


def measure(n_rows, n_rounds):
    """Return the seconds of all searches, and whether they gave the same scores."""
    X, y = make_classification(
        n_rows, N_COLUMNS, n_informative=10, n_classes=N_CLASSES, random_state=0
    )
    few = hide_labels(y, n_per_class=N_PER_CLASS, random_state=0)
    # workers start, and import torch, before the clock does
    some = hide_labels(y[:500], n_per_class=6, random_state=0)
    search(2, False, X[:500], some)
    seconds, scores = {name: [] for name in SEARCHES}, []
    for _ in range(n_rounds):
        for name, (n_jobs, with_memory) in SEARCHES.items():
            spent, found = search(n_jobs, with_memory, X, few)
            seconds[name].append(spent)
            scores.append(found)
            print(f"{name:16} {spent:6.1f} s", flush=True)
    same = all(np.array_equal(found, scores[0]) for found in scores)
    return {"seconds": seconds, "same_scores": same}


def table(found):
    """Return the results as lines of markdown."""
    lines = ["| search of 12 fits | seconds | times as fast as one process |", "|---|---|---|"]
    first = sum(found["seconds"]["one process"])
    for name, seconds in found["seconds"].items():
        mean = f"{sum(seconds) / len(seconds):.1f}"
        lines.append(f"| {name} | {mean} | {first / sum(seconds):.2f} |")
    return lines


def write(found):
    """Write the results, and put the table into the page."""
    (DOCS / "search.json").write_text(json.dumps(found, indent=1) + "\n")
    text = "<!-- search -->\n" + "\n".join(table(found)) + "\n<!-- end -->"
    page = (DOCS / "choosing.md").read_text()
    page = re.sub(r"<!-- search -->.*?<!-- end -->", lambda _: text, page, flags=re.DOTALL)
    (DOCS / "choosing.md").write_text(page)


def main(n_rounds):
    """Measure and write everything."""
    git = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True, cwd=DOCS).stdout.strip()
    load = os.getloadavg()[0]
    found = measure(N_ROWS, n_rounds)
    versions = {
        "sk_equivae": sk_equivae.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
    write({"n_rows": N_ROWS, "n_columns": N_COLUMNS, "n_labels": N_CLASSES * N_PER_CLASS,
           "versions": versions, "commit": commit, "n_cores": os.cpu_count(),
           "load_before": round(load, 2), **found})  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
