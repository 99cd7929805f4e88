"""The benchmark of few labels: rows and labels, the networks of the peers, runs and tables."""

import json
import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits

from benchmarks import data, few_labels, few_labels_data, results
from benchmarks.few_labels_data import SCENARIOS, Rows, few_label_rows
from benchmarks.few_labels_methods import (
    METHODS,
    OFF,
    RULES,
    flat,
    limited,
    make,
    measure,
    thinned,
)
from benchmarks.few_labels_tables import ablation_table, robustness_table, table
from benchmarks.networks import NetworkClassifier, random_shift
from sk_equivae._batches import RowDataset
from sk_equivae.datasets import load_few_digits


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    monkeypatch.setattr(few_labels_data, "SMOKE_ROWS", 200)


@pytest.fixture
def stand_in(monkeypatch):
    """8x8 digits as bytes in the place of MNIST."""
    X, y = load_digits(return_X_y=True)
    X = (X.reshape(-1, 8, 8) * 255 / 16).astype(np.uint8)
    split = data.make_split(X[:1400], y[:1400], X[1400:], y[1400:], valid_part=0.2)
    monkeypatch.setitem(few_labels_data.LOADERS, "mnist", lambda folder: split)
    few_labels_data._read.cache_clear()
    yield split
    few_labels_data._read.cache_clear()


# ---------------------------------------------------------------- rows and labels


def test_digits_are_those_of_the_package():
    rows = few_label_rows("digits", 50, seed=3)
    X, y, X_test, y_test = load_few_digits(5, random_state=3)
    truth = load_few_digits(None, random_state=3)[1]
    both = zip((rows.X, rows.y, *rows.parts["test"]), (X, y, X_test, y_test), strict=True)
    for got, expected in both:
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(rows.parts["valid"][0], X[y < 0])
    np.testing.assert_array_equal(rows.parts["valid"][1], truth[y < 0])


def test_images_have_the_validation_part_of_the_split(stand_in):
    rows = few_label_rows("mnist", 100, seed=0)
    assert np.bincount(rows.y[rows.y >= 0]).tolist() == [10] * 10
    np.testing.assert_array_equal(rows.X, stand_in.X_train)
    np.testing.assert_array_equal(rows.parts["valid"][0], stand_in.X_valid)
    np.testing.assert_array_equal(rows.parts["test"][1], stand_in.y_test)
    assert (few_label_rows("mnist", 100, seed=1).y != rows.y).any()


@pytest.mark.parametrize("dataset", ["iris", "wine", "cancer", "digits-rows"])
def test_tabular_rows(dataset):
    n_classes, (labels,) = few_labels_data.DATASETS[dataset][1:3]
    rows = few_label_rows(dataset, labels, seed=0)
    assert np.bincount(rows.y[rows.y >= 0]).tolist() == [5] * n_classes
    n_test = len(rows.parts["test"][1])
    assert n_test / (n_test + len(rows.y)) == pytest.approx(0.3, abs=0.01)
    shares = np.bincount(rows.parts["test"][1]) / n_test
    truth = np.bincount(rows.parts["valid"][1]) + 5
    np.testing.assert_allclose(shares, truth / truth.sum(), atol=0.02)


def scenario_rows(name, seed=0):
    choose = SCENARIOS[name].choose
    return few_label_rows("digits", 100, seed, choose=choose)


def test_wrong_labels():
    right, wrong = scenario_rows("10-a-class"), scenario_rows("wrong-labels")
    np.testing.assert_array_equal(right.X, wrong.X)
    np.testing.assert_array_equal(right.y < 0, wrong.y < 0)
    assert (right.y != wrong.y).sum() == 5
    assert set(wrong.y) == {-1, *range(10)}


def test_imbalance():
    rows = scenario_rows("imbalance")
    labels = np.bincount(rows.y[rows.y >= 0])
    assert sorted(labels) == [1, 1, 2, 2, 3, 4, 5, 6, 8, 10]
    counts = labels + np.bincount(rows.parts["valid"][1])
    assert 8 < counts.max() / counts.min() < 12
    assert (np.argsort(counts)[-3:] == np.argsort(labels, kind="stable")[-3:]).all()
    assert len(rows.parts["test"][1]) == 540
    other = scenario_rows("imbalance", seed=1)
    assert (np.bincount(other.y[other.y >= 0]) != labels).any()  # another order of classes


