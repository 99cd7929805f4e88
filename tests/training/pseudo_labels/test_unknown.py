"""Rows of classes without labels are found before training, and only if there are any."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from sk_equivae import Graph
from sk_equivae.datasets import load_few_digits
from sk_equivae.estimators.inputs import make_spec
from sk_equivae.fitted import RowSpec
from sk_equivae.training.batches import TrainingRows
from sk_equivae.training.pseudo_labels import find_unknown


def rows(share_unknown, n_labels=20, seed=0):
    """Three classes far apart, of which the last has no labels."""
    n_unknown = round(300 * share_unknown / (1 - share_unknown))
    X, y = make_blobs([150, 150, n_unknown], 6, cluster_std=1.5, random_state=seed)
    codes = np.full(len(y), -1)
    for code in (0, 1):
        codes[np.flatnonzero(y == code)[:n_labels]] = code
    spec = RowSpec(
        (6,), (6,), np.dtype(float), "gaussian", 1.0, X.mean(axis=0), X.std(axis=0), (0.0, 1.0)
    )
    return TrainingRows(X, spec, codes), y


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_rows_of_an_unknown_class_are_found(share):
    data, y = rows(share)
    found = find_unknown(data, Graph(), seed=0)
    assert (y[found.rows] == 2).mean() > 0.95
    assert 0 < len(found.rows) <= (data.codes >= 0).sum()
    assert share / 2 < found.share < 1.2 * share


def test_how_labels_are_divided_does_not_matter():
    """Digits without labels of eights and nines; with five folds, one division misses them."""
    X, y, *_ = load_few_digits(random_state=3)
    truth = load_few_digits(None, random_state=3)[1]
    y = np.where(y < 8, y, -1)
    data = TrainingRows(X, make_spec(X, None, None, "bernoulli"), y)
    for seed in range(6):
        found = find_unknown(data, Graph(), seed=seed)
        assert (truth[found.rows] >= 8).mean() > 0.8


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_found_if_all_classes_are_known(seed):
    assert find_unknown(rows(0.0, seed=seed)[0], Graph(), seed=0) is None


def test_too_few_labels_or_no_unlabelled_row():
    assert find_unknown(rows(0.5, n_labels=1)[0], Graph(), seed=0) is None
    data, y = rows(0.5)
    data.codes = y
    assert find_unknown(data, Graph(), seed=0) is None
