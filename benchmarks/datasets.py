"""The data sets: one function each."""

import sys
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.datasets import (
    fetch_openml,
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.data.files import (
    SVHN_FILES,
    VARIABLE,
    Arrays,
    hold_out,
    places,
    read_idx_folder,
    read_svhn,
    read_table,
)
from benchmarks.data.made import docstring_paragraphs, make_series
from benchmarks.registry import Split, dataset

TEST_SIZE = 0.3
MNIST_VALID, SVHN_VALID = 5_000 / 60_000, 3_257 / 73_257  # the paper's
N_EMBEDDING = 32
MAX_TABLE_ROWS = 5_000
Rng = np.random.RandomState


def split_rows(X: NDArray, y: NDArray, rng: Rng) -> Split:
    """A stratified 30% for testing; small sets have no validation part."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=TEST_SIZE, stratify=y, random_state=rng)
    return Split(X, y, X[:0], y[:0], X_test, y_test)


# ---------------------------------------------------------------- images


@dataset("mnist", "MNIST", n_classes=10, labels_per_class=(1, 2, 5, 10, 60, 100, 300), n_seeds=5)
def mnist(folder: Path | None, rng: Rng) -> Split:
    """28x28; 55,000 / 5,000 / 10,000 images as in the paper. From OpenML if not in the folder."""
    return read_mnist_split(folder)


@cache
def read_mnist_split(folder: Path | None) -> Split:
    found = read_idx_folder(places("mnist", folder))
    return hold_out(found or fetch("mnist_784", "MNIST"), MNIST_VALID)


@dataset("fashion", "Fashion-MNIST", n_classes=10, labels_per_class=(10, 100), n_seeds=5)
def fashion(folder: Path | None, rng: Rng) -> Split:
    """Split like MNIST, and from OpenML likewise. Its files are named as MNIST's."""
    return read_fashion_split(folder)


@cache
def read_fashion_split(folder: Path | None) -> Split:
    found = read_idx_folder(places("fashion", folder)[:1])
    return hold_out(found or fetch("Fashion-MNIST", "Fashion-MNIST"), MNIST_VALID)


def fetch(openml: str, title: str) -> Arrays:
    """70,000 images of 28x28 from OpenML."""
    print(f"{title}: no files in the data folder; from OpenML.", file=sys.stderr)
    X, y = fetch_openml(openml, version=1, as_frame=False, return_X_y=True, parser="liac-arff")
    X, y = X.astype(np.uint8).reshape(-1, 28, 28), y.astype(np.int64)
    return X[:60_000], y[:60_000], X[60_000:], y[60_000:]


@dataset("svhn", "SVHN", n_classes=10, labels_per_class=(100, 300), n_seeds=3)
def svhn(folder: Path | None, rng: Rng) -> Split:
    """32x32 in colour; 70,000 / 3,257 / 26,032 images as in the paper."""
    return read_svhn_split(folder)


@cache
def read_svhn_split(folder: Path | None) -> Split:
    looked = places("svhn", folder)
    found = read_svhn(looked)
    if found is None:
        where = ", ".join(map(str, looked)) or "no folder"
        raise FileNotFoundError(
            f"Expected SVHN's official files {' and '.join(SVHN_FILES)}; looked in: {where}. Get "
            "them from http://ufldl.stanford.edu/housenumbers (for non-commercial use), and say "
            f"where they are with --data or {VARIABLE}."
        )
    return hold_out(found[0], SVHN_VALID, found[1])


@dataset("digits", "digits 8x8", n_classes=10, labels_per_class=(5, 10))
def digits(folder: Path | None, rng: Rng) -> Split:
    X, y = load_digits(return_X_y=True)
    return split_rows(X.reshape(-1, 8, 8) / 16, y, rng)


# ---------------------------------------------------------------- tables of scikit-learn


@dataset("iris", "iris", n_classes=3, has_units=True)
def iris(folder: Path | None, rng: Rng) -> Split:
    return split_rows(*load_iris(return_X_y=True), rng)


@dataset("wine", "wine", n_classes=3, has_units=True)
def wine(folder: Path | None, rng: Rng) -> Split:
    return split_rows(*load_wine(return_X_y=True), rng)


@dataset("cancer", "cancer", n_classes=2, has_units=True)
def cancer(folder: Path | None, rng: Rng) -> Split:
    return split_rows(*load_breast_cancer(return_X_y=True), rng)


@dataset("digits-rows", "digits as rows", n_classes=10)
def digits_rows(folder: Path | None, rng: Rng) -> Split:
    return split_rows(*load_digits(return_X_y=True), rng)


# ---------------------------------------------------------------- tables of the UCI repository


def table(file: str, folder: Path | None, rng: Rng, categories: tuple[str, ...] | None = ()):
    """A table of the data folder; imputed, one-hot and standardised as its training rows say.

    Parameters
    ----------
    file : str
        `tabular/FILE.csv.gz` of the data folder, with the column `target`.
    folder : Path or None
    rng : RandomState
    categories : tuple of str or None
        Columns whose numbers are codes; None means all. Columns of texts are anyway.
    """
    found = [p for place in places("tabular", folder) if (p := place / f"{file}.csv.gz").exists()]
    if not found:
        raise FileNotFoundError(
            f"Expected tabular/{file}.csv.gz in the data folder (--data or {VARIABLE}), a gzipped "
            "CSV file with the column target. The tables are from https://archive.ics.uci.edu."
        )
    columns, target = read_table(found[0])
    y = np.unique(target, return_inverse=True)[1]
    numbers, codes = {}, {}
    for name, texts in columns.items():
        try:
            numbers[name] = [float(text) if text else np.nan for text in texts]
        except ValueError:
            codes[name] = texts
    for name in columns if categories is None else categories:
        if name in numbers:
            codes[name] = columns[name]
            del numbers[name]
    n_numbers = len(numbers)
    X = np.array([*numbers.values(), *codes.values()], dtype=object).T
    if len(X) > MAX_TABLE_ROWS:
        kept = rng.permutation(len(X))[:MAX_TABLE_ROWS]
        X, y = X[kept], y[kept]
    split = split_rows(X, y, rng)
    numeric = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = make_column_transformer(
        (numeric, list(range(n_numbers))), (one_hot, list(range(n_numbers, X.shape[1])))
    ).fit(split.X)
    X, X_test = (encoder.transform(rows).astype(np.float64) for rows in (split.X, split.X_test))
    return split._replace(X=X, X_valid=X[:0], X_test=X_test)


@dataset("breast", "Breast Cancer (UCI)", n_classes=2)
def breast(folder: Path | None, rng: Rng) -> Split:
    return table("BreastCancer", folder, rng)


@dataset("glass", "Glass", n_classes=6)
def glass(folder: Path | None, rng: Rng) -> Split:
    return table("Glass", folder, rng)


@dataset("ionosphere", "Ionosphere", n_classes=2)
def ionosphere(folder: Path | None, rng: Rng) -> Split:
    return table("Ionosphere", folder, rng)


@dataset("satellite", "Satellite", n_classes=6)
def satellite(folder: Path | None, rng: Rng) -> Split:
    return table("Satellite", folder, rng)


@dataset("soybean", "Soybean", n_classes=19)
def soybean(folder: Path | None, rng: Rng) -> Split:
    return table("Soybean", folder, rng, categories=None)


@dataset("vehicle", "Vehicle", n_classes=4)
def vehicle(folder: Path | None, rng: Rng) -> Split:
    return table("Vehicle", folder, rng)


@dataset("vowel", "Vowel", n_classes=11)
def vowel(folder: Path | None, rng: Rng) -> Split:
    return table("Vowel", folder, rng, categories=("V1",))


@dataset("zoo", "Zoo", n_classes=7)
def zoo(folder: Path | None, rng: Rng) -> Split:
    return table("Zoo", folder, rng)


# ---------------------------------------------------------------- time series and texts


@dataset(
    "series",
    "time series",
    n_classes=10,
    labels_per_class=(5, 20),
    note="made by a generator in the manner of MNIST-1D: 40 steps, ten shapes of our own",
)
def series(folder: Path | None, rng: Rng) -> Split:
    return split_rows(*make_series(rng), rng)


@dataset(
    "texts",
    "texts",
    n_classes=8,
    labels_per_class=(5, 20),
    note=(
        "paragraphs of scikit-learn's docstrings, by module, as 32 components of their TF-IDF "
        "(no bundled text set with classes was found, nor an embedding that works offline)"
    ),
)
def texts(folder: Path | None, rng: Rng) -> Split:
    """TF-IDF and SVD are fitted to the training rows, without their labels."""
    paragraphs, y = docstring_paragraphs()
    split = split_rows(np.array(paragraphs, dtype=object), y, rng)
    embedding = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english"),
        TruncatedSVD(N_EMBEDDING, random_state=0),
        StandardScaler(),
    ).fit(split.X)
    X, X_test = embedding.transform(split.X), embedding.transform(split.X_test)
    return split._replace(X=X, X_valid=X[:0], X_test=X_test)