def test_foreign_rows():
    """The same labels with and without rows of classes that have none."""
    without, with_them = scenario_rows("no-foreign-rows"), scenario_rows("foreign-rows")
    for rows in without, with_them:
        assert np.bincount(rows.y[rows.y >= 0]).tolist() == [10] * 8
        for _, labels in rows.parts.values():
            assert set(labels) == set(range(8))
    labeled = [rows.X[rows.y >= 0] for rows in (without, with_them)]
    np.testing.assert_array_equal(*labeled)
    for part in "valid", "test":
        np.testing.assert_array_equal(without.parts[part][0], with_them.parts[part][0])
    n_foreign = (load_few_digits(None, random_state=0)[1] >= 8).sum()
    assert len(with_them.y) - len(without.y) == n_foreign > 200


# ---------------------------------------------------------------- methods


def test_limited():
    rows = Rows(np.arange(10), np.array([-1, 0, -1, -1, 1, -1, -1, 2, -1, -1]), {})
    assert limited(rows, 3).X.tolist() == [0, 1, 2, 3, 4, 7]
    assert limited(rows, 3).y.tolist() == [-1, 0, -1, -1, 1, 2]
    assert limited(rows, None).X.tolist() == list(range(10)) == limited(rows, 100).X.tolist()


def test_flat():
    assert flat(np.full((2, 3, 3), 255, dtype=np.uint8)).tolist() == [[1.0] * 9] * 2
    assert flat(np.full((2, 4), 300.0)).tolist() == [[300.0] * 4] * 2


def test_only_features_with_units_are_standardised():
    for dataset, standardised in ("wine", True), ("digits", False), ("digits-rows", False):
        for method in "spreading", "selftraining":
            estimator = make(method, dataset, 30, seed=0)
            assert hasattr(estimator, "steps") == standardised


def test_the_papers_epochs_are_taken_where_there_are_some():
    assert make("paper", "mnist", 600, seed=0).max_epochs == 25
    assert make("paper", "digits", 50, seed=0).max_epochs == "auto"
    for dataset in "mnist", "digits":
        assert make("paper", dataset, 100, seed=0).complement_pool == "labeled"


def test_peers_are_measured_right():
    rows = few_label_rows("digits", 100, seed=0)
    for method in "spreading", "selftraining":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            figures = measure(method, make(method, "digits", 100, 0), rows)
        for part in "valid", "test":
            assert 1 < figures["errors"][part]["predict"] < 8
        assert (figures["n_labeled"], figures["n_unlabeled"]) == (100, 1157)


def test_thinned():
    history = [{"epoch": n, "loss": 1 / 3} for n in range(1, 51)]
    short = thinned(history)
    assert [row["epoch"] for row in short] == list(range(2, 51, 3))
    assert short[0]["loss"] == 0.33333
    assert thinned([]) == []


# ---------------------------------------------------------------- networks


@pytest.mark.parametrize("threshold", [None, 0.95])
def test_networks_learn(threshold, blobs, few, images):
    X, y = blobs
    model = NetworkClassifier(threshold, max_epochs=20, random_state=0).fit(X, few)
    assert (model.predict(X) == y).mean() > 0.95
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-5)
    X, y = images
    names = np.where(y, "lying", "standing")
    model = NetworkClassifier(threshold, max_epochs=20, batch_size=8, random_state=0)
    assert (model.fit(X, names).predict(X) == names).mean() > 0.9


def test_without_a_threshold_unlabelled_rows_are_not_seen(blobs, few):
    X = blobs[0]
    model = NetworkClassifier(max_epochs=3, random_state=0)
    alone = clone(model).fit(X[few >= 0], few[few >= 0]).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, few).predict_proba(X), alone)


def test_with_a_threshold_they_are_learnt_from_where_they_are_sure(blobs, few):
    def fit(threshold):
        model = NetworkClassifier(threshold, max_epochs=10, random_state=0).fit(blobs[0], few)
        return model.predict_proba(blobs[0]), model.history_[-1]["sure"]

    probability, sure = fit(0.8)
    assert sure > 0.5
    never, not_sure = fit(1.01)
    assert not_sure == 0
    assert np.log(probability.max(axis=1)).mean() > np.log(never.max(axis=1)).mean()


def test_one_seed(blobs, few):
    before = torch.get_rng_state()

    def fit(seed):
        model = NetworkClassifier(0.95, max_epochs=2, random_state=seed)
        return model.fit(blobs[0], few).predict_proba(blobs[0])

    np.testing.assert_array_equal(fit(0), fit(0))
    assert (fit(0) != fit(1)).any()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("n, n_epochs", [(20, 2000), (640, 200), (64_000, 20)])
