"""The paper's data sets, read from their official files and split as in the paper.

The files lie in a folder (an option `--data` of each benchmark, or the environment variable
SK_EQUIVAE_DATA), in its subfolders `mnist`, `fashion` and `svhn` or in the folder itself.
"""

import gzip
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from sklearn.datasets import fetch_openml

from sk_equivae.datasets import mask_labels

VARIABLE = "SK_EQUIVAE_DATA"
DEBIAN_FASHION = Path("/usr/share/datasets/fashion-mnist")
SPLIT_SEED = 0
IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
SVHN_FILES = ("train_32x32.mat", "test_32x32.mat")

Arrays = tuple[NDArray, NDArray, NDArray, NDArray]


class Split(NamedTuple):
    """Images as uint8, labels as int64."""

    X_train: NDArray
    y_train: NDArray
    X_valid: NDArray
    y_valid: NDArray
    X_test: NDArray
    y_test: NDArray


def load_mnist(folder: Path | None = None) -> Split:
    """MNIST, 28x28: 55,000 / 5,000 / 10,000 images. Fetched from OpenML if not in the folder."""
    places = [] if _is_fashion(folder) else _places("mnist", folder)
    arrays = _read_idx_folder(places) or _fetch("mnist_784", "MNIST", places)
    return make_split(*arrays, valid_part=5_000 / 60_000)


def load_fashion_mnist(folder: Path | None = None) -> Split:
    """Fashion-MNIST, as `load_mnist`; also from where the Debian package puts it.

    Its files are named as MNIST's: the folder itself counts only if "fashion" is in its name.
    """
    places = [*_places("fashion", folder)[: None if _is_fashion(folder) else 1], DEBIAN_FASHION]
    arrays = _read_idx_folder(places) or _fetch("Fashion-MNIST", "Fashion-MNIST", places)
    return make_split(*arrays, valid_part=5_000 / 60_000)


def load_svhn(folder: Path | None = None) -> Split:
    """SVHN's cropped digits, 32x32 in colour: 70,000 / 3,257 / 26,032 images."""
    places = _places("svhn", folder)
    for place in places:
        if all((place / name).exists() for name in SVHN_FILES):
            train, test = (_read_mat(place / name) for name in SVHN_FILES)
            return make_split(*train, *test, valid_part=3_257 / 73_257)
    looked = ", ".join(map(str, places)) or "no folder"
    raise FileNotFoundError(
        f"Expected SVHN's official files {' and '.join(SVHN_FILES)}; looked in: {looked}. Get "
        "them from http://ufldl.stanford.edu/housenumbers (for non-commercial use), and say "
        f"where they are with --data or {VARIABLE}."
    )


LOADERS: dict[str, Callable[[Path | None], Split]] = {
    "mnist": load_mnist,
    "fashion": load_fashion_mnist,
    "svhn": load_svhn,
}


def make_split(
    X: NDArray, y: NDArray, X_test: NDArray, y_test: NDArray, *, valid_part: float
) -> Split:
    """Take a validation part out of the training part, by the same permutation each time."""
    order = np.random.RandomState(SPLIT_SEED).permutation(len(X))
    n_valid = max(1, round(valid_part * len(X)))
    valid, train = order[:n_valid], order[n_valid:]
    return Split(X[train], y[train], X[valid], y[valid], X_test, y_test)


def few_labels(y: NDArray, labels: Any, seed: int) -> NDArray:
    """Labels with all but `labels` of them marked -1, equally many of each class.

    Parameters
    ----------
    y : ndarray of shape (n,)
    labels : int or "all"
        How many in all.
    seed : int
        Of the draw.
    """
    if labels == "all":
        return y
    n_classes = len(np.unique(y))
    if int(labels) % n_classes:
        raise ValueError(
            f"Expected 'all' or a multiple of the {n_classes} classes as the number of labels; got "
            f"{labels}. Pass, for example, {n_classes * max(1, round(int(labels) / n_classes))}."
        )
    return mask_labels(y, int(labels) // n_classes, random_state=seed)


def _is_fashion(folder: Path | None) -> bool:
    folder = _given(folder)
    return folder is not None and "fashion" in folder.name.lower()


def _given(folder: Path | None) -> Path | None:
    """The folder of the option, or that of the environment."""
    if folder is None and os.environ.get(VARIABLE):
        folder = Path(os.environ[VARIABLE])
    if folder is not None and not Path(folder).is_dir():
        raise FileNotFoundError(f"Expected a folder with data sets; found none at {folder}.")
    return None if folder is None else Path(folder)


def _places(name: str, folder: Path | None) -> list[Path]:
    folder = _given(folder)
    return [] if folder is None else [folder / name, folder]


def _read_idx_folder(places: list[Path]) -> Arrays | None:
    """The first place that has all four files, gzipped or not; None if there is none."""
    for place in places:
        paths = [
            next((p for p in (place / f"{name}.gz", place / name) if p.exists()), None)
            for name in IDX_FILES
        ]
        if all(paths):
            X, y, X_test, y_test = (read_idx(path) for path in paths if path)
            return X, y.astype(np.int64), X_test, y_test.astype(np.int64)
    return None


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes in the idx format, of any number of dimensions."""
    content = (gzip.decompress if path.suffix == ".gz" else bytes)(path.read_bytes())
    n_dimensions = content[3] if len(content) > 3 else 0
    header = 4 + 4 * n_dimensions
    shape = tuple(np.frombuffer(content[4:header], dtype=">u4").astype(int))
    if content[:3] != b"\0\0\x08" or len(content) - header != np.prod(shape):
        raise ValueError(
            f"Expected {path.name} to be an idx file of bytes, whole; got {len(content)} bytes "
            f"that begin with {content[:4].hex()} and promise the shape {shape}. Get it again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)


def _read_mat(path: Path) -> tuple[NDArray, NDArray]:
    content = loadmat(path)
    X = np.ascontiguousarray(content["X"].transpose(3, 0, 1, 2))  # the rows come last
    return X, content["y"].ravel().astype(np.int64) % 10  # 10 stands for the digit 0


def _fetch(openml: str, name: str, places: list[Path]) -> Arrays:
    looked = ", ".join(map(str, places)) or "no folder"
    print(f"{name}: no files found (looked in: {looked}); from OpenML.", file=sys.stderr)
    X, y = fetch_openml(openml, version=1, as_frame=False, return_X_y=True, parser="liac-arff")
    X, y = X.astype(np.uint8).reshape(-1, 28, 28), y.astype(np.int64)
    return X[:60_000], y[:60_000], X[60_000:], y[60_000:]
