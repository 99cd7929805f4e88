"""Validation rows of the user, scores for early stopping, and weights of the classes."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss
from sklearn.utils.class_weight import compute_sample_weight

from sk_equivae import EquiVAEClassifier, EquiVAETransformer, Networks, Objective, load

# ---------------------------------------------------------------- validation


@pytest.mark.parametrize("score", ["accuracy", "log_loss"])
def test_the_best_epoch_by_a_score_on_rows_of_the_user(make, blobs, few, score):
    X, y = blobs
    X_val, y_val = X[1::4], np.where(np.arange(15) < 12, y[1::4], -1)
    model = make(
        max_epochs=12, early_stopping=score, n_iter_no_change=3, predict_with="posterior",
        networks=Networks(batch_norm=False), dtype="float64",
        objective=Objective(calibrate=False),  # scores of an epoch are without temperatures
    ).fit(X, few, X_val=X_val, y_val=y_val)  # fmt: skip
    p_y = model.predict_proba(X_val[:12])
    found = {
        "accuracy": accuracy_score(y_val[:12], p_y.argmax(axis=1)),
        "log_loss": log_loss(y_val[:12], p_y, labels=[0, 1, 2]),
    }
    seen = [row[f"valid_{score}"] for row in model.history_]
    best = max(seen) if score == "accuracy" else min(seen)
    assert found[score] == pytest.approx(best, abs=1e-9)
    assert all(row["train_log_loss"] >= 0 for row in model.history_)


def test_all_rows_of_x_are_trained_on(make, blobs, assert_same):
    """Validation rows change nothing as long as training is not stopped."""
    X, y = blobs
    own = make(early_stopping=True, max_epochs=3, n_iter_no_change=9)
    own.fit(X, y, X_val=X[:5], y_val=y[:5])
    losses = [row["valid_loss"] for row in own.history_]
    assert np.argmin(losses) == 2  # else the weights of an earlier epoch would be restored
    assert_same(own, make(max_epochs=3).fit(X, y))
    assert len(own.transduction_) == 60


def test_frames_strings_images_and_lazy_rows(make, blobs, images):
    pd = pytest.importorskip("pandas")
    h5py = pytest.importorskip("h5py")
    X, y = blobs
    names = np.array(["a", "b", "c"], dtype=object)[y]
    frame = pd.DataFrame(X, columns=list("wxyz")).assign(kind=pd.Categorical(names))
    stopped = {"early_stopping": "log_loss", "max_epochs": 2}
    model = make(**stopped).fit(frame, names, X_val=frame[:9], y_val=names[:9])
    assert model.history_[0]["valid_log_loss"] > 0
    with pytest.raises(ValueError, match="feature names"):
        make(**stopped).fit(
            frame, names, X_val=frame[:9].rename(columns={"w": "q"}), y_val=names[:9]
        )
    pictures, codes = images
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        lazy = file.create_dataset("X", data=pictures)
        model = make(**stopped).fit(lazy, codes, X_val=lazy, y_val=codes)
    assert 0 <= model.history_[-1]["valid_accuracy"] <= 1


@pytest.mark.parametrize(
    "params, arguments, message",
    [
        ({}, {"X_val": 5}, "both X_val and y_val; got X_val alone"),
        ({}, {"y_val": 5}, "both X_val and y_val; got y_val alone"),
        ({"early_stopping": False}, {"X_val": 5, "y_val": 5}, "early stopping, which is off"),
        ({}, {"X_val": 5, "y_val": 4}, "5 rows of X_val and 4 of y_val"),
    ],
)
def test_arguments_that_do_not_go_together(make, blobs, params, arguments, message):
    X, y = blobs
    given = {name: (X if name == "X_val" else y)[:n] for name, n in arguments.items()}
    model = make(**{"early_stopping": True, **params})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **given)
    assert not hasattr(model, "model_")


def test_bad_validation_rows(make, blobs):
    X, y = blobs
    model = make(early_stopping=True)
    with pytest.raises(ValueError, match=r"y_val holds labels \[7\] that are not among"):
        model.fit(X, y, X_val=X[:3], y_val=[0, 1, 7])
    with pytest.raises(ValueError, match="y_val has no labelled row"):
        model.fit(X, y, X_val=X[:3], y_val=[-1, -1, -1])
    with pytest.raises(ValueError, match="4 features"):
        model.fit(X, y, X_val=X[:3, :2], y_val=y[:3])
    with pytest.raises(ValueError, match=r"labels \[1\] that are not among the classes \[0, 2\]"):
        model.fit(X[y != 1], y[y != 1], X_val=X, y_val=y)


def test_without_labels_the_answer_is_clear(blobs):
    with pytest.raises(ValueError, match=r"a few labels per class.*method such as PCA"):
        EquiVAETransformer().fit(blobs[0])


# ---------------------------------------------------------------- weights of the classes


def test_balanced_is_the_dict_of_balanced_weights(make, blobs, few, assert_same):
    X = blobs[0]
    y = few.copy()
    y[np.flatnonzero(y == 2)[2:]] = -1  # two labels instead of five
    labeled = y >= 0
    weights = dict(
        zip(y[labeled].tolist(), compute_sample_weight("balanced", y[labeled]), strict=True)
    )
    balanced = make(class_weight="balanced").fit(X, y)
    assert_same(balanced, make(class_weight=weights).fit(X, y))
    plain = make().fit(X, y)
    np.testing.assert_array_equal(balanced.class_prior_, plain.class_prior_)
    np.testing.assert_array_equal(balanced.class_count_, [5, 5, 2])
    assert not np.array_equal(balanced.transform(X), plain.transform(X))
    assert_same(plain, make(class_weight={0: 1.0}).fit(X, y))


@pytest.mark.parametrize("rule", ["prototype", "posterior", "likelihood"])
def test_a_class_of_more_weight_is_predicted_more_often(rule):
    """Two classes that overlap, one of them rare."""
    rng = np.random.RandomState(0)
    y = (np.arange(300) % 10 == 0).astype(int)
    X = rng.normal(size=(300, 3)) + y[:, None]
    params = {"latent_dim": 2, "max_epochs": 10, "random_state": 0, "predict_with": rule}
    shares = [
        EquiVAEClassifier(class_weight=weight, **params).fit(X, y).predict(X).mean()
        for weight in (None, "balanced", {1: 100.0})
    ]
    assert shares[0] < shares[1] < shares[2]


def test_weights_are_stored_and_kept_for_added_classes(make, blobs, tmp_path):
    X, y = blobs
    names = np.array(["a", "b", "c"], dtype=object)[y]
    model = make(class_weight={"a": 3.0}).fit(X[y < 2], names[y < 2])
    model.save(tmp_path / "weighted.equivae")
    again = load(tmp_path / "weighted.equivae")
    assert again.class_weight == {"a": 3.0}
    for rule in ("prototype", "likelihood"):
        for one in (model, again):
            one.set_params(predict_with=rule)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    model.add_classes(X[y == 2][:5], "c")
    np.testing.assert_array_equal(model.model_.class_weight, [3.0, 1.0, 1.0])


def test_partial_fit_takes_a_dict(make, blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="partial_fit does not know the frequencies"):
        make(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    model = make(class_weight={0: 2.0, 2: 3.0})
    model.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2]).partial_fit(X, y)
    np.testing.assert_array_equal(model.model_.class_weight, [2.0, 1.0, 3.0])
