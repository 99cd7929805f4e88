"""Rows that are not in memory give the same bits as an array, a batch at a time."""

import mmap

import numpy as np
import pytest
import torch
from torch.utils.data import IterableDataset, TensorDataset

from sk_equivae import EquiVAEClassifier, _progress
from sk_equivae.estimators import sources
from sk_equivae.estimators.lazy import LazyRows
from sk_equivae.estimators.sources import find_rows


def small(**params):
    given = {"latent_dim": 2, "max_epochs": 1, "batch_size": 16, "random_state": 0, **params}
    return EquiVAEClassifier(**given)


@pytest.fixture(scope="module")
def rows():
    """Grey images of bytes, and labels with some missing."""
    rng = np.random.RandomState(0)
    y = np.arange(40) % 2
    X = rng.randint(0, 50, size=(40, 8, 8), dtype=np.uint8)
    X[y == 1, 2:5] += 180
    return X, np.where(np.arange(40) < 10, y, -1)


@pytest.fixture(scope="module")
def in_memory(rows):
    return small().fit(*rows)


def as_memmap(X, y, folder):
    written = np.memmap(folder / "rows", X.dtype, "w+", shape=X.shape)
    written[:] = X
    written.flush()
    return np.memmap(folder / "rows", X.dtype, "r", shape=X.shape), y


def as_hdf5(X, y, folder):
    h5py = pytest.importorskip("h5py")
    file = h5py.File(folder / "rows.h5", "w")
    file.create_dataset("y", data=y)
    return file.create_dataset("X", data=X, chunks=(4, 8, 8), compression="gzip"), file["y"]


def as_zarr(X, y, folder):
    zarr = pytest.importorskip("zarr")
    array = zarr.open(
        str(folder / "rows.zarr"), mode="w", shape=X.shape, dtype=X.dtype, chunks=(4, 8, 8)
    )
    array[:] = X
    return array, y


def as_hugging_face(X, y, folder):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"pixels": datasets.Array2D((8, 8), "uint8"), "label": datasets.Value("int64")}
    )
    return datasets.Dataset.from_dict({"pixels": X, "label": y}, features=features), None


def as_torch(X, y, folder):
    class Pairs(torch.utils.data.Dataset):
        def __len__(self):
            return len(X)

        def __getitem__(self, i):
            return X[i], int(y[i])

    return Pairs(), None


def as_dask(X, y, folder):
    da = pytest.importorskip("dask.array")
    return da.from_array(X, chunks=(15, 4, 8)), y


KINDS = [as_memmap, as_hdf5, as_zarr, as_hugging_face, as_torch, as_dask]


@pytest.mark.parametrize("make", KINDS)
def test_the_same_bits_as_in_memory(make, rows, in_memory, tmp_path, assert_same, monkeypatch):
    source, y = make(*rows, tmp_path)
    whole = find_rows(source)
    monkeypatch.setattr(LazyRows, "__array__", None)  # nobody may read all of it
    model = small().fit(source, y)
    assert_same(model, in_memory)
    np.testing.assert_array_equal(model.transduction_, in_memory.transduction_)
    # the numpy format of Hugging Face has integers of 64 bits
    assert whole.dtype == (np.float64 if make is as_hugging_face else np.uint8)
    for name in ("transform", "predict_proba", "predict", "decision_function", "score_samples"):
        found = getattr(model, name)(source)
        np.testing.assert_array_equal(np.asarray(found), getattr(in_memory, name)(rows[0]))
    assert model.score(source, in_memory.predict(rows[0])) == 1


def test_rows_of_weight_0_are_left_on_disk(rows, tmp_path, assert_same):
    source, y = as_memmap(*rows, tmp_path)
    weight = np.where(np.arange(40) % 3, 1.0, 0.0)
    assert_same(small().fit(source, y, weight), small().fit(*rows, weight))


def test_a_dask_array_is_computed_when_asked(rows, in_memory):
    da = pytest.importorskip("dask.array")
    calls = []

    def load(block):
        calls.append(len(block))
        return block

    lazy = da.from_array(rows[0], chunks=(10, 8, 8)).map_blocks(load, dtype=np.uint8)
    calls.clear()
    p = in_memory.predict_proba(lazy)
    assert isinstance(p, da.Array)
    assert p.shape == (40, 2)
    assert p.chunks[0] == (10, 10, 10, 10)
    assert calls == []
    np.testing.assert_array_equal(p[:10].compute(), in_memory.predict_proba(rows[0][:10]))
    assert sum(calls) == 10
    with pytest.raises(ValueError, match="Expected rows of shape"):
        in_memory.predict(lazy[:, :4])


