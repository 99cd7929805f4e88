"""What docs/scaling.md shows is run, and its figures are those of docs/scaling.json."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from sk_equivae import EquiVAEClassifier

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "scaling.md").read_text()


def test_code_runs(monkeypatch, tmp_path):
    """All blocks, in their order, in one namespace; training is cut short."""
    pytest.importorskip("dask.array")
    whole = EquiVAEClassifier.fit

    def short_fit(self, X, y=None):
        return whole(self.set_params(max_epochs=1), X, y)

    monkeypatch.setattr(EquiVAEClassifier, "fit", short_fit)
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "scaling.md", "exec"), namespace)
    assert namespace["r"].shape == (len(namespace["X"]), 16)
    assert namespace["probabilities"].shape == (len(namespace["X_test"]), 10)
    assert (tmp_path / "state").exists()


def test_tables_are_those_of_the_results():
    spec = importlib.util.spec_from_file_location("scaling", ROOT / "examples" / "scaling.py")
    scaling = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scaling)
    found = json.loads((ROOT / "docs" / "scaling.json").read_text())
    assert found.keys() == scaling.PARTS.keys()
    for part in found.values():
        assert {"seed", "versions", "commit", "wall_s"} <= part.keys()
        assert "dirty" not in part["commit"]
    for name, lines in scaling.tables(found).items():
        assert f"<!-- {name} -->\n" + "\n".join(lines) + "\n<!-- end -->" in PAGE
