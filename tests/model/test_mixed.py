"""Distributions of tables, by hand."""

import math

import pytest
import torch
from scipy.stats import norm

from sk_equivae.model.distributions import likelihood_x
from sk_equivae.model.mixed import Layout, MixedColumns, fill_missing, hide

LAYOUT = Layout(n_numeric=2, sizes=(2, 3), marked=(1,))
NAN = float("nan")


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_layout():
    assert (LAYOUT.n_columns, LAYOUT.n_outputs, LAYOUT.n_inputs) == (4, 7, 8)
    assert LAYOUT.column_of_input == (0, 1, 2, 2, 3, 3, 3, 1)


def test_log_prob_is_the_sum_over_observed_columns():
    output = torch.tensor([[0.5, -1.0, 0.3, -0.2, 1.0, 0.0, -1.0]]).double()
    scale = torch.tensor([0.5, 2.0]).double()
    rows = torch.tensor(
        [
            [1.0, 0.4, 1, 0, 0, 0, 1, 0],  # all observed
            [1.0, 0.0, 1, 0, 0, 0, 1, 1],  # the second number is marked
            [NAN, 0.4, 1, 0, 0, 0, 0, 0],  # the first number is NaN, the second category missing
            [NAN, 0.0, 0, 0, 0, 0, 0, 1],  # all missing
        ]
    ).double()
    first, second = norm(0.5, 0.5).logpdf(1.0), norm(-1.0, 2.0).logpdf(0.4)
    two = output[0, 2:4].log_softmax(0)[0].item()
    three = output[0, 4:].log_softmax(0)[2].item()
    found = MixedColumns(output.expand(4, -1), scale, LAYOUT).log_prob(rows)
    expected = [first + second + two + three, first + two + three, second + two, 0.0]
    torch.testing.assert_close(found, torch.tensor(expected).double())


def test_mean_holds_probabilities():
    output = torch.randn(5, 7, generator=seeded())
    mean = MixedColumns(output, torch.ones(2), LAYOUT).mean
    torch.testing.assert_close(mean[:, :2], output[:, :2])
    torch.testing.assert_close(mean[:, 2:4], output[:, 2:4].softmax(1))
    torch.testing.assert_close(mean[:, 4:], output[:, 4:].softmax(1))


def test_draws_have_the_mean_of_the_distribution():
    output = torch.tensor([[0.5, -1.0, 0.3, -0.2, 1.0, 0.0, -1.0]]).expand(20_000, -1)
    p_x = MixedColumns(output, torch.tensor([0.5, 2.0]), LAYOUT)
    drawn = p_x.draw(seeded())
    torch.testing.assert_close(drawn.mean(0), p_x.mean[0], atol=0.05, rtol=0)
    torch.testing.assert_close(drawn[:, :2].std(0), torch.tensor([0.5, 2.0]), atol=0.05, rtol=0)
    assert (drawn[:, 2:4].sum(1) == 1).all()
    assert (drawn[:, 4:].sum(1) == 1).all()


@pytest.mark.parametrize("name", ["gaussian", "bernoulli"])
def test_plain_features_leave_nan_out(name):
    output = torch.randn(3, 4, generator=seeded())
    p_x = likelihood_x(name, output, torch.tensor(0.7))
    x = torch.rand(3, 4, generator=seeded(1))
    parts = likelihood_x(name, output[:, :3], torch.tensor(0.7)).log_prob(x[:, :3])
    x[:, 3] = NAN
    torch.testing.assert_close(p_x.log_prob(x), parts)
    drawn = torch.stack([p_x.draw(seeded(i)) for i in range(2000)]).mean(0)
    torch.testing.assert_close(drawn, p_x.mean, atol=0.1, rtol=0)


def test_gradients_are_finite_where_values_are_missing():
    output = torch.randn(2, 7, generator=seeded(), requires_grad=True)
    x = torch.tensor([[NAN, 0.0, 0, 0, 0, 0, 0, 1], [1.0, 2.0, 1, 0, 0, 1, 0, 0]])
    MixedColumns(output, torch.ones(2), LAYOUT).log_prob(x).sum().backward()
    assert output.grad.isfinite().all()
    assert (output.grad[0] == 0).all()  # a row without values teaches nothing


def test_tables_without_numbers_or_categories():
    only_categories = Layout(0, (3,))
    p_x = MixedColumns(torch.zeros(1, 3), torch.ones(()), only_categories)
    assert p_x.log_prob(torch.tensor([[0.0, 1, 0]])).item() == pytest.approx(-math.log(3))
    only_numbers = Layout(1, (), (0,))
    p_x = MixedColumns(torch.zeros(1, 1), torch.ones(1), only_numbers)
    assert p_x.log_prob(torch.tensor([[0.0, 1.0]])).item() == 0
    assert p_x.draw(seeded()).shape == p_x.mean.shape == (1, 1)


def test_hide_removes_whole_columns_and_marks_them():
    x = torch.tensor([[1.0, 2.0, 1, 0, 0, 1, 0, 0]]).repeat(4000, 1)
    hidden = hide(x, LAYOUT, 0.3, seeded())
    gone = [hidden[:, 0] == 0, hidden[:, 1] == 0, hidden[:, 2] == 0, hidden[:, 5] == 0]
    for missing in gone:
        assert missing.float().mean() == pytest.approx(0.3, abs=0.03)
    assert torch.equal(hidden[:, 7] == 1, gone[1])
    assert (hidden[:, 3:5] == 0).all()  # what was 0 stays 0
    assert torch.equal(hide(hidden, LAYOUT, 0.0, seeded()), hidden)


def test_fill_missing_leaves_images_alone():
    x = torch.full((1, 1, 2, 2), NAN)
    assert fill_missing(x) is x
