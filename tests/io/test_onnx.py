"""ONNX graphs: the estimator's answers, in onnxruntime on the CPU."""

import copy
import functools
import itertools
import json
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version
from torch import nn

import sk_equivae
from sk_equivae import EquiVAEClassifier, EquiVAETransformer, Networks, Objective
from sk_equivae.io.float64 import convolve, mean_pool
from sk_equivae.io.onnx import MIN_TORCH

pytestmark = pytest.mark.skipif(
    parse_version(torch.__version__) < parse_version(MIN_TORCH),
    reason=f"export to ONNX needs PyTorch {MIN_TORCH}",
)
NETWORKS = {"hidden": (8, 6), "filters": (3, 4), "dense": 8}
BATCHES = (1, 2, 7, 60)


def digits():
    X, y = load_digits(n_class=3, return_X_y=True)
    return (X[:60] * 15.9).astype(np.uint8).reshape(-1, 8, 8), y[:60]


def colours():
    X, y = digits()
    return np.stack([X / 255, 1 - X / 510], axis=3).astype(np.float32), y


def table(offset=0.0):
    X, y = make_blobs(60, 4, centers=3, cluster_std=2.0, random_state=0)
    return X / 10 + offset, np.array(["a", "b", "c"])[y]


def bits():
    X, y = table()
    return (X > 0).astype(np.float32), y == "a"  # two classes


CASES = {
    "image-bernoulli": (digits, {"predict_with": "prototype", "representation": "latent"}),
    "image-gaussian": (colours, {"predict_with": "posterior", "representation": "both"}),
    "table-bernoulli": (bits, {"predict_with": "likelihood", "representation": "invariant"}),
    "table-gaussian": (lambda: table(1e6), {"representation": "both"}),
}
LIKELIHOODS = {name: name.split("-")[1] for name in CASES}


def fit(X, y, **params):
    networks = Networks(**NETWORKS, **params.pop("own", {}))
    return EquiVAEClassifier(
        latent_dim=(2, 3), max_epochs=2, networks=networks, random_state=0, **params
    ).fit(X, y)


@functools.cache
def case(name):
    data, params = CASES[name]
    X, y = data()
    return fit(X, y, likelihood=LIKELIHOODS[name], **params), X


def session(content):
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


def assert_same_answers(estimator, X, what, folder):
    """Export, and compare the answers for batches of several sizes."""
    estimator.to_onnx(folder / "model.onnx", what)
    assert [path.name for path in folder.iterdir()] == ["model.onnx"]
    graph = session((folder / "model.onnx").read_bytes())
    n_r, n_v = estimator.model_.module.n_latents
    dtype = estimator.prototypes_.dtype
    for n in BATCHES:
        if what == "decode":
            latents = np.random.RandomState(0).normal(size=(n, n_r + n_v)).astype(dtype)
            (answer,) = graph.run(["X"], {"r": latents[:, :n_r], "v": latents[:, n_r:]})
            expected = estimator.model_.decode(latents[:, :n_r], latents[:, n_r:])
        else:
            (answer,) = graph.run(None, {"X": X[:n]})
            expected = getattr(estimator, what)(X[:n])
        assert answer.dtype == expected.dtype
        assert answer.shape == expected.shape
        # a byte is rounded, and may fall to either side
        np.testing.assert_allclose(
            answer.astype(float), expected, rtol=0, atol=1 if answer.dtype == np.uint8 else 1e-5
        )
    return graph


def test_likelihood_rule_of_the_paper(tmp_path):
    """With p(v) in place of p(v|y), as in files of older versions."""
    X, y = bits()
    paper = {"predict_with": "likelihood", "objective": Objective(calibrate=False)}
    model = fit(X, y, likelihood="bernoulli", **paper)
    assert model.model_.style_weight is None
    assert_same_answers(model, X, "predict_proba", tmp_path)


