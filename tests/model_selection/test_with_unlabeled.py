"""`WithUnlabeled`: unlabelled rows in every fit of a tool that knows labelled ones only."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.semi_supervised import LabelSpreading

from sk_equivae.model_selection import WithUnlabeled


def test_the_same_as_with_markers(blobs, few, make, assert_same):
    X, _ = blobs
    labeled = few >= 0
    order = np.r_[np.flatnonzero(labeled), np.flatnonzero(~labeled)]
    wrapped = WithUnlabeled(make(), X[~labeled]).fit(X[labeled], few[labeled])
    assert_same(wrapped.estimator_, make().fit(X[order], few[order]))
    weight = np.arange(1.0, 16.0)
    weighted = clone(wrapped).fit(X[labeled], few[labeled], sample_weight=weight)
    given = np.r_[weight, np.ones(45)]
    assert_same(weighted.estimator_, make().fit(X[order], few[order], sample_weight=given))


@pytest.mark.parametrize("library", [None, "pandas", "polars"])
def test_strings_and_frames(blobs, few, make, library):
    X, y = blobs
    names = np.array(["a", "b", "c"], dtype=object)[y]
    labeled = few >= 0
    rows, others = X[labeled], X[~labeled]
    if library is not None:
        frames = pytest.importorskip(library)
        rows, others = (
            frames.DataFrame(dict(zip("wxyz", part.T, strict=True))) for part in (rows, others)
        )
    model = WithUnlabeled(make(), others).fit(rows, names[labeled])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert len(model.estimator_.transduction_) == 60
    assert set(model.predict(others)) <= {"a", "b", "c"}
    if library is not None:
        with pytest.raises(ValueError, match="of the same kind; got"):
            WithUnlabeled(make(), X[~labeled]).fit(rows, names[labeled])


def test_calibration_divides_the_labelled_rows_alone(blobs, few):
    X, y = blobs
    labeled = few >= 0
    model = WithUnlabeled(LabelSpreading(), X[~labeled])
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X[labeled], few[labeled])
    assert calibrated.classes_.tolist() == [0, 1, 2]
    for part in calibrated.calibrated_classifiers_:
        assert len(part.estimator.estimator_.transduction_) == 10 + 45
    assert calibrated.score(X, y) > 0.9


def test_errors(blobs, few, make):
    X, y = blobs
    with pytest.raises(ValueError, match="expects a marker"):
        WithUnlabeled(make(), X, unlabeled=None).fit(X, y)
    with pytest.raises(ValueError, match=r"same shape in `fit` and X_unlabeled; got \(4,\) and"):
        WithUnlabeled(make(), X[:, :2]).fit(X, y)
    with pytest.raises(ValueError, match="needs labelled rows"):
        WithUnlabeled(make(), X).fit(X, np.full(60, -1))
