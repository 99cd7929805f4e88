"""Classes and probabilities of the rows that a model was trained on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from .compact import Positions, parts, positions, spacious_zeros
from .model import Codes, FittedModel

Found = tuple[Codes, NDArray[np.float32]]


def given(codes: Codes, n_classes: int) -> Found:
    """Return a copy of the codes, and one-hot probabilities; those of rows without a code are 0."""
    probabilities = spacious_zeros((len(codes), n_classes))
    for part in parts(len(codes)):
        some = np.flatnonzero(codes[part] >= 0)
        probabilities[part][some, codes[part][some]] = 1.0
    return codes.copy(), probabilities


def predict_rows(
    model: FittedModel,
    X: NDArray[Any],
    rule: str,
    reject: float | None,
    rows: Positions,
    found: Found,
) -> None:
    """Predict codes and class probabilities of some rows; the code is -1 for rows of no class.

    Parameters
    ----------
    model : FittedModel
        The model.
    X, rows : ndarray of shape (n, n_features), and ndarray of int
        All rows, and the positions of those to predict.
    rule : {"prototype", "posterior", "likelihood"}
        How classes are predicted.
    reject : float or None
        Share of known rows that may be lost; None to give every row a class.
    found : tuple of ndarray
        Codes and probabilities of all rows, which are written to.
    """
    codes, probabilities = found

    def predict(x: Tensor, place: Tensor) -> None:
        logits, where = model.class_logits(x, rule), place.cpu().numpy()
        code = logits.argmax(dim=1)
        if reject is not None:
            code = code.masked_fill(model.is_novel(x, reject), -1)
        codes[where] = code.numpy()
        probabilities[where] = model.probabilities(x, logits).numpy()

    if len(rows):
        model.map(predict, X, rows, rows=rows)


def transduce(
    model: FittedModel, X: NDArray[Any], codes: Codes, rule: str, reject: float | None
) -> Found:
    """Return codes and probabilities of all rows; those with a code from 0 on keep it.

    The parameters are those of `predict_rows`, and `codes` are the class codes of all rows.
    """
    found = given(codes, len(model.classes))
    predict_rows(model, X, rule, reject, positions(codes < 0), found)
    return found