@pytest.mark.parametrize("what", ["predict_proba", "transform", "decode"])
@pytest.mark.parametrize("name", CASES)
def test_same_answers(tmp_path, name, what):
    estimator, X = case(name)
    before = estimator.transform(X)
    graph = assert_same_answers(estimator, X, what, tmp_path)
    np.testing.assert_array_equal(estimator.transform(X), before)
    notes = graph.get_modelmeta().custom_metadata_map
    assert notes["sk_equivae.what"] == what
    assert notes["sk_equivae.predict_with"] == estimator.predict_with
    assert notes["sk_equivae.representation"] == estimator.representation
    assert json.loads(notes["sk_equivae.classes"]) == estimator.classes_.tolist()
    versions = json.loads(notes["sk_equivae.versions"])
    assert versions["sk_equivae"] == sk_equivae.__version__
    assert versions["torch"] == torch.__version__
    content = (tmp_path / "model.onnx").read_bytes()
    onnx.checker.check_model(content, full_check=True)
    assert b".py" not in content  # nothing about the machine it was made on


@pytest.mark.parametrize("representation", ["equivariant", "both"])
def test_v_relative_to_its_class(tmp_path, representation):
    """The spread of v within a class is the unit, so errors of v count relative to it."""
    estimator, X = case("image-bernoulli")
    estimator = copy.deepcopy(estimator).set_params(representation=representation, dtype="float64")
    model = estimator.model_
    estimator.model_ = model.replace(module=copy.deepcopy(model.module).double())
    estimator.to_onnx(tmp_path / "model.onnx", what="transform")
    (Z,) = session(tmp_path / "model.onnx").run(None, {"X": X})
    np.testing.assert_allclose(Z, estimator.transform(X), rtol=0, atol=1e-5)


def test_flattened_images_in_float64(tmp_path):
    X, y = digits()
    X = X.reshape(60, 64) / 255
    params = {"image_shape": (8, 8), "dtype": "float64", "predict_with": "likelihood"}
    estimator = fit(X, y, likelihood="gaussian", **params)
    assert_same_answers(estimator, X, "predict_proba", tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_residual_bodies(tmp_path, dtype):
    X, y = colours()
    own = {"body": "residual", "widths": (3, 4, 5)}
    estimator = fit(X.astype(dtype), y, dtype=dtype, own=own, representation="both")
    graph = assert_same_answers(estimator, X.astype(dtype), "predict_proba", tmp_path)
    assert graph.get_inputs()[0].shape[1:] == list(X.shape[1:])


def test_added_class_and_class_without_rows(tmp_path):
    X, y = table()
    some = y != "b"
    estimator = EquiVAEClassifier(
        latent_dim=(2, 3), networks=Networks(**NETWORKS), random_state=0, predict_with="likelihood"
    ).partial_fit(X[some], y[some], classes=["a", "c", "never"])
    estimator.add_classes(X[~some][:5], "b")
    assert_same_answers(estimator, X, "predict_proba", tmp_path)


class UpBody(nn.Module):
    """A decoder with PyTorch's own transposed convolutions."""

    def __init__(self, n_inputs, output_shape):
        super().__init__()
        self.dense = nn.Linear(n_inputs, 32)
        self.up = nn.ConvTranspose2d(2, output_shape[0], 2, stride=2)

    def forward(self, h):
        return self.up(self.dense(h).unflatten(1, (2, 4, 4)))


def test_networks_of_the_user(tmp_path):
    body = nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.BatchNorm2d(2), nn.GELU())
    X, y = digits()
    own = {"invariant_body": body, "decoder": UpBody}
    estimator = fit(X, y, own=own, predict_with="likelihood")
    estimator.to_onnx(tmp_path / "model.onnx")
    (p,) = session(tmp_path / "model.onnx").run(None, {"X": X})
    # Sums over pixels are float32 in the estimator, and 1e-5 off; in the graph they are float64.
    np.testing.assert_allclose(p, estimator.predict_proba(X), rtol=0, atol=1e-4)
    model = estimator.model_
    exact = model.replace(module=copy.deepcopy(model.module).double())
    expected = exact.predict_proba(X.reshape(60, 64), "likelihood")
    np.testing.assert_allclose(p, expected, rtol=0, atol=1e-5)


