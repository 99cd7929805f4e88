"""The demo, on a part of its data."""

import re

import matplotlib.image
import numpy as np
import pytest
from sklearn.svm import SVC

from sk_equivae.cli import demo, main
from sk_equivae.datasets import load_few_digits


@pytest.fixture
def little_data(monkeypatch):
    def load(n_per_class, random_state):
        X_train, y_train, X_test, y_test = load_few_digits(n_per_class, random_state=random_state)
        kept = np.r_[np.flatnonzero(y_train >= 0), np.flatnonzero(y_train < 0)[:100]]
        return X_train[kept], y_train[kept], X_test[:60], y_test[:60]

    monkeypatch.setattr(demo, "load_few_digits", load)


def test_demo_prints_a_table_and_draws(little_data, tmp_path, capsys):
    path = tmp_path / "digits.png"
    main(["demo", "--output", str(path), "--labels", "5", "--seed", "1", "--epochs", "1"])
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "Of 150 images to learn from, 50 have a label (5 of each digit)" in printed.out
    assert str(path) in printed.out
    rows = re.findall(r"^(\S.*?)  +(\d+\.\d)%  +(\d+\.\d)$", printed.out, flags=re.MULTILINE)
    assert [name for name, _, _ in rows] == [
        "EquiVAE",
        "LabelSpreading (knn, 7)",
        "SelfTraining (SVC)",
        "EquiVAE, labels alone",
    ]
    peers = [float(accuracy) for _, accuracy, _ in rows[1:3]]
    assert min(peers) > 60
    picture = matplotlib.image.imread(path)
    assert picture.shape[1] > 2 * picture.shape[0]
    left, right = np.array_split(picture[..., :3], 2, axis=1)
    assert left.std() > 0.1  # images on the left
    assert np.ptp(right, axis=2).max() > 0.3  # colours on the right


def test_a_peer_without_probabilities_of_its_own(monkeypatch):
    def without(self, deep=True):
        return {"C": self.C}

    monkeypatch.setattr(SVC, "get_params", without)
    assert list(demo.peers(5, 0)) == ["LabelSpreading (knn, 7)", "SelfTraining (calibrated SVC)"]


def test_too_few_labels(capsys):
    assert main(["demo", "--labels", "1"]) == 2
    assert "expected at least 2 labels of each digit, got 1" in capsys.readouterr().err
