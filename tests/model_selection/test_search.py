"""scikit-learn's searches and curves, with unlabelled rows."""

import numpy as np
import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_score,
    learning_curve,
    validation_curve,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from sk_equivae.model_selection import (
    LabeledOnly,
    SemiSupervisedKFold,
    SubsampleUnlabeled,
    held_out_bound,
    labeled_scorer,
)

CV = SemiSupervisedKFold(5)
ACCURACY = labeled_scorer("accuracy")


@pytest.mark.parametrize(
    "estimator, grid",
    [
        (LabelSpreading(kernel="knn", n_neighbors=5), {"alpha": [0.1, 0.5]}),
        (SelfTrainingClassifier(LogisticRegression()), {"threshold": [0.6, 0.9]}),
        (LabeledOnly(KNeighborsClassifier()), {"estimator__n_neighbors": [1, 3]}),
    ],
)
@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_estimators_of_scikit_learn(blobs, few, estimator, grid, search):
    X, y = blobs
    more = {"n_iter": 2, "random_state": 0} if search is RandomizedSearchCV else {}
    found = search(estimator, grid, cv=CV, scoring=ACCURACY, **more).fit(X, few)
    assert found.best_score_ == 1
    assert found.score(X, y) == 1
    plain = cross_val_score(found.best_estimator_, X, few, cv=5, scoring="accuracy")
    assert plain.mean() < 0.5  # 45 of the 60 rows count as errors


def test_our_estimator_and_pipelines(blobs, few, make):
    X, y = blobs
    search = GridSearchCV(make(max_epochs=8), {"m_max": [1, 3]}, cv=CV, scoring=ACCURACY)
    search.fit(X, few)
    assert search.best_score_ > 0.9
    assert search.score(X, y) > 0.9
    assert np.isfinite(
        cross_val_score(make(), X, few, cv=CV, scoring=labeled_scorer("neg_log_loss"))
    ).all()
    bound = GridSearchCV(make(), {"latent_dim": [1, 2]}, cv=CV, scoring=held_out_bound).fit(X, few)
    assert np.isfinite(bound.cv_results_["mean_test_score"]).all()


def test_a_search_without_our_splitter(blobs, few, make):
    """The estimator's own score leaves unlabelled rows out; a fold without labels is NaN."""
    X, _ = blobs
    assert cross_val_score(make(max_epochs=8), X, few, cv=5).mean() > 0.9
    unlabeled = np.flatnonzero(few < 0)
    in_turns = np.array([np.flatnonzero(few == code) for code in range(3)]).T.reshape(15, 1)
    some = np.hstack([in_turns, unlabeled[:30].reshape(15, 2)])
    order = [*some.ravel(), *unlabeled[30:]]  # the last of four folds has no label
    with pytest.warns(UserWarning, match="score needs labelled rows"):
        scores = cross_val_score(make(), X[order], few[order], cv=KFold(4))
    assert np.isnan(scores[-1])
    assert np.isfinite(scores[:-1]).all()


def test_early_stopping_within_a_search(blobs, few, make):
    X, _ = blobs
    model = make(max_epochs=30, early_stopping=True, n_iter_no_change=1, lr=0.3)
    search = GridSearchCV(model, {"m_max": [1, 3]}, cv=CV).fit(X, few)
    assert search.best_estimator_.n_iter_ < 30
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


# ---------------------------------------------------------------- halving


def test_halving_by_epochs(blobs, few, make):
    search = HalvingGridSearchCV(
        make(), {"m_max": [1, 2, 3], "latent_dim": [2, 3]}, resource="max_epochs",
        min_resources=1, max_resources=9, factor=3, cv=CV, scoring=ACCURACY,
    ).fit(blobs[0], few)  # fmt: skip
    assert search.n_resources_ == [1, 3]
    assert search.n_candidates_ == [6, 2]
    assert search.best_estimator_.n_iter_ == 3


class Counting(LabelSpreading):
    """Label spreading that notes the rows that it was fitted to."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.seen.append((int((y >= 0).sum()), int((y < 0).sum())))
        return super().fit(X, y)


@pytest.mark.parametrize("ours", [True, False])
def test_halving_by_rows_keeps_all_labels(blobs, few, ours, monkeypatch):
    X, _ = blobs
    monkeypatch.setattr(Counting, "seen", [])
    estimator = Counting(gamma=0.1)
    if ours:
        HalvingGridSearchCV(
            SubsampleUnlabeled(estimator), {"estimator__alpha": [0.1, 0.2, 0.5]}, cv=CV,
            resource="n_unlabeled", min_resources=10, max_resources=45, scoring=ACCURACY,
        ).fit(X, few)  # fmt: skip
        assert {n_unlabeled for _, n_unlabeled in Counting.seen} == {10, 30}
        assert {n_labeled for n_labeled, _ in Counting.seen[:-1]} == {12}  # 4 of 5 folds
        assert Counting.seen[-1] == (15, 30)
    else:
        HalvingGridSearchCV(
            estimator, {"alpha": [0.1, 0.2, 0.5]}, cv=CV, scoring=ACCURACY,
            min_resources=30, random_state=0,
        ).fit(X, few)  # fmt: skip
        assert min(n_labeled for n_labeled, _ in Counting.seen) < 12


# ---------------------------------------------------------------- curves


def test_learning_curve_over_labels(blobs, few, monkeypatch):
    X, _ = blobs
    monkeypatch.setattr(Counting, "seen", [])
    estimator = Counting(gamma=0.1)
    cv = SemiSupervisedKFold(5, labeled_first=False)
    n_unlabeled = (few < 0).sum()
    sizes, _, scores = learning_curve(
        estimator, X, few, train_sizes=n_unlabeled + np.array([3, 6, 12]), cv=cv, scoring=ACCURACY
    )
    assert (sizes - n_unlabeled).tolist() == [3, 6, 12]
    assert sorted(set(Counting.seen)) == [(3, 45), (6, 45), (12, 45)]
    assert np.isfinite(scores).all()
    assert scores[-1].mean() == 1


def test_learning_curve_over_all_rows_begins_with_labels(blobs, few, monkeypatch):
    X, _ = blobs
    monkeypatch.setattr(Counting, "seen", [])
    estimator = Counting(gamma=0.1)
    _, _, scores = learning_curve(estimator, X, few, cv=CV, scoring=ACCURACY)
    assert sorted(set(Counting.seen)) == [(5, 0), (12, 6), (12, 19), (12, 32), (12, 45)]
    assert np.isfinite(scores).all()


def test_validation_curve_over_unlabeled_rows(blobs, few):
    estimator = SubsampleUnlabeled(LabelSpreading(gamma=0.1))
    _, scores = validation_curve(
        estimator, blobs[0], few, param_name="n_unlabeled", param_range=[0, 20, 45], cv=CV,
        scoring=ACCURACY,
    )  # fmt: skip
    assert scores.shape == (3, 5)
    assert np.isfinite(scores).all()
