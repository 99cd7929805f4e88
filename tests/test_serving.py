"""The recipe in `examples/serve.py`: answers as the estimator's, and errors that say what to do."""

import io
import json
import runpy
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.utils.fixes import parse_version

from sk_equivae import EquiVAEClassifier
from sk_equivae.io.onnx import MIN_TORCH

fastapi = pytest.importorskip("fastapi", reason="fastapi is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytestmark = pytest.mark.skipif(
    parse_version(torch.__version__) < parse_version(MIN_TORCH),
    reason=f"export to ONNX needs PyTorch {MIN_TORCH}",
)
RECIPE = Path(__file__).parents[1] / "examples" / "serve.py"


class Server:
    """An app on a port of this machine, in a thread."""

    def __init__(self, app):
        config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        port = self.server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/predict"
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.thread.join(10)

    def post(self, content, kind="application/json"):
        """Return the status and the answer."""
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        request = urllib.request.Request(self.url, content, {"Content-Type": kind})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    X, y = load_digits(return_X_y=True)
    X = (X[:120] * 15).astype(np.uint8).reshape(-1, 8, 8)
    model = EquiVAEClassifier(latent_dim=3, max_epochs=1, random_state=0).fit(X, y[:120])
    path = tmp_path_factory.mktemp("served") / "model.onnx"
    model.to_onnx(path)
    with Server(runpy.run_path(str(RECIPE))["make_app"](str(path))) as server:
        yield server, model, X


@pytest.mark.parametrize("n_rows", [1, 5])
def test_answers_are_those_of_the_estimator(served, n_rows):
    server, model, X = served
    status, answer = server.post({"rows": X[:n_rows].tolist()})
    assert status == 200
    expected = model.predict_proba(X[:n_rows])
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)
    assert answer["predictions"] == model.classes_[expected.argmax(axis=1)].tolist()


def test_a_png(served):
    from PIL import Image

    server, model, X = served
    content = io.BytesIO()
    Image.fromarray(X[3]).save(content, "PNG")
    _, answer = server.post(content.getvalue(), "image/png")
    np.testing.assert_allclose(answer["probabilities"], model.predict_proba(X[3:4]), atol=1e-5)
    status, answer = server.post(b"no image", "image/png")
    assert status == 422
    assert "Expected a PNG image" in answer["detail"]


@pytest.mark.parametrize(
    "body, message",
    [
        ({"rows": [[1, 2, 3]]}, "Expected rows of shape (8, 8), as in fit; got (3,)"),
        ({"rows": []}, "Expected rows of shape (8, 8)"),
        ({"rows": [[1, 2], [3]]}, "with numbers"),
        ({"rows": "many"}, "with numbers"),
        ({"X": 1}, "KeyError"),
    ],
)
def test_wrong_requests(served, body, message):
    status, answer = served[0].post(body)
    assert status == 422
    assert message in answer["detail"]


@pytest.mark.parametrize("shape", [(9, 9), (8, 8, 3)])
def test_the_message_is_the_estimators_own(served, shape):
    server, model, _ = served
    wrong = np.zeros((2, *shape))
    with pytest.raises(ValueError, match="as in fit") as error:
        model.predict(wrong)
    assert server.post({"rows": wrong.tolist()})[1]["detail"] == str(error.value)
