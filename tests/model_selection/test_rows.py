"""Estimators that fit another one on a part of the rows."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from sk_equivae import EquiVAETransformer
from sk_equivae.model_selection import LabeledOnly, SemiSupervisedKFold, SubsampleUnlabeled

CHECKED = [
    LabeledOnly(LogisticRegression(), unlabeled=None),
    LabeledOnly(LogisticRegression()),
    LabeledOnly(LinearDiscriminantAnalysis(), unlabeled=None),
    LabeledOnly(Ridge(), unlabeled=None),
    LabeledOnly(SelectKBest(k=1), unlabeled=None),
    SubsampleUnlabeled(LogisticRegression(), unlabeled=None),
]


def expected_failed_checks(estimator):
    if estimator.unlabeled == -1:
        return {"check_classifiers_classes": "its label -1 marks unlabelled rows here"}
    return {}


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failed_checks)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- labelled rows


@pytest.mark.parametrize("kind", ["codes", "names", "marker", "series"])
def test_the_same_as_on_the_labeled_rows(blobs, few, kind):
    pandas = pytest.importorskip("pandas")
    X, _ = blobs
    names, unlabeled = np.array(["a", "b", "c", -1], dtype=object), -1
    if kind == "marker":
        names, unlabeled = np.array(["a", "b", "c", "?"]), "?"
    y = few if kind == "codes" else names[few]
    given = pandas.Series(y, index=np.arange(60) + 7) if kind == "series" else y
    wrapped = LabeledOnly(LogisticRegression(), unlabeled=unlabeled).fit(X, given)
    plain = LogisticRegression().fit(X[few >= 0], y[few >= 0].tolist())
    assert wrapped.classes_.tolist() == plain.classes_.tolist()
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(wrapped, method)(X), getattr(plain, method)(X))
    assert wrapped.score(X, given) == plain.score(X[few >= 0], y[few >= 0].tolist())
    assert wrapped.n_features_in_ == 4
    assert not hasattr(wrapped, "transform")
    assert not hasattr(wrapped, "feature_names_in_")


def test_at_the_end_and_in_the_middle_of_a_pipeline(blobs, few):
    X, y = blobs
    steps = StandardScaler(), EquiVAETransformer(latent_dim=3, max_epochs=30, random_state=0)
    middle = LabeledOnly(LinearDiscriminantAnalysis())
    pipeline = make_pipeline(*steps, middle, LabeledOnly(LogisticRegression())).fit(X, few)
    assert pipeline.classes_.tolist() == [0, 1, 2]
    assert pipeline[:-1].transform(X).shape == (60, 2)
    assert pipeline.score(X, y) > 0.9
    assert pipeline.predict_proba(X).shape == (60, 3)
    # every step but the wrapped ones learnt from all rows
    assert pipeline[0].n_samples_seen_ == 60
    scores = cross_val_score(pipeline, X, few, cv=SemiSupervisedKFold(5))
    assert scores.mean() > 0.9


def test_transform_gives_all_rows_with_names(blobs, few):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(blobs[0], columns=list("abcd"))
    selected = LabeledOnly(SelectKBest(k=2)).set_output(transform="pandas")
    got = selected.fit_transform(frame, few)
    assert got.shape == (60, 2)
    assert got.columns.tolist() == selected.get_feature_names_out().tolist()
    assert selected.feature_names_in_.tolist() == list("abcd")
    expected = SelectKBest(k=2).fit(blobs[0][few >= 0], few[few >= 0]).transform(blobs[0])
    np.testing.assert_array_equal(got.to_numpy(), expected)
    back = selected.inverse_transform(expected)
    assert np.asarray(back).shape == (60, 4)


def test_kinds_of_estimators_and_parameters():
    assert is_classifier(LabeledOnly(SVC()))
    assert is_regressor(LabeledOnly(Ridge()))
    wrapped = LabeledOnly(Ridge()).set_params(estimator__alpha=3)
    assert clone(wrapped).estimator.alpha == 3


def test_a_regressor_may_have_the_target_minus_one(blobs):
    X, _ = blobs
    target = np.where(np.arange(60) % 2, X[:, 0], np.nan)
    target[1] = -1
    wrapped = LabeledOnly(Ridge(), unlabeled=np.nan).fit(X, target)
    plain = Ridge().fit(X[1::2], target[1::2])
    np.testing.assert_array_equal(wrapped.predict(X), plain.predict(X))


@pytest.mark.parametrize("routing", [False, True])
def test_weights_are_divided_like_the_rows(blobs, few, routing):
    X, _ = blobs
    weight = np.arange(1.0, 61)
    with sklearn.config_context(enable_metadata_routing=routing):
        inner = LogisticRegression()
        if routing:
            inner.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        wrapped = LabeledOnly(inner).fit(X, few, sample_weight=weight)
        score = wrapped.score(X, few, sample_weight=weight)
        rows = few >= 0
        plain = LogisticRegression().fit(X[rows], few[rows], sample_weight=weight[rows])
        np.testing.assert_array_equal(wrapped.estimator_.coef_, plain.coef_)
        assert score == plain.score(X[rows], few[rows], sample_weight=weight[rows])


def test_weights_are_routed_through_a_pipeline(blobs, few):
    X, _ = blobs
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, LabeledOnly(inner))
        weighted = pipeline.fit(X, few, sample_weight=np.arange(1.0, 61))[-1].estimator_.coef_
        with pytest.raises(TypeError, match="unexpected argument"):
            pipeline.fit(X, few, nothing=np.ones(60))
    assert not np.allclose(weighted, pipeline.fit(X, few)[-1].estimator_.coef_)


def test_wrong_input(blobs, few):
    X, _ = blobs
    with pytest.raises(ValueError, match="needs labelled rows"):
        LabeledOnly(Ridge()).fit(X, np.full(60, -1))
    with pytest.raises(ValueError, match="requires y"):
        LabeledOnly(Ridge()).fit(X)
    with pytest.raises(ValueError, match="inconsistent"):
        LabeledOnly(Ridge()).fit(X, few[:-1])
    with pytest.raises(ValueError, match="distances or kernels"):
        LabeledOnly(SVC(kernel="precomputed")).fit(X @ X.T, few)
    with pytest.raises(ValueError, match="'estimator' parameter"):
        LabeledOnly(3).fit(X, few)


# ---------------------------------------------------------------- fewer unlabelled rows


def test_all_labeled_rows_stay(blobs, few):
    X, _ = blobs
    kept = []
    for n_unlabeled in (0, 10, 20, 1000):
        model = SubsampleUnlabeled(LabelSpreading(), n_unlabeled, random_state=3).fit(X, few)
        seen = {tuple(row) for row in model.estimator_.X_}
        assert {tuple(row) for row in X[few >= 0]} <= seen
        assert len(seen) == min(15 + n_unlabeled, 60)
        kept.append(seen)
    assert kept[0] < kept[1] < kept[2] < kept[3]
    assert model.score(X, few) == 1
    with pytest.raises(ValueError, match="'n_unlabeled' parameter"):
        SubsampleUnlabeled(LabelSpreading(), -1).fit(X, few)
