"""How well cross-validation with few labels estimates the error, on MNIST.

    python -m examples.cross_validation [N_DRAWS]

10,000 rows of MNIST, of which 100 are labelled, are drawn several times. The error that 5 folds
estimate is compared with that on 10,000 test rows. The environment variable SK_EQUIVAE_DATA names
a folder with MNIST's files; without it they come from OpenML. The results go to docs/choosing.json,
and their table into docs/choosing.md. Draws that are there already are kept. A draw takes 11 fits.
"""

import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when numpy and torch are imported

import numpy as np
import sklearn
import torch
from sklearn.model_selection import StratifiedKFold, cross_validate

import sk_equivae
from sk_equivae import EquiVAEClassifier
from sk_equivae.model_selection import SemiSupervisedKFold, hide_labels, labeled_scorer

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = DOCS / "choosing.json"
N_ROWS, N_PER_CLASS, MAX_EPOCHS = 10_000, 10, 4
METHODS = {
    "SemiSupervisedKFold": (SemiSupervisedKFold, labeled_scorer("accuracy")),
    "StratifiedKFold": (StratifiedKFold, "accuracy"),
}


def measure(X, y, X_test, y_test, seed, max_epochs=MAX_EPOCHS):
    """Return the error on test rows, and for each splitter what it estimates."""
    few = hide_labels(y, n_per_class=N_PER_CLASS, random_state=seed)
    model = EquiVAEClassifier(max_epochs=max_epochs, random_state=seed)
    found = {"seed": seed, "n_labels": int(np.sum(few != -1))}
    found["test_error"] = 1 - float(model.fit(X, few).score(X_test, y_test))
    for name, (splitter, scorer) in METHODS.items():
        cv = splitter(5, shuffle=True, random_state=seed)
        folds = cross_validate(model, X, few, cv=cv, scoring=scorer, return_estimator=True)
        on_test = [1 - fitted.score(X_test, y_test) for fitted in folds["estimator"]]
        found[name] = {
            "estimate": 1 - float(np.mean(folds["test_score"])),
            "test_error_of_folds": float(np.mean(on_test)),
        }
        print(seed, name, found["test_error"], found[name], flush=True)
    return found


def table(found):
    """Return the results as lines of markdown."""
    lines = [
        "| draw | error on test rows | estimate, `SemiSupervisedKFold` | its distance, in standard "
        "errors | estimate, `StratifiedKFold` | errors of their models on test rows |",
        "|---|---|---|---|---|---|",
    ]
    for draw in found["draws"]:
        true, ours, plain = (draw[name] for name in ("test_error", *METHODS))
        deviation = np.sqrt(true * (1 - true) / draw["n_labels"])
        distance = (ours["estimate"] - true) / deviation
        of_folds = " and ".join(f"{100 * m['test_error_of_folds']:.1f}%" for m in (ours, plain))
        lines.append(
            f"| {draw['seed']} | {100 * true:.1f}% | {100 * ours['estimate']:.1f}% | "
            f"{distance:+.1f} | {100 * plain['estimate']:.1f}% | {of_folds} |"
        )
    return lines


def write(draws):
    """Write the results, and put the table into the page."""
    found = {"n_rows": N_ROWS, "n_per_class": N_PER_CLASS, "max_epochs": MAX_EPOCHS, "draws": draws}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    text = "<!-- folds -->\n" + "\n".join(table(found)) + "\n<!-- end -->"
    page = (DOCS / "choosing.md").read_text()
    page = re.sub(r"<!-- folds -->.*?<!-- end -->", lambda _: text, page, flags=re.DOTALL)
    (DOCS / "choosing.md").write_text(page)


def main(n_draws):
    """Measure the draws that are missing; the results are written after each."""
    from benchmarks.datasets import idx_set

    git = ["git", "describe", "--always", "--dirty"]
    origin = {
        "commit": subprocess.run(git, capture_output=True, text=True, cwd=DOCS).stdout.strip(),
        "versions": {"sk_equivae": sk_equivae.__version__, "torch": torch.__version__,
                     "scikit-learn": sklearn.__version__, "python": platform.python_version()},
        "threads": torch.get_num_threads(),
    }  # fmt: skip
    draws = json.loads(RESULTS.read_text())["draws"] if RESULTS.exists() else []
    split = idx_set("mnist", "mnist_784", None)
    for seed in range(len(draws), n_draws):
        start = time.time()
        rows = np.random.RandomState(seed).permutation(len(split.y))[:N_ROWS]
        found = measure(split.X[rows], split.y[rows], split.X_test, split.y_test, seed)
        draws.append({**found, **origin, "wall_s": round(time.time() - start)})
        write(draws)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
