"""Changes at random: by the generator, row by row, in shape and dtype."""

import pytest
import torch
from sklearn.base import clone

from sk_equivae import Photographic, RandomAffine, SwapFeatures
from sk_equivae.model.mixed import Layout
from sk_equivae.training.augment import make_augment
from tests._models import random_rows, seeded

STILL = {"rotation": 0, "scale": 0.0, "shear": 0.0, "shift": 0.0}
COLOURS = {"gain": 0.0, "offset": 0.0, "invert": 0.0, "cut_out": 0.0, "flip": 0.0}


def photographic(**strengths):
    """Nothing but what is given."""
    return Photographic(**{**STILL, **COLOURS, **strengths})


def images(dtype=torch.float64):
    return random_rows(5, 2, 8, 9).to(dtype)


def test_affine_of_no_strength_changes_nothing():
    torch.testing.assert_close(RandomAffine(**STILL)(images(), seeded()), images())


@pytest.mark.parametrize("name, strength", [*((name, 0.3) for name in STILL), ("rotation", 17)])
def test_each_strength_changes_something(name, strength):
    affine = RandomAffine(**{**STILL, name: strength})
    assert not torch.allclose(affine(images(), seeded()), images())


def test_a_shift_is_a_translation(monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda shape, **_: torch.full(shape, 0.625).double())
    x = images()[..., :8]  # of 8 pixels a shift of 0.25 is 2
    moved = RandomAffine(**{**STILL, "shift": 1.0})(x, seeded())
    torch.testing.assert_close(moved[..., :6, :6], x[..., 2:, 2:])


def test_a_rotation_is_in_degrees(monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda shape, **_: torch.ones(shape).double())
    x = images()[..., :8]
    turned = RandomAffine(**{**STILL, "rotation": 90})(x, seeded())
    torch.testing.assert_close(turned, x.rot90(1, (2, 3)))


def test_affine_differs_between_rows():
    x = images()[:1].expand(4, -1, -1, -1)
    changed = RandomAffine()(x, seeded())
    assert not any(torch.allclose(changed[0], other) for other in changed[1:])


def test_border_is_continued():
    """No black corners: a blank image stays blank."""
    blank = torch.full((6, 1, 8, 8), 0.7)
    torch.testing.assert_close(RandomAffine()(blank, seeded()), blank)


def test_rows_stay_close_to_what_they_were():
    """A smooth picture moves by a fraction of its size."""
    ramp = torch.linspace(0, 1, 32).expand(50, 1, 32, 32)
    assert (RandomAffine()(ramp, seeded()) - ramp).abs().mean() < 0.15


