"""`LearningCurveDisplay`: the bound over training."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sk_equivae import LearningCurveDisplay


def test_learning_curves_add_up(plane_model):
    display = LearningCurveDisplay.from_estimator(plane_model)
    assert set(display.lines_) == {
        f"{side}_{part}"
        for side in ("train", "valid")
        for part in ("elbo", "reconstruction", "negative_kl")
    }
    history = plane_model.history_
    for side in ("train", "valid"):
        bound, reconstruction, negative_kl = (
            display.lines_[f"{side}_{part}"].get_ydata()
            for part in ("elbo", "reconstruction", "negative_kl")
        )
        np.testing.assert_allclose(bound, [row[f"{side}_elbo"] for row in history])
        np.testing.assert_allclose(reconstruction + negative_kl, bound)
        kl = [row[f"{side}_kl_v"] + row[f"{side}_kl_y"] - row[f"{side}_log_p_y"] for row in history]
        np.testing.assert_allclose(negative_kl, -np.array(kl), rtol=1e-4, atol=1e-4)
    assert display.lines_["train_elbo"].get_xdata().tolist() == [1, 2]
    assert display.lines_["valid_elbo"].get_linestyle() == "--"
    assert display.ax_.get_xlabel() == "epoch"
    assert len(display.ax_.get_legend().get_texts()) == 6


def test_learning_curves_without_validation(image_model):
    _, ax = plt.subplots()
    display = LearningCurveDisplay.from_estimator(image_model, ax=ax, linewidth=3)
    assert display.ax_ is ax
    assert len(ax.lines) == 3
    assert ax.lines[0].get_linewidth() == 3
    assert ax.lines[0].get_marker() == "o"  # a line of one point would not be seen
    with pytest.raises(ValueError, match=r"history with 'train_elbo'; got 0 epochs.*history_"):
        LearningCurveDisplay([]).plot()
