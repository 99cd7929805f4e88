"""What the README shows is run, and what it says of figures is what the results say."""

import re
from pathlib import Path

import matplotlib
import pytest
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_code_runs(monkeypatch, capsys):
    """All blocks, in their order, in one namespace; training of classifiers is cut short."""
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
    paper = namespace["model_of_the_paper"].set_params(objective__label_weight=0.5)
    assert paper.objective.consistency_weight == 0
    assert namespace["tuned"].objective.confidence == 0.9
    # the pipeline of the README is worth its place: far better than without the transformer
    (accuracy,) = re.findall(r"^accuracy: (0\.\d+)$", capsys.readouterr().out, re.MULTILINE)
    X, y, X_test, y_test = (namespace[name] for name in ("X", "y", "X_test", "y_test"))
    flat, flat_test = (rows.reshape(len(rows), -1) for rows in (X, X_test))
    raw = LogisticRegression(max_iter=1000).fit(flat[y >= 0], y[y >= 0])
    assert f"on raw pixels {raw.score(flat_test, y_test):.2f}" in README
    assert float(accuracy) > 0.96 > raw.score(flat_test, y_test) + 0.05


LINK = re.compile(r"\]\(((?!http)[^)]+)\)")
HEADINGS = re.findall(r"^#+ (.*)$", README, re.MULTILINE)


@pytest.mark.parametrize("path", LINK.findall(README))
def test_links_lead_somewhere(path):
    path, _, heading = path.partition("#")
    assert (ROOT / path).exists()
    if heading:
        assert heading in [line.lower().replace(" ", "-") for line in HEADINGS]


# | what | [`file`](path) | names in `...` |
MAPPED = re.findall(r"^\| ([^|]*(?:\\\|[^|]*)*) \| \[`[^`]+`\]\((.+?)\) \| (.*) \|$", README, re.M)


@pytest.mark.parametrize("what, path, names", MAPPED)
def test_map_names_what_is_there(what, path, names):
    text = (ROOT / path).read_text()
    names = re.findall(r"`(\w+)`", names)
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []
    for number in re.findall(r"^Eq\. (\d)|^(Appendix B)", what):
        assert re.search(rf"Eqs?\. .*{number[0]}" if number[0] else number[1], text)


def test_map_is_complete():
    for needed in ("Eq. 2", "Eq. 3", "Eq. 4", "Eq. 6", "Eq. 7", "Appendix B"):
        assert any(what.startswith(needed) for what, _, _ in MAPPED)
    rooms = {
        path.name for path in (ROOT / "sk_equivae").iterdir() if (path / "__init__.py").exists()
    }
    assert rooms - set(re.findall(r"^\| \[`(\w+)`\]\(sk_equivae/", README, re.M)) == set()


def test_pictures_of_the_results_are_there():
    folder = ROOT / "benchmarks"
    paths = LINK.findall((folder / "RESULTS.md").read_text())
    assert {"../docs/paper.png", "../docs/speed.png"} <= set(paths)
    assert all((folder / path).exists() for path in paths)


@pytest.mark.parametrize("command", ["demo", "test"])
def test_commands_exist(command):
    assert f"make {command}" in README
    assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