@pytest.mark.parametrize(
    "function, x",
    [(RandomAffine(), images()), (Photographic(), images()), (SwapFeatures(), images()[0, 0])],
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


def test_a_photograph_of_no_strength_is_not_changed():
    torch.testing.assert_close(photographic()(images(), seeded()), images())


@pytest.mark.parametrize("name", [*STILL, *COLOURS])
def test_each_strength_changes_a_photograph(name):
    changed = photographic(**{name: 17 if name == "rotation" else 0.5})(images(), seeded())
    assert not torch.allclose(changed, images())


def test_photographs_move_as_other_images_do():
    strengths = {"rotation": 9, "scale": 0.1, "shear": 0.2, "shift": 0.1}
    moved = photographic(**strengths)(images(), seeded())
    torch.testing.assert_close(moved, RandomAffine(**strengths)(images(), seeded()))


def test_gain_and_offset_are_drawn_for_each_channel():
    x = torch.stack([torch.zeros(200, 3, 4, 4), torch.ones(200, 3, 4, 4)]).double()
    dark, light = (photographic(gain=0.3, offset=0.4)(part, seeded()) for part in x)
    gain, offset = (light - dark)[..., 0, 0], dark[..., 0, 0]
    assert (dark == offset[..., None, None]).all()  # the same in all pixels
    for drawn, low, high in ((gain, 0.7, 1.3), (offset, -0.4, 0.4)):
        assert low <= drawn.min() < low + 0.05
        assert high - 0.05 < drawn.max() <= high
        assert abs(torch.corrcoef(drawn.T)[0, 1]) < 0.2


@pytest.mark.parametrize("name, change", [("invert", torch.neg), ("flip", lambda x: x.flip(3))])
def test_some_photographs_are_inverted_or_flipped(name, change):
    x = random_rows(300, 3, 4, 5)
    changed = photographic(**{name: 0.3})(x, seeded())
    is_changed = (changed == change(x)).flatten(1).all(dim=1)
    assert torch.equal(changed[~is_changed], x[~is_changed])
    assert 0.2 < is_changed.double().mean() < 0.4


@pytest.mark.parametrize("size", [16, 64])
def test_a_square_is_cut_out_in_proportion_to_the_image(size):
    x = torch.ones(400, 3, size, size + 8)
    cut = photographic(cut_out=0.5)(x, seeded()) == 0
    assert (cut.any(dim=1) == cut.all(dim=1)).all()  # in all channels
    rows, columns = cut[:, 0].any(dim=2), cut[:, 0].any(dim=1)
    assert torch.equal(cut[:, 0], rows[:, :, None] & columns[:, None, :])
    assert rows.sum(dim=1).max() == size // 2
    assert columns.sum(dim=1).max() == (size + 8) // 2
    assert rows.sum(dim=1).min() < size / 3  # part of it lies outside
    assert rows.any(dim=0).all()  # anywhere


def test_swapped_features_come_from_their_own_column():
    x = torch.arange(400).reshape(100, 4) * 10.0 + torch.arange(4)  # the last digit is the column
    swapped = SwapFeatures()(x, seeded())
    assert torch.equal(swapped % 10, x % 10)
    assert 0.04 < (swapped != x).double().mean() < 0.16


def test_the_values_of_a_column_are_swapped_together():
    layout = Layout(n_numeric=2, sizes=(3,), marked=(1,))
    number = torch.arange(200.0)
    block = torch.nn.functional.one_hot(torch.arange(200) % 3, 3)
    mark = (torch.arange(200) % 2)[:, None]
    x = torch.cat([number[:, None], (number * (1 - mark[:, 0]))[:, None], block, mark], dim=1)
    swapped = make_augment(SwapFeatures(fraction=0.5), False, True, layout)(x, seeded())
    assert (swapped[:, 2:5].sum(dim=1) == 1).all()
    for columns in ([0], [1, 5], [2, 3, 4]):
        changed = (swapped[:, columns] != x[:, columns]).any(dim=1).float().mean()
        assert 0.2 < changed < 0.6
    assert set(map(tuple, swapped[:, [1, 5]].tolist())) <= set(map(tuple, x[:, [1, 5]].tolist()))


def test_as_many_features_are_swapped_as_asked_for():
    x = random_rows(400, 5)
    assert torch.equal(SwapFeatures(fraction=0.0)(x, seeded()), x)
    for fraction in (0.3, 1.0):
        changed = (SwapFeatures(fraction=fraction)(x, seeded()) != x).double().mean()
        assert abs(changed - fraction) < 0.05


@pytest.mark.parametrize(
    "augment, is_image, any_unlabeled, expected",
    [
        ("auto", True, False, RandomAffine),
        ("auto", True, True, RandomAffine),
        ("auto", False, True, SwapFeatures),
        ("affine", True, False, RandomAffine),
        ("swap", False, False, SwapFeatures),
        ("photographic", True, True, Photographic),
    ],
)
def test_which_augmentation(augment, is_image, any_unlabeled, expected):
    made = make_augment(augment, is_image, any_unlabeled)
    assert type(made) is expected
    assert made.get_params() == expected().get_params()


def test_photographs_are_augmented_as_such():
    assert type(make_augment("auto", True, True, photographs=True)) is Photographic
    assert type(make_augment("affine", True, True, photographs=True)) is RandomAffine
    assert make_augment(None, True, True, photographs=True) is None


def test_no_augmentation():
    assert make_augment(None, True, True) is None
    assert make_augment("auto", False, False) is None


def test_a_callable_takes_a_batch_alone():
    assert torch.equal(make_augment(torch.neg, False, True)(images(), seeded()), -images())


def test_an_object_is_taken_as_it_is():
    given = RandomAffine(rotation=5)
    assert make_augment(given, True, False) is given
    assert clone(given).rotation == 5
    assert repr(given) == "RandomAffine(rotation=5)"


@pytest.mark.parametrize("augment", ["affine", RandomAffine(shift=0.5)])
def test_affine_needs_images(augment):
    with pytest.raises(ValueError, match=r"needs images; got tabular rows\. Set `image_shape`"):
        make_augment(augment, False, False)
    with pytest.raises(ValueError, match="augment=Photographic needs images; got tabular rows"):
        make_augment("photographic", False, False)


@pytest.mark.parametrize("augment", ["swap", SwapFeatures()])
def test_swapped_features_need_tabular_rows(augment):
    with pytest.raises(ValueError, match=r"SwapFeatures needs tabular rows; got images"):
        make_augment(augment, True, True)


@pytest.mark.parametrize(
    "function, got", [(lambda x: x[:1], r"\(1, 2, 8, 9\)"), (lambda x: x.numpy(), "ndarray")]
)
def test_a_callable_must_keep_the_shape(function, got):
    with pytest.raises(ValueError, match=rf"shape \(5, 2, 8, 9\) that it was given; got {got}"):
        make_augment(function, True, False)(images(), seeded())
