"""`LatentUsageDisplay`: the KL divergence of each dimension of v."""

import numpy as np
import pytest

from sk_equivae import LatentUsageDisplay
from sk_equivae.model.distributions import kl_v


def test_bars_sum_to_the_kl_of_the_rows(image_model, digits):
    X, y = digits
    display = LatentUsageDisplay.from_estimator(image_model, X, y)
    model = image_model.model_
    prototypes = model.tensor(model.prototypes)
    rows = image_model._validate_rows(X)
    whole = model.map(lambda x, c: kl_v(model.module.encode(x, prototypes[c])), rows, y)
    assert display.kl.shape == (2,)
    assert display.kl.sum() == pytest.approx(float(np.mean(whole)), rel=1e-5)
    heights = [bar.get_height() for bar in display.bars_]
    np.testing.assert_allclose(heights, np.sort(display.kl)[::-1])
    trained = LatentUsageDisplay.from_estimator(image_model)
    np.testing.assert_array_equal(trained.kl, image_model.kl_v_)
    few = np.where(np.arange(80) < 10, y, -1)
    assert np.isfinite(LatentUsageDisplay.from_estimator(image_model, X, few).kl).all()


def test_names_and_title():
    display = LatentUsageDisplay(np.array([0.1, 3.0, 0.5])).plot(color="red")
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["v1", "v2", "v0"]
    assert display.ax_.get_title().startswith("2 of 3 dimensions of v have over 0.2 nats; 3.6")
    assert LatentUsageDisplay(np.ones(100)).plot().figure_.get_size_inches()[0] <= 16
