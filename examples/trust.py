"""How far probabilities and rejections can be trusted, on scikit-learn's digits and wine.

    python -m examples.trust [N_DRAWS]

Digits with 10 labels per class: log-loss and calibration error of each rule on test rows, with and
without `temperature_`; and the mean confidence on rows that are no digits. Digits as images and as
rows of a table, and wine: what happens if some classes have no labels. The results go to
docs/trust.json, and their tables into docs/trust.md. A draw takes 13 fits.
"""

import itertools
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
from scipy.special import softmax
from sklearn.datasets import load_wine
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import sk_equivae
from benchmarks.measures.errors import calibration_error, log_loss
from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import load_few_digits
from sk_equivae.model_selection import hide_labels

DOCS = Path(__file__).parents[1] / "docs"
RULES = ("prototype", "posterior", "likelihood")
TEMPERATURES = np.geomspace(0.2, 20, 200)
SHARES = (0.2, 0.5)


def rules(seed, **params):
    """Return errors of the probabilities, and the confidence on rows that are no digits."""
    X, y, X_test, y_test = load_few_digits(random_state=seed)
    model = EquiVAEClassifier(random_state=seed, **params).fit(X, y)
    found = {}
    for rule in RULES:
        model.set_params(predict_with=rule)
        p, temperature = model.predict_proba(X_test), model.temperature_[rule]
        plain = model.decision_function(X_test) * temperature  # the constant does not matter
        losses = [log_loss(softmax(plain / t, axis=1), y_test) for t in TEMPERATURES]
        found[rule] = {
            "accuracy": float((p.argmax(axis=1) == y_test).mean()),
            "without": log_loss(softmax(plain, axis=1), y_test),
            "with": log_loss(p, y_test),
            "best": min(losses),
            "calibration_error": calibration_error(p, y_test),
            "temperature": temperature,
            "confidence": [float(model.predict_proba(x).max(axis=1).mean()) for x in foreign(X)],
        }
    return found


def foreign(X):
    """Return noise, images with their pixels in any order, and blank images."""
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(X[:200].reshape(200, -1), axis=1).reshape(-1, 8, 8)
    blank = np.stack([np.full((8, 8), value) for value in (0.0, 0.5, 1.0)])
    return rng.uniform(size=(200, 8, 8)), shuffled, blank


def digits(seed):
    """Return rows, all labels, and the rows and labels of the test."""
    return load_few_digits(None, random_state=seed)


def digits_as_rows(seed):
    """Return the same as a table."""
    X, y, X_test, y_test = digits(seed)
    return X.reshape(len(X), -1), y, X_test.reshape(len(X_test), -1), y_test


