"""The networks of the page under Node, compared with Python."""

import numpy as np
import pytest
import torch
from scipy.special import softmax
from torch import nn

from sk_equivae import EquiVAEClassifier, Networks, explore
from sk_equivae.explore.network import UnknownLayerError, describe_network, pack
from sk_equivae.explore.packing import ALPHABET, pack_weights
from sk_equivae.generation import transfer_style
from tests.explore._page import CASES, QUICK, Cases, blots, needs_node, packed, run_model


@pytest.fixture(scope="module")
def fitted():
    return Cases()


@needs_node
@pytest.mark.parametrize("name", CASES)
def test_encoders_and_decoder_equal_python(name, fitted):
    estimator, X, _ = fitted(name)
    page, model = explore(estimator).html, estimator.model_
    rows = estimator._validate_rows(X)[:12]
    rule = "prototype" if name == "mixed" else estimator.predict_with
    found = run_model(page, "given.rows.map((row) => engine.encode(row))", rows=rows.astype(float))
    codes, v = model.latents(rows, rule)
    expected = softmax(model.logits(rows, rule), axis=1)
    np.testing.assert_allclose([one["probabilities"] for one in found], expected, atol=1e-4)
    np.testing.assert_allclose([one["fInv"] for one in found], model.f_inv(rows), atol=1e-4)
    np.testing.assert_allclose([one["v"] for one in found], v, atol=1e-4)
    assert [one["code"] for one in found] == codes.tolist()

    v = np.random.RandomState(0).normal(scale=2, size=(12, v.shape[1])).astype("f4")
    decode = "given.v.map((v, i) => engine.decode(engine.prototypes[given.codes[i]], v))"
    found = np.array(run_model(page, decode, v=v, codes=codes), dtype=float)
    expected = model.decode(model.r(codes), v).reshape(12, -1).astype(float)
    if model.rows.dtype == np.uint8:
        assert np.abs(found - expected).max() <= 0.51  # Python rounds
    else:
        span = np.ptp(rows, axis=0 if not model.rows.is_image else None).astype(float)
        span = np.where(np.isfinite(span) & (span > 0), span, 1.0)
        assert np.nanmax(np.abs(found - expected) / span) < 1e-4


@needs_node
def test_styles_as_in_python(fitted):
    estimator, X, _ = fitted("28x28 grey bytes")
    page, model = explore(estimator).html, estimator.model_
    rows = estimator._validate_rows(X)[:6]
    codes, v = model.latents(rows, "prototype")
    call = """given.v.map((v, i) => engine.decode(engine.prototypes[given.to],
              engine.transfer(v, given.codes[i], given.to)))"""
    content = rows[codes == 1][:1] if (codes == 1).any() else rows[:1]
    to = model.predict_codes(content, "prototype")[0]
    found = np.array(run_model(page, call, v=v, codes=codes, to=int(to)))
    expected = transfer_style(model, content, rows, "prototype", grid=True)[0]
    assert np.abs(found - expected.reshape(6, -1)).max() <= 0.6

    drawn = np.array(run_model(page, "Array.from({length: 4000}, () => engine.sampleStyle(1))"))
    np.testing.assert_allclose(drawn.mean(axis=0), model.v_mean[1], atol=0.1)
    np.testing.assert_allclose(np.cov(drawn.T), model.v_covariance[1], atol=0.15)
    direction = np.eye(16)[3]
    along = run_model(page, "engine.rangeAlong(given.direction, 1)", direction=direction)
    assert along["mean"] == pytest.approx(model.v_mean[1, 3], abs=1e-6)
    assert along["deviation"] == pytest.approx(model.v_covariance[1, 3, 3] ** 0.5, rel=1e-5)