def test_torch_images_have_channels_first(rows, in_memory):
    X, y = rows
    tensors = TensorDataset(torch.from_numpy(X)[:, None], torch.from_numpy(y))
    model = small().fit(tensors)
    assert model.model_.rows.row_shape == (8, 8, 1)
    np.testing.assert_array_equal(model.predict_proba(tensors), in_memory.predict_proba(X))


def test_columns_of_numbers_of_a_hugging_face_dataset(blobs, assert_same):
    datasets = pytest.importorskip("datasets")
    X, y = blobs
    table = datasets.Dataset.from_dict({"label": y, **{f"x{i}": X[:, i] for i in range(4)}})
    # its numpy format has floats of 32 bits
    assert_same(small().fit(table), small().fit(X.astype(np.float32), y))
    with pytest.raises(ValueError, match=r"one column of arrays|Expected numbers"):
        small().fit(table.add_column("name", ["a"] * 60))
    with pytest.raises(TypeError, match="one split"):
        small().fit(datasets.DatasetDict(train=table))


def test_parts_from_a_generator(blobs):
    X, y = blobs

    def chunks():
        for _ in range(5):
            for start in range(0, 60, 20):
                yield X[start : start + 20], y[start : start + 20]

    model = small()
    for part, labels in chunks():
        model.partial_fit(part, labels, classes=[0, 1, 2])
    assert model.n_iter_ == 15
    assert model.score(X, y) > 0.9


def test_values_that_are_not_finite_are_found_when_they_are_read(blobs, tmp_path):
    X, y = blobs
    wrong = np.array(X)
    wrong[50, 1] = np.nan
    source, _ = as_memmap(wrong, y, tmp_path)
    model = small().fit(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(source)
    with pytest.raises(ValueError, match="contains NaN"):
        small(likelihood="gaussian").fit(source, y)


def test_what_cannot_be_read(rows, tmp_path):
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(rows[0])

    with pytest.raises(TypeError, match="partial_fit"):
        small().fit(Stream())
    uneven = [(np.zeros((8 + i % 2, 8)), i // 2) for i in range(4)]
    dataset = type("Uneven", (torch.utils.data.Dataset,), {
        "__len__": lambda self: 4, "__getitem__": lambda self, i: uneven[i],
    })()  # fmt: skip
    with pytest.raises(ValueError, match="rows of one shape"):
        small().fit(dataset)
    with pytest.raises(ValueError, match="minimum of 2"):
        small().fit(as_memmap(*rows, tmp_path)[0][:1], [0])
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "file.h5", "w") as file, pytest.raises(ValueError, match="file"):
        small().fit(file, [0])


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="pages cannot be given back")
def test_pages_of_a_memory_map_are_given_back(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAPPED_BYTES", 2 * sources.SCATTERED_BYTES)
    source, _ = as_memmap(*rows, tmp_path)
    reader = sources.MappedReader(source)
    released = []
    reader.mapped = type("Mapped", (), {"madvise": lambda self, what: released.append(what)})()
    np.testing.assert_array_equal(reader(np.array([5, 0, 39])), rows[0][[5, 0, 39]])
    assert released == [mmap.MADV_DONTNEED]
    private = np.memmap(tmp_path / "rows", np.uint8, "c", shape=(40, 8, 8))
    assert sources.MappedReader(private).mapped is None  # it may hold changes


def test_progress(rows, in_memory, capsys, monkeypatch):
    X, _ = rows
    try:
        in_memory.set_params(verbose=1).transform(X)
        assert capsys.readouterr().err == ""  # only what takes long has a bar
        monkeypatch.setattr(_progress, "DELAY", 0.0)
        in_memory.transform(X)
        assert "transform 40 rows" in capsys.readouterr().err
    finally:
        in_memory.set_params(verbose=0)
    in_memory.transform(X)
    assert capsys.readouterr().err == ""
