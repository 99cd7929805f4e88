"""`TrainingHistoryDisplay`: the bound and the accuracy over training."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sk_equivae import TrainingHistoryDisplay


def test_curves_add_up(plane_model):
    display = TrainingHistoryDisplay.from_estimator(plane_model)
    assert set(display.lines_) == {
        f"{side}_{part}"
        for side in ("train", "valid")
        for part in ("elbo", "reconstruction", "negative_kl", "accuracy")
    }
    history = plane_model.history_
    for side in ("train", "valid"):
        bound, reconstruction, negative_kl, accuracy = (
            display.lines_[f"{side}_{part}"].get_ydata()
            for part in ("elbo", "reconstruction", "negative_kl", "accuracy")
        )
        np.testing.assert_allclose(bound, [row[f"{side}_elbo"] for row in history])
        np.testing.assert_allclose(accuracy, [row[f"{side}_accuracy"] for row in history])
        np.testing.assert_allclose(reconstruction + negative_kl, bound)
        kl = [row[f"{side}_kl_v"] + row[f"{side}_kl_y"] - row[f"{side}_log_p_y"] for row in history]
        np.testing.assert_allclose(negative_kl, -np.array(kl), rtol=1e-4, atol=1e-4)
    assert display.lines_["train_elbo"].get_xdata().tolist() == [1, 2]
    assert display.lines_["valid_elbo"].get_linestyle() == "--"
    bound, accuracy = display.axes_
    assert bound.get_xlabel() == accuracy.get_xlabel() == "epoch"
    assert len(bound.get_legend().get_texts()) == 6
    assert [text.get_text() for text in accuracy.get_legend().get_texts()] == [
        "training", "validation",
    ]  # fmt: skip


def test_bound_alone_on_one_axes(image_model):
    _, ax = plt.subplots()
    display = TrainingHistoryDisplay.from_estimator(image_model, ax=ax, linewidth=3)
    assert display.axes_.tolist() == [ax]
    assert len(ax.lines) == 3
    assert ax.lines[0].get_linewidth() == 3
    assert ax.lines[0].get_marker() == "o"  # a line of one point would not be seen


def test_histories_without_accuracy_or_bound():
    history = [{"train_elbo": -3.0, "train_reconstruction": -2.0}] * 2
    assert len(TrainingHistoryDisplay(history).plot().axes_) == 1
    with pytest.raises(ValueError, match=r"history with 'train_elbo'; got 0 epochs.*history_"):
        TrainingHistoryDisplay([]).plot()
