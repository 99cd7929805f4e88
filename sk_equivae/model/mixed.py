r"""p(x | r_y, v) of tables with numeric and categorical columns and missing values.

A row of such a table is one vector in the networks. It has three parts:

=======  ==========================================================================
numbers  one standardised value per numeric column
blocks   one block of 0 and 1 per categorical column, all 0 if the value is missing
marks    1 where a numeric value is missing, 0 elsewhere
=======  ==========================================================================

Only numeric columns with missing values in `fit` have a mark, and their missing values are 0.
The missing values of other numeric columns, which the networks have not learnt about, are NaN.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.distributions import Distribution, Normal


@dataclass(frozen=True)
class Layout:
    """Where the columns of a table are in a row of the networks.

    Parameters
    ----------
    n_numeric : int
        Number of numeric columns.
    sizes : tuple of int
        Number of categories of each categorical column.
    marked : tuple of int
        The numeric columns with a mark, by their position among the numeric columns.

    Examples
    --------
    >>> layout = Layout(n_numeric=2, sizes=(3,), marked=(1,))
    >>> layout.n_inputs, layout.n_outputs  # the decoder has no output for marks
    (6, 5)
    >>> layout.column_of_input
    (0, 1, 2, 2, 2, 1)
    """

    n_numeric: int
    sizes: tuple[int, ...] = ()
    marked: tuple[int, ...] = ()

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.n_numeric + len(self.sizes)

    @property
    def n_outputs(self) -> int:
        """Number of numbers and of values in blocks, which the decoder returns."""
        return self.n_numeric + sum(self.sizes)

    @property
    def n_inputs(self) -> int:
        """Number of values of a row, including marks."""
        return self.n_outputs + len(self.marked)

    @property
    def column_of_input(self) -> tuple[int, ...]:
        """The column of each value of a row: numeric columns first, then the categorical ones."""
        blocks = (self.n_numeric + i for i, size in enumerate(self.sizes) for _ in range(size))
        return (*range(self.n_numeric), *blocks, *self.marked)


@lru_cache(maxsize=64)
def _places(sizes: tuple[int, ...]) -> Tensor:
    """Return the place of each category, of shape (n_blocks, largest); the last one is padding."""
    n_values, start = sum(sizes), 0
    places = torch.full((len(sizes), max(sizes)), n_values)
    for block, size in enumerate(sizes):
        places[block, :size] = torch.arange(start, start + size)
        start += size
    return places


class MixedColumns(Distribution):
    r"""Independent columns: normal if numeric, categorical otherwise.

    The log-density is that of the observed values. Missing values are left out of the sum, which
    integrates over them:

    .. math:: \log p(x_{obs}|r_y, v) = \sum_{j\ observed} \log p(x_j|r_y, v)

    Parameters
    ----------
    output : Tensor of shape (n, n_outputs)
        Output of the decoder: means of the numeric columns, and logits of the categories.
    scale : Tensor
        Standard deviation of the numeric columns.
    layout : Layout
        Where the columns are.

    Examples
    --------
    >>> import torch
    >>> layout = Layout(n_numeric=1, sizes=(2,))
    >>> p_x = MixedColumns(torch.zeros(2, 3), torch.ones(()), layout)
    >>> p_x.mean[0]
    tensor([0.0000, 0.5000, 0.5000])
    >>> p_x.log_prob(torch.tensor([[torch.nan, 0.0, 1.0], [torch.nan, 0.0, 0.0]])).exp()
    tensor([0.5000, 1.0000])
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, output: Tensor, scale: Tensor, layout: Layout):
        self.layout = layout
        self.numbers = Normal(output[:, : layout.n_numeric], scale, validate_args=False)
        self.logits = output[:, layout.n_numeric :]
        super().__init__(output.shape[:1], output.shape[1:], validate_args=False)

    def log_prob(self, x: Tensor) -> Tensor:
        """Return the log-density of the observed values, one value per row."""
        layout = self.layout
        numbers, blocks, marks = x.split(
            [layout.n_numeric, sum(layout.sizes), len(layout.marked)], dim=1
        )
        missing = numbers.isnan()
        if layout.marked:
            columns = torch.tensor(layout.marked, device=x.device)
            missing = missing.index_copy(1, columns, missing[:, columns] | (marks > 0.5))
        # replaced before the density is computed: the gradient at NaN would be NaN
        density = self.numbers.log_prob(numbers.masked_fill(missing, 0.0))
        total = density.masked_fill(missing, 0.0).sum(dim=1)
        if not layout.sizes:
            return total
        log_p = self._by_block(self.logits, -torch.inf).log_softmax(dim=2)
        chosen = self._by_block(blocks, 0.0)  # (n, n_blocks, largest)
        return total + (chosen * log_p.masked_fill(chosen == 0, 0.0)).sum(dim=(1, 2))

    @property
    def mean(self) -> Tensor:
        """Means of the numeric columns, and probabilities of the categories."""
        if not self.layout.sizes:
            return self.numbers.mean
        p = self._by_block(self.logits, -torch.inf).softmax(dim=2)
        is_value = _places(self.layout.sizes).to(p.device) < sum(self.layout.sizes)
        return torch.cat([self.numbers.mean, p[:, is_value]], dim=1)

    def draw(self, generator: torch.Generator) -> Tensor:
        """Return drawn rows, of the shape of `mean`; blocks have a single 1.

        Parameters
        ----------
        generator : torch.Generator
            Source of the random numbers, on the CPU.

        Returns
        -------
        x : Tensor of shape (n, n_outputs)
            Numbers and blocks.
        """
        numbers = self.numbers.mean
        noise = torch.randn(numbers.shape, generator=generator).to(numbers)
        numbers = numbers + self.numbers.stddev * noise
        if not self.layout.sizes:
            return numbers
        # the largest of the log-probabilities with Gumbel noise is a draw
        uniform = torch.rand(self.logits.shape, generator=generator).to(self.logits)
        noisy = self._by_block(self.logits - (-uniform.log()).log(), -torch.inf)
        chosen = F.one_hot(noisy.argmax(dim=2), noisy.shape[2]).to(numbers)
        is_value = _places(self.layout.sizes).to(chosen.device) < sum(self.layout.sizes)
        return torch.cat([numbers, chosen[:, is_value]], dim=1)

    def _by_block(self, values: Tensor, padding: float) -> Tensor:
        """Return values of all blocks as a tensor of shape (n, n_blocks, largest)."""
        places = _places(self.layout.sizes).to(values.device)
        return F.pad(values, (0, 1), value=padding)[:, places]


