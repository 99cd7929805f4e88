"""The harness of the paper's tables: checkpoints, smoke runs, claims and tables."""

import json
import re

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from benchmarks import (
    checkpoints,
    claims,
    data,
    models,
    paper,
    paper_methods,
    paper_plot,
    paper_tables,
    results,
)
from benchmarks.checkpoints import Checkpoint, Resume
from benchmarks.paper_methods import METHODS
from sk_equivae import EquiVAEClassifier, EquiVAETransformer

# ---------------------------------------------------------------- checkpoints


class Killed(Exception):
    """In place of a signal."""


def killed_after(monkeypatch, n_epochs):
    """Let the writing of a checkpoint after `n_epochs` epochs end the process."""
    save = Checkpoint.save

    def save_and_die(self, state, last):
        save(self, state, last)
        if len(state["history"]) == n_epochs:
            raise Killed

    monkeypatch.setattr(Checkpoint, "save", save_and_die)


EQUIVAE = {"latent_dim": 2, "max_epochs": 4, "batch_size": 8, "max_batch_size": 16}


@pytest.mark.parametrize(
    "extra", [{}, {"ema_decay": 0.0, "lr_decay": None, "kl_warmup": 0.5, "augment": None}]
)
def test_equivae_goes_on_as_if_nothing_had_happened(
    images, tmp_path, monkeypatch, assert_same, extra
):
    X, y = images
    y = np.where(np.arange(len(y)) < 12, y, -1)

    def fit(name=None, cls=EquiVAEClassifier):
        callbacks = [Resume(Checkpoint(tmp_path / name, seconds=0))] if name else None
        return cls(**EQUIVAE, **extra, callbacks=callbacks, random_state=0).fit(X, y)

    whole = fit()
    with monkeypatch.context() as patched:
        killed_after(patched, 2)
        with pytest.raises(Killed):
            fit("one")
    resumed = fit("one")
    assert_same(whole, resumed)
    assert [row["epoch"] for row in resumed.history_] == [1, 2, 3, 4]
    for one, other in zip(whole.history_, resumed.history_, strict=True):
        assert one["train_objective"] == other["train_objective"]
    # a finished training is taken whole, by the transformer too
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints.TrainBatches, "__iter__", lambda _: pytest.fail("trained"))
        assert_same(whole, fit("one", EquiVAETransformer))


def test_checkpoints_are_written_now_and_then(tmp_path):
    seldom = Checkpoint(tmp_path / "one", seconds=1000)
    assert seldom.load() is None
    seldom.save({"epoch": 1}, last=False)
    assert not seldom.path.exists()
    seldom.save({"epoch": 2}, last=True)
    again = Checkpoint(seldom.path)
    assert again.load() == {"epoch": 2}
    assert again.finished
    assert again.commits == [results.commit()]


# ---------------------------------------------------------------- harness


N_TRAIN, N_TEST = 500, 100


def stand_in(shape):
    """8x8 digits, enlarged, in the place of a data set."""
    X, y = load_digits(return_X_y=True)
    X = np.kron(X.reshape(-1, 8, 8), np.full((3, 3), 255 / 16))
    margin = (shape[0] - 24) // 2
    X = np.pad(X, ((0, 0), (margin, margin), (margin, margin))).astype(np.uint8)
    X = np.broadcast_to(X.reshape(*X.shape, *[1] * (len(shape) - 2)), (len(X), *shape))
    parts = slice(N_TRAIN), slice(N_TRAIN, N_TRAIN + N_TEST), slice(-N_TEST, None)
    return data.Split(*(rows[part] for part in parts for rows in (X, y)))