def test_few_rows_are_trained_on_longer(n, n_epochs):
    dataset = RowDataset(np.zeros((n, 2)), (2,), np.zeros(n, dtype=int))
    assert NetworkClassifier()._batches(dataset, 0).max_epochs == n_epochs


def test_the_weak_view_is_weak(images):
    x = torch.tensor(images[0])[:, None]
    changed = random_shift(x, torch.Generator().manual_seed(0))
    assert changed.shape == x.shape
    assert 0 < (changed - x).abs().mean() < 0.1 * x.abs().max()


# ---------------------------------------------------------------- runs


def read_all(folder):
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def test_comparison(stand_in, tmp_path, capsys, monkeypatch):
    options = ["--smoke", "--datasets", "mnist", "iris", "--seeds", "0", "--output", str(tmp_path)]
    few_labels.main(options)
    printed = capsys.readouterr().out
    found = read_all(tmp_path / "few_labels")
    assert found.keys() == {f"{d}_{m}_0" for d in ("mnist_50", "iris_15") for m in METHODS}
    for method in METHODS.values():
        assert f"| {method.title}" in printed
    for name, result in found.items():
        assert {"versions", "commit", "wall_seconds", "cpu", "fit_seconds"} <= result.keys()
        is_equivae = result["config"]["method"] in ("equivae", "paper")
        for part in "valid", "test":
            rules = RULES if is_equivae else ("predict",)
            assert result["errors"][part].keys() == set(rules), name
        assert len(result["history"]) == METHODS[result["config"]["method"]].is_network
    assert found["mnist_50_equivae_0"]["config"]["parameters"]["random_state"] == 0
    assert found["mnist_50_paper_0"]["config"]["parameters"]["ema_decay"] == 0
    monkeypatch.setattr(few_labels, "measure", lambda *_: pytest.fail("measured again"))
    few_labels.main(options)
    assert capsys.readouterr().out == printed
    few_labels.main([*options, "--part", "test"])
    assert "test error" in capsys.readouterr().out


def test_ablation(tmp_path, capsys):
    options = ["--smoke", "--datasets", "digits", "--seeds", "0", "--output", str(tmp_path)]
    few_labels.main([*options, "--ablation", "batch_norm", "lr_decay"])
    printed = capsys.readouterr().out
    assert [line.split(" | ")[0] for line in printed.splitlines()[2:]] == [
        "| defaults",
        "| `batch_norm=False`",
        "| `lr_decay=None`",
    ]
    default = read_all(tmp_path / "few_labels")["digits_50_equivae_0"]["config"]["parameters"]
    for name, result in read_all(tmp_path / "ablation").items():
        parameters = result["config"]["parameters"]
        changed = {key for key in default if parameters[key] != default[key]}
        assert name == f"digits_50_{changed.pop()}_0"
        assert not changed


def test_every_part_can_be_switched_off():
    parameters = make("equivae", "mnist", 100, seed=0).get_params()
    for name, value in OFF.items():
        assert parameters[name] != value


def test_robustness(tmp_path, capsys):
    options = ["--smoke", "--seeds", "0", "--output", str(tmp_path)]
    few_labels.main([*options, "--robustness", "1-a-class", "foreign-rows"])
    printed = capsys.readouterr().out
    for name in "1-a-class", "foreign-rows":
        assert SCENARIOS[name].words in printed
    found = read_all(tmp_path / "robustness")
    assert len(found) == 2 * len(few_labels.ROBUSTNESS_METHODS)
    assert {result["n_labeled"] for result in found.values()} == {10, 80}


@pytest.mark.parametrize(
    "options, message",
    [
        (["--datasets", "iris", "--labels", "10"], "multiples of the 3 classes of iris"),
        (["--datasets", "mnist", "--labels", "0"], "multiples of the 10 classes of mnist"),
        (["--ablation", "--methods", "paper"], "--ablation is of EquiVAE"),
        (["--robustness", "--labels", "50", "--datasets", "mnist"], "its own numbers of labels"),
        (["--robustness", "--datasets", "iris"], "data sets of ten classes"),
    ],
)
def test_options_that_do_not_go_together(options, message, capsys):
    with pytest.raises(SystemExit):
        few_labels.parse(options)
    assert message in capsys.readouterr().err


