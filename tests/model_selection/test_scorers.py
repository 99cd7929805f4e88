"""Scorers that leave unlabelled rows out, and the bound as a score."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    get_scorer,
    get_scorer_names,
    log_loss,
    make_scorer,
)
from sklearn.model_selection import cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_equivae import EquiVAEClassifier
from sk_equivae.model_selection import SemiSupervisedKFold, held_out_bound, labeled_scorer
from tests.conftest import QUICK


@pytest.fixture(scope="module")
def fitted(blobs):
    X, y = blobs
    return LogisticRegression(C=1e-3).fit(X[:20], y[:20])


@pytest.mark.parametrize("name", ["accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr"])
def test_the_same_as_the_scorer_on_the_labeled_rows(fitted, blobs, few, name):
    X, _ = blobs
    expected = get_scorer(name)(fitted, X[few >= 0], few[few >= 0])
    assert labeled_scorer(name)(fitted, X, few) == expected
    assert labeled_scorer(get_scorer(name))(fitted, X.tolist(), few.tolist()) == expected


def test_all_names_of_scikit_learn_are_taken():
    assert all(callable(labeled_scorer(name)) for name in get_scorer_names())


@pytest.mark.parametrize("unlabeled", [-1, "?", None])
def test_markers(fitted, blobs, few, unlabeled):
    X, y = blobs
    names = np.array(["a", "b", "c"], dtype=object)
    model = LogisticRegression().fit(X, names[y])
    marked = np.where(few >= 0, names[few], unlabeled)
    scorer = labeled_scorer("accuracy", unlabeled=-1 if unlabeled is None else unlabeled)
    assert scorer(model, X, marked) == 1


def test_probabilities_are_scored_where_a_class_is_missing(fitted, blobs, few):
    """scikit-learn's own scorer raises there, since it does not know the classes."""
    X, _ = blobs
    some = np.where(few == 2, -1, few)
    plain = get_scorer("neg_log_loss")
    with pytest.raises(ValueError, match="classes"):
        plain(fitted, X[some >= 0], some[some >= 0])
    expected = -log_loss(some[some >= 0], fitted.predict_proba(X[some >= 0]), labels=[0, 1, 2])
    assert labeled_scorer(plain)(fitted, X, some) == pytest.approx(expected)
    assert labeled_scorer(["neg_log_loss"])(fitted, X, some)["neg_log_loss"] == expected
    assert "labels" not in plain._kwargs


def test_several_scorers(fitted, blobs, few):
    scorer = labeled_scorer(["accuracy", "neg_log_loss"])
    result = scorer(fitted, blobs[0], few)
    assert result["accuracy"] == labeled_scorer("accuracy")(fitted, blobs[0], few)
    out = cross_validate(fitted, *blobs, scoring=scorer, cv=3)
    assert {"test_accuracy", "test_neg_log_loss"} <= out.keys()
    each = {"a": labeled_scorer("accuracy"), "b": labeled_scorer("f1_macro")}
    assert {"test_a", "test_b"} <= cross_validate(fitted, *blobs, scoring=each, cv=3).keys()


def test_callables_and_copies(fitted, blobs, few):
    def own(estimator, X, y):
        return accuracy_score(y, estimator.predict(X))

    expected = labeled_scorer("accuracy")(fitted, blobs[0], few)
    assert labeled_scorer(own)(fitted, blobs[0], few) == expected
    again = pickle.loads(pickle.dumps(labeled_scorer("accuracy")))
    assert again(fitted, blobs[0], few) == expected
    assert "accuracy_score" in repr(again)


def test_weights(fitted, blobs, few):
    X, _ = blobs
    weight = np.arange(60.0)
    rows = few >= 0
    expected = accuracy_score(few[rows], fitted.predict(X[rows]), sample_weight=weight[rows])
    assert labeled_scorer("accuracy")(fitted, X, few, sample_weight=weight) == expected
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = labeled_scorer(make_scorer(accuracy_score)).set_score_request(sample_weight=True)
        model = LogisticRegression(C=1e-3).set_fit_request(sample_weight=False)
        cv = SemiSupervisedKFold(2)
        got = cross_val_score(
            model, X, few, cv=cv, scoring=scorer, params={"sample_weight": weight}
        )
        for score, (train, test) in zip(got, cv.split(X, few), strict=True):
            predicted = model.fit(X[train], few[train]).predict(X[test])
            assert score == accuracy_score(few[test], predicted, sample_weight=weight[test])


def test_wrong_arguments(fitted, blobs):
    with pytest.raises(ValueError, match="no labelled row"):
        labeled_scorer("accuracy")(fitted, blobs[0], np.full(60, -1))
    with pytest.raises(ValueError, match="got None"):
        labeled_scorer(None)
    with pytest.raises(ValueError, match="accuraccy"):
        labeled_scorer("accuraccy")
    with pytest.raises(ValueError, match="inconsistent"):
        labeled_scorer("accuracy")(fitted, blobs[0], [0, 1])


def test_held_out_bound(make, blobs, few):
    X, _ = blobs
    pipeline = make_pipeline(StandardScaler(), make())
    scores = cross_val_score(pipeline, X, few, scoring=held_out_bound, cv=SemiSupervisedKFold(2))
    assert np.isfinite(scores).all()
    model = make().fit(X, few)
    assert held_out_bound(model, X) == pytest.approx(model.score_samples(X).mean())
    weight = np.arange(60.0)
    expected = np.average(model.score_samples(X), weights=weight)
    assert held_out_bound(model, X, few, sample_weight=weight) == pytest.approx(expected)
    # a model of these rows finds others unlikely
    assert held_out_bound(model, X) > held_out_bound(model, X[:, ::-1])


def test_refused_rows_of_another_type_are_told(blobs):
    X, y = blobs
    names = np.array(["a", "b", "c"], dtype=object)[y]
    model = EquiVAEClassifier(**QUICK, reject=0.3).fit(X, names)
    with pytest.raises(TypeError, match="Set `rejected` to a value of the type of the labels"):
        labeled_scorer("accuracy")(model, X, names)
    model.set_params(rejected="none")
    assert labeled_scorer("accuracy")(model, X, names) == pytest.approx(model.score(X, names))
