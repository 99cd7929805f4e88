"""Loaders, stored models, and smoke runs of the figures and of the generation benchmark.

The data sets are small stand-ins, written in the official formats.
"""

import argparse
import gzip
import json
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat
from sklearn.datasets import load_digits

from benchmarks import data, figures, generation, models, report, results
from sk_equivae import EquiVAEClassifier

N_TRAIN, N_TEST = 600, 120


def write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    content = header + array.tobytes()
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)


def write_idx_folder(folder, X, y, X_test, y_test, suffix=".gz"):
    for name, array in zip(data.IDX_FILES, (X, y, X_test, y_test), strict=True):
        write_idx(folder / f"{name}{suffix}", array.astype(np.uint8))


def write_svhn(folder, X, y, X_test, y_test):
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows, labels in zip(data.SVHN_FILES, (X, X_test), (y, y_test), strict=True):
        labels = np.where(labels == 0, 10, labels).astype(np.uint8)
        savemat(folder / name, {"X": rows.transpose(1, 2, 3, 0), "y": labels[:, None]})


def numbered(n, shape):
    """Images whose first two values are their number."""
    X = np.random.RandomState(0).randint(256, size=(n, *shape), dtype=np.uint8)
    flat = X.reshape(n, -1)
    flat[:, 0], flat[:, 1] = np.arange(n) // 256, np.arange(n) % 256
    return X


def number_of(X):
    flat = X.reshape(len(X), -1).astype(int)
    return 256 * flat[:, 0] + flat[:, 1]


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch, tmp_path):
    """Neither the environment's data sets nor Debian's, and no network."""
    monkeypatch.delenv(data.VARIABLE, raising=False)
    monkeypatch.setattr(data, "DEBIAN_FASHION", tmp_path / "debian")
    monkeypatch.setattr(data, "fetch_openml", lambda *_, **__: pytest.fail("went to the network"))


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """A folder with three data sets: 8x8 digits, enlarged; as negatives for Fashion-MNIST."""
    folder = tmp_path_factory.mktemp("data")
    X, y = load_digits(return_X_y=True)
    X = np.kron(X.reshape(-1, 8, 8) / 16, np.ones((3, 3)))[: N_TRAIN + N_TEST]
    X, y = (255 * np.pad(X, ((0, 0), (2, 2), (2, 2)))).astype(np.uint8), y[: len(X)]
    parts = slice(N_TRAIN), slice(N_TRAIN, None)
    mnist = [rows[part] for part in parts for rows in (X, y)]
    write_idx_folder(folder / "mnist", *mnist)
    write_idx_folder(folder / "fashion", *(255 - a if a.ndim == 3 else a for a in mnist))
    color = np.repeat(np.pad(X, ((0, 0), (2, 2), (2, 2)))[..., None], 3, axis=-1)
    write_svhn(folder / "svhn", *[rows[part] for part in parts for rows in (color, y)])
    return folder


@pytest.fixture(scope="module")
def options(stand_in, tmp_path_factory):
    """The options of a smoke run; its models are kept for the next one."""
    kept = tmp_path_factory.mktemp("models")
    folders = ["--models", str(kept), "--checkpoints", str(kept / "checkpoints")]
    return ["--smoke", "--data", str(stand_in), *folders]


# ---------------------------------------------------------------- data


@pytest.mark.parametrize("suffix", [".gz", ""])
@pytest.mark.parametrize("place", ["mnist", "."])
def test_mnist(tmp_path, suffix, place):
    X, y = numbered(240, (28, 28)), np.arange(240) % 10
    write_idx_folder(tmp_path / place, X, y, X[:30], y[:30], suffix)
    split = data.load_mnist(tmp_path)
    assert [len(part) for part in split] == [220, 220, 20, 20, 30, 30]
    assert {a.dtype for a in split[::2]} == {np.dtype("uint8")}
    assert {a.dtype for a in split[1::2]} == {np.dtype("int64")}
    for rows, labels in (split[:2], split[2:4], split[4:]):
        np.testing.assert_array_equal(rows, X[number_of(rows)])
        np.testing.assert_array_equal(labels, y[number_of(rows)])
    train, valid = number_of(split.X_train), number_of(split.X_valid)
    assert sorted([*train, *valid]) == list(range(240))
    np.testing.assert_array_equal(number_of(data.load_mnist(tmp_path).X_valid), valid)


