"""Models of all kinds, the text of their pages, and their networks under Node."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from sk_equivae import EquiVAEClassifier, Objective

QUICK = {"max_epochs": 1, "batch_size": 16, "random_state": 0}
NOT_CALIBRATED = Objective(calibrate=False)

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="there is no `node` on the PATH to run the networks with"
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


def iris_case(**params):
    def case():
        X, y = load_iris(return_X_y=True, as_frame=True)
        names = np.array(["setosa", "versicolor", "virginica"])[y]
        return (X, names), {"latent_dim": 2, **params}

    return case


def digits_rows_case():
    X, y = load_digits(n_class=3, return_X_y=True)
    return (X[:60, 8:28] / 16, y[:60]), {"latent_dim": 3, "likelihood": "bernoulli"}


def mixed_case():
    """Numbers, counts, categories and gaps."""
    pd = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    y = np.arange(60) % 2
    X = pd.DataFrame(
        {
            "amount": np.where(rng.rand(60) < 0.2, np.nan, rng.exponential(size=60) + y),
            "count": rng.poisson(2 + y, 60),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], 60)),
        }
    )
    return (X, y), {"latent_dim": 2}


CASES = {
    "8x8 grey": image_case(8, 8, 1, np.float64, likelihood="bernoulli"),
    "28x28 grey bytes": image_case(28, 28, 1, np.uint8, likelihood="bernoulli", latent_dim=16),
    "32x32 colour bytes": image_case(32, 32, 3, np.uint8, predict_with="posterior"),
    "9x8 of two channels": image_case(9, 8, 2, np.float64, likelihood="gaussian"),
    # not square, odd, and above 32 pixels, where the first grid is interpolated
    "53x37 grey, float64": image_case(
        53, 37, 1, np.float64, likelihood="gaussian", dtype="float64"
    ),
    "likelihood, Bernoulli": image_case(
        8, 8, 1, np.float64, likelihood="bernoulli", predict_with="likelihood"
    ),
    "likelihood, Gaussian": iris_case(predict_with="likelihood"),
    "likelihood, not calibrated": iris_case(predict_with="likelihood", objective=NOT_CALIBRATED),
    "tabular": iris_case(),
    "tabular Bernoulli": digits_rows_case,
    "mixed": mixed_case,
}


class Cases:
    """Each case, fitted once: model, X, y."""

    def __init__(self):
        self.made = {}

    def __call__(self, name):
        if name not in self.made:
            (X, y), params = CASES[name]()
            self.made[name] = EquiVAEClassifier(**QUICK, **params).fit(X, y), X, y
        return self.made[name]


def read_page(page):
    """The text of a page, the model in it, and its scripts."""
    text = page if isinstance(page, str) else page.read_text(encoding="utf-8")
    model = re.search(r'<script type="application/json" id="model">(.*?)</script>', text, re.S)
    return text, json.loads(model[1]), re.findall(r"<script>(.*?)</script>", text, re.S)


def run_model(page, returned, **given):
    """What an expression of `engine` and the given values is in the page's scripts, under Node."""
    _, model, scripts = read_page(page)
    run = """
        const given = JSON.parse(require("fs").readFileSync(0, "utf8"), (key, value) =>
          value === "NaN" ? NaN : value);
        const { model } = given;
        const engine = makeModel(model);
        console.log(JSON.stringify(RETURNED, (key, value) =>
          ArrayBuffer.isView(value) ? Array.from(value) : Number.isNaN(value) ? null : value));
    """.replace("RETURNED", returned)
    values = {name: _plain(value) for name, value in given.items()}
    ran = subprocess.run(
        ["node", "-e", "\n".join([*scripts[:5], run])],
        input=json.dumps({"model": model, **values}),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def _plain(value):
    """Lists, with NaN as a string."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return "NaN" if value != value else value


def packed(text, dtype="<f4"):
    """The values of a base64 string."""
    import base64

    return np.frombuffer(base64.b64decode(text), dtype)
