"""What the guides show is run."""

import gzip
import importlib.util
import json
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "choosing.md"


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Classes .* have a single labelled row:UserWarning")
def test_choosing():
    """All blocks of the guide, in their order, in one namespace."""
    pytest.importorskip("distributed")
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    namespace: dict = {"__name__": "__main__"}
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) >= 9
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), namespace)
    for name, found in namespace["scores"].items():
        assert np.isfinite(found).all(), name
    assert namespace["accuracy"] > 0.85
    assert namespace["pipeline_accuracy"].mean() > 0.85
    assert np.isfinite(namespace["curve"]).all()
    assert namespace["n_labels"].tolist() == [10, 20]
    assert namespace["halving"].n_resources_ == [1, 3]
    assert namespace["by_rows"].n_resources_ == [45, 135]
    assert namespace["on_cluster"].best_params_["m_max"] in (3, 7)
    study = namespace["study"]
    assert len(study.trials) == 5
    assert all(trial.intermediate_values for trial in study.trials)
    states = {trial.state for trial in study.trials}
    assert optuna.trial.TrialState.FAIL not in states
    for path in re.findall(r"python (examples/\S+\.py)", GUIDE.read_text()):
        assert (ROOT / path).exists()


def test_tables_of_choosing_are_made_from_the_results():
    folds, search = (
        json.loads((ROOT / "docs" / f"{name}.json").read_text()) for name in ("choosing", "search")
    )
    assert not any("dirty" in found["commit"] for found in (*folds["draws"], search))
    assert search["same_scores"]
    for script, found in (("cross_validation", folds), ("search", search)):
        assert "\n".join(example(script).table(found)) in GUIDE.read_text()


TABLES = ROOT / "docs" / "tables.md"


def test_tables():
    """All blocks of the page on tables, in their order, in one namespace."""
    pytest.importorskip("pandas")
    namespace: dict = {"__name__": "__main__"}
    for block in re.findall(r"```python\n(.*?)```", TABLES.read_text(), re.DOTALL):
        exec(compile(block, str(TABLES), "exec"), namespace)
    assert namespace["accuracy"] > 0.85
    assert namespace["new"].dtypes.equals(namespace["frame"].dtypes)
    assert 0 <= namespace["share"] < 1
    assert len(namespace["several"]) == 5
    for name in ("filled", "complete"):
        assert not namespace[name]["weight"].isna().any()


TRUST = ROOT / "docs" / "trust.md"


@pytest.mark.filterwarnings("ignore:X has values from:UserWarning")  # rows of one value
def test_trust():
    """All blocks of the page on trust, in their order, in one namespace."""
    namespace: dict = {"__name__": "__main__"}
    for block in re.findall(r"```python\n(.*?)```", TRUST.read_text(), re.DOTALL):
        exec(compile(block, str(TRUST), "exec"), namespace)
    assert namespace["right"].mean() > 0.8
    assert max(namespace["confidence"]) < 0.5
    answers = namespace["answers"]
    assert (answers[:200] == -1).mean() < 0.3
    assert (answers[200:] == -1).mean() > 0.9
    found, known = namespace["found"], namespace["known"][:400]
    assert (found[~known] == -1).mean() > 0.6
    assert (found[known] == -1).mean() < 0.2
    assert namespace["open_model"].transduction_proba_.shape == (400, 8)


def test_photographs():
    """All blocks of the page on photographs, in their order, in one namespace."""
    page = ROOT / "docs" / "photographs.md"
    namespace: dict = {"__name__": "__main__"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(block, str(page), "exec"), namespace)
    assert namespace["accuracy"] > 0.8
    assert namespace["model"].model_.module.sizes.is_residual


CONFORMAL = ROOT / "docs" / "conformal.md"


def test_conformal():
    """All blocks of the page on sets of classes, in their order, in one namespace."""
    pytest.importorskip("mapie")
    if parse_version(sklearn.__version__) < parse_version("1.8"):
        pytest.skip("CalibratedClassifierCV has no temperature")
    namespace: dict = {"__name__": "__main__"}
    for block in re.findall(r"```python\n(.*?)```", CONFORMAL.read_text(), re.DOTALL):
        exec(compile(block, str(CONFORMAL), "exec"), namespace)
    # 50 held-out labels: a standard deviation of 4 points
    assert 0.8 < namespace["coverage"] < 1
    assert 0.8 < namespace["cross_coverage"] <= 1
    for name in ("sets", "cross_sets"):
        assert namespace[name].sum(axis=1).mean() < 2
    assert namespace["calibrated"].classes_.tolist() == list(range(10))
    as_before = namespace["calibrated"].calibrated_classifiers_[0].estimator
    found = namespace["p_y"].argmax(axis=1)
    np.testing.assert_array_equal(found, as_before.predict(namespace["X_test"]))
    np.testing.assert_allclose(namespace["p_y"].sum(axis=1), 1)