def test_svhn(tmp_path):
    """Rows come last in the files, and 10 stands for the digit 0."""
    X, y = numbered(300, (32, 32, 3)), np.arange(300) % 10
    write_svhn(tmp_path / "svhn", X, y, X[:40], y[:40])
    split = data.load_svhn(tmp_path)
    assert [len(part) for part in split[::2]] == [287, 13, 40]
    for rows, labels in (split[:2], split[2:4], split[4:]):
        assert rows.dtype == np.uint8
        np.testing.assert_array_equal(rows, X[number_of(rows)])
        np.testing.assert_array_equal(labels, y[number_of(rows)])
    assert set(split.y_train) == set(range(10))


@pytest.mark.parametrize(
    "n, valid_part, sizes",
    [(60_000, 5_000 / 60_000, (55_000, 5_000)), (73_257, 3_257 / 73_257, (70_000, 3_257))],
)
def test_sizes_of_the_paper(n, valid_part, sizes):
    rows = np.arange(n)
    split = data.make_split(rows, rows, rows[:1], rows[:1], valid_part=valid_part)
    assert (len(split.X_train), len(split.X_valid)) == sizes


@pytest.mark.parametrize(
    "spoil", [lambda b: b[:-1], lambda b: b"\0\0\x0d" + b[3:], lambda b: b"<ht"]
)
def test_broken_idx_file(tmp_path, spoil):
    path = tmp_path / "train-labels-idx1-ubyte"
    write_idx(path, np.arange(7, dtype=np.uint8))
    np.testing.assert_array_equal(data.read_idx(path), np.arange(7))
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ValueError, match="train-labels-idx1-ubyte to be an idx file"):
        data.read_idx(path)


def test_the_environment_says_where(stand_in, monkeypatch):
    monkeypatch.setenv(data.VARIABLE, str(stand_in))
    assert len(data.load_fashion_mnist().X_test) == N_TEST


def test_fashion_of_debian(stand_in, monkeypatch):
    monkeypatch.setattr(data, "DEBIAN_FASHION", stand_in / "fashion")
    assert len(data.load_fashion_mnist(stand_in / "mnist").X_test) == N_TEST


def test_mnist_and_fashion_are_not_taken_for_each_other(stand_in, tmp_path, monkeypatch):
    """Their files have the same names."""
    fetched = []

    def fetch(name, **_):
        fetched.append(name)
        return np.zeros((60_002, 784), np.uint8), np.full(60_002, "3")

    monkeypatch.setattr(data, "fetch_openml", fetch)
    assert data.load_fashion_mnist(stand_in / "mnist").X_test.shape == (2, 28, 28)
    assert data.load_mnist(stand_in / "fashion").y_train.tolist() == [3] * 55_000
    assert fetched == ["Fashion-MNIST", "mnist_784"]
    assert len(data.load_fashion_mnist(stand_in / "fashion").X_test) == N_TEST


def test_missing_data(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"ufldl\.stanford\.edu/housenumbers"):
        data.load_svhn(tmp_path)
    with pytest.raises(FileNotFoundError, match="found none at"):
        data.load_mnist(tmp_path / "nowhere")


def test_few_labels():
    y = np.repeat(np.arange(10), 30)
    draws = [data.few_labels(y, 50, seed) for seed in (0, 0, 1)]
    for drawn in draws:
        assert np.bincount(drawn[drawn >= 0]).tolist() == [5] * 10
        np.testing.assert_array_equal(drawn[drawn >= 0], y[drawn >= 0])
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()
    assert (data.few_labels(y, "all", 0) == y).all()
    with pytest.raises(ValueError, match="multiple of the 10 classes"):
        data.few_labels(y, 55, 0)


# ---------------------------------------------------------------- models


def as_if_trained(estimator):
    estimator.history_ = [{"dur": 1.0}]
    estimator.callbacks[0].checkpoint.finished = True
    return estimator


