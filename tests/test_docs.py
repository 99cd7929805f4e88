"""What the guides show is run."""

import gzip
import importlib.util
import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

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
    for name in ("accuracy", "log_loss", "bound", "pipeline_accuracy", "scores"):
        assert np.isfinite(namespace[name]).all(), name
    assert namespace["accuracy"].mean() > 0.5
    assert namespace["n_labels"].tolist() == [20, 40]
    assert namespace["halving"].n_resources_ == [1, 3]
    assert namespace["by_rows"].n_resources_ == [60, 180]
    assert namespace["on_cluster"].best_params_["m_max"] in (3, 7)
    study = namespace["study"]
    assert len(study.trials) == 5
    assert all(trial.intermediate_values for trial in study.trials)
    states = {trial.state for trial in study.trials}
    assert optuna.trial.TrialState.FAIL not in states
    for path in re.findall(r"python (examples/\S+\.py)", GUIDE.read_text()):
        assert (ROOT / path).exists()


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


def imputation():
    path = ROOT / "examples" / "imputation.py"
    spec = importlib.util.spec_from_file_location("imputation", path)
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
