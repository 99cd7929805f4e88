"""The data sets: one entry each, a function of a folder and a generator."""

import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.datasets import fetch_openml, load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.data.files import (
    SVHN_FILES,
    VARIABLE,
    hold_out,
    places,
    read_idx_folder,
    read_svhn,
    read_table,
)
from benchmarks.data.made import make_series
from benchmarks.data.newsgroups import embedded_newsgroups
from benchmarks.registry import Split, dataset

TEST_SIZE = 0.3
MNIST_VALID, SVHN_VALID = 5_000 / 60_000, 3_257 / 73_257  # the paper's
MAX_TABLE_ROWS = 5_000
Rng = np.random.RandomState


def split_rows(X: NDArray, y: NDArray, rng: Rng) -> Split:
    """A stratified 30% for testing; small sets have no validation part."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=TEST_SIZE, stratify=y, random_state=rng)
    return Split(X, y, X[:0], y[:0], X_test, y_test)


@cache
def idx_set(name: str, openml: str, folder: Path | None) -> Split:
    """28x28; 55,000 / 5,000 / 10,000 images as the paper splits MNIST. From OpenML if not there."""
    found = read_idx_folder(places(name, folder))
    if found is None:
        print(f"{openml}: no files in the data folder; from OpenML.", file=sys.stderr)
        X, y = fetch_openml(openml, version=1, as_frame=False, return_X_y=True, parser="liac-arff")
        X, y = X.astype(np.uint8).reshape(-1, 28, 28), y.astype(np.int64)
        found = X[:60_000], y[:60_000], X[60_000:], y[60_000:]
    return hold_out(found, MNIST_VALID)


@dataset("mnist", "MNIST", n_classes=10, labels_per_class=(1, 2, 5, 10, 60, 100, 300), n_seeds=5,
         has_images=True)  # fmt: skip
def mnist(folder: Path | None, rng: Rng) -> Split:
    return idx_set("mnist", "mnist_784", folder)


@dataset("fashion", "Fashion-MNIST", n_classes=10, labels_per_class=(10, 100), n_seeds=5,
         has_images=True)  # fmt: skip
def fashion(folder: Path | None, rng: Rng) -> Split:
    return idx_set("fashion", "Fashion-MNIST", folder)


@dataset("svhn", "SVHN", n_classes=10, labels_per_class=(100, 300), n_seeds=3, has_images=True)
def svhn(folder: Path | None, rng: Rng) -> Split:
    return svhn_split(folder)


@cache
def svhn_split(folder: Path | None) -> Split:
    """32x32 in colour; 70,000 / 3,257 / 26,032 images as in the paper."""
    folders = places("svhn", folder)
    found = read_svhn(folders)
    if found is None:
        raise FileNotFoundError(
            f"Expected SVHN's official files {' and '.join(SVHN_FILES)}; looked in: "
            f"{', '.join(map(str, folders)) or 'no folder'}. Get them from "
            "http://ufldl.stanford.edu/housenumbers (for non-commercial use), and say where they "
            f"are with --data or {VARIABLE}."
        )
    return hold_out(found[0], SVHN_VALID, found[1])


@dataset("digits", "digits 8x8", n_classes=10, labels_per_class=(5, 10), has_images=True)
def digits(folder: Path | None, rng: Rng) -> Split:
    X, y = load_digits(return_X_y=True)
    return split_rows(X.reshape(-1, 8, 8) / 16, y, rng)


def bundled(load: Callable, folder: Path | None, rng: Rng) -> Split:
    """A table that comes with scikit-learn."""
    return split_rows(*load(return_X_y=True), rng)


dataset("iris", "iris", n_classes=3, has_units=True)(partial(bundled, load_iris))
dataset("wine", "wine", n_classes=3, has_units=True)(partial(bundled, load_wine))
dataset("cancer", "cancer", n_classes=2, has_units=True)(partial(bundled, load_breast_cancer))
dataset("digits-rows", "digits as rows", n_classes=10)(partial(bundled, load_digits))


def table(file: str, folder: Path | None, rng: Rng, categories: tuple[str, ...] | None = ()):
    """A table of the data folder; imputed, one-hot and standardised as its training rows say.

    Columns of texts are categories, and so are those that are named (None means all of them).
    """
    found = [p for place in places("tabular", folder) if (p := place / f"{file}.csv.gz").exists()]
    if not found:
        raise FileNotFoundError(
            f"Expected tabular/{file}.csv.gz in the data folder (--data or {VARIABLE}), a gzipped "
            "CSV file with the column target. The tables are from https://archive.ics.uci.edu."
        )
    columns, target = read_table(found[0])
    y = np.unique(target, return_inverse=True)[1]
    codes = {*columns} if categories is None else {*categories}
    codes |= {name for name, cells in columns.items() if not all(map(is_number, cells))}
    numbers = [[float(c or "nan") for c in columns[name]] for name in columns if name not in codes]
    X = np.array([*numbers, *(columns[name] for name in columns if name in codes)], dtype=object).T
    kept = rng.permutation(len(X))[:MAX_TABLE_ROWS] if len(X) > MAX_TABLE_ROWS else slice(None)
    split = split_rows(X[kept], y[kept], rng)
    numeric = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = make_column_transformer(
        (numeric, [*range(len(numbers))]), (one_hot, [*range(len(numbers), X.shape[1])])
    ).fit(split.X)
    X, X_test = (encoder.transform(rows).astype(np.float64) for rows in (split.X, split.X_test))
    return split._replace(X=X, X_valid=X[:0], X_test=X_test)


def is_number(text: str) -> bool:
    """Or empty: a missing value."""
    return not text or text.lstrip("-").replace(".", "", 1).replace("e-", "", 1).isdigit()


dataset("breast", "Breast Cancer (UCI)", n_classes=2)(partial(table, "BreastCancer"))
dataset("glass", "Glass", n_classes=6)(partial(table, "Glass"))
dataset("ionosphere", "Ionosphere", n_classes=2)(partial(table, "Ionosphere"))
dataset("satellite", "Satellite", n_classes=6)(partial(table, "Satellite"))
dataset("soybean", "Soybean", n_classes=19)(partial(table, "Soybean", categories=None))
dataset("vehicle", "Vehicle", n_classes=4)(partial(table, "Vehicle"))
dataset("vowel", "Vowel", n_classes=11)(partial(table, "Vowel", categories=("V1",)))
dataset("zoo", "Zoo", n_classes=7)(partial(table, "Zoo"))


@dataset("series", "time series", n_classes=10, labels_per_class=(5, 20),
         note="made by a generator in the manner of MNIST-1D: 40 steps, our shapes")  # fmt: skip
def series(folder: Path | None, rng: Rng) -> Split:
    return split_rows(*make_series(rng), rng)


@dataset("newsgroups", "newsgroups", n_classes=20, labels_per_class=(5, 20),
         note="3,000 texts, embedded by all-MiniLM-L6-v2: 384 features, length 1")  # fmt: skip
def newsgroups(folder: Path | None, rng: Rng) -> Split:
    return split_rows(*embedded_newsgroups(folder), rng)
