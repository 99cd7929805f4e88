"""Photographs: networks, augmentation and training are chosen by the data."""

import numpy as np
import pytest
import torch

from sk_equivae import (
    ArchiveError,
    EquiVAEClassifier,
    Networks,
    Photographic,
    explore,
    load,
)
from sk_equivae.model.networks import ConvBody, ConvDecoderBody
from sk_equivae.model.residual import ResidualBlock, ResidualBody
from tests.conftest import QUICK
from tests.io.test_attacks import set_in, with_manifest


@pytest.fixture(scope="module")
def photographs():
    """Bytes (60, 16, 18, 3): a light spot on the left or on the right; 20 labels."""
    rng = np.random.RandomState(0)
    y = np.arange(60) % 2
    X = rng.randint(0, 100, size=(60, 16, 18, 3)).astype(np.uint8)
    X[y == 0, 5:11, 2:8] += 100
    X[y == 1, 5:11, 11:17] += 100
    return X, y, np.where(np.arange(60) < 20, y, -1)


@pytest.fixture(scope="module")
def fitted(photographs):
    X, _, y = photographs
    return EquiVAEClassifier(**{**QUICK, "max_epochs": 10}).fit(X, y)


def bodies(model):
    return [type(part.body[0]) for part in model.model_.module.parts[:3]]


def test_what_is_chosen(fitted, photographs):
    X, y, _ = photographs
    assert bodies(fitted) == [ResidualBody, ConvBody, ResidualBody]
    assert isinstance(fitted.model_.module.decoder.body, ConvDecoderBody)
    assert isinstance(fitted.net_.criterion_.augment, Photographic)
    assert fitted.net_.criterion_.plan.n_warmup > 0
    assert fitted.score(X, y) > 0.95


def test_smaller_and_grey_images_have_the_bodies_of_the_paper(make, photographs):
    X, y, _ = photographs
    for rows in (X[:, :8, :8], X[..., 0]):
        model = make(max_epochs=1).fit(rows, y)
        assert bodies(model) == [ConvBody] * 3
        assert not isinstance(model.net_.criterion_.augment, Photographic)


def test_what_can_be_set(make, photographs):
    X, y, _ = photographs
    assert bodies(make(max_epochs=1, networks="paper").fit(X, y)) == [ConvBody] * 3
    model = make(max_epochs=1, networks=Networks(widths=(4, 6), depth=2), augment="affine")
    blocks = [
        layer.branch[0].out_channels
        for layer in model.fit(X, y).model_.module.invariant.body[0]
        if isinstance(layer, ResidualBlock)
    ]
    assert blocks == [6, 6]
    grey = make(max_epochs=1, networks=Networks(body="residual", widths=(4, 6))).fit(X[..., 0], y)
    assert bodies(grey) == [ResidualBody, ConvBody, ResidualBody]
    model.set_params(networks__body="paper")
    assert bodies(model.fit(X, y)) == [ConvBody] * 3


def test_archives_hold_them(fitted, photographs, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert bodies(loaded) == bodies(fitted)
    X = photographs[0]
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))


def test_settings_are_kept_by_archives(make, photographs, tmp_path):
    X, y, _ = photographs
    given = {"augment": Photographic(flip=0.5), "networks": Networks(widths=(4, 6), depth=2)}
    make(max_epochs=1, **given).fit(X, y).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert repr(loaded.augment) == "Photographic(flip=0.5)"
    assert repr(loaded.networks) == repr(given["networks"])
    assert loaded.predict(X).shape == y.shape


def test_the_page_draws_with_their_decoder(fitted, photographs, tmp_path):
    X, y, _ = photographs
    path = explore(fitted, tmp_path / "page.html", X=X, y=y)
    assert path.stat().st_size > 10_000


def test_training_goes_on(fitted, photographs):
    X, y, _ = photographs
    before = fitted.model_.module.invariant.body[0][0].weight.clone()
    further = EquiVAEClassifier(**QUICK).partial_fit(X, y, classes=[0, 1]).partial_fit(X, y)
    assert bodies(further)[0] is ResidualBody
    assert torch.equal(before, fitted.model_.module.invariant.body[0][0].weight)


@pytest.mark.parametrize(
    "name, value",
    [
        ("widths", {"tuple": [16, 10**9]}),
        ("widths", {"tuple": [16, 32, 64, 64]}),
        ("widths", {"tuple": [8, 32, 64]}),
        ("widths", 16),
        ("depth", 10**9),
        ("depth", "deep"),
        ("body", "paper"),
    ],
)
def test_archives_that_lie_about_the_sizes(fitted, tmp_path, name, value):
    fitted.save(tmp_path / "model")
    content = with_manifest((tmp_path / "model").read_bytes(), set_in("sizes", name, value))
    (tmp_path / "forged").write_bytes(content)
    with pytest.raises(ArchiveError):
        load(tmp_path / "forged")
