"""What the README shows is run, prints what it says, and is worth its place."""

import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
# blocks of code, each with what it prints if that is shown
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", README, re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+")


def test_short_enough():
    assert len(README.splitlines()) <= 120


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """A folder with two classes of photographs, and one of photographs without a class."""
    image = pytest.importorskip("PIL.Image")
    X, y = load_digits(n_class=2, return_X_y=True)
    root = tmp_path_factory.mktemp("readme")
    for i, (row, label) in enumerate(zip(X[:90], y[:90], strict=True)):
        folder = root / "photos" / (f"class {label}" if i < 30 else "unlabeled")
        folder.mkdir(parents=True, exist_ok=True)
        image.fromarray((255 - 15 * row.reshape(8, 8)).astype(np.uint8)).save(folder / f"{i}.png")
    return root


def test_code_runs(workshop, monkeypatch, capsys):
    """All blocks, in their order, in one namespace; only that of the folder is cut short."""
    from sk_equivae import EquiVAEClassifier

    matplotlib.use("Agg")
    monkeypatch.chdir(workshop)
    whole = EquiVAEClassifier.fit

    def fit(self, X, y):
        if getattr(X, "shape", ())[1:] == (32, 32):
            self.set_params(max_epochs=4, verbose=0)
        return whole(self, X, y)

    monkeypatch.setattr(EquiVAEClassifier, "fit", fit)
    assert len(BLOCKS) == 3
    namespace: dict = {}
    for code, said in BLOCKS:
        exec(compile(code, "README.md", "exec"), namespace)
        printed = capsys.readouterr().out
        if said:
            assert NUMBER.sub("#", printed) == NUMBER.sub("#", said)
            shown, found = ([float(n) for n in NUMBER.findall(text)] for text in (said, printed))
            np.testing.assert_allclose(found, shown, atol=0.015)  # other machines round otherwise
    assert namespace["images"].target_names.tolist() == ["class 0", "class 1"]
    assert (workshop / "photos.html").stat().st_size > 10_000
    for name in ("digits.equivae", "photos.equivae"):
        assert (workshop / name).exists()
    X, y, X_test, y_test = (namespace[name] for name in ("X", "y", "X_test", "y_test"))
    flat, flat_test = (rows.reshape(len(rows), -1) for rows in (X, X_test))
    raw = LogisticRegression(max_iter=1000).fit(flat[y >= 0], y[y >= 0])
    accuracy = raw.score(flat_test, y_test)
    assert f"of the same 100 images: {accuracy:.3f}" in README
    assert float(NUMBER.findall(BLOCKS[0][1])[0]) > accuracy + 0.05


def test_photographs_are_told_apart(workshop):
    """The model that the README trains on a folder is of use after four epochs already."""
    from sk_equivae import load

    model = load(workshop / "photos.equivae")
    images = pytest.importorskip("sk_equivae.datasets").load_image_folder(
        workshop / "photos", image_size=32
    )
    assert model.score(images.data, images.labels) > 0.9


def test_commands_are_understood():
    """Those of the command line, by its own parser."""
    from sk_equivae.cli.parser import make_parser

    commands = re.findall(r"`sk-equivae ([^`]+)`", README)
    assert len(commands) == 2
    for command in commands:
        options = make_parser().parse_args(command.split())
        assert "photos.equivae" in vars(options).values()


LINK = re.compile(r"\]\(((?!http)[^)]+)\)")


@pytest.mark.parametrize("path", LINK.findall(README))
def test_links_lead_somewhere(path):
    assert (ROOT / path).exists()


def test_pictures_of_the_results_are_there():
    folder = ROOT / "benchmarks"
    paths = LINK.findall((folder / "RESULTS.md").read_text())
    assert {"../docs/paper.png", "../docs/speed.png"} <= set(paths)
    assert all((folder / path).exists() for path in paths)


@pytest.mark.parametrize("command", ["demo", "test", "docs"])
def test_commands_exist(command):
    assert f"make {command}" in README
    assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
