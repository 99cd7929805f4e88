"""Small files in the official formats, and one thread."""

import gzip

import numpy as np
import pytest
import torch
from scipy.io import savemat
from sklearn.datasets import load_digits

import benchmarks.studies  # noqa: F401 - registers methods and studies

N_TRAIN, N_TEST = 500, 100


@pytest.fixture(autouse=True)
def one_thread():
    """Tiny networks are slower on more threads, by far if the machine is busy."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


def write_idx(path, array):
    header = b"\0\0\x08" + bytes([array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    path.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))


def write_svhn(path, X, y):
    path.parent.mkdir(parents=True, exist_ok=True)
    colour = np.repeat(np.kron(X, np.ones((1, 4, 4)))[..., None], 3, axis=3)  # (n, 32, 32, 3)
    rows_last = colour.astype(np.uint8).transpose(1, 2, 3, 0)
    savemat(path, {"X": rows_last, "y": np.where(y == 0, 10, y)[:, None]})


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A data folder: 8x8 digits enlarged stand for MNIST and SVHN, and one table."""
    folder = tmp_path_factory.mktemp("data")
    X, y = load_digits(return_X_y=True)
    X = (X.reshape(-1, 8, 8) * 255 / 16).astype(np.uint8)
    X, y = X[: N_TRAIN + N_TEST], y[: N_TRAIN + N_TEST]
    for name, rows in ("train", slice(N_TRAIN)), ("t10k", slice(N_TRAIN, None)):
        images = np.pad(np.kron(X[rows], np.ones((1, 3, 3))), ((0, 0), (2, 2), (2, 2)))
        for place in (folder / "mnist", folder / "fashion"):
            place.mkdir(exist_ok=True)
            write_idx(place / f"{name}-images-idx3-ubyte.gz", images)
            write_idx(place / f"{name}-labels-idx1-ubyte.gz", y[rows])
    write_svhn(folder / "svhn" / "train_32x32.mat", X[:N_TRAIN], y[:N_TRAIN])
    write_svhn(folder / "svhn" / "test_32x32.mat", X[N_TRAIN:], y[N_TRAIN:])
    (folder / "svhn" / "NOTE.txt").write_text("rebuilt from a 28x28 copy\n")
    (folder / "tabular").mkdir()
    rng = np.random.RandomState(0)
    lines = ["size,colour,code,target"]
    for i in range(60):
        size = "" if i % 20 == 7 else f"{i % 2 + rng.uniform():.2f}"
        lines.append(f"{size},{rng.choice(['red', 'green'])},{i % 3},{'ab'[i % 2]}")
    with gzip.open(folder / "tabular" / "Vehicle.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    return folder
