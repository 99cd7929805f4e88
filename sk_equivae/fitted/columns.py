"""The columns of a table: their kinds, categories and ranges.

At the border a table becomes one float matrix: a numeric value as it is, a category as its
position among the categories of the column, NaN where a value is missing. `Columns` turns such a
matrix into rows of the networks, as `sk_equivae.model.mixed` describes them, and back.
"""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..model.mixed import Layout
from .limits import Limits

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str or int
        Its name in a frame, or its position in an array.
    dtype : str
        Name of its dtype in a frame.
    categories : tuple or None
        The categories; None if the column is numeric.
    category_dtype : str
        Name of the dtype of the categories of a pandas category column.
    ordered : bool
        Whether these categories are ordered.
    is_integer : bool
        Whether all values are integers, whatever their dtype.
    low, high : float
        Range of the values in `fit`; NaN if every value was missing.
    has_gaps : bool
        Whether values were missing in `fit`.
    """

    name: Any
    dtype: str = "float64"
    categories: tuple[Any, ...] | None = None
    category_dtype: str = ""
    ordered: bool = False
    is_integer: bool = False
    low: float = np.nan
    high: float = np.nan
    has_gaps: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether no value was seen in `fit`."""
        return bool(np.isnan(self.low))


@dataclass(frozen=True)
class Columns:
    """All columns of a table.

    Attributes
    ----------
    columns : tuple of Column
        The columns, in the order of the table.
    library : {"pandas", "polars"} or None
        The library of the frame; None for an array.
    """

    columns: tuple[Column, ...]
    library: str | None = None

    @cached_property
    def numeric(self) -> list[int]:
        """Positions of the numeric columns that have any value."""
        return [i for i, c in enumerate(self.columns) if c.categories is None and not c.is_empty]

    @cached_property
    def categorical(self) -> list[int]:
        """Positions of the categorical columns that have any value."""
        return [
            i for i, c in enumerate(self.columns) if c.categories is not None and not c.is_empty
        ]

    @cached_property
    def layout(self) -> Layout | None:
        """Where the columns are in a row of the networks; None if it is the table's own row."""
        if not self.categorical and not any(c.has_gaps for c in self.columns):
            return None
        gaps = (place for place, i in enumerate(self.numeric) if self.columns[i].has_gaps)
        sizes = (len(self.columns[i].categories or ()) for i in self.categorical)
        return Layout(len(self.numeric), tuple(sizes), tuple(gaps))

    @cached_property
    def limits(self) -> Limits:
        """What the numeric columns can hold, without the others."""
        columns = [self.columns[i] for i in self.numeric]
        return Limits(
            np.array([c.low for c in columns]),
            np.array([c.high for c in columns]),
            np.array([c.is_integer for c in columns], dtype=bool),
        )

    @property
    def has_categories(self) -> bool:
        """Whether any column is categorical."""
        return any(c.categories is not None for c in self.columns)

    def learn(self, X: Floats, expects_gaps: bool = False) -> "Columns":
        """Return the same columns with the ranges and gaps of a matrix.

        Parameters
        ----------
        X : ndarray of shape (n, n_columns)
            Numbers, positions of categories, and NaN.
        expects_gaps : bool, default=False
            Whether to treat every column like one with missing values.

        Returns
        -------
        columns : Columns
            The columns, with `low`, `high`, `is_integer` and `has_gaps`.
        """
        limits = Limits.learn([X])
        has_gaps = np.isnan(X).any(axis=0) | np.full(X.shape[1], expects_gaps)
        learnt = (
            replace(c, low=low, high=high, is_integer=whole and c.categories is None, has_gaps=gaps)
            for c, low, high, whole, gaps in zip(
                self.columns,
                limits.low.tolist(),
                limits.high.tolist(),
                limits.integer.tolist(),
                has_gaps.tolist(),
                strict=True,
            )
        )
        return replace(self, columns=tuple(learnt))

    # ---------------------------------------------------------------- to the networks and back

    def normalize(self, X: Tensor, shift: Tensor, scale: Tensor, largest: float) -> Tensor:
        """Return the rows of a matrix as the networks take them.

        Parameters
        ----------
        X : Tensor of shape (n, n_columns)
            Numbers, positions of categories, and NaN.
        shift, scale : Tensor of shape (n_columns,)
            What numbers are standardised with.
        largest : float
            Standardised numbers are clipped to [-largest, largest].

        Returns
        -------
        x : Tensor of shape (n, n_inputs)
            Numbers, blocks and marks.
        """
        layout = self.layout
        assert layout is not None
        numbers = (X - shift).div_(scale).clamp_(-largest, largest)[:, self.numeric]
        marked = list(layout.marked)
        marks = numbers[:, marked].isnan()
        numbers[:, marked] = numbers[:, marked].masked_fill(marks, 0.0)
        codes, n_values = X[:, self.categorical], sum(layout.sizes)
        starts = torch.as_tensor(np.cumsum((0, *layout.sizes))[:-1], device=X.device)
        # the values that are missing share one more place, which is dropped
        places = torch.where(codes.isnan(), n_values, starts + codes.nan_to_num()).long()
        blocks = X.new_zeros(len(X), n_values + 1).scatter_(1, places, 1.0)[:, :n_values]
        return torch.cat([numbers, blocks, marks.to(X.dtype)], dim=1)

    def denormalize(self, x: Floats, shift: Floats, scale: Floats) -> Floats:
        """Return means and probabilities of the decoder as a matrix of numbers and categories.

        Parameters
        ----------
        x : ndarray of shape (n, n_outputs)
            Means of the numeric columns, and probabilities of the categories.
        shift, scale : ndarray of shape (n_columns,), or () if all columns are numeric
            What numbers were standardised with.

        Returns
        -------
        X : ndarray of shape (n, n_columns)
            Numbers, and the positions of the most probable categories. A column without any
            value in `fit` is NaN.
        """
        if self.layout is None:
            X = x * scale + shift
        else:
            X = np.full((len(x), len(self.columns)), np.nan)
            numbers, numeric = x[:, : self.layout.n_numeric], self.numeric
            X[:, numeric] = numbers * scale[numeric] + shift[numeric]
        X[:, self.numeric] = self.limits.repair(X[:, self.numeric])
        for i, block in zip(self.categorical, self.blocks(x), strict=True):
            X[:, i] = block.argmax(axis=1)
        return X

    def blocks(self, x: Floats) -> list[Floats]:
        """Return the values of each categorical column, of shape (n, n_categories)."""
        if self.layout is None:
            return []
        ends = np.cumsum((self.layout.n_numeric, *self.layout.sizes))
        return [x[:, start:end] for start, end in itertools.pairwise(ends)]
