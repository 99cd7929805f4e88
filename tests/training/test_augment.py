"""Changes at random: by the generator, row by row, in shape and dtype."""

import pytest
import torch
from tests._models import random_rows, seeded

from sk_equivae import _augment
from sk_equivae._augment import make_augment, random_affine, swap_features

STRENGTHS = ("ROTATION", "SCALE", "SHEAR", "SHIFT")


def images(dtype=torch.float64):
    return random_rows(5, 2, 8, 9).to(dtype)


@pytest.fixture
def weak(monkeypatch):
    for name in STRENGTHS:
        monkeypatch.setattr(_augment, name, 0.0)
    return monkeypatch


def test_affine_of_no_strength_changes_nothing(weak):
    torch.testing.assert_close(random_affine(images(), seeded()), images())


@pytest.mark.parametrize("name", STRENGTHS)
def test_each_strength_changes_something(weak, name):
    weak.setattr(_augment, name, 0.3)
    assert not torch.allclose(random_affine(images(), seeded()), images())


def test_a_shift_is_a_translation(weak):
    weak.setattr(_augment, "SHIFT", 2.0)
    weak.setattr(_augment.torch, "rand", lambda shape, **_: torch.full(shape, 0.625).double())
    x = images()[..., :8]  # of 8 pixels a shift of 2 * 0.25 of the half is 2
    torch.testing.assert_close(random_affine(x, seeded())[..., :6, :6], x[..., 2:, 2:])


def test_affine_differs_between_rows():
    x = images()[:1].expand(4, -1, -1, -1)
    changed = random_affine(x, seeded())
    assert not any(torch.allclose(changed[0], other) for other in changed[1:])


def test_border_is_continued():
    """No black corners: a blank image stays blank."""
    blank = torch.full((6, 1, 8, 8), 0.7)
    torch.testing.assert_close(random_affine(blank, seeded()), blank)


def test_rows_stay_close_to_what_they_were():
    """A smooth picture moves by a fraction of its size."""
    ramp = torch.linspace(0, 1, 32).expand(50, 1, 32, 32)
    assert (random_affine(ramp, seeded()) - ramp).abs().mean() < 0.15


@pytest.mark.parametrize(
    "function, x", [(random_affine, images()), (swap_features, images()[0, 0])]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_by_the_generator_in_shape_and_dtype(function, x, dtype):
    x = x.to(dtype)
    before = x.clone()
    one, same, other = (function(x, seeded(seed)) for seed in (0, 0, 1))
    assert one.shape == x.shape
    assert one.dtype == dtype
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert torch.equal(x, before)


def test_swapped_features_come_from_their_own_column():
    x = torch.arange(400).reshape(100, 4) * 10.0 + torch.arange(4)  # the last digit is the column
    swapped = swap_features(x, seeded())
    assert torch.equal(swapped % 10, x % 10)
    assert 0.04 < (swapped != x).double().mean() < 0.16


def test_which_augmentation():
    assert make_augment(None, True, True) is None
    assert make_augment("auto", True, False) is random_affine
    assert make_augment("auto", False, True) is swap_features
    assert make_augment("auto", False, False) is None
    assert make_augment("affine", True, False) is random_affine
    assert torch.equal(make_augment(torch.neg, False, True)(images(), seeded()), -images())


def test_affine_needs_images():
    with pytest.raises(ValueError, match=r"needs images; got tabular rows\. Set `image_shape`"):
        make_augment("affine", False, False)


@pytest.mark.parametrize(
    "function, got", [(lambda x: x[:1], r"\(1, 2, 8, 9\)"), (lambda x: x.numpy(), "ndarray")]
)
def test_a_callable_must_keep_the_shape(function, got):
    with pytest.raises(ValueError, match=rf"shape \(5, 2, 8, 9\) that it was given; got {got}"):
        make_augment(function, True, False)(images(), seeded())
