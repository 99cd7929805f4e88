"""From which rows temperatures are learnt, and what they change."""

import numpy as np
import pytest
from scipy.special import softmax

from sk_equivae import Objective
from sk_equivae.model.rules import RULES


@pytest.mark.parametrize("labels", ["few", "all", "validation"])
def test_calibration_changes_probabilities_but_not_classes(make, blobs, few, labels):
    X, y = blobs
    y = few if labels == "few" else y
    params = {"early_stopping": labels == "validation", "max_epochs": 4}
    models = [
        make(objective=Objective(calibrate=calibrate), **params).fit(X, y)
        for calibrate in (True, False)
    ]
    for rule in ("prototype", "posterior"):
        warm, plain = (model.set_params(predict_with=rule) for model in models)
        np.testing.assert_array_equal(warm.predict(X), plain.predict(X))
        np.testing.assert_array_equal(warm.predict_proba(X).argmax(axis=1), plain.predict(X))
        assert plain.temperature_[rule] == 1
        t = warm.temperature_[rule]
        assert t > 0
        np.testing.assert_allclose(
            softmax(t * warm.decision_function(X), axis=1),
            softmax(plain.decision_function(X), axis=1),
            atol=1e-9,
        )
        near = warm.model_.map(warm.model_.region.outlying, X) == 0
        assert near.mean() > 0.9
        expected = softmax(warm.decision_function(X), axis=1)
        np.testing.assert_allclose(warm.predict_proba(X)[near], expected[near], atol=1e-12)
        np.testing.assert_allclose(np.exp(warm.predict_log_proba(X)), warm.predict_proba(X))
        np.testing.assert_allclose(
            plain.predict_proba(X), softmax(plain.decision_function(X), axis=1), atol=1e-12
        )
    assert any(warm.temperature_[rule] != 1 for rule in RULES)
    assert plain.model_.region is None
    assert plain.model_.styles is None


def test_likelihood_rule_has_two_numbers(make, blobs, few):
    X, _ = blobs
    model = make(max_epochs=4, predict_with="likelihood").fit(X, few).model_
    assert model.style_weight not in (None, 1.0)
    density, kl = model.map(model.likelihood_terms, X)
    expected = (density - model.style_weight * kl) / model.temperature["likelihood"]
    np.testing.assert_allclose(model.logits(X, "likelihood"), expected, rtol=1e-5)


def test_without_calibration_the_likelihood_rule_is_that_of_the_paper(make, blobs, few):
    X, y = blobs
    model = make(max_epochs=2).fit(X, few)
    model.set_params(objective__calibrate=False).partial_fit(X, y)
    assert model.temperature_ == dict.fromkeys(RULES, 1.0)
    assert model.model_.style_weight is None


def test_images_with_many_labels_and_without_augmentation(make, images):
    X, y = images
    half = np.where(np.arange(24) < 12, y, -1)
    for augment in ("auto", None):
        model = make(augment=augment).fit(X, half)
        assert all(t > 0 for t in model.temperature_.values())
        model = make(augment=augment).fit(X, y)
        # without augmentation there is no row that is not known by heart
        assert (model.temperature_ == dict.fromkeys(RULES, 1.0)) == (augment is None)


@pytest.mark.parametrize("rule", RULES)
def test_far_from_the_data_probabilities_are_the_prior(make, blobs, few, rule):
    X, _ = blobs
    model = make(predict_with=rule).fit(X, few)
    with pytest.warns(UserWarning, match="scale"):
        p = model.predict_proba(1000 * X)
    np.testing.assert_allclose(p, np.tile(model.class_prior_, (60, 1)), atol=1e-4)


def test_partial_fit_on_few_rows_keeps_the_temperatures(make, blobs, few):
    X, y = blobs
    model = make().fit(X, few)
    before, limits = model.temperature_, model.model_.region.limits
    model.partial_fit(X[:5], y[:5])
    assert model.temperature_ == before
    assert (model.model_.region.limits[:2] >= limits[:2]).all()


def test_pixels_beyond_the_range_are_clipped(make, images):
    X, y = images
    model = make(likelihood="bernoulli").fit(X, y)
    beyond = np.clip(X, 0.0, 1.0) + np.where(X > 0.5, 0.009, -0.009)
    inside = np.clip(beyond, 0, 1)
    np.testing.assert_array_equal(model.score_samples(beyond), model.score_samples(inside))
