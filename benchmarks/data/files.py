"""Official files of data sets, read from a folder.

The folder is given by `--data` or the environment variable SK_EQUIVAE_DATA. A data set lies in a
subfolder of its name, or in the folder itself. If there is a file NOTE.txt beside it, its first
line must stand beside every figure: "rebuilt from a 28x28 copy", for example.
"""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from benchmarks.registry import Split

VARIABLE = "SK_EQUIVAE_DATA"
NOTE = "NOTE.txt"
IDX_FILES = (
    "train-images-idx3-ubyte", "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte",
)  # fmt: skip
SVHN_FILES = ("train_32x32.mat", "test_32x32.mat")
SPLIT_SEED = 0

Arrays = tuple[NDArray, NDArray, NDArray, NDArray]


def places(name: str, folder: Path | None) -> list[Path]:
    """Where the files of a data set may be; Fashion-MNIST's are named as MNIST's."""
    folder = folder or os.environ.get(VARIABLE)
    if folder is None:
        return []
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"Expected a folder with data sets; found none at {folder}.")
    return [Path(folder) / name, *([] if name == "fashion" else [Path(folder)])]


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes in the idx format, of any number of dimensions."""
    content = (gzip.decompress if path.suffix == ".gz" else bytes)(path.read_bytes())
    n_dimensions = content[3] if len(content) > 3 else 0
    header = 4 + 4 * n_dimensions
    shape = tuple(np.frombuffer(content[4:header], dtype=">u4").astype(int))
    if content[:3] != b"\0\0\x08" or len(content) - header != np.prod(shape):
        raise ValueError(
            f"Expected {path.name} to be a complete idx file of bytes; got {len(content)} bytes "
            f"that begin with {content[:4].hex()} and promise the shape {shape}. Get it again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)


def read_idx_folder(folders: list[Path]) -> Arrays | None:
    """The four files of the first folder that has them all, gzipped or not; else None."""
    for place in folders:
        pairs = ((place / f"{name}.gz", place / name) for name in IDX_FILES)
        paths = [next((path for path in pair if path.exists()), None) for pair in pairs]
        if all(paths):
            X, y, X_test, y_test = (read_idx(path) for path in paths if path)
            return X, y.astype(np.int64), X_test, y_test.astype(np.int64)
    return None


def read_svhn(folders: list[Path]) -> tuple[Arrays, str] | None:
    """SVHN's two files and what is to be said about them; None if they are not there."""
    for place in folders:
        if all((place / name).exists() for name in SVHN_FILES):
            note = place / NOTE
            said = note.read_text(encoding="utf-8").splitlines()[0] if note.exists() else ""
            train, test = (loadmat(place / name) for name in SVHN_FILES)
            # the rows come last, and 10 stands for the digit 0
            X, X_test = (np.ascontiguousarray(s["X"].transpose(3, 0, 1, 2)) for s in (train, test))
            y, y_test = (s["y"].ravel().astype(np.int64) % 10 for s in (train, test))
            return (X, y, X_test, y_test), said
    return None


def hold_out(arrays: Arrays, valid_part: float, note: str = "") -> Split:
    """Take a validation part out of the training part, by the same permutation each time."""
    X, y, X_test, y_test = arrays
    order = np.random.RandomState(SPLIT_SEED).permutation(len(X))
    n_valid = max(1, round(valid_part * len(X)))
    valid, train = order[:n_valid], order[n_valid:]
    return Split(X[train], y[train], X[valid], y[valid], X_test, y_test, note)


def read_table(path: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Columns of a gzipped CSV file as texts, and its column `target`."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
    return columns, columns.pop("target")
