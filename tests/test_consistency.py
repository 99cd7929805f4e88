"""Outputs of a small training in float64, compared with stored ones.

After a change that is meant to change them::

    python -m tests.test_consistency --write
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sk_equivae import EquiVAEClassifier
from sk_equivae.datasets import mask_labels
from sk_equivae.presets import PAPER

GOLDEN = Path(__file__).parent / "golden"
CASES = {
    "images": {"image_shape": (8, 8)},
    "tabular": {"representation": "both"},
    "paper": {**PAPER, "image_shape": (8, 8), "likelihood": "bernoulli"},
}
HISTORY = ("train_reconstruction", "train_kl_v", "train_log_q_y")


def outputs(name):
    """What a model of two epochs on 60 rows of digits gives for five of them."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:60] / 16, mask_labels(y[:60], 3, random_state=0)
    model = EquiVAEClassifier(
        latent_dim=3,
        max_epochs=2,
        dtype="float64",
        random_state=0,
        **{"batch_size": 16, **CASES[name]},
    ).fit(X, y)
    found = {
        "transform": model.transform(X[:5]),
        "predict_proba": model.predict_proba(X[:5]),
        "history": [[row[term] for term in HISTORY] for row in model.history_],
    }
    return {key: np.asarray(value) for key, value in found.items()}


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_those_stored(name):
    stored = json.loads((GOLDEN / f"{name}.json").read_text())
    found = outputs(name)
    assert found.keys() == stored.keys()
    for key, value in found.items():
        # not to the bit: another processor adds up in another order
        np.testing.assert_allclose(value, stored[key], rtol=1e-6, atol=1e-9, err_msg=key)


def write():
    GOLDEN.mkdir(exist_ok=True)
    for name in CASES:
        rounded = {
            key: [[float(f"{number:.12g}") for number in row] for row in value]
            for key, value in outputs(name).items()
        }
        text = json.dumps(rounded, indent=1)
        (GOLDEN / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    write()
