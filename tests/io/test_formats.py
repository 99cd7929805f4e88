"""Archives of every released format are still read, and answer as they did.

`python -m tests.io.test_formats --write` writes those of the present format.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sk_equivae import EquiVAEClassifier, EquiVAETransformer, Networks, load
from sk_equivae.files.archive import FORMAT_VERSION
from tests._tables import make_table

FOLDER = Path(__file__).parent / "archives"
SMALL = Networks(hidden=(6, 4), filters=(2, 3, 3), kernel_size=3, dense=6)
MADE = {"latent_dim": 2, "max_epochs": 1, "random_state": 0, "networks": SMALL}


def rows(name):
    if name == "mixed":
        return make_table()
    X, y = load_digits(return_X_y=True)
    X = X[:60] if name == "table" else X[:60].reshape(-1, 8, 8).astype(np.uint8)
    return X, np.array(list("abcdefghij"))[y[:60]] if name == "table" else y[:60]


MODELS = {
    "table": EquiVAEClassifier(**MADE),
    "mixed": EquiVAEClassifier(**MADE),
    "image": EquiVAETransformer(**MADE, representation="both"),
}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.equivae")), ids=lambda path: path.stem)
def test_an_archive_of_any_format_is_read(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it was made with other versions
        model = load(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    X, _ = rows(path.stem.split("_")[0])
    found = model.transform(X[:5])
    if model.representation == "both" and path.stem[-1] in "12":  # v was not relative to its class
        n_r = model.prototypes_.shape[1]
        found[:, n_r:] = model.set_params(representation="latent").transform(X[:5])[:, n_r:]
    np.testing.assert_allclose(found, expected["transform"], rtol=1e-4, atol=1e-5)
    assert model.classes_.tolist() == expected["classes"]
    if path.stem[-1] in "123":
        assert model.model_.styles is None  # the likelihood rule goes by p(v), as it did
    elif hasattr(model, "predict_proba"):
        found = model.set_params(predict_with="likelihood").predict_proba(X[:5])
        np.testing.assert_allclose(found, expected["likelihood"], rtol=1e-4, atol=1e-5)


def test_the_present_format_is_among_them():
    found = {path.stem for path in FOLDER.glob("*.equivae")}
    assert {f"{name}_{FORMAT_VERSION}" for name in MODELS} <= found


def write():
    FOLDER.mkdir(exist_ok=True)
    for name, model in MODELS.items():
        X, y = rows(name)
        model.fit(X, y).save(FOLDER / f"{name}_{FORMAT_VERSION}.equivae")
        expected = {
            "transform": model.transform(X[:5]).tolist(),
            "classes": model.classes_.tolist(),
        }
        if hasattr(model, "predict_proba"):
            model.set_params(predict_with="likelihood")
            expected["likelihood"] = model.predict_proba(X[:5]).tolist()
        text = json.dumps(expected, indent=1)
        (FOLDER / f"{name}_{FORMAT_VERSION}.json").write_text(text + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    write()
