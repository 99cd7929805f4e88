"""`reject`: rows of no class are marked, in `predict` and among the rows of training."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_equivae import EquiVAEClassifier, EquiVAETransformer, load
from tests.conftest import QUICK

PARAMS = {**QUICK, "max_epochs": 20, "reject": 0.1}


@pytest.fixture(scope="module")
def known(few):
    """Labels of two of the three classes."""
    return np.where(few == 2, -1, few)


@pytest.fixture(scope="module")
def model(blobs, known):
    return EquiVAEClassifier(**PARAMS).fit(blobs[0], known)


def test_rows_of_an_unknown_class_are_marked(model, blobs, known):
    X, y = blobs
    assert model.classes_.tolist() == [0, 1]
    assert model.prototypes_.shape == (2, 2)
    assert len(model.model_.background) == 1
    unlabeled = known < 0
    assert (model.transduction_[y == 2] == -1).mean() > 0.8
    right = model.transduction_ == y
    assert right[(y < 2) & unlabeled].mean() > 0.7
    np.testing.assert_array_equal(model.transduction_[~unlabeled], known[~unlabeled])
    np.testing.assert_array_equal(model.transduction_[unlabeled], model.predict(X[unlabeled]))


def test_probabilities_of_the_training_rows(model, blobs, known):
    X, _ = blobs
    p = model.transduction_proba_
    assert p.shape == (60, 2)
    labeled = known >= 0
    np.testing.assert_array_equal(p[labeled], np.eye(2)[known[labeled]])
    np.testing.assert_allclose(p[~labeled], model.predict_proba(X[~labeled]), atol=1e-6)


def test_the_answer_follows_the_scores(model, blobs):
    X, _ = blobs
    scores = model.novelty_function(X)
    np.testing.assert_array_equal(model.predict(X) == -1, scores < 0)
    raw = model.model_.map(model.model_.novelty_scores, X)
    np.testing.assert_allclose(scores, raw - model.offset_)
    lenient = clone(model).set_params(reject=0.01)
    lenient.__dict__.update({k: v for k, v in vars(model).items() if k.endswith("_")})
    assert lenient.offset_ < model.offset_
    with pytest.warns(UserWarning, match="scale"):
        assert (model.predict(1000 * X) == -1).all()


def test_without_reject_every_row_gets_a_class(model, blobs):
    X, _ = blobs
    again = pickle.loads(pickle.dumps(model)).set_params(reject=None)
    assert set(again.predict(X)) <= {0, 1}
    assert np.isfinite(again.offset_)


@pytest.mark.parametrize("rule", ["prototype", "posterior", "likelihood"])
def test_copies_answer_alike(model, blobs, tmp_path, rule):
    X, _ = blobs
    model.set_params(predict_with=rule)
    model.save(tmp_path / "model.equivae")
    for again in (load(tmp_path / "model.equivae"), pickle.loads(pickle.dumps(model))):
        for method in ("predict", "predict_proba", "novelty_function", "score_samples"):
            expected = getattr(model, method)(X)
            np.testing.assert_array_equal(getattr(again, method)(X), expected)
        assert again.offset_ == model.offset_
        assert again.temperature_ == model.temperature_
    model.set_params(predict_with="prototype")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("what", ["predict_proba", "novelty_function"])
def test_onnx_answers_alike(model, blobs, tmp_path, what):
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    X = np.array(blobs[0])
    model.to_onnx(tmp_path / "model.onnx", what)
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {"X": X})
    np.testing.assert_allclose(found, getattr(model, what)(X), rtol=1e-3, atol=1e-4)
    assert float(session.get_modelmeta().custom_metadata_map["sk_equivae.offset"]) == model.offset_


def test_training_goes_on_with_rows_of_no_class(model, blobs, known):
    X, y = blobs
    again = pickle.loads(pickle.dumps(model))
    again.partial_fit(X[y < 2], known[y < 2])
    assert len(again.model_.background) == 1
    assert set(again.predict(X)) <= {-1, 0, 1}
    again.set_params(warm_start=True, max_epochs=1, random_state=1).fit(X, known)
    assert len(again.model_.background) == 1


def test_rows_of_no_class_alone_leave_the_styles_as_they_are(model, blobs, known):
    X, y = blobs
    again = pickle.loads(pickle.dumps(model))
    before = again.model_
    again.partial_fit(X[y == 2], known[y == 2])
    assert again.transduction_.tolist() == [-1] * 20
    np.testing.assert_array_equal(again.model_.kl_v, before.kl_v)
    np.testing.assert_array_equal(again.model_.relative.used, before.relative.used)


def test_all_classes_are_known(blobs, few):
    X, y = blobs
    model = EquiVAEClassifier(**PARAMS).fit(X, few)
    assert len(model.model_.background) == 0
    assert (model.predict(X) == y).mean() > 0.7


@pytest.mark.parametrize("marker", ["none", None, -1])
def test_markers_of_string_classes(blobs, known, marker):
    X, _ = blobs
    names = np.array(["a", "b", None], dtype=object)[known]
    model = EquiVAEClassifier(**{**PARAMS, "max_epochs": 5}, rejected=marker).fit(X, names)
    assert set(model.predict(X).tolist()) <= {"a", "b", marker}
    with pytest.warns(UserWarning, match="scale"):
        assert model.predict(1000 * X).tolist() == [marker] * 60


def test_a_class_is_no_marker(blobs, few):
    model = EquiVAEClassifier(**PARAMS, rejected=2)
    with pytest.raises(ValueError, match="rejected should be a value that is no class; got 2"):
        model.fit(blobs[0], few)


def test_in_a_pipeline_and_in_the_transformer(blobs, known):
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), EquiVAEClassifier(**PARAMS)).fit(X, known)
    assert (pipeline.predict(X)[y == 2] == -1).mean() > 0.8
    transformer = EquiVAETransformer(**{**PARAMS, "max_epochs": 2}).fit(X, known)
    assert transformer.transform(X).shape == (60, 2)
    assert transformer.novelty_function(X).shape == (60,)
    assert set(transformer.transduction_) <= {-1, 0, 1}


def test_early_stopping_and_rows_of_weight_0(blobs, known):
    X, _ = blobs
    weight = (np.arange(60) % 10 > 0).astype(float)
    model = EquiVAEClassifier(**{**PARAMS, "max_epochs": 3}, early_stopping=True)
    model.fit(X, known, sample_weight=weight)
    assert model.transduction_proba_.shape == (60, 2)
    np.testing.assert_allclose(model.transduction_proba_.sum(axis=1), 1, atol=1e-6)


def test_added_classes_are_known(model, blobs):
    X, y = blobs
    again = pickle.loads(pickle.dumps(model)).add_classes(X[y == 2][:8], 2)
    assert again.predict_proba(X).shape == (60, 3)
    again.set_params(reject=None)
    assert (again.predict(X[y == 2]) == 2).mean() > 0.8


@pytest.mark.parametrize("names", [np.array(["a", "b", "c"], dtype=object), np.array([1, 2, 3])])
def test_score_counts_a_refused_row_as_an_error(blobs, names):
    X, y = blobs
    labels = names[y]
    model = EquiVAEClassifier(**{**PARAMS, "reject": 0.3}).fit(X, labels)
    answers = model.predict(X)
    assert (answers == -1).any()
    right = np.array([a == b for a, b in zip(answers, labels, strict=True)])
    assert model.score(X, labels) == pytest.approx(right.mean())
    weight = np.arange(1.0, len(X) + 1)
    expected = np.average(right, weights=weight)
    assert model.score(X, labels, sample_weight=weight) == pytest.approx(expected)


def test_score_of_bools(blobs):
    X, y = blobs
    model = EquiVAEClassifier(**PARAMS).fit(X, y > 0)
    right = np.array([a == b for a, b in zip(model.predict(X), y > 0, strict=True)])
    assert model.score(X, y > 0) == pytest.approx(right.mean())


@pytest.mark.parametrize("marker", [1, 1.0, np.int64(1), True])
def test_a_class_cannot_be_the_marker(blobs, marker):
    """Not in `fit`, not afterwards, not by a class that is added."""
    X, y = blobs
    with pytest.raises(ValueError, match="rejected should be a value that is no class"):
        EquiVAEClassifier(**PARAMS, rejected=marker).fit(X, y)
    model = EquiVAEClassifier(**PARAMS).fit(X, y).set_params(rejected=marker)
    with pytest.raises(ValueError, match="rejected should be a value that is no class"):
        model.predict(X)
    two = EquiVAEClassifier(**PARAMS, rejected=marker).fit(X[y != 1], y[y != 1])
    with pytest.raises(ValueError, match="rejected should be a value that is no class"):
        two.add_classes(X[y == 1][:3], 1)
    assert two.classes_.tolist() == [0, 2]


def test_minus_one_may_be_a_class_until_rows_are_refused(blobs):
    X, y = blobs
    model = EquiVAEClassifier(**QUICK, unlabeled=None).fit(X, y - 1)
    assert -1 in model.predict(X)
    with pytest.raises(ValueError, match="got -1"):
        model.set_params(reject=0.05).predict(X)


def test_several_markers_after_fit(model, blobs):
    several = clone(model).set_params(rejected=[1, 2])
    several.__dict__.update({k: v for k, v in vars(model).items() if k.endswith("_")})
    with pytest.raises(ValueError, match="rejected should be a single value"):
        several.predict(blobs[0])