def wine(seed):
    """Return the same of a table of 13 features."""
    X, y = load_wine(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    return X, y, X_test, y_test


# The data, and how many of its classes have labels.
CASES = {"digits": (digits, 8), "digits as rows": (digits_as_rows, 8), "wine": (wine, 2)}


def unknown(case, seed, share, **params):
    """Return what becomes of the last classes, which have no labels, and of the others."""
    load, n_known = CASES[case]
    X, truth, X_test, y_test = load(seed)
    is_known, rng = truth < n_known, np.random.RandomState(seed)
    few = np.where(is_known, hide_labels(truth, n_per_class=10, random_state=seed), -1)
    # leave out rows without labels, until the share of unknown classes is right
    new, old = np.flatnonzero(~is_known), np.flatnonzero(is_known & (few < 0))
    n_old = min(len(old), round(len(new) * (1 - share) / share))
    n_new = min(len(new), round(n_old * share / (1 - share)))
    some = np.concatenate([np.flatnonzero(few >= 0), rng.permutation(old)[:n_old]])
    rows = np.concatenate([some, rng.permutation(new)[:n_new]])
    model = EquiVAEClassifier(reject=0.05, random_state=seed, **params).fit(X[rows], few[rows])
    without = EquiVAEClassifier(random_state=seed, **params).fit(X[some], few[some])
    known, score = y_test < n_known, model.novelty_function(X_test)
    answers = model.set_params(reject=None).predict(X_test[known])
    return {
        "auroc": roc_auc_score(known, score),
        "auroc_softmax": roc_auc_score(known, model.predict_proba(X_test).max(axis=1)),
        "marked": float((model.transduction_[len(some) :] == -1).mean()),
        "lost": float((score[known] < 0).mean()),
        "error": float((answers != y_test[known]).mean()),
        "error_without": 1 - float(without.score(X_test[known], y_test[known])),
    }


def mean(draws, *path):
    """Return the mean of a number over the draws."""
    values = []
    for draw in draws:
        for key in path:
            draw = draw[key]
        values.append(draw)
    return np.mean(values, axis=0)


def table_of_rules(draws):
    """Return the errors of the probabilities as lines of markdown."""
    lines = [
        "| rule | accuracy | log-loss without | with `temperature_` | at the best temperature for "
        "the test rows | calibration error (15 bins) | mean confidence on noise, shuffled, blank |",
        "|---|---|---|---|---|---|---|",
    ]
    for rule in RULES:
        losses = " | ".join(
            f"{mean(draws, 'rules', rule, k):.3f}" for k in ("without", "with", "best")
        )
        confidence = ", ".join(f"{c:.2f}" for c in mean(draws, "rules", rule, "confidence"))
        lines.append(
            f"| {rule} | {mean(draws, 'rules', rule, 'accuracy'):.3f} | {losses} | "
            f"{100 * mean(draws, 'rules', rule, 'calibration_error'):.1f} points | {confidence} |"
        )
    return lines


def table_of_unknown(draws):
    """Return what becomes of unknown classes as lines of markdown."""
    lines = [
        "| | unknown, of the rows without labels | AUROC, known against unknown | the same by the "
        "largest probability | unknown training rows marked | known test rows lost | error of the "
        "known classes | the same without the unknown rows |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case, share in itertools.product(CASES, map(str, SHARES)):
        first = draws[0]["unknown"][case][share]
        at = {key: mean(draws, "unknown", case, share, key) for key in first}
        lines.append(
            f"| {case} | {100 * float(share):.0f}% | {at['auroc']:.3f} | "
            f"{at['auroc_softmax']:.3f} | {100 * at['marked']:.0f}% | {100 * at['lost']:.1f}% | "
            f"{100 * at['error']:.2f}% | {100 * at['error_without']:.2f}% |"
        )
    return lines


def write(draws, commit, seconds):
    """Write the results, and put the tables into the page."""
    versions = {
        "sk_equivae": sk_equivae.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
    found = {"versions": versions, "commit": commit, "threads": torch.get_num_threads(),
             "wall_s": round(seconds), "draws": draws}  # fmt: skip
    (DOCS / "trust.json").write_text(json.dumps(found, indent=1) + "\n")
    page = (DOCS / "trust.md").read_text()
    for name, lines in (("rules", table_of_rules(draws)), ("unknown", table_of_unknown(draws))):
        text = f"<!-- {name}: {len(draws)} draws -->\n" + "\n".join(lines) + "\n<!-- end -->"
        pattern = rf"<!-- {name}: .*?<!-- end -->"
        page = re.sub(pattern, lambda _, text=text: text, page, flags=re.DOTALL)
    (DOCS / "trust.md").write_text(page)


def main(n_draws):
    """Measure all draws; the results are written after each."""
    start, draws = time.time(), []
    git = ["git", "describe", "--always", "--dirty"]  # before the results change the tree
    commit = subprocess.run(git, capture_output=True, text=True, cwd=DOCS).stdout.strip()
    for seed in range(n_draws):
        draws.append(
            {
                "seed": seed,
                "rules": rules(seed),
                "unknown": {
                    case: {str(share): unknown(case, seed, share) for share in SHARES}
                    for case in CASES
                },
            }
        )
        write(draws, commit, time.time() - start)
        print(*table_of_rules(draws), *table_of_unknown(draws), sep="\n", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
