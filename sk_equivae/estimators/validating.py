"""Checks of what `fit` takes beside X and y: validation rows, and weights of the classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fitted.rows import RowSpec
from ..training.batches import TrainingRows
from .labels import encode_labels
from .mistakes import check_units
from .reading import read_rows
from .sources import find_rows


def read_validation(
    estimator: Any, X_val: Any, y_val: Any, spec: RowSpec, classes: NDArray[Any]
) -> TrainingRows | None:
    """Return the labelled validation rows of the user; None if there are none.

    Parameters
    ----------
    estimator : BaseEquiVAE
        The estimator.
    X_val, y_val : array-like or None
        Rows and labels. Unlabelled rows are left out.
    spec : RowSpec
        Shape and scaling of the rows of X.
    classes : ndarray of shape (n_classes,)
        The classes of y.

    Returns
    -------
    valid : TrainingRows or None
        The rows.
    """
    if X_val is None and y_val is None:
        return None
    if X_val is not None and y_val is None:
        rows = find_rows(X_val)
        y_val = None if rows is None or rows.labels is None else rows.labels()
    if X_val is None or y_val is None:
        given, missing = ("y_val", "X_val") if X_val is None else ("X_val", "y_val")
        raise ValueError(f"Expected both X_val and y_val; got {given} alone. Pass {missing} too.")
    if not estimator.early_stopping:
        raise ValueError(
            "X_val and y_val are for early stopping, which is off (early_stopping=False). Set "
            "early_stopping to True, 'accuracy' or 'log_loss', or leave X_val and y_val out."
        )
    X, _, _ = read_rows(estimator, X_val, spec)
    check_units(X, spec)
    remedy = "Leave their rows out of X_val and y_val, or give fit rows of them."
    codes, _ = encode_labels(y_val, estimator.unlabeled, classes, remedy, name="y_val")
    if len(codes) != len(X):
        raise ValueError(
            "X_val and y_val should have the same number of rows; got "
            f"{len(X)} rows of X_val and {len(codes)} of y_val."
        )
    labeled = np.flatnonzero(codes >= 0)
    if len(labeled) == 0:
        raise ValueError(
            f"y_val has no labelled row: all {len(codes)} are marked unlabelled "
            f"({estimator.unlabeled!r}). Expected labels to validate with."
        )
    return TrainingRows(X, spec, codes).subset(labeled)


def check_class_weight(class_weight: Any, incremental: bool) -> None:
    """Raise if weights of classes are not above 0, or if `partial_fit` cannot know them."""
    if incremental and class_weight == "balanced":
        raise ValueError(
            "partial_fit does not know the frequencies of the classes, which class_weight="
            "'balanced' needs. Pass a dict from labels to weights, for example from "
            "sklearn.utils.class_weight.compute_class_weight, or use `fit`."
        )
    for label, weight in class_weight.items() if isinstance(class_weight, dict) else ():
        is_number = isinstance(weight, int | float | np.number) and not isinstance(weight, bool)
        if not is_number or not 0 < weight < np.inf:
            raise ValueError(
                f"class_weight expects weights above 0; got {weight!r} for the class {label!r}. "
                "Leave its rows out, or mark them as unlabelled, if they should not count."
            )