def test_where_results_go(tmp_path):
    assert few_labels.parse([]).output == results.FOLDER
    assert few_labels.parse(["--smoke"]).output != results.FOLDER
    assert few_labels.parse(["--ablation"]).ablation == []


# ---------------------------------------------------------------- tables


def write(folder, name, errors, n_unlabeled=100, **config):
    """A result file; errors are those on the test part, and 90 on the validation part."""
    whole = {"method": "equivae", "ablation": None, "scenario": None, "most_unlabeled": None}
    result = {
        "config": {**whole, **config},
        "errors": {"test": errors, "valid": dict.fromkeys(errors, 90.0)},
        "fit_seconds": 2.0,
        "n_unlabeled": n_unlabeled,
    }
    results.write(folder / f"{name}.json", result)


def test_table(tmp_path):
    assert table(tmp_path) == ""
    n = 0
    for dataset, labels, method, by_seed in [
        ("mnist", 100, "selftraining", [20.0, 22.0]),
        ("mnist", 20, "selftraining", [40.0]),
        ("iris", 15, "spreading", [2.0, 4.0]),
        ("wine", 15, "spreading", [6.0, 10.0, 50.0]),
    ]:
        for seed, error in enumerate(by_seed):
            n += 1
            config = {"dataset": dataset, "labels": labels, "method": method, "seed": seed}
            limit = 5000 if method == "selftraining" else None
            write(tmp_path, n, {"predict": error}, limit or 90, most_unlabeled=limit, **config)
    write(tmp_path, 0, dict.fromkeys(RULES, 1.5), dataset="mnist", labels=20, seed=0)
    assert table(tmp_path).splitlines() == [
        "| MNIST, test error, % | 20 labels | 100 labels | fit, s |",
        "|---|---|---|---|",
        *(f"| EquiVAE, {rule} | 1.50 (1) |  | 2.0 |" for rule in RULES),
        "| SelfTraining (SVC, C=10), 5,000 of the unlabelled rows | 40.00 (1) | "
        "21.00 ± 1.00 (2) | 2.0 |",
        "",
        "| tabular rows, test error, % | iris, 15 labels | wine, 15 labels | mean | fit, s |",
        "|---|---|---|---|---|",
        "| LabelSpreading (knn, 7) | 3.00 ± 1.00 (2) | 22.00 ± 14.05 (3) | 5.50 ± 1.50 (2) | 2.0 |",
    ]
    assert "90.00 ± 0.00 (2)" in table(tmp_path, "valid")


def test_ablation_table_compares_the_same_seeds(tmp_path):
    here, beside = tmp_path / "ablation", tmp_path / "few_labels"
    assert ablation_table(here) == ""
    for seed, error in enumerate([2.0, 4.0, 99.0]):
        errors = dict.fromkeys(RULES, error)
        write(beside, f"{seed}", errors, dataset="mnist", labels=100, seed=seed)
        write(beside, f"o{seed}", errors, dataset="mnist", labels=20, seed=seed)
        peer = {"predict": 50.0}
        write(beside, f"p{seed}", peer, dataset="mnist", labels=100, seed=seed, method="spreading")
        if seed < 2:
            config = {"dataset": "mnist", "labels": 100, "seed": seed, "ablation": "augment"}
            write(here, f"{seed}", dict.fromkeys(RULES, 2 * error), **config)
    assert ablation_table(here).splitlines() == [
        "| test error, % | MNIST, 100 labels, prototype | MNIST, 100 labels, posterior |",
        "|---|---|---|",
        "| defaults | 3.00 ± 1.00 (2) | 3.00 ± 1.00 (2) |",
        "| `augment=None` | 6.00 ± 2.00 (2) | 6.00 ± 2.00 (2) |",
    ]


def test_robustness_table(tmp_path):
    assert robustness_table(tmp_path) == ""
    config = {"dataset": "digits", "labels": 100, "seed": 0, "scenario": "wrong-labels"}
    write(tmp_path, 1, {"predict": 8.0}, method="spreading", **config)
    write(tmp_path, 2, dict(zip(RULES, [1.0, 2.0, 3.0], strict=True)), **config)
    assert robustness_table(tmp_path).splitlines() == [
        "| digits 8x8, test error, % | EquiVAE, prototype | EquiVAE, posterior | "
        "EquiVAE, likelihood | LabelSpreading (knn, 7) |",
        "|---|---|---|---|---|",
        "| 10 labels a class, 5% of them wrong | 1.00 (1) | 2.00 (1) | 3.00 (1) | 8.00 (1) |",
    ]