def imputation():
    return example("imputation")


def example(name):
    """A script of examples/, as a module."""
    path = ROOT / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_table_of_imputation_is_that_of_the_results():
    found = json.loads((ROOT / "docs" / "imputation.json").read_text())
    assert "dirty" not in found["commit"]
    assert "\n".join(imputation().table(found)) in TABLES.read_text()


def test_imputation_is_measured(tmp_path, monkeypatch):
    """A table of 60 rows with a category and a gap, by few epochs."""
    module = imputation()
    rng = np.random.RandomState(0)
    a = rng.normal(size=60)
    texts = [f"{x:.3f},{'' if i == 5 else f'{2 * x:.3f}'},{'up' if x > 0 else 'down'},0"
             for i, x in enumerate(a)]  # fmt: skip
    path = tmp_path / "Some.csv.gz"
    path.write_bytes(gzip.compress("\n".join(["a,b,c,target", *texts]).encode()))
    X, is_code = module.read(path, np.random.RandomState(0))
    assert is_code.tolist() == [False, False, True]
    assert np.isnan(X).sum() == 1
    for kind in module.KINDS:
        hidden = module.removed(X, 0.3, kind, rng)
        assert 0.2 < hidden.mean() < 0.4
        assert not np.isnan(X[hidden]).any()
    few = partial(module.EquiVAEImputer, max_epochs=2)
    monkeypatch.setattr(module, "EquiVAEImputer", few)
    monkeypatch.setattr(module, "SHARES", (0.3,))
    for line in module.measure([path]):
        assert all(0 < value < 2 for value in line["errors"].values())
    gaps = np.where(hidden, np.nan, X)
    for method in ("EquiVAE", *module.PEERS):
        filled = module.impute(method, gaps, is_code)
        np.testing.assert_allclose(filled[~np.isnan(gaps)], gaps[~np.isnan(gaps)])
    assert module.error(X, hidden, X, is_code) == 0


def test_table_of_times_is_that_of_the_measurement():
    timing = example("timing")
    found = json.loads((ROOT / "docs" / "timing.json").read_text())
    assert "dirty" not in found["commit"]
    assert "\n".join(timing.table(found)) in (ROOT / "README.md").read_text()


def test_times_are_measured():
    timing = example("timing")
    found = timing.measure(120, (8, 8))
    total = timing.total(found, 120, (8, 8))
    assert total > timing.default_epochs(120, (8, 8)) * found["epoch_s"] > 0
    assert timing.default_epochs(60_000, (28, 28)) == 8
    assert timing.default_epochs(60_000, (32, 32, 3)) == 11  # photographs are learnt for longer


def test_tables_of_trust_are_made_from_the_results():
    trust = example("trust")
    found = json.loads((ROOT / "docs" / "trust.json").read_text())
    assert "dirty" not in found["commit"]
    text = TRUST.read_text()
    for lines in (trust.table_of_rules(found["draws"]), trust.table_of_unknown(found["draws"])):
        assert "\n".join(lines) in text


def test_table_of_the_papers_settings_is_made_from_the_results():
    settings = example("paper_settings")
    results = json.loads((ROOT / "docs" / "paper_settings.json").read_text())
    assert not any("dirty" in found["commit"] for found in results)
    assert "\n".join(settings.table(results)) in (ROOT / "docs" / "paper_settings.md").read_text()


def test_a_variant_of_the_papers_settings_is_measured(monkeypatch):
    from sklearn.datasets import load_digits

    from benchmarks.registry import Split

    settings = example("paper_settings")
    monkeypatch.setattr(settings, "paper", lambda *_: {"latent_dim": 2, "objective": "paper"})
    X, y = load_digits(return_X_y=True)
    X = (15 * X).astype(np.uint8).reshape(-1, 8, 8)
    split = Split(X[:200], y[:200], X[200:250], y[200:250], X[250:300], y[250:300])
    found = settings.measure(split, "weight 25", 20, seed=0, epochs=2)
    assert len(found["curve"]) == found["epochs"] == 2
    assert all(0 <= found[rule] <= 1 for rule in ("posterior", "prototype", "likelihood"))


def test_figures_of_the_paper_are_drawn(tmp_path, monkeypatch):
    figures = example("paper_figures")
    rows = [part[:80] for part in figures.rows("digits")]
    monkeypatch.setattr(figures, "rows", lambda _: rows)
    short = {name: {**options, "max_epochs": 1} for name, options in figures.MODELS.items()}
    monkeypatch.setattr(figures, "MODELS", short)
    monkeypatch.setattr(sys, "argv", ["paper_figures", str(tmp_path), "digits"])
    figures.main()
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == {f"digits_figure_{number}.png" for number in (3, 4, 5)}
