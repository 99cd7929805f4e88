"""How good imputed values are, beside the imputers of scikit-learn.

    python examples/imputation.py FOLDER [TABLE ...]

FOLDER has tables as gzipped CSV files with a column `target`, such as those of the UCI repository.
Values are removed completely at random, and depending on another column. The errors go to
docs/imputation.json, and their summary into docs/tables.md.
"""

import csv
import gzip
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import sklearn
import torch
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

import sk_equivae
from sk_equivae import EquiVAEImputer

DOCS = Path(__file__).parents[1] / "docs"
MAX_ROWS, SEED = 1_000, 1
SHARES, KINDS = (0.1, 0.3, 0.5), ("at random", "by another column")
PEERS = {"mean": SimpleImputer, "neighbours": KNNImputer, "iterative": IterativeImputer}
# Columns that are categories although they are numbers; None means all of them.
CATEGORIES = {"Soybean": None, "Vowel": {"V1"}}


def read(path, rng):
    """Return standardised numbers and codes of categories, and which columns are categories."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    rows = [rows[i] for i in rng.permutation(len(rows))[:MAX_ROWS]]
    named = CATEGORIES.get(path.name.partition(".")[0], set())
    columns, is_code = [], []
    for i, name in enumerate(header):
        texts = [row[i] for row in rows]
        if name == "target":
            continue
        is_number = all(re.fullmatch(r"-?[\d.]*(e-?\d+)?", text) for text in texts)
        is_code.append(named is None or name in named or not is_number)
        values = [float("nan") if text == "" else text for text in texts]
        if is_code[-1]:
            known = sorted({text for text in texts if text})
            values = [known.index(v) if isinstance(v, str) else v for v in values]
        columns.append(np.array(values, dtype=float))
    X, is_code = np.stack(columns, axis=1), np.array(is_code)
    spread = np.where(is_code, 1.0, np.nanstd(X, axis=0))
    kept = np.nanstd(X, axis=0) > 0
    X = (X - np.where(is_code, 0.0, np.nanmean(X, axis=0))) / np.where(spread > 0, spread, 1.0)
    return X[:, kept], is_code[kept]


def removed(X, share, kind, rng):
    """Return which values to remove: any, or the more likely the larger another column is."""
    chance = np.full(X.shape, share)
    if kind != "at random":
        for i in range(X.shape[1]):
            other = X[:, rng.choice(np.delete(np.arange(X.shape[1]), i))]
            rank = np.argsort(np.argsort(other + 1e-9 * rng.rand(len(X)))) / len(X)
            chance[:, i] = np.clip(2 * share * rank, 0, 0.95)
    return (rng.rand(*X.shape) < chance) & ~np.isnan(X)


def impute(method, gaps, is_code):
    """Return imputed rows. The imputers of scikit-learn see one-hot categories."""
    if method == "EquiVAE":
        model = EquiVAEImputer(categorical_features=is_code, random_state=SEED)
        return model.fit_transform(gaps)
    sizes = [int(np.nanmax(g)) + 1 if code else 1 for g, code in zip(gaps.T, is_code, strict=True)]
    blocks = [
        (g[:, None] == np.arange(k)) + 0 * g[:, None] if code else g[:, None]
        for g, k, code in zip(gaps.T, sizes, is_code, strict=True)
    ]
    filled = PEERS[method](keep_empty_features=True).fit_transform(np.concatenate(blocks, axis=1))
    parts = np.split(filled, np.cumsum(sizes)[:-1], axis=1)
    found = [p.argmax(axis=1) if code else p[:, 0] for p, code in zip(parts, is_code, strict=True)]
    return np.stack(found, axis=1)


def error(X, hidden, filled, is_code):
    """Return the mean over columns: RMSE in standard deviations, or share of wrong categories."""
    errors = []
    for i in np.flatnonzero(hidden.any(axis=0)):
        true, found = X[hidden[:, i], i], filled[hidden[:, i], i]
        wrong = np.mean(true != found)
        errors.append(wrong if is_code[i] else np.sqrt(np.mean((true - found) ** 2)))
    return float(np.mean(errors))


def measure(paths):
    """Return a line per table, share and kind of gaps, with the error of each method."""
    lines = []
    for path in paths:
        for kind in KINDS:
            for share in SHARES:
                rng = np.random.RandomState(SEED)
                X, is_code = read(path, rng)
                hidden = removed(X, share, kind, rng)
                gaps = np.where(hidden, np.nan, X)
                errors = {
                    method: error(X, hidden, impute(method, gaps, is_code), is_code)
                    for method in ("EquiVAE", *PEERS)
                }
                lines.append({"table": path.name.partition(".")[0], "gaps": kind, "share": share}
                             | {"errors": errors})  # fmt: skip
                print(lines[-1], flush=True)
    return lines


def table(found):
    """Return the summary as lines of markdown: errors relative to the best of the peers."""
    rows = ["| | cells | at most the best peer's error | relative to it, mean | worst |"]
    rows.append("|---" * 5 + "|")
    ratios = {}
    for line in found["lines"]:
        ours = line["errors"]["EquiVAE"]
        ratio = ours / min(line["errors"][peer] for peer in PEERS)
        for group in (line["table"], f"{line['share']:.0%} {line['gaps']}", "all"):
            ratios.setdefault(group, []).append(ratio)
    order = sorted(ratios, key=lambda group: (group == "all", group[0].isdigit(), group))
    for group in order:
        own = np.array(ratios[group])
        changes = f"{own.mean() - 1:+.0%} | {own.max() - 1:+.0%}"
        rows.append(f"| {group} | {len(own)} | {np.count_nonzero(own <= 1)} | {changes} |")
    rows += ["", "| method | mean error |", "|---|---|"]
    for method in ("EquiVAE", *PEERS):
        mean = np.mean([line["errors"][method] for line in found["lines"]])
        rows.append(f"| {method} | {mean:.3f} |")
    return rows


def main(folder, names):
    """Measure, and write the results and the table."""
    start = time.time()
    paths = sorted(Path(folder).glob("*.csv.gz"))
    lines = measure([p for p in paths if not names or p.name.partition(".")[0] in names])
    git = ["git", "describe", "--always", "--dirty"]
    found = {
        "seed": SEED, "max_rows": MAX_ROWS,
        "versions": {"sk_equivae": sk_equivae.__version__, "torch": torch.__version__,
                     "scikit-learn": sklearn.__version__, "python": platform.python_version()},
        "commit": subprocess.run(git, capture_output=True, text=True, cwd=DOCS).stdout.strip(),
        "threads": torch.get_num_threads(), "n_cores": os.cpu_count(),
        "wall_s": round(time.time() - start), "lines": lines,
    }  # fmt: skip
    (DOCS / "imputation.json").write_text(json.dumps(found, indent=1) + "\n")
    page = (DOCS / "tables.md").read_text()
    text = "<!-- imputation -->\n" + "\n".join(table(found)) + "\n<!-- end -->"
    page = re.sub(r"<!-- imputation -->.*?<!-- end -->", text, page, flags=re.DOTALL)
    (DOCS / "tables.md").write_text(page)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