def test_convolutions_as_matrix_products():
    generator = torch.Generator().manual_seed(0)
    x, bias, *kernels = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((2, 4, 7, 6), (6,), (6, 4, 3, 2), (6, 2, 3, 2), (4, 6, 3, 2), (4, 3, 3, 2))
    )
    for groups, stride, padding, dilation in itertools.product((1, 2), (1, 2), (0, 1), (1, 2)):
        args = ([stride] * 2, [padding] * 2, [dilation] * 2)
        torch.testing.assert_close(
            convolve(x, kernels[groups - 1], bias, *args, False, [0, 0], groups),
            F.conv2d(x, kernels[groups - 1], bias, *args, groups),
        )
        extra, kernel = [0, stride - 1], kernels[groups + 1]
        torch.testing.assert_close(
            convolve(x, kernel, bias, *args, True, extra, groups),
            F.conv_transpose2d(x, kernel, bias, *args[:2], extra, groups, args[2]),
        )
    torch.testing.assert_close(mean_pool(x, [3, 2]), F.avg_pool2d(x, (3, 2)))
    assert mean_pool(x, [2, 2], padding=[1, 1]) is NotImplemented


def test_errors(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    with pytest.raises(NotFittedError):
        EquiVAEClassifier().to_onnx(path)
    estimator, _ = case("table-gaussian")
    with pytest.raises(ValueError, match=r"what should be one of \['predict_proba', .*'predict'"):
        estimator.to_onnx(path, "predict")
    with pytest.raises(TypeError):
        estimator.to_onnx(None)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ImportError, match=r"pip install 'sk-equivae\[onnx\]'"):
        estimator.to_onnx(path)
    assert not list(tmp_path.iterdir())


def test_crash_leaves_the_old_file(tmp_path, monkeypatch):
    estimator, _ = case("table-gaussian")
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")
    monkeypatch.setattr("sk_equivae.io.onnx.make_onnx", lambda *_, **__: onnx.ModelProto())
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        estimator.to_onnx(path, "decode")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]


def test_pipelines():
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("sk_equivae.onnx")
    X, y = table(10)
    params = {"latent_dim": 2, "max_epochs": 2, "networks": Networks(**NETWORKS), "random_state": 0}
    no_zipmap = {"options": {"zipmap": False}}
    for steps, dtype in (
        ([EquiVAEClassifier(**params)], np.float64),
        ([EquiVAETransformer(**params), LogisticRegression()], np.float32),
    ):
        rows = X.astype(dtype)
        pipeline = make_pipeline(StandardScaler(), *steps).fit(rows, y)
        graph = session(skl2onnx.to_onnx(pipeline, rows[:1], **no_zipmap).SerializeToString())
        for n in BATCHES:
            label, p = graph.run(None, {"X": rows[:n]})
            np.testing.assert_array_equal(label, pipeline.predict(rows[:n]))
            np.testing.assert_allclose(p, pipeline.predict_proba(rows[:n]), rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match="target_opset should be at least 18"):
        skl2onnx.to_onnx(pipeline, rows[:1], target_opset=17, **no_zipmap)


def test_pipelines_need_skl2onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    monkeypatch.delitem(sys.modules, "sk_equivae.onnx", raising=False)
    with pytest.raises(ImportError, match=r"skl2onnx: pip install 'sk-equivae\[onnx\]'"):
        import sk_equivae.onnx  # noqa: F401


def test_an_old_torch_is_named(monkeypatch, tmp_path):
    X, y = digits()
    model = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
    monkeypatch.setattr(torch, "__version__", "2.6.0")
    with pytest.raises(ImportError, match=f"needs PyTorch {MIN_TORCH} or newer.*got 2.6.0"):
        model.to_onnx(tmp_path / "model.onnx")


def test_by_default_the_graph_does_what_the_estimator_is_for(tmp_path):
    X, y = digits()
    for kind, output in ((EquiVAEClassifier, "probabilities"), (EquiVAETransformer, "Z")):
        kind(latent_dim=2, max_epochs=1, random_state=0).fit(X, y).to_onnx(tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
        assert [given.name for given in session.get_outputs()] == [output]
