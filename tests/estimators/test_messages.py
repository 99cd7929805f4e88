"""What a user does by mistake, or by habit: each is taken, or says what to do."""

import enum

import numpy as np
import pytest


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    "labels, error, remedy",
    [
        ([Colour.RED, Colour.BLUE] * 30, TypeError, "`label.name` of an Enum"),
        (np.array(["2020-01-01", "2021-01-01"] * 30, "datetime64[D]"), ValueError, "astype"),
    ],
)
def test_labels_that_are_no_labels(make, blobs, labels, error, remedy):
    with pytest.raises(error, match=remedy):
        make().fit(blobs[0], labels)


@pytest.mark.parametrize("marker", ["", "unlabeled", "nan"])
def test_a_label_that_looks_like_a_marker_warns(make, blobs, marker):
    y = np.where(blobs[1] == 2, marker, np.array(["a", "b", ""])[blobs[1]])
    with pytest.warns(UserWarning, match=f"set unlabeled={marker!r}"):
        make(max_epochs=1).fit(blobs[0], y)
    model = make(max_epochs=1, unlabeled=marker).fit(blobs[0], y)
    assert model.classes_.tolist() == ["a", "b"]


def test_classes_of_weight_0_are_named(make, blobs):
    X, y = blobs
    with pytest.raises(ValueError, match=r"classes \[1, 2\] has a sample_weight of 0"):
        make().fit(X, y, sample_weight=(y == 0).astype(float))


def test_channels_first(make):
    X = np.zeros((20, 3, 16, 16))
    with pytest.raises(ValueError, match=r"looks like channels first.*transpose\(0, 2, 3, 1\)"):
        make().fit(X, np.arange(20) % 2)


def test_images_may_have_many_channels(make):
    X = np.random.RandomState(0).normal(size=(20, 8, 9, 12))
    model = make(max_epochs=1).fit(X, np.arange(20) % 2)
    assert model.sample(2, random_state=0)[0].shape == (2, 8, 9, 12)


@pytest.mark.parametrize("shape", [(8, 8), (9, 8, 3)])
def test_a_single_image(make, shape):
    X = np.random.RandomState(0).uniform(size=(20, *shape))
    model = make(max_epochs=1).fit(X, np.arange(20) % 2)
    with pytest.raises(ValueError, match=r"single image.*X\[np.newaxis\]"):
        model.predict(X[0])
    assert model.predict(X[0][np.newaxis]).shape == (1,)


def test_an_unknown_class_in_sample(make, blobs):
    with pytest.raises(ValueError, match=r"\[7\] that are not among .*in `classes_`"):
        make().fit(*blobs).sample(2, y=7)


def test_sample_takes_its_number_from_y(make, blobs):
    model = make().fit(*blobs)
    assert model.sample(y=[0, 1, 2])[1].tolist() == [0, 1, 2]
    assert model.sample(y=1)[1].tolist() == [1]
    assert len(model.sample()[0]) == 1


def test_sample_follows_the_random_state_of_the_estimator(make, blobs):
    model = make(random_state=0).fit(*blobs)
    np.testing.assert_array_equal(model.sample(3)[0], model.sample(3)[0])
    model.set_params(random_state=None)
    assert not np.array_equal(model.sample(3)[0], model.sample(3)[0])


def test_one_label_for_all_rows_of_a_new_class(make, blobs):
    X, y = blobs
    model = make().fit(X[y < 2], y[y < 2])
    assert model.add_classes(X[y == 2], 2).classes_.tolist() == [0, 1, 2]


def test_inverse_transform_takes_x(make, blobs):
    model = make().fit(*blobs)
    assert model.inverse_transform(X=model.transform(blobs[0])).shape == (60, 4)


@pytest.mark.parametrize("kind", ["rows", "images"])
def test_partial_fit_takes_one_row(make, blobs, images, kind):
    X, y = blobs if kind == "rows" else images
    model = make().partial_fit(X[:1], y[:1], classes=np.unique(y))
    for i in range(1, 4):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model.n_iter_ == 4
    assert np.isfinite(model.predict_proba(X)).all()
