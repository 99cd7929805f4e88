"""The directions of the edges of images."""

import numpy as np
import pytest
import torch

from sk_equivae.training.pseudo_labels.gradients import oriented_gradients


def images(*shape):
    return torch.from_numpy(np.random.RandomState(0).uniform(size=shape))


@pytest.mark.parametrize("shape", [(28, 28), (8, 8), (1, 2), (5, 40)])
def test_features_have_unit_length_and_bounded_number(shape):
    features = oriented_gradients(images(3, 1, *shape))
    assert features.shape == (3, 8 * min(9, shape[0]) * min(9, shape[1]))
    torch.testing.assert_close(features.norm(dim=1), torch.ones(3, dtype=torch.float64))
    assert (features >= 0).all()


def test_an_image_without_edges_has_no_features():
    assert oriented_gradients(torch.full((1, 1, 6, 6), 0.7)).abs().max() == 0


def test_light_does_not_matter():
    x = images(2, 1, 12, 12)
    torch.testing.assert_close(oriented_gradients(0.5 * x + 0.2), oriented_gradients(x))


def test_light_and_dark_differ_in_grey_images_only():
    grey, colour = images(2, 1, 12, 12), images(2, 3, 12, 12)
    assert not torch.allclose(oriented_gradients(1 - grey), oriented_gradients(grey))
    torch.testing.assert_close(oriented_gradients(1 - colour), oriented_gradients(colour))


def test_direction_of_a_stroke():
    upright = torch.zeros(1, 1, 9, 9)
    upright[..., 4] = 1.0
    by_direction = oriented_gradients(upright).reshape(8, -1).sum(dim=1)
    # light to the right and to the left of an edge, none above or below
    assert by_direction.topk(2).indices.sort().values.tolist() == [0, 4]
    torch.testing.assert_close(by_direction[[2, 6]], torch.zeros(2), atol=1e-6, rtol=0)
