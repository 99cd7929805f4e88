"""Bad input: errors that say what was expected, what came and what to do; nothing half-written."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from sk_equivae import Networks
from tests.estimators.test_constructor import assert_untouched

NAN, INF = float("nan"), float("inf")


def changed(X, value):
    X = X.copy()
    X[3, 1] = value
    return X


# ---------------------------------------------------------------- y

BAD_Y = {
    "none": (lambda y: None, "requires y to be passed, but the target y is None.*labels per class"),
    "all unlabelled": (lambda y: np.full(60, -1), r"no labelled row: all 60 .*\(-1\).*at least 2"),
    "one class": (lambda y: np.zeros(60), r"at least 2 classes; got 1 class: \[0.0\].*Label rows"),
    "one class, some unlabelled": (lambda y: np.where(y, 5, -1), r"got 1 class: \[5\]"),
    "-1 and 1": (lambda y: np.where(y, 1, -1), "if -1 is a class, set unlabeled=None"),
    "regression": (lambda y: y + 0.3 * np.arange(60), "continuous.*expects discrete classes"),
    "infinity": (lambda y: np.where(y, 1, INF), "Input y contains infinity"),
    "too short": (lambda y: y[:59], "got 60 rows of X and 59 of y"),
    "two columns": (lambda y: np.c_[y, y], "y should be a 1d array"),
    "types": (lambda y: ["a" if v else 3 for v in y], "all of one type; got int, str.*astype"),
}


@pytest.mark.parametrize("bad, message", BAD_Y.values(), ids=BAD_Y)
def test_bad_y(estimator, blobs, bad, message):
    X, y = blobs
    before = dict(vars(estimator))
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(X, bad(y))
    assert_untouched(estimator, before)


def test_y_left_out(estimator, blobs):
    with pytest.raises(ValueError, match="requires y to be passed"):
        estimator.fit(blobs[0])
    with pytest.raises(ValueError, match="requires y to be passed"):
        estimator.fit_transform(blobs[0])


def test_minus_one_as_a_class(make, blobs):
    X, y = blobs
    assert make(unlabeled=None).fit(X, np.where(y, 1, -1)).classes_.tolist() == [-1, 1]


def test_single_labelled_row_of_a_class_warns_and_trains(make, blobs):
    X, y = blobs
    one = np.where((y == 2) & (np.arange(60) != np.flatnonzero(y == 2)[0]), -1, y)
    with pytest.warns(UserWarning, match=r"Classes \[2\] have a single.*at least two") as caught:
        model = make().fit(X, one)
    assert caught[0].filename == __file__
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.prototypes_).all()


def test_score_without_labels(make, blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="score needs labelled rows; all 60 rows"):
        make().fit(X, y).score(X, np.full(60, -1))


@pytest.mark.parametrize(
    "weight, message",
    [
        (np.zeros(60), "zero"),
        (-np.ones(60), "[Nn]egative"),
        (np.ones(59), r"\(60,\)"),
        (np.full(60, NAN), "NaN"),
    ],
)
def test_bad_sample_weight(make, blobs, weight, message):
    with pytest.raises(ValueError, match=message):
        make().fit(*blobs, sample_weight=weight)


# ---------------------------------------------------------------- X

BAD_X = {
    "infinity": (lambda X: changed(X, INF), "Input X contains infinity"),
    "NaN in images": (lambda X: changed(X, NAN).reshape(-1, 2, 2), "Input X contains NaN"),
    "sparse": (csr_array, "[Ss]parse.*dense.*toarray"),
    "complex": (lambda X: X + 1j, "Complex data not supported"),
    "strings": (lambda X: X.astype(str).astype(object) + "m", "numbers in X; got str.*DataFrame"),
    "frame of dates": (lambda X: pd.DataFrame({"a": pd.date_range("2020", periods=len(X))}),
                       "strings or categories; got datetime64.* in the column 'a'"),
    "frame of keys": (lambda X: pd.DataFrame({"a": [f"key {i}" for i in range(300)]}),
                      "at most 255 categories per column; got 300 in the column 'a'"),
    "infinity in a frame": (lambda X: pd.DataFrame(changed(X, INF)), "Input X contains infinity"),
    "equal names": (lambda X: pd.DataFrame(X, columns=list("abca")), "more than once|unique"),
    "nothing but gaps": (lambda X: np.full((60, 2), NAN), "at least one value in X"),
    "no rows": (lambda X: X[:0], "0 sample.*minimum of 2"),
    "one row": (lambda X: X[:1], "1 sample.*minimum of 2"),
    "no columns": (lambda X: X[:, :0], "0 feature"),
    "one dimension": (lambda X: X[:, 0], "Expected 2D array, got 1D array.*[Rr]eshape"),
    "five dimensions": (lambda X: X.reshape(60, 1, 2, 2, 1), r"\(n, h, w, c\); got 5 dim"),
    "tiny images": (lambda X: X.reshape(60, 2, 2), "at least 8x8 pixels; got 2x2.*tabular"),
    "empty images": (lambda X: np.zeros((60, 0, 8)), "0 feature"),
    "channels first": (lambda X: np.zeros((60, 3, 32, 32)), "looks like channels first.*transpose"),
}  # fmt: skip


@pytest.mark.parametrize("bad, message", BAD_X.values(), ids=BAD_X)
def test_bad_x_at_fit(estimator, blobs, bad, message):
    X, y = blobs
    before = dict(vars(estimator))
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        estimator.fit(bad(X), y)
    assert_untouched(estimator, before)


AT_PREDICT = {
    "infinity": (lambda X: changed(X, INF), "Input X contains infinity"),
    "sparse": (csr_array, "[Ss]parse.*dense"),
    "strings": (lambda X: X.astype(str).astype(object) + "m", "numbers in X; got strings"),
    "no rows": (lambda X: X[:0], "0 sample"),
    "fewer columns": (lambda X: X[:, :3], "X has 3 features, but .* expecting 4 features"),
    "images": (lambda X: X.reshape(60, 2, 2), r"rows of shape \(4,\), as in fit; got \(2, 2\)"),
}


@pytest.mark.parametrize("bad, message", AT_PREDICT.values(), ids=AT_PREDICT)
@pytest.mark.parametrize("method", ["predict", "transform"])
def test_bad_x_at_predict(make, blobs, bad, message, method):
    model = make(max_epochs=1).fit(*blobs)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(model, method)(bad(blobs[0]))


def test_other_feature_names_at_predict(estimator, blobs):
    X, y = blobs
    estimator.fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.transform(pd.DataFrame(X, columns=list("abce")))


def test_other_images_at_predict(make, images):
    X, y = images
    model = make(max_epochs=1).fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(8, 8\), as in fit; got \(4, 16\). Resize"):
        model.predict(X.reshape(24, 4, 16))


def test_not_fitted(make, estimator, blobs):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        estimator.transform(blobs[0])
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(make(), method)(blobs[0])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        estimator.get_feature_names_out()


def test_values_that_are_no_probabilities(make, blobs):
    X, y = blobs
    with pytest.raises(ValueError, match=r"values in \[0, 1\]; got values from -.*Scale X"):
        make(likelihood="bernoulli").fit(X, y)
    binary = (X.mean() < X).astype(float)
    model = make(likelihood="auto").fit(binary, y)
    with pytest.raises(ValueError, match=r"values in \[0, 1\]; got values from 0 to 2"):
        model.partial_fit(2 * binary, y)


# ---------------------------------------------------------------- shapes and devices


def test_image_shape_that_does_not_fit(make, images):
    X, y = images
    with pytest.raises(ValueError, match=r"\(8, 9\) has 72 values.*64 features.*h \* w"):
        make(image_shape=(8, 9)).fit(X.reshape(24, 64), y)
    with pytest.raises(ValueError, match=r"\(8, 8\) in X. Leave image_shape out"):
        make(image_shape=(4, 16)).fit(X, y)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the device is there")
def test_device_that_is_not_there(make, blobs):
    with pytest.raises(ValueError, match=r"'cuda' .* not available.*device='auto', or 'cpu'"):
        make(device="cuda").fit(*blobs)


# ---------------------------------------------------------------- partial_fit, early stopping


def test_partial_fit_and_classes(make, blobs):
    X, y = blobs
    with pytest.raises(ValueError, match=r"classes must be passed on the first call.*got None"):
        make().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"labels \[2\] that are not among the classes \[0, 1\]"):
        make().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="no labelled row"):
        make().partial_fit(X, np.full(60, -1), classes=[0, 1, 2])
    model = make().partial_fit(X, y, classes=[0, 1, 2])
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"\[0, 1\] differ from those of the first call, \[0, 1"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"labels \[3\] that are not among the classes"):
        model.partial_fit(X, y + 1)
    assert_untouched(model, before)


@pytest.mark.filterwarnings("ignore:Classes .* have a single labelled row:UserWarning")
@pytest.mark.parametrize("n_labeled", [1, 2])
def test_too_few_labels_for_early_stopping(make, blobs, n_labeled):
    X, y = blobs
    rows = np.concatenate([np.flatnonzero(y == k)[:n_labeled] for k in range(3)])
    few = np.full(60, -1)
    few[rows] = y[rows]
    model = make(early_stopping=True)
    if n_labeled == 1:
        with pytest.raises(ValueError, match=r"early_stopping=True needs.*3 labelled rows of 3"):
            model.fit(X, few)
    else:
        assert model.fit(X, few).n_iter_ == 2


# ---------------------------------------------------------------- training that fails


class Poison(torch.nn.Module):
    """A body that gives NaN from its n-th call in training on."""

    def __init__(self, shape, n_calls):
        super().__init__()
        self.dense, self.n_calls = torch.nn.Linear(*shape, 8), n_calls

    def forward(self, x):
        self.n_calls -= self.training
        return self.dense(x) * (NAN if self.n_calls < 0 else 1)


DIVERGING = {
    "rate": {"lr": 1e30},
    "one step": {"lr": 1e30, "max_epochs": 1, "batch_size": 64},
    "in the third epoch": {
        "networks": Networks(equivariant_body=lambda shape: Poison(shape, 10)),
        "max_epochs": 9,
    },
}


@pytest.mark.parametrize("params", DIVERGING.values(), ids=DIVERGING)
def test_divergence_leaves_nothing_behind(make, blobs, params):
    model = make(**params)
    before = dict(vars(model))
    with pytest.raises(RuntimeError, match=r"diverged in epoch [123]: .*Try a lower `lr`"):
        model.fit(*blobs)
    assert_untouched(model, before)
    with pytest.raises(NotFittedError):
        model.predict(blobs[0])


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("warm_start", [True, False])
def test_divergence_leaves_what_was_fitted(make, blobs, assert_same, method, warm_start):
    X, y = blobs
    model = make(warm_start=warm_start).fit(X, y)
    state, history = assert_same.state_of(model), [dict(row) for row in model.history_]
    model.set_params(lr=1e30)
    before = dict(vars(model))
    with pytest.raises(RuntimeError, match="left as it was before"):
        getattr(model, method)(X, y)
    assert_untouched(model, before)
    assert_same(model, state)
    assert model.history_ == history


def test_failed_refit_on_other_data_leaves_what_was_fitted(make, blobs):
    X, y = blobs
    model = make().fit(pd.DataFrame(X, columns=list("abcd")), y)
    expected = model.predict_proba(pd.DataFrame(X, columns=list("abcd")))
    for bad in (X[:, :2], changed(X, INF), X.reshape(60, 2, 2)):
        with pytest.raises(ValueError, match=r"no labelled row|infinity|8x8"):
            model.fit(bad, np.full(60, -1) if bad.shape[1] == 2 and bad.ndim == 2 else y)
    np.testing.assert_array_equal(
        model.predict_proba(pd.DataFrame(X, columns=list("abcd"))), expected
    )


def test_quiet_on_good_input(make, blobs, few, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit(blobs[0], few).predict(blobs[0])
    assert capfd.readouterr() == ("", "")