@needs_node
@pytest.mark.parametrize("rule", ["posterior", "likelihood"])
def test_classes_added_after_training(rule):
    X, y = blots(8, 8, 1, np.float64)
    estimator = EquiVAEClassifier(latent_dim=3, predict_with=rule, **QUICK).fit(X, y)
    estimator.add_classes(X[:3].transpose(0, 2, 1), [7, 7, 7])
    found = run_model(
        explore(estimator).html,
        "given.rows.map((row) => engine.encode(row).probabilities)",
        rows=X.reshape(24, -1),
    )
    assert len({estimator.temperature_[name] for name in ("prototype", rule)}) == 2
    np.testing.assert_allclose(found, np.exp(estimator.decision_function(X)), atol=1e-4)


# ---------------------------------------------------------------- users' networks


class Residual(nn.Module):
    """Layers that the library itself does not use."""

    def __init__(self, shape):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(shape[0], 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8))
        self.second = nn.Conv2d(8, 8, 3, padding=1, groups=4)
        self.norm = nn.BatchNorm2d(8)
        self.rest = nn.Sequential(nn.MaxPool2d(3, 2, 1), nn.Dropout(0.5), nn.Conv2d(8, 6, 1))

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = self.norm(x + nn.functional.silu(self.second(x)))
        return nn.functional.gelu(self.rest(x)).mean(dim=(2, 3))


class Unrollable(nn.Module):
    def forward(self, x):
        return x.flatten(1) if x.sum() > 0 else x.flatten(1) * 2


@needs_node
def test_networks_of_users():
    X, y = blots(9, 11, 3, np.float64)
    networks = Networks(invariant_body=Residual, equivariant_body=Residual)
    estimator = EquiVAEClassifier(latent_dim=3, networks=networks, **QUICK).fit(X, y)
    page = explore(estimator).html
    found = run_model(
        page, "given.rows.map((row) => engine.encode(row).fInv)", rows=X.reshape(24, -1)
    )
    np.testing.assert_allclose(found, estimator.transform(X), atol=1e-4)


def test_networks_that_cannot_be_run():
    with pytest.raises(UnknownLayerError, match=r"Unrollable cannot be traced by torch\.fx"):
        describe_network(Unrollable(), (1, 4, 4))
    with pytest.raises(UnknownLayerError, match="no step for Softmax"):
        describe_network(nn.Sequential(nn.Flatten(), nn.Softmax(dim=1)), (1, 4, 4))
    with pytest.raises(UnknownLayerError, match="no step for Conv2d"):
        describe_network(nn.Sequential(nn.Conv2d(1, 1, 3, dilation=2)), (1, 8, 8))
    X, y = blots(8, 8, 1, np.float64)
    networks = Networks(invariant_body=nn.Sequential(nn.Flatten(), nn.LogSoftmax(dim=1)))
    estimator = EquiVAEClassifier(latent_dim=3, networks=networks, **QUICK).fit(X, y)
    assert '"no_encoder": "the page has no step for LogSoftmax' in explore(estimator).html


# ---------------------------------------------------------------- weights as text


def test_weights_as_text():
    weight = np.random.RandomState(0).normal(size=(4, 3, 5)) * np.array([1e-3, 1, 1e3])[:, None]
    weight[:, 1] = 0
    for n_digits, error in ((3, 2e-6), (4, 5e-8)):
        described = pack_weights(weight, n_digits)
        letters = np.array([ALPHABET.index(letter) for letter in described["digits"]])
        base = len(ALPHABET)
        integers = letters.reshape(-1, n_digits) @ base ** np.arange(n_digits)[::-1]
        found = (integers - (base**n_digits - 1) // 2).reshape(weight.shape)
        found = found * packed(described["scale"])[:, None]
        largest = np.abs(weight).max(axis=(0, 2))[:, None]
        assert (np.abs(found - weight) <= error * largest).all()


def test_text_needs_no_escape():
    import html
    import json

    network = describe_network(nn.Sequential(nn.Linear(3, 2)), (3,))
    text = "".join(pack(network, 4)["steps"][0]["weight"]["digits"]) + ALPHABET
    assert html.escape(text) == text
    assert json.dumps(text) == f'"{text}"'