def fill_missing(x: Tensor) -> Tensor:
    """Return tabular rows with 0, the mean of a feature, for NaN; images are returned as they are.

    Examples
    --------
    >>> import torch
    >>> fill_missing(torch.tensor([[1.0, torch.nan]]))
    tensor([[1., 0.]])
    """
    return x if x.ndim > 2 else x.masked_fill(x.isnan(), 0.0)


def hide(x: Tensor, layout: Layout, fraction: float, generator: torch.Generator) -> Tensor:
    """Return rows with some values missing, in all columns alike.

    The probability that a value is removed is drawn for each row, uniformly between 0 and twice
    the fraction, so that rows with few and with many missing values occur.

    Parameters
    ----------
    x : Tensor of shape (n, n_inputs)
        The rows.
    layout : Layout
        Where the columns are.
    fraction : float
        Fraction of values to remove, at most 0.5.
    generator : torch.Generator
        Source of the random numbers.

    Returns
    -------
    x : Tensor of shape (n, n_inputs)
        The rows with more missing values.

    Examples
    --------
    >>> import torch
    >>> layout = Layout(n_numeric=1, sizes=(2,), marked=(0,))
    >>> hide(torch.tensor([[0.7, 0.0, 1.0, 0.0]]), layout, 0.0, torch.Generator())
    tensor([[0.7000, 0.0000, 1.0000, 0.0000]])
    """
    # one more number per row, for its rate
    shape = (len(x), 1 + layout.n_columns)
    u = torch.rand(shape, generator=generator, device=x.device, dtype=x.dtype)
    is_hidden = u[:, 1:] < 2 * fraction * u[:, :1]
    is_hidden = is_hidden[:, torch.tensor(layout.column_of_input, device=x.device)]
    values, marks = x[:, : layout.n_outputs], x[:, layout.n_outputs :]
    values = values.masked_fill(is_hidden[:, : layout.n_outputs], 0.0)
    marks = marks.masked_fill(is_hidden[:, layout.n_outputs :], 1.0)
    return torch.cat([values, marks], dim=1)