@pytest.fixture(autouse=True)
def small_data(monkeypatch):
    loaders = {"mnist": lambda _: stand_in((28, 28)), "svhn": lambda _: stand_in((32, 32, 3))}
    monkeypatch.setattr(models, "LOADERS", loaders)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where all smoke runs write to: they share checkpoints."""
    return tmp_path_factory.mktemp("paper")


@pytest.fixture
def smoke(place):
    """Run methods for an epoch on the stand-in, and read what they wrote."""

    def run(*options, output):
        paths = ["--output", str(place / output), "--checkpoints", str(place / "checkpoints")]
        paper.main(["--smoke", "--verbose", "0", *paths, *options])
        found = (place / output).glob("*.json")
        return {path.stem: json.loads(path.read_text()) for path in found}

    return run


@pytest.fixture(autouse=True)
def few_bound_rows(monkeypatch):
    monkeypatch.setattr(claims, "BOUND_ROWS", 5)


@pytest.mark.parametrize("labels", ["100", "all"])
@pytest.mark.parametrize("method", METHODS)
def test_smoke(smoke, capsys, method, labels):
    found = smoke("--method", method, "--labels", labels, output=f"{method}_{labels}")
    table = capsys.readouterr().out
    assert METHODS[method].words in table
    ((name, result),) = found.items()
    preset = METHODS[method].presets[0]
    assert name.startswith(f"mnist_{labels}_{method}_{preset}_0")
    assert {"history", "versions", "commit", "wall_seconds", "cpu", "cpu_seconds"} <= result.keys()
    assert result["errors"].keys() == set(METHODS[method].rules)
    for errors in result["errors"].values():
        assert all(0 <= errors[part] <= 100 for part in ("test", "valid"))
    assert result["n_labeled"] == (100 if labels == "100" else 400)
    if not METHODS[method].images:  # these learn at once, if rows and labels are not mixed up
        assert result["errors"]["predict"]["test"] < 40
    if method == "equivae":
        assert set(result["claims"]["probe_accuracy"]) == {"v", "f_inv"}


def test_svhn_and_our_best(smoke):
    options = ["--dataset", "svhn", "--preset", "best", "--note", "rebuilt", "--labels", "100"]
    found = smoke(*options, "--method", "equivae", "m1m2", output="svhn")
    assert {result["config"]["preset"] for result in found.values()} == {"best", "default"}
    settings = next(r for n, r in found.items() if "equivae" in n)["config"]["settings"]
    assert settings["batch_norm"] is True


def test_a_result_is_measured_once_and_a_training_shared(smoke, monkeypatch):
    options = ["--labels", "100", "--seeds", "7"]
    smoke(*options, "--method", "equivae", output="shared")
    with monkeypatch.context() as patched:
        patched.setattr(paper, "measure", lambda *_: pytest.fail("measured again"))
        smoke(*options, "--method", "equivae", output="shared")
    trained = []
    begin = Resume.on_train_begin

    def count(self, net, **kwargs):
        begin(self, net, **kwargs)
        trained.append(net.max_epochs)

    monkeypatch.setattr(Resume, "on_train_begin", count)
    found = smoke(*options, "--method", "equivae-neural", output="shared")
    assert trained == [0]  # no epoch was left to train
    assert len(found) == 2


def test_what_does_not_look_at_labels_is_trained_once(smoke, monkeypatch):
    options = ["--method", "m1m2", "--seeds", "7"]
    smoke(*options, "--labels", "100", output="once")
    trained = []
    save = Checkpoint.save
    monkeypatch.setattr(
        Checkpoint,
        "save",
        lambda self, *a, **k: (trained.append(self.path.name), save(self, *a, **k)),
    )
    found = smoke(*options, "--labels", "all", output="once")
    assert [name.split("_")[0] for name in trained] == ["m2"]
    histories = [result["history"] for result in found.values()]
    assert histories[0]["m1"] == histories[1]["m1"]
    assert histories[0]["m2"] != histories[1]["m2"]


def test_settings_are_chosen_without_test_rows(smoke, capsys, monkeypatch):
    hidden = stand_in((28, 28))._replace(X_test=None, y_test=None)
    monkeypatch.setattr(models.Models, "split", lambda *_: hidden)
    found = smoke("--labels", "100", "--method", "neighbors", "--valid-only", output="valid")
    ((name, result),) = found.items()
    assert result["errors"]["predict"].keys() == {"valid"}
    assert capsys.readouterr().out.startswith(name)


def test_an_interrupted_training_is_no_result(smoke, monkeypatch):
    """EquiVAE itself keeps what it had learnt when the user stops it."""

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Resume, "on_epoch_end", stop)
    with pytest.raises(KeyboardInterrupt):
        smoke("--labels", "100", "--seeds", "8", output="interrupted")


def test_presets():
    run = paper.Run("mnist", 100, "equivae", "paper", 0)
    estimator = run.make()
    assert (estimator.latent_dim, estimator.m_max, estimator.max_epochs) == (8, 4, 20)
    assert (
        estimator.get_params()
        == EquiVAEClassifier(**paper.paper("mnist", 100), random_state=0).get_params()
    )
    neural = paper.Run("svhn", "all", "equivae-neural", "paper", 0).make()
    assert (neural["equivae"].max_epochs, neural["equivae"].m_max) == (90, 10)
    benchmark = paper.Run("mnist", "all", "benchmark", "paper", 0).make()
    assert (benchmark.augment, benchmark.batch_norm, benchmark.max_epochs) == (None, False, 40)
    best = paper.Run("mnist", 100, "equivae", "best", 3).make()
    assert best.get_params() == EquiVAEClassifier(random_state=3).get_params()


def test_best_goes_by_data_set_and_labels(monkeypatch):
    monkeypatch.setitem(paper.BEST["mnist"], 100, {"latent_dim": 5})
    sizes = [
        paper.Run(dataset, labels, "equivae", "best", 0).make().latent_dim
        for dataset, labels in [("mnist", 100), ("mnist", 600), ("svhn", 1000)]
    ]
    assert sizes == [5, 16, 16]


def test_names_of_results():
    run = paper.Run("mnist", "all", "m2", "default", 3)
    assert run.name() == "mnist_all_m2_default_3"
    names = {
        paper.Run("mnist", "all", "m2", "default", 3, epochs, parameters).name()
        for epochs, parameters in [(None, {}), (5, {}), (6, {}), (None, {"alpha": 1})]
    }
    assert len(names) == 4


def test_slices_keep_the_labels():
    y = np.full(100, -1)
    y[60:70] = 1
    method = METHODS["m2"]._replace(max_rows=15)
    rows = paper_methods.training_rows(method, y)
    assert rows.tolist() == [*range(5), *range(60, 70)]
    only = paper_methods.training_rows(method._replace(labeled_only=True), y)
    assert only.tolist() == list(range(60, 70))


# ---------------------------------------------------------------- claims


def test_probes_find_what_is_there():
    rng = np.random.RandomState(0)
    y = np.arange(400) % 4
    noise, clear = rng.normal(size=(400, 3)), np.eye(4)[y] + rng.normal(size=(400, 4)) / 10
    half = slice(200), slice(200, None)
    for Z, low, high in (noise, 10, 45), (clear, 99, 100):
        found = claims.probe_accuracy(Z[half[0]], y[half[0]], Z[half[1]], y[half[1]], seed=0)
        assert found.keys() == {"linear", "neural"}
        assert all(low <= accuracy <= high for accuracy in found.values())


def test_kl_of_v(images):
    """Against the formula, with v and its scale taken from the encoder."""
    X, y = images
    model = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
    x = model._module.normalize(torch.tensor(X[:, None]))
    r = torch.from_numpy(model.prototypes_[np.searchsorted(model.classes_, model.predict(X))])
    with torch.no_grad():
        q_v = model._module.encode(x, r)
    kl = 0.5 * (q_v.variance + q_v.mean**2 - 1 - q_v.variance.log()).sum(dim=1)
    assert claims.mean_kl_v(model, X) == pytest.approx(float(kl.mean()), rel=1e-4)


# ---------------------------------------------------------------- tables


def write(folder, labels, method, seed, errors, **config):
    run = paper.Run("mnist", labels, method, METHODS[method].presets[0], seed)
    made = {**vars(run), "rows": METHODS[method].max_rows, **config}
    errors = {rule: {"test": value, "valid": 0.0} for rule, value in errors.items()}
    sliced = METHODS[method].max_rows is not None
    result = {"config": made, "errors": errors, "sliced": sliced}
    if method == "equivae":
        probes = {"linear": 20.0, "neural": 30.0}
        probes = {"v": probes, "f_inv": {"linear": 98.0, "neural": 99.0}}
        result["claims"] = {"probe_accuracy": probes, "chance": 11.35, "kl_v": 14.2, "bound": -90.1}
    results.write(folder / f"{run.name()}_{config}.json", result)


def test_tables(tmp_path):
    assert paper_tables.table(tmp_path) == ""
    for seed, value in enumerate([0.7, 0.8, 1.2]):
        rules = {"prototype": value, "posterior": value + 1, "likelihood": value + 2}
        write(tmp_path, "all", "equivae", seed, rules)
        write(tmp_path, 100, "equivae", seed, {rule: 10 * e for rule, e in rules.items()})
    write(tmp_path, "all", "equivae", 0, {"prototype": 0.5}, preset="best")
    write(tmp_path, 100, "self-training", 0, {"predict": 20.0}, note="from a copy")
    supervised = paper_tables.table_supervised(tmp_path).splitlines()
    distance = "| EquiVAE, distance on f_inv, "
    assert distance + "paper's settings | 0.90 ± 0.15 (3) | 0.82 ± 0.05 |" in supervised
    assert distance + "our best | 0.50 (1) | 0.82 ± 0.05 |" in supervised
    assert "| M1+M2 (Kingma et al. 2014) | - | 0.96 |" in supervised
    semi = paper_tables.table_semi_supervised(tmp_path).splitlines()
    assert semi[0].endswith("| 100 labels | 600 labels | 1000 labels | 3000 labels |")
    line = (
        "| EquiVAE, q(y\\|x), paper's settings | 19.00 ± 1.53 (3) / 8.90 ± 0.70 | - / 3.99 ± 0.17"
    )
    assert any(text.startswith(line) for text in semi)
    assert any("on PCA, 5,000 rows | 20.00 (1) / - | - |" in text for text in semi)
    assert semi[-1] == "*from a copy*"
    assert "SVHN" not in paper_tables.table(tmp_path)
    shown = paper_tables.table_claims(tmp_path)
    assert "| Class found in v by a neural probe, % | 30.00 ± 0.00" in shown
    assert "| Bound on log p(x) of test rows, nats | -90.10" in shown


def test_claims_are_in_the_order_of_labels(tmp_path):
    for labels in (1000, "all", 100):
        write(tmp_path, labels, "equivae", 0, {"prototype": 1.0})
    head = paper_tables.table_claims(tmp_path).splitlines()[0]
    assert re.findall(r"MNIST, (\w+) labels", head) == ["100", "1000", "all"]


def test_plot(tmp_path):
    path = tmp_path / "docs" / "paper.png"
    paper_plot.plot(tmp_path, path)
    assert not path.exists()
    for seed, value in enumerate([1.0, 2.0]):
        rules = {"prototype": value, "posterior": 50.0}
        write(tmp_path, 100, "equivae", seed, rules, preset="best")
        write(tmp_path, 100, "equivae", seed, {"prototype": 9.0}, preset="best", epochs=3)
    write(tmp_path, "all", "m2", 0, {"predict": 4.0})
    curves = paper_plot.measured(list(results.read(tmp_path)))
    assert curves == {
        ("equivae", "EquiVAE, distance on f_inv, our best"): {100: (1.5, 0.5)},
        ("equivae", "EquiVAE, distance on f_inv, our best, epochs=3"): {100: (9.0, 0.0)},
        ("m2", "M2 (Kingma et al. 2014)"): {"all": (4.0, 0.0)},
    }
    paper_plot.plot(tmp_path, path)
    assert 5_000 < path.stat().st_size < 300_000


def test_published_points():
    points = paper_plot.published("mnist", "equivae")
    assert points[100] == (8.9, 0.7)
    assert points["all"] == (0.82, 0.05)
    assert paper_plot.published("mnist", "m1m2") == {
        100: (3.33, 0.0), 1000: (2.4, 0.0), "all": (0.96, 0.0),
    }  # fmt: skip
    assert paper_plot.published("svhn", "boosting") == {}
