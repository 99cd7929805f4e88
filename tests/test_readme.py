"""What the README shows is run, and what it says of figures is what the results say."""

import re
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_code_runs(monkeypatch):
    """All blocks, in their order, in one namespace; training is cut short."""
    from sk_equivae import EquiVAEClassifier

    matplotlib.use("Agg")
    whole = EquiVAEClassifier.fit

    def short_fit(self, *args, **kwargs):
        return whole(self.set_params(max_epochs=1), *args, **kwargs)

    monkeypatch.setattr(EquiVAEClassifier, "fit", short_fit)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 4
    namespace: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    assert namespace["new"].shape == (5, 8, 8)
    assert set(namespace["labels"]) == {3}
    assert namespace["model_of_the_paper"].get_params()["consistency_weight"] == 0


def test_tables_are_those_of_the_results():
    from benchmarks import report

    assert "semi_supervised" in report.tables()
    assert report.readme_text(README) == README, "run `python -m benchmarks.report`"
    assert report.results_text() == report.RESULTS.read_text(), "run `python -m benchmarks.report`"


def test_fill_needs_its_mark():
    from benchmarks.report import fill

    with pytest.raises(ValueError, match="results: speed"):
        fill("no marks", "speed", "| table |")


LINK = re.compile(r"\]\(((?!http)[^)]+)\)")


@pytest.mark.parametrize("path", LINK.findall(README))
def test_links_lead_somewhere(path):
    assert (ROOT / path).exists()


def test_pictures_of_the_results_are_there():
    folder = ROOT / "benchmarks"
    paths = LINK.findall((folder / "RESULTS.md").read_text())
    assert {"../docs/paper.png", "../docs/speed.png"} <= set(paths)
    assert all((folder / path).exists() for path in paths)


@pytest.mark.parametrize("command", ["demo", "test"])
def test_commands_exist(command):
    assert f"make {command}" in README
    assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