def test_a_model_is_trained_once(stand_in, tmp_path, monkeypatch):
    def fit(self, X, y):
        fits.append((X, y, self.max_epochs))
        return as_if_trained(self)

    fits: list = []
    monkeypatch.setattr(EquiVAEClassifier, "fit", fit)

    def get(*args, overrides=None, **parameters):
        known = models.Models(stand_in, tmp_path, tmp_path / "none", overrides or {})
        return known.get(*args, **parameters)

    first = get("mnist", 100, 0)
    again = get("mnist", 100, 0)
    assert len(fits) == 1
    assert again.config == first.config
    assert again.estimator.get_params() == first.estimator.get_params()
    for args, options in [
        (("mnist", 100, 1), {}),
        (("mnist", "all", 0), {}),
        (("mnist", 100, 0), {"classes": range(8)}),
        (("mnist", 100, 0), {"latent_dim": 2}),
        (("mnist", 100, 0), {"overrides": {"max_epochs": 3}}),
    ]:
        get(*args, **options)
    assert len(fits) == 6 == len(list(tmp_path.iterdir()))
    labels = [y for _, y, _ in fits]
    assert (labels[0] != labels[1]).any()  # another draw
    assert [int((y >= 0).sum()) for y in labels] == [100, 100, 550, 80, 100, 100]
    assert set(labels[3]) == {-1, *range(8)}
    assert fits[5][2] == 3


