r"""Missing values of a table given the observed ones, as functions of a `FittedModel`.

The class of a row and its style v are inferred from what is observed of it. A missing value is
the average over the classes of what the decoder expects,

.. math:: E[x_{mis}|x_{obs}] \approx \sum_y p(y|x_{obs})\, E[x_{mis}|r_y, \mu_y], \qquad
          \mu_y = E_{q(v|r_y,x_{obs})}[v]

or a draw from :math:`p(x|r_y, v)` with drawn y and v. Importance sampling of v and averages over
drawn v were no better when this was written.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .fitted.model import FittedModel

Rows = NDArray[Any]


def impute(model: FittedModel, X: Rows, rule: str) -> Rows:
    """Return rows with missing values replaced by expected numbers and most probable categories.

    Parameters
    ----------
    model : FittedModel
        The model.
    X : ndarray of shape (n, n_columns)
        Rows of a table, NaN where a value is missing.
    rule : {"prototype", "posterior", "likelihood"}
        How classes are predicted.

    Returns
    -------
    X : ndarray of shape (n, n_columns)
        The same rows; NaN is left in columns that had no value in `fit`.
    """
    known = np.flatnonzero(model.has_prototype)
    prototypes = model.tensor(model.prototypes)

    def expected(x: Tensor) -> Rows:
        q_y = model.class_logits(x, rule).softmax(dim=1).to(x)  # (n, n_classes)
        h = model.module.equivariant.embed(x)
        parts = []
        for code in known:
            r = prototypes[code].expand(len(x), -1)
            p_x = model.module.decode(r, model.module.equivariant(h, r).mean)
            parts.append(q_y[:, code, None] * p_x.mean)
        return model.rows.denormalize(torch.stack(parts).sum(dim=0))

    return _filled(model, X, expected)


def draw(model: FittedModel, X: Rows, rule: str, generator: torch.Generator) -> Rows:
    """Return rows with missing values drawn: first a class, then v, then the values.

    Parameters
    ----------
    model : FittedModel
        The model.
    X : ndarray of shape (n, n_columns)
        Rows of a table, NaN where a value is missing.
    rule : {"prototype", "posterior", "likelihood"}
        How classes are predicted.
    generator : torch.Generator
        Source of the random numbers, on the CPU.

    Returns
    -------
    X : ndarray of shape (n, n_columns)
        The same rows; NaN is left in columns that had no value in `fit`.
    """
    prototypes = model.tensor(model.prototypes)

    def drawn(x: Tensor) -> Rows:
        q_y = model.class_logits(x, rule).softmax(dim=1)
        r = prototypes[torch.multinomial(q_y, 1, generator=generator)[:, 0].to(x.device)]
        q_v = model.module.encode(x, r)
        noise = torch.randn(q_v.mean.shape, generator=generator)
        v = q_v.mean + q_v.stddev * noise.to(q_v.mean)
        return model.rows.denormalize(model.module.decode(r, v).draw(generator))

    return _filled(model, X, drawn)


def _filled(model: FittedModel, X: Rows, values: Callable[[Tensor], Rows]) -> Rows:
    """Return rows with missing values replaced by those of a function of normalised rows."""
    X = np.array(X)
    missing = np.isnan(X)
    rows = np.flatnonzero(missing.any(axis=1))
    if len(rows):
        X[rows] = np.where(missing[rows], model.map(values, X, rows=rows), X[rows])
    return X
