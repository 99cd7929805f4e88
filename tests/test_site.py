"""The site, as far as it can be checked without building it; `make docs` is the whole check."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sk_equivae
from sk_equivae import model_selection

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))


@pytest.fixture(autouse=True)
def extensions(monkeypatch):
    """The extensions of the site can be imported."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))


# ---------------------------------------------------------------- gallery


def test_gallery_has_its_questions():
    names = " ".join(path.stem for path in EXAMPLES)
    for topic in (
        "start", "few_labels", "latent_space", "style_transfer", "generation", "outliers",
        "new_classes", "tables", "pipeline", "grid_search", "own_network", "calibration",
        "resuming",
    ):  # fmt: skip
        assert topic in names
    assert len(EXAMPLES) > 12


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_can_be_compiled_and_read(path):
    text = path.read_text()
    tree = ast.parse(text)
    title, line, *_ = (ast.get_docstring(tree) or "").splitlines()
    assert set(line) == {"="}
    assert len(line) >= len(title)
    assert title.endswith("?") or path.stem == "plot_start"
    # names of the library are there
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sk_equivae"):
            module = importlib.import_module(node.module)
            assert [n.name for n in node.names if not hasattr(module, n.name)] == []


def test_shortest_example_runs():
    path = ROOT / "examples" / "gallery" / "plot_06_new_classes.py"
    run = [sys.executable, "-W", "error::UserWarning", str(path)]
    environment = {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(run, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    old, _, new = (float(n) for n in re.findall(r": (0\.\d+)$", done.stdout, re.MULTILINE))
    assert old > 0.95
    assert new > 0.5  # of classes that were not trained


# ---------------------------------------------------------------- pages


PAGES = sorted([*DOCS.glob("*.md"), *(DOCS / "guide").glob("*.md")])
LINK = re.compile(r"\]\((?!https?:|#)([^)\s#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_references_of_pages(page):
    text = page.read_text()
    for link in LINK.findall(text):
        assert (page.parent / link).exists(), link
    known = {path.stem for path in EXAMPLES}
    for name in re.findall(r"\{doc\}`/(?:gallery|start)/(\w+)`", text):
        assert name in known
    for name in re.findall(r"sphx_glr_(plot_\w+)_\d{3}\.png", text):
        assert name in known


def test_every_page_is_in_a_table_of_contents():
    contents = ("index.md", "guide/index.md", "results.md", "development.md")
    listed = "\n".join((DOCS / name).read_text() for name in contents)
    for page in PAGES:
        assert page.stem == "index" or re.search(rf"^\S*\b{page.stem}$", listed, re.M)


GUIDES = [page for page in (DOCS / "guide").glob("*.md") if "```python" in page.read_text()]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_code_of_the_guide_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": "__main__"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(block, str(page), "exec"), namespace)
    if page.stem == "few_labels":
        assert len(namespace["suspects"]) < 40
    if page.stem == "saving":
        same, model, X = (namespace[name] for name in ("same", "model", "X_test"))
        np.testing.assert_array_equal(same.predict(X), model.predict(X))
        assert (tmp_path / "model.onnx").exists()
    if page.stem == "r_and_v":
        assert namespace["model_of_the_paper"].objective == "paper"


# | what | [`file`](path) | names in `...` |
MAP = (DOCS / "development.md").read_text()
MAPPED = re.findall(r"^\| ([^|]*(?:\\\|[^|]*)*) \| \[`[^`]+`\]\((.+?)\) \| (.*) \|$", MAP, re.M)


@pytest.mark.parametrize("what, path, names", MAPPED)
def test_map_names_what_is_there(what, path, names):
    text = (DOCS / path).read_text()
    names = re.findall(r"`(\w+)`", names)
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []
    for number in re.findall(r"^Eq\. (\d)|^(Appendix B)", what):
        assert re.search(rf"Eqs?\. .*{number[0]}" if number[0] else number[1], text)


def test_map_is_complete():
    for needed in ("Eq. 2", "Eq. 3", "Eq. 4", "Eq. 6", "Eq. 7", "Appendix B"):
        assert any(what.startswith(needed) for what, _, _ in MAPPED)
    folders = (ROOT / "sk_equivae").iterdir()
    rooms = {path.name for path in folders if (path / "__init__.py").exists()}
    assert rooms - set(re.findall(r"^\| \[`(\w+)`\]\(../sk_equivae/", MAP, re.M)) == set()


# ---------------------------------------------------------------- extensions


def test_reference_has_everything_public():
    from reference import public_names

    found = {name for names in public_names().values() for name in names}
    for module in (sk_equivae, model_selection):
        for name in module.__all__:
            if callable(getattr(module, name)):
                assert f"{module.__name__}.{name}" in found
    assert "sk_equivae.datasets.load_few_digits" in found
    assert "Others" not in public_names()


def test_drawing_has_every_room():
    from drawing import rooms, svg

    layers = rooms()
    picture = svg(layers)
    assert layers[-1] == ["model", "files"]
    assert all(f">{room}</text>" in picture for layer in layers for room in layer)


def test_links_of_repository_pages():
    from repository import ADDRESS, DOCS, ROOT, target

    results, page = ROOT / "benchmarks" / "RESULTS.md", DOCS / "generated" / "results.md"
    assert target(results, "SEEDS.md", page) == "seeds.md"
    assert target(results, "../docs/paper.png", page) == "../paper.png"
    tables = DOCS / "tables.md"
    assert target(tables, "../benchmarks/RESULTS.md#speed", tables) == "generated/results.md#speed"
    assert target(tables, "../examples/serve.py", tables) == f"{ADDRESS}examples/serve.py"
    assert target(tables, "nowhere.md", tables) == "nowhere.md"


def test_broken_links_are_found(tmp_path):
    from links import broken_links
    from repository import ADDRESS

    (tmp_path / "other.html").write_text('<h1 id="there">x</h1>')
    good = ["other.html", "other.html#there", "#here", "https://example.org", f"{ADDRESS}Makefile"]
    bad = ["gone.html", "other.html#gone", "#gone", f"{ADDRESS}gone.py"]
    links = "".join(f'<a href="{link}">x</a>' for link in good + bad)
    (tmp_path / "page.html").write_text(f'<p id="here">{links}</p>')
    assert [line.split()[1] for line in broken_links(tmp_path)] == bad


@pytest.mark.skipif(
    importlib.util.find_spec("docutils.utils.math.latex2mathml") is None,
    reason="docutils is not there, or has no MathML",
)
def test_every_formula_can_be_drawn():
    from mathml import to_mathml

    n_formulas = 0
    for path in (ROOT / "sk_equivae").rglob("*.py"):
        text = path.read_text()
        for formula in re.findall(r":math:`([^`]+)`", text):
            assert "<math" in to_mathml(formula)
            n_formulas += 1
        for formula in re.findall(r"\.\. math:: (.*(?:\n {14,}.*)*)", text):
            assert "<math" in to_mathml(" ".join(formula.split()), as_block=True)
    assert n_formulas > 5