def test_a_training_that_did_not_end_is_no_model(stand_in, tmp_path, monkeypatch):
    def interrupted(self, X, y):
        self.history_ = []  # what `fit` keeps of a training that the user stopped
        return self

    monkeypatch.setattr(EquiVAEClassifier, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        models.Models(stand_in, tmp_path, tmp_path / "none").get("mnist", "all", 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("owner, verb", [(EquiVAEClassifier, "fit"), (models.joblib, "dump")])
def test_a_killed_training_leaves_nothing(stand_in, tmp_path, monkeypatch, owner, verb):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(EquiVAEClassifier, "fit", lambda self, X, y: as_if_trained(self))
    monkeypatch.setattr(owner, verb, killed)
    with pytest.raises(KeyboardInterrupt):
        models.Models(stand_in, tmp_path, tmp_path / "none").get("mnist", "all", 0)
    assert list(tmp_path.iterdir()) == []


def test_a_smoke_run_writes_elsewhere(tmp_path):
    for extra, real in ([], True), (["--smoke"], False):
        parser = argparse.ArgumentParser()
        models.add_options(parser)
        arguments, _ = models.parse(parser, extra, tmp_path)
        assert (arguments.output == tmp_path) == real


# ---------------------------------------------------------------- generation


def test_generation(options, tmp_path, capsys):
    generation.main([*options, "--output", str(tmp_path)])
    table = capsys.readouterr().out
    for line in generation.LINES:
        assert line.words in table
    found = {path.stem: json.loads(path.read_text()) for path in tmp_path.iterdir()}
    assert found.keys() == {f"{name}_all_0_valid" for name in generation.MEASUREMENTS}
    for result in found.values():
        assert {"config", "versions", "commit", "wall_seconds", "cpu", "model"} <= result.keys()
    # What needs no training is good on the stand-in, if rows and labels are not mixed up.
    assert found["samples_all_0_valid"]["judge_accuracy"] > 90
    assert found["reconstruction_all_0_valid"]["mse_pca"] < 0.02
    assert found["outliers_all_0_valid"]["auroc"] > 0.9  # negatives are unlike digits
    accuracy = found["added_all_0_valid"]["accuracy"]
    for method in generation.METHODS[1:]:
        assert np.mean(accuracy[method]["20"]) > 70
    assert {len(values) for values in accuracy["EquiVAE"].values()} == {2}


class Perfect:
    """A model that knows each row, and whose v is a row's number."""

    classes_ = np.arange(10)

    def set_params(self, **_):
        return self

    def sample(self, n_samples, y, random_state):
        return np.eye(10)[y] * 255, y

    def transfer_style(self, content, style):
        return np.column_stack([content[:, :10], style[:, 10]])

    def transform(self, X):
        return X[:, 10:]


@pytest.mark.parametrize("spoilt", [False, True])
def test_shares(monkeypatch, spoilt):
    """All of what a perfect model makes is right, and little of what a bad one makes."""
    y = np.arange(200) % 10
    X = np.column_stack([np.eye(10)[y] * 255, np.arange(200)])
    split = data.Split(X, y, X, y, X, y)
    model = Perfect()
    if spoilt:
        model.sample = lambda n, y, random_state: (np.eye(10)[(y + 1) % 10] * 255, y)
        model.transfer_style = lambda content, style: content[::-1]
    trained = models.Trained(model, {}, 0.0, "")
    bench = SimpleNamespace(smoke=False, split=lambda _: split, get=lambda *_: trained)

    class Judge:
        accuracy = 100.0

        def __init__(self, _): ...

        def agrees(self, X, y):
            return X[:, :10].argmax(axis=1) == y

    monkeypatch.setattr(generation, "Judge", Judge)
    samples = generation.measure_samples(bench, "all", 0, "valid")
    style = generation.measure_style(bench, "all", 0, "valid")
    assert samples["n_samples"] == 10_000
    shares = samples["recognised"], style["class_kept"], style["style_nearer"]
    assert max(shares) < 70 if spoilt else shares == (100, 100, 100)


def test_a_poor_judge_is_not_believed(stand_in, tmp_path, monkeypatch):
    monkeypatch.setattr(generation, "JUDGE_ROWS", 20)
    with pytest.raises(ValueError, match="Expected the judge to know at least 97"):
        generation.Judge(models.Models(stand_in, tmp_path))


def test_table(tmp_path):
    assert generation.table(tmp_path) == ""
    for labels, seed, value in ("all", 0, 97.0), ("all", 1, 99.0), (100, 0, 91.0):
        config = {"measurement": "samples", "labels": labels, "seed": seed, "part": "valid"}
        figures = {"recognised": value, "judge_accuracy": 98.0}
        result = {"config": {**config, "parameters": {}}, **figures}
        results.write(tmp_path / f"{labels}_{seed}.json", result)
    lines = generation.table(tmp_path).splitlines()
    assert lines[0] == "| | all labels, validation rows | 100 labels, validation rows | bar |"
    assert "| 98.00 ± 1.00 (2) | 91.00 (1) | ≥ 95; ≥ 90 with 100 labels |" in lines[3]
    assert len(lines) == 4


def test_report_leaves_out_what_is_not_measured(tmp_path, monkeypatch):
    tables = {
        "one": ("one", "One", lambda _: "| 1 |"),
        "two": ("one", "Two", lambda _: "| 2 |"),
        "none": ("none", "None", lambda _: ""),
    }
    for name, path in ("FOLDER", tmp_path), ("README", tmp_path / "r"), ("RESULTS", tmp_path / "s"):
        monkeypatch.setattr(report, name, path)
    monkeypatch.setattr(report, "TABLES", tables)
    (tmp_path / "r").write_text(
        "<!-- results: one --><!-- end --> <!-- results: none --><!-- end -->"
    )
    report.main()
    readme, results_md = (tmp_path / "r").read_text(), (tmp_path / "s").read_text()
    assert readme == "<!-- results: one -->\n| 1 |\n<!-- end --> <!-- results: none --><!-- end -->"
    assert "Two\n\n| 2 |" in results_md  # it has no place in the README
    assert "None" not in results_md


# ---------------------------------------------------------------- figures


def test_figures(options, tmp_path, monkeypatch):
    drawn = {}
    whole = figures.save

    def save(figure, path, *args):
        axes = [ax for ax in figure.axes if ax.images or ax.collections or ax.lines]
        drawn[path.stem] = [len(ax.images) for ax in axes]
        whole(figure, path, *args)

    monkeypatch.setattr(figures, "save", save)
    figures.main([*options, "--output", str(tmp_path), "--svhn-note", "a note"])
    assert drawn == {
        "mnist_figure_3": [0, 0, 0],
        "mnist_figure_4": [1, 1, 1],
        "mnist_figure_5": [0, 0, 1, 1, 1, 1, 1],
        "svhn_figure_4": [1, 1, 1],
    }
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.png" for name in drawn}
    for path in tmp_path.iterdir():
        assert path.stat().st_size < figures.MAX_BYTES
        with Image.open(path) as picture:
            assert np.asarray(picture.convert("L")).std() > 5


def test_a_large_picture_gets_coarser(tmp_path, monkeypatch):
    def width(limit):
        monkeypatch.setattr(figures, "MAX_BYTES", limit)
        figure = figures.new_figure(3, 3)
        figure.subplots().imshow(np.random.RandomState(0).rand(300, 300))
        figures.save(figure, tmp_path / "noise.png")
        with Image.open(tmp_path / "noise.png") as picture:
            return picture.width

    assert width(10**9) == 330
    assert width(40_000) < 330
    assert (tmp_path / "noise.png").stat().st_size < 40_000


def test_examples_are_pairs_of_a_class():
    y = np.array([1, 0, 1, 1, 0, 0, 2])
    X = np.arange(7)
    guess = np.array([0, 0, 1, 1, 1, 0, 2])
    trained = SimpleNamespace(estimator=SimpleNamespace(predict=lambda _: guess))
    first, second = figures.examples(trained, X, y)
    assert (first.tolist(), second.tolist()) == ([1, 2], [5, 3])  # of 2 there is one row only
