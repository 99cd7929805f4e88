"""Loaders, draws of labels, and the peers' training loop."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from benchmarks import datasets
from benchmarks.data import draws, files, newsgroups
from benchmarks.job import Job, by_rule, prepare, view
from benchmarks.measures.errors import calibration_error, log_loss, noise_like
from benchmarks.peers.classifiers import LabelNetwork
from benchmarks.peers.loop import PeerClassifier, Units, epoch_batches
from benchmarks.registry import DATASETS, METHODS, Run, study
from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import load_few_digits


def load(name, folder=None, seed=0):
    return DATASETS[name].load(folder, np.random.RandomState(seed))


def test_mnist(data, monkeypatch):
    split = load("mnist", data)
    assert split.X.shape == (458, 28, 28)
    assert len(split.X_valid) == 42
    assert len(split.X_test) == 100
    monkeypatch.setenv(files.VARIABLE, str(data))
    np.testing.assert_array_equal(load("mnist").X, split.X)
    assert load("fashion").X.dtype == np.uint8


def test_mnist_comes_from_openml_if_there_are_no_files(tmp_path, monkeypatch, capsys):
    X = np.zeros((70_000, 784), dtype=np.uint8)
    y = np.full(70_000, "3")
    monkeypatch.setattr(datasets, "fetch_openml", lambda *_, **__: (X, y))
    assert load("fashion", tmp_path).X_test.shape == (10_000, 28, 28)
    assert "from OpenML" in capsys.readouterr().err


def test_broken_idx_file(tmp_path):
    (tmp_path / "short").write_bytes(b"\0\0\x08\x01\0\0\0\x09abc")
    with pytest.raises(ValueError, match="complete idx file"):
        files.read_idx(tmp_path / "short")


def test_svhn(data, tmp_path):
    split = load("svhn", data)
    assert split.X.shape[1:] == (32, 32, 3)
    assert set(split.y) == set(range(10))
    assert split.note == "rebuilt from a 28x28 copy"
    with pytest.raises(FileNotFoundError, match=r"ufldl\.stanford\.edu"):
        load("svhn", tmp_path)
    with pytest.raises(FileNotFoundError, match="Expected a folder"):
        load("svhn", tmp_path / "nowhere")


def test_table(data, tmp_path):
    split = load("vehicle", data)
    assert split.X.shape == (42, 4)  # two numbers, and two colours
    np.testing.assert_allclose(split.X[:, :2].mean(axis=0), 0, atol=1e-12)
    assert np.isfinite(split.X_test).all()
    with pytest.raises(FileNotFoundError, match="tabular/Zoo"):
        load("zoo", data)


def test_made_rows():
    split, entry = load("series"), DATASETS["series"]
    np.testing.assert_array_equal(split.X, load("series").X)
    assert len(np.unique(split.y)) == entry.n_classes
    assert np.bincount(split.y).min() >= 20
    assert entry.note


def test_newsgroups(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"newsgroups/minilm\.npz .* benchmarks\.data"):
        load("newsgroups", tmp_path)
    place = tmp_path / "newsgroups"
    place.mkdir()
    header = "Category\tText\nd\tstring\nclass\t\n"
    for part, group in (("train", "sci.space"), ("test", "rec.autos")):
        lines = [f'{group}\tan "odd quote {i} ' + "word " * 300 for i in range(10)]
        text = header + "\n".join([*lines, f"{group}\t"])
        (place / f"20newsgroups-{part}.tab").write_text(text)

    def encode(texts):
        assert len(texts) == 20
        assert max(map(len, texts)) == newsgroups.N_CHARACTERS
        return np.array([[float(text.split()[3])] for text in texts])

    newsgroups.write_embeddings(tmp_path, encode)
    split = load("newsgroups", tmp_path)
    assert np.bincount(split.y).tolist() == [7, 7]
    assert {*np.concatenate([split.X, split.X_test]).ravel()} == {*range(10)}


def test_digits_are_those_of_the_package():
    run = Run("few_labels", "digits", 50, "equivae", "default", 3)
    rows = Job(run).rows()
    X, y, X_test, y_test = load_few_digits(5, random_state=3)
    for got, expected in zip((rows.X, rows.y, *rows.test), (X, y, X_test, y_test), strict=True):
        np.testing.assert_array_equal(got, expected)


# ---------------------------------------------------------------- draws of labels


@pytest.fixture
def truth():
    return np.random.RandomState(0).permutation(np.arange(1_000) % 10)


def test_balanced(truth):
    rng = np.random.RandomState(0)
    rows, y = draws.balanced(truth, 50, rng)
    assert np.bincount(y[y >= 0]).tolist() == [5] * 10
    assert (y[y >= 0] == truth[y >= 0]).all()
    assert len(rows) == 1_000
    assert (draws.balanced(truth, "all", rng)[1] == truth).all()
    small = np.array([0] * 9 + [1])
    assert sorted(draws.balanced(small, 6, rng)[1][-1:]) == [1]
    with pytest.raises(ValueError, match="multiple of the 10 classes"):
        draws.balanced(truth, 55, rng)


def test_scenarios(truth):
    rng = np.random.RandomState(0)
    rows, y = draws.imbalanced(truth, 100, rng)
    counts = np.bincount(truth[rows])
    assert (counts.max(), counts.min()) == (100, 10)
    assert sorted(np.bincount(y[y >= 0]))[0] == 1
    _, y = draws.mislabeled(truth, 100, rng)
    assert (y[y >= 0] != truth[y >= 0]).sum() == 5
    _, y = draws.with_foreign(truth, 100, rng)
    assert y.max() == 7
    rows, y = draws.without_foreign(truth, 100, rng)
    assert truth[rows].max() == 7
    assert len(rows) == 800


def test_rows_for_a_method(data):
    split, rng = load("mnist", data), np.random.RandomState(0)
    rows = prepare(split, METHODS["svc"], draws.balanced, 20, rng)
    assert rows.X.shape == (20, 784)
    assert rows.X.max() <= 1
    rows = prepare(split, METHODS["equivae"], draws.with_foreign, 20, rng)
    assert rows.X.shape[1:] == (28, 28)
    assert rows.test[1].max() == 7
    assert view(split.X[:0]).shape == (0, 784)


def test_config_tells_what_is_not_a_default():
    job = Job(Run("few_labels", "mnist", 100, "equivae", "paper", 0))
    assert job.config() == {
        "objective": "paper", "networks": "paper", "augment": None, "lr": 1e-3,
        "latent_dim": 8, "m_max": 4, "max_epochs": 20, "predict_with": "posterior",
        "random_state": 0,
    }  # fmt: skip
    config = Job(Run("paper", "mnist", 100, "m1m2", "default", 0)).config()
    assert config["m2__module"] == "StackedM2"
    assert config["m2__options"] == {"alpha": 10.0, "class_threshold": 0.01}


def test_study_of_unknown_names():
    with pytest.raises(ValueError, match="names 'nothing'"):
        study("new", "New", None, {"nothing": (1,)}, ("svc",))


# ---------------------------------------------------------------- measures and peers


def test_probabilities():
    p, y = np.array([[0.9, 0.1], [0.2, 0.8], [1.0, 0.0]]), np.array([0, 1, 1])
    assert log_loss(p, y) == pytest.approx((-np.log(0.9) - np.log(0.8) + 34.539) / 3, abs=1e-3)
    assert calibration_error(p, y) == pytest.approx((0.1 + 0.2 + 1.0) / 3)
    noise = noise_like(np.array([[0, 5], [255, 5]], dtype=np.uint8), 50, 0)
    assert noise.dtype == np.uint8
    assert (noise[:, 1] == 5).all()
    assert noise[:, 0].max() > 200


def test_rules_are_put_back():
    model = EquiVAEClassifier(predict_with="posterior")
    assert [*by_rule(model)] == ["prototype", "posterior", "likelihood"]
    assert model.predict_with == "posterior"


def test_batches():
    codes = np.where(np.arange(100) < 10, 0, -1)
    batches = [*epoch_batches(codes, 30, np.random.RandomState(0))]
    assert {*np.concatenate(batches)} == {*range(100)}
    assert all((codes[batch] >= 0).sum() == 10 for batch in batches)
    alone = [*epoch_batches(codes[:10], 4, np.random.RandomState(0))]
    assert [len(batch) for batch in alone] == [4, 4, 2]


def test_units():
    X = load_digits().data
    assert Units.of(X).likelihood == "gaussian"
    ink = (X.reshape(-1, 8, 8) > 8).astype(np.uint8) * 255
    units = Units.of(ink)
    assert (units.likelihood, units.shape) == ("bernoulli", (1, 8, 8))
    assert float(units(ink[:5]).max()) == 1.0
    colour = Units.of(np.stack([ink] * 3, axis=-1))
    assert (colour.likelihood, colour.shape) == ("gaussian", (3, 8, 8))


@pytest.mark.parametrize(
    "options, n_epochs",
    [({}, 150), ({"threshold": 0.95}, 20)],
)
def test_networks_learn(options, n_epochs):
    X, y, X_test, y_test = load_few_digits(10)
    X, X_test = X.reshape(len(X), -1), X_test.reshape(len(X_test), -1)
    peer = PeerClassifier(LabelNetwork, options, max_epochs=n_epochs, lr=3e-3, random_state=0)
    if not options:
        X, y = X[y >= 0], y[y >= 0]
    assert peer.fit(X, y).score(X_test, y_test) > 0.6
    again = clone(peer).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X_test), peer.predict_proba(X_test))
