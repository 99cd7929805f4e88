"""A linear discriminant that learns from unlabelled rows too."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sk_equivae import Discriminant
from sk_equivae.estimators.inputs import make_spec
from sk_equivae.training.batches import TrainingRows
from sk_equivae.training.pseudo_labels import Problem
from sk_equivae.training.pseudo_labels.discriminant import fit_discriminant

DISCRIMINANT = Discriminant()


def clouds(seed=0, n=400, n_labeled=4):
    """Two classes that differ in one direction; the others are wide, and blur the distances."""
    rng = np.random.RandomState(seed)
    truth = np.arange(n) % 2
    Z = rng.normal(size=(n, 4)) * 1.5
    Z[:, 0] = 2.0 * truth + rng.normal(scale=0.4, size=n)
    Z = Z @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    return Z, truth, few(truth, n_labeled)


def few(truth, n_labeled):
    y = np.full(len(truth), -1)
    for code in np.unique(truth):
        y[np.flatnonzero(truth == code)[:n_labeled]] = code
    return y


def prepared(Z, y, n_classes=2, image_shape=None, **parameters):
    spec = make_spec(Z, None, image_shape, "gaussian")
    problem = Problem(TrainingRows(Z, spec, y), n_classes, seed=0)
    Discriminant(**parameters).prepare(problem)
    return problem


@pytest.fixture
def fixed_shrinkage(monkeypatch):
    """The covariance is shrunk by a tenth."""
    monkeypatch.setattr("sklearn.covariance.ledoit_wolf_shrinkage", lambda *args, **kwargs: 0.1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_unlabelled_rows_show_the_direction_that_counts(seed):
    Z, truth, y = clouds(seed)

    def wrong(rows, codes):
        return np.mean(DISCRIMINANT.fit(rows, codes, 2)(Z).argmax(axis=1) != truth)

    labeled = y >= 0
    assert wrong(Z, y) < 0.5 * wrong(Z[labeled], y[labeled])


def test_discriminant_is_that_of_scikit_learn(fixed_shrinkage):
    rng = np.random.RandomState(0)
    codes, prior = np.repeat([0, 1, 2], [60, 90, 150]), np.array([0.2, 0.3, 0.5])
    Z = rng.normal(size=(3, 4))[codes] + rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + 7
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(Z, codes)
    np.testing.assert_allclose(
        fit_discriminant(Z, np.eye(3)[codes], prior)(Z), theirs.predict_proba(Z), atol=1e-4
    )


def test_rows_may_be_of_two_classes(fixed_shrinkage):
    """Half of each is as good as the row twice, once in each."""
    Z, truth, _ = clouds()
    prior = np.array([0.5, 0.5])
    half = np.full((400, 2), 0.5)
    half[:200] = np.eye(2)[truth[:200]]
    twice = np.concatenate([Z[:200], Z[:200], Z[200:], Z[200:]])
    codes = np.concatenate([truth[:200], truth[:200], np.zeros(200, int), np.ones(200, int)])
    expected = fit_discriminant(twice, np.eye(2)[codes], prior)(Z)
    np.testing.assert_allclose(fit_discriminant(Z, half, prior)(Z), expected, atol=1e-6)


def test_class_without_labels_is_never_found():
    Z, _, y = clouds()
    found = DISCRIMINANT.fit(Z, y, 3)(Z)
    assert (found[:, 2] == 0).all()
    assert np.isfinite(found).all()


def test_single_labels_and_rows_that_are_all_the_same():
    Z, _, y = clouds(n_labeled=1)
    assert np.isfinite(DISCRIMINANT.fit(Z, y, 2)(Z)).all()
    assert np.isfinite(DISCRIMINANT.fit(np.zeros_like(Z), y, 2)(Z)).all()


def test_opinion():
    Z, truth, y = clouds()
    (opinion,) = prepared(Z, y).opinions
    assert (opinion.name, opinion.from_labels) == ("discriminant", False)
    found = opinion.learn(y)(np.arange(50, 90))
    assert found.shape == (40, 2)
    assert np.mean(found.argmax(axis=1) == truth[50:90]) > 0.9


def test_hidden_labels_are_not_used():
    """With the labels of one class hidden, nothing is found of it."""
    Z, _, y = clouds()
    (opinion,) = prepared(Z, y).opinions
    found = opinion.learn(np.where(y == 1, -1, y))(np.arange(400))
    assert (found.argmax(axis=1) == 0).all()


def test_some_rows_and_some_components_are_enough(monkeypatch):
    Z, truth, y = clouds()
    wide = np.concatenate([Z, np.zeros((400, 6))], axis=1)
    shapes = []
    fit = Discriminant.fit
    monkeypatch.setattr(
        Discriminant, "fit", lambda self, Z, *args: shapes.append(Z.shape) or fit(self, Z, *args)
    )
    (opinion,) = prepared(wide, y, max_rows=200, n_components=5).opinions
    found = opinion.learn(y)(np.arange(400))
    assert shapes == [(208, 5)]
    assert np.mean(found.argmax(axis=1) == truth) > 0.9


@pytest.mark.parametrize("case", ["image", "all labelled"])
def test_no_opinion_where_there_is_no_use_for_it(case):
    Z, truth, y = clouds()
    if case == "image":
        Z, shape = np.tile(Z, (1, 16)), (8, 8)
    else:
        y, shape = truth, None
    assert prepared(Z, y, image_shape=shape).opinions == []
