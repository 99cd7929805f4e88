"""`explore`: the file that it writes, and what it says of wrong arguments."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from torch import nn

from sk_equivae import EquiVAEClassifier, EquiVAETransformer, Networks, explore
from sk_equivae.explore.packing import ALPHABET
from sk_equivae.explore.rows import frame_of, in_turn
from tests.explore._page import Cases, packed, read_page


@pytest.fixture(scope="module")
def fitted():
    return Cases()


# ---------------------------------------------------------------- the file


def test_page_is_one_file_without_network(fitted, tmp_path):
    estimator, X, y = fitted("8x8 grey")
    path = explore(estimator, str(tmp_path / "page.html"), X=X, y=y, title="a < b & {{ model }}")
    assert path == tmp_path / "page.html"
    assert os.listdir(tmp_path) == ["page.html"]
    text, _, scripts = read_page(path)
    assert not re.findall(r'(?:src|href)="(?!data:)', text)
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest", text)
    assert "default-src 'none'" in text
    assert "<title>a &lt; b &amp; {{ model }}</title>" in text  # text, not a place to fill
    assert len(scripts) == 15
    assert path.stat().st_size < 3e6


def test_labels_cannot_end_the_script(blobs, make, tmp_path):
    X, y = blobs
    names = np.array(["</script><b>", "{{ page.js }}", "ü"])
    _, model, _ = read_page(explore(make().fit(X, names[y]), tmp_path / "page.html"))
    assert sorted(model["classes"]) == sorted(names)


def levels(text):
    """Integers of two characters each."""
    digits = np.array([ALPHABET.index(letter) for letter in text]).reshape(-1, 2)
    return digits @ [len(ALPHABET), 1]


def test_rows_given_are_in_the_page(fitted):
    estimator, X, y = fitted("8x8 grey")
    _, model, _ = read_page(explore(estimator, X=X, y=y, n_rows=6).html)
    rows = model["rows"]
    assert rows["classes"] == [0, 1] * 3
    assert rows["range"] == [0, 1]
    found = levels(rows["pixels"]).reshape(6, 8, 8) / 4080
    np.testing.assert_allclose(found, X[:6], atol=0.5 / 4080 + 1e-9)
    flat = X[:6].reshape(6, 64)
    _, v = estimator.model_.latents(flat, estimator.predict_with, y[:6])
    np.testing.assert_allclose(packed(rows["v"]).reshape(6, 3), v, atol=1e-5)
    f_inv = estimator.model_.f_inv(flat)
    np.testing.assert_allclose(packed(rows["f_inv"]).reshape(6, 4), f_inv, atol=1e-5)
    plane = packed(model["maps"]["r"]["directions"]).reshape(2, 4)
    np.testing.assert_allclose(plane @ plane.T, np.eye(2), atol=1e-5)


def test_bytes_are_exact(fitted):
    estimator, X, y = fitted("28x28 grey bytes")
    _, model, _ = read_page(explore(estimator, X=X, y=y).html)
    found = levels(model["rows"]["pixels"]).reshape(X.shape) / 4080 * 255
    np.testing.assert_allclose(found, X, atol=1e-9)


def test_directions_are_orthonormal_and_sorted(fitted):
    estimator, X, y = fitted("28x28 grey bytes")
    for given, first in [({"X": X, "y": y}, "principal"), ({}, "effect")]:
        _, model, _ = read_page(explore(estimator, **given).html)
        assert [basis["name"] for basis in model["bases"]] == [first, "plain"]
        for basis in model["bases"]:
            vectors = packed(basis["vectors"]).reshape(16, 16)
            np.testing.assert_allclose(vectors @ vectors.T, np.eye(16), atol=1e-5)
            assert basis["share"] == sorted(basis["share"], reverse=True)
            assert sum(basis["share"]) == pytest.approx(1)
    _, model, _ = read_page(explore(estimator, X=X, dims=(3, 0)).html)
    plain = model["bases"][1]["names"]
    assert model["start"] == {"basis": 1, "axes": [plain.index("v3"), plain.index("v0")]}


def test_frame_of_figures_and_of_photographs():
    images = np.zeros((20, 28, 28))
    images[:, 4:24, 12:15] = 1.0  # as in MNIST, the longer side is 20
    for ground in (0.0, 1.0):
        frame = frame_of(np.abs(ground - images))
        assert frame["ground"] == ground
        assert frame["side"] == [20, 20]
        np.testing.assert_allclose(frame["centre"], [[14, 14], [13.5, 13.5]])
        assert 2 < frame["stroke"] < 4
    assert frame_of(np.random.RandomState(0).rand(20, 28, 28)) is None
    assert frame_of(np.zeros((20, 28, 28))) is None


def test_in_a_notebook(fitted, tmp_path):
    page = explore(fitted("tabular")[0], title='of "Iris"')
    assert repr(page) == "Page('of \"Iris\"')"
    shown = page._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert shown.count('"') == 8  # those of the page are escaped
    assert page.save(tmp_path / "page.html").read_text(encoding="utf-8") == page.html


def test_rule_and_temperature(fitted):
    estimator, _, _ = fitted("likelihood, Gaussian")
    _, model, _ = read_page(explore(estimator).html)
    assert (model["rule"], model["asked_rule"]) == ("likelihood", "likelihood")
    expected = getattr(estimator.model_, "temperature", {"likelihood": 1.0})
    assert model["temperature"] == expected["likelihood"]


def test_grey_images_are_shown_as_ink_on_paper(fitted, tmp_path):
    estimator, X, _ = fitted("8x8 grey")  # bright on dark
    for invert, expected in [(None, True), (False, False)]:
        path = explore(estimator, tmp_path / "page.html", X=X, invert=invert)
        assert read_page(path)[1]["invert"] is expected


def test_same_model_same_page(fitted, tmp_path):
    estimator = fitted("tabular")[0]
    pages = [explore(estimator, tmp_path / f"{i}.html").read_bytes() for i in range(2)]
    assert pages[0] == pages[1]


def test_classes_without_a_prototype_are_left_out(blobs, tmp_path):
    X, y = blobs
    model = EquiVAETransformer(latent_dim=2, random_state=0)
    model.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert read_page(explore(model, tmp_path / "page.html"))[1]["classes"] == ["0", "1"]


def test_in_turn():
    np.testing.assert_array_equal(in_turn(np.array([1, 1, 1, 0, 2]), 4), [3, 0, 4, 1])


def test_a_failed_write_leaves_the_old_page(fitted, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old", encoding="utf-8")

    def fail(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        explore(fitted("tabular")[0], path)
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["page.html"]


class OwnDecoder(nn.Module):
    """A decoder with a layer that the page does not know."""

    def __init__(self, n_inputs, output_shape):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_inputs, *output_shape), nn.Softplus())

    def forward(self, h):
        return self.layers(h)


def test_errors(fitted, blobs, make, tmp_path):
    model, X, y = fitted("tabular")
    page = tmp_path / "page.html"
    with pytest.raises(NotFittedError):
        explore(EquiVAEClassifier(), page)
    with pytest.raises(TypeError, match="got Pipeline"):
        explore(make_pipeline(model), page)
    with pytest.raises(FileNotFoundError, match="Make it first"):
        explore(model, tmp_path / "nowhere" / "page.html")
    with pytest.raises(IsADirectoryError, match="Add a name"):
        explore(model, tmp_path)
    with pytest.raises(ValueError, match="got y alone"):
        explore(model, page, y=y)
    with pytest.raises(ValueError, match="n_rows"):
        explore(model, page, n_rows=0)
    with pytest.raises(ValueError, match="labels, one per row"):
        explore(model, page, X=X, y=y[:3])
    for dims in [(0, 0), (0, 2), (0,), "v0", (0.5, 1)]:
        with pytest.raises(ValueError, match="dims should be two different"):
            explore(model, page, dims=dims)
    own = make(networks=Networks(decoder=OwnDecoder)).fit(*blobs)
    with pytest.raises(ValueError, match=r"no step for Softplus.*decoder=None"):
        explore(own, page)
    assert os.listdir(tmp_path) == []


def test_page_files_are_in_the_package():
    import tomllib

    root = Path(__file__).parents[2]
    with open(root / "pyproject.toml", "rb") as file:
        data = tomllib.load(file)["tool"]["setuptools"]["package-data"]
    package = root / "sk_equivae"
    packed = {path for pattern in data["sk_equivae"] for path in package.glob(pattern)}
    needed = set((package / "explore" / "static").iterdir())
    assert {path.name for path in needed} >= {"page.html", "page.css", "app.js", "network.js"}
    assert needed <= packed
