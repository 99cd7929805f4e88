"""`explore`: the page's decoder against the Python one, under node and in a browser."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sk_equivae import EquiVAEClassifier, EquiVAETransformer, Networks, explore
from sk_equivae.explore.description import in_turn
from sk_equivae.model.networks import Architecture, DenseDecoderBody

QUICK = {"max_epochs": 1, "batch_size": 16, "random_state": 0}

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="there is no `node` on the PATH to run the decoder with"
)


def blots(height, width, channels, dtype, seed=0):
    """24 images of a bright blot on dark ground, of two classes."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(0, 0.1, size=(24, height, width, channels))
    y = np.arange(24) % 2
    for image, code in zip(X, y, strict=True):
        top = rng.randint(height // 2)
        image[top : top + height // 3, : width // (1 + code), rng.randint(channels)] = 0.9
    X = X[..., 0] if channels == 1 else X
    return (255 * X if dtype == np.uint8 else X).astype(dtype), y


def image_case(*shape, **params):
    return lambda: (blots(*shape), {"latent_dim": (4, 3), **params})


def iris_case():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return (X, np.array(["setosa", "versicolor", "virginica"])[y]), {"latent_dim": 2}


def digits_rows_case():
    X, y = load_digits(n_class=3, return_X_y=True)
    return (X[:60] / 16, y[:60]), {"latent_dim": 3, "likelihood": "bernoulli"}


CASES = {
    "8x8 grey": image_case(8, 8, 1, np.float64, likelihood="bernoulli"),
    "28x28 grey bytes": image_case(28, 28, 1, np.uint8, likelihood="bernoulli", latent_dim=16),
    "32x32 colour bytes": image_case(32, 32, 3, np.uint8),
    "9x8 of two channels": image_case(9, 8, 2, np.float64, likelihood="gaussian"),
    # not square, odd, and above 32 pixels, where the first grid is interpolated
    "53x37 grey, float64": image_case(
        53, 37, 1, np.float64, likelihood="gaussian", dtype="float64"
    ),
    "tabular": iris_case,
    "tabular Bernoulli": digits_rows_case,
}


@pytest.fixture(scope="module")
def fitted():
    """Each case fitted once: model, X, y."""
    made = {}

    def get(name):
        if name not in made:
            (X, y), params = CASES[name]()
            made[name] = EquiVAEClassifier(**QUICK, **params).fit(X, y), X, y
        return made[name]

    return get


def read_page(path):
    """The text of a page, the model in it, and its scripts."""
    text = path.read_text(encoding="utf-8")
    model = re.search(r'<script type="application/json" id="model">(.*?)</script>', text, re.S)
    return text, json.loads(model[1]), re.findall(r"<script>(.*?)</script>", text, re.S)


def python_values(estimator, codes, v):
    """Means of p(x | r, v) in the units of X, not rounded, channels first."""
    model = estimator.model_
    with torch.inference_mode():
        x = model.module.decode(model.tensor(model.r(codes)), model.tensor(v)).mean
    x = (x.double().numpy() * model.rows.scale + model.rows.shift).reshape(len(v), -1)
    if model.rows.columns is not None:
        columns = model.rows.columns.columns
        x = np.stack([c.repair(values) for c, values in zip(columns, x.T, strict=True)], axis=1)
    return x.clip(0, 255) if model.rows.dtype == np.uint8 else x


def value_span(estimator, X):
    """The range of the values: of each feature of tabular rows with units, else of all."""
    spec = estimator.model_.rows
    if spec.dtype == np.uint8:
        return 255.0
    in_units = not spec.is_image and spec.likelihood == "gaussian"
    return np.ptp(np.asarray(X), axis=0 if in_units else None)


# ---------------------------------------------------------------- the decoder, under node


def run_decoder(folder, scripts, model, r, v, returned="decode(r[i], v[i])"):
    """What the decoder of a page returns under node, one row per row of v."""
    (folder / "decoder.js").write_text(scripts[0], encoding="utf-8")
    (folder / "run.js").write_text(
        """
        const { makeDecoder } = require("./decoder.js");
        const { model, r, v } = JSON.parse(require("fs").readFileSync(0, "utf8"));
        const { decode, show } = makeDecoder(model);
        const rows = v.map((_, i) => Array.from(RETURNED));
        console.log(JSON.stringify(rows));
        """.replace("RETURNED", returned),
        encoding="utf-8",
    )
    given = {"model": model, "r": r.tolist(), "v": v.tolist()}
    ran = subprocess.run(
        ["node", "run.js"], cwd=folder, input=json.dumps(given), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return np.array(json.loads(ran.stdout))


@needs_node
@pytest.mark.parametrize("name", CASES)
def test_decoder_under_node_equals_python(name, fitted, tmp_path):
    estimator, X, _ = fitted(name)
    _, model, scripts = read_page(explore(estimator, tmp_path / "page.html"))
    rng = np.random.RandomState(0)
    n_v = model["n_latents"][1]
    v = np.concatenate([np.zeros((1, n_v)), rng.normal(scale=2, size=(7, n_v))]).astype("f4")
    codes = np.arange(len(v)) % len(estimator.classes_)
    found = run_decoder(tmp_path, scripts, model, estimator.prototypes_[codes], v)
    difference = np.abs(found - python_values(estimator, codes, v))
    assert (difference / value_span(estimator, X)).max() < 1e-4  # 1/255 is 4e-3


@needs_node
def test_images_without_colours_are_shown_as_their_mean(fitted, tmp_path):
    import base64

    estimator, X, y = fitted("9x8 of two channels")
    path = explore(estimator, tmp_path / "page.html", X=X, y=y, n_styles=4)
    _, model, scripts = read_page(path)
    assert model["drawn_channels"] == 1
    low, high = model["limits"]
    rows = np.frombuffer(base64.b64decode(model["styles"]["rows"]), "u1").reshape(4, 9, 8)
    given = np.clip((X[:4].mean(axis=3) - low) / (high - low), 0, 1)
    np.testing.assert_allclose(rows / 255, given, atol=0.5 / 255 + 1e-9)
    v = np.random.RandomState(0).normal(size=(4, 3)).astype("f4")
    r = estimator.prototypes_[y[:4]]
    shown = run_decoder(tmp_path, scripts, model, r, v, "show(decode(r[i], v[i]))")
    values = python_values(estimator, y[:4], v).reshape(4, 2, 72).mean(axis=1)
    np.testing.assert_allclose(shown, np.clip((values - low) / (high - low), 0, 1), atol=1e-4)


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
    assert len(scripts) == 3


def test_labels_cannot_end_the_script(blobs, make, tmp_path):
    X, y = blobs
    names = np.array(["</script><b>", "{{ page.js }}", "ü"])
    _, model, _ = read_page(explore(make().fit(X, names[y]), tmp_path / "page.html"))
    assert sorted(model["classes"]) == sorted(names)


def test_rows_given_are_in_the_page(fitted, tmp_path):
    import base64

    estimator, X, y = fitted("8x8 grey")
    _, model, _ = read_page(explore(estimator, tmp_path / "page.html", X=X, y=y, n_styles=6))
    assert model["styles"]["classes"] == [0, 1, 0, 1, 0, 1]
    rows = np.frombuffer(base64.b64decode(model["styles"]["rows"]), "u1").reshape(6, 8, 8)
    np.testing.assert_allclose(rows / 255, X[:6], atol=0.5 / 255 + 1e-9)
    v = np.frombuffer(base64.b64decode(model["styles"]["v"]), "<f4").reshape(6, 3)
    rows = X[:6].reshape(6, 64)
    _, expected = estimator.model_.latents(rows, estimator.predict_with, y[:6])
    np.testing.assert_allclose(v, expected, atol=1e-5)


def test_directions_are_orthonormal_and_sorted(fitted, tmp_path):
    import base64

    estimator, X, y = fitted("28x28 grey bytes")
    _, model, _ = read_page(explore(estimator, tmp_path / "page.html", X=X, y=y))
    assert [basis["name"] for basis in model["bases"]] == ["principal", "plain"]
    for basis in model["bases"]:
        vectors = np.frombuffer(base64.b64decode(basis["vectors"]), "<f4").reshape(16, 16)
        np.testing.assert_allclose(vectors @ vectors.T, np.eye(16), atol=1e-5)
        assert basis["share"] == sorted(basis["share"], reverse=True)
        assert sum(basis["share"]) == pytest.approx(1)
    _, model, _ = read_page(explore(estimator, tmp_path / "page.html", X=X, dims=(3, 0)))
    plain = model["bases"][1]["names"]
    assert model["start"] == {"basis": 1, "axes": [plain.index("v3"), plain.index("v0")]}


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


class OwnDecoder(DenseDecoderBody):
    def __init__(self, n_inputs, output_shape):
        super().__init__(n_inputs, output_shape, Architecture())


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
    with pytest.raises(ValueError, match="n_styles"):
        explore(model, page, n_styles=0)
    with pytest.raises(ValueError, match="labels, one per row"):
        explore(model, page, X=X, y=y[:3])
    for dims in [(0, 0), (0, 2), (0,), "v0", (0.5, 1)]:
        with pytest.raises(ValueError, match="dims should be two different"):
            explore(model, page, dims=dims)
    own = make(networks=Networks(decoder=OwnDecoder)).fit(*blobs)
    with pytest.raises(ValueError, match=r"got OwnDecoder\. Fit with .*decoder=None"):
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
    assert {path.name for path in needed} >= {"page.html", "page.css", "page.js", "decoder.js"}
    assert needed <= packed


@needs_node
def test_columns_of_a_table_hold_what_they_can(tmp_path):
    """Counts are whole, amounts not negative, and a constant stays: as in Python."""
    pd = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"count": rng.poisson(1, 60), "amount": rng.exponential(size=60), "one": 1.0})
    estimator = EquiVAEClassifier(2, max_epochs=1, random_state=0).fit(X, np.arange(60) % 2)
    _, model, scripts = read_page(explore(estimator, tmp_path / "page.html"))
    v = rng.normal(scale=20, size=(40, 2)).astype("f4")
    codes = np.arange(40) % 2
    found = run_decoder(tmp_path, scripts, model, estimator.prototypes_[codes], v)
    np.testing.assert_allclose(found, python_values(estimator, codes, v), atol=1e-4)
    assert np.array_equal(found[:, 0], found[:, 0].round())
    assert found[:, 1].min() == 0
    assert (found[:, 2] == 1).all()
