"""Weights of the classes in the objective."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from .batches import TrainingRows


def class_weights(
    data: TrainingRows, classes: NDArray[Any], class_weight: Any
) -> NDArray[np.float64] | None:
    """Return the weight of each class; None without `class_weight`.

    Parameters
    ----------
    data : TrainingRows
        The rows, whose labels count for "balanced".
    classes : ndarray of shape (n_classes,)
        The labels that the codes stand for.
    class_weight : dict, "balanced" or None
        The parameter of the estimator.

    Returns
    -------
    weight : ndarray of shape (n_classes,) or None
        One weight per class.
    """
    if class_weight is None:
        return None
    weight = np.ones(len(classes))
    if isinstance(class_weight, dict):
        unknown = [label for label in class_weight if label not in classes.tolist()]
        if unknown:
            raise ValueError(
                f"class_weight expects labels among {classes.tolist()}; got weights of {unknown}. "
                "Leave them out of class_weight, or give fit labelled rows of them."
            )
        weight[:] = [class_weight.get(label, 1.0) for label in classes.tolist()]
    else:
        codes = data.codes[data.codes >= 0]
        present = np.unique(codes)
        weight[present] = compute_class_weight(class_weight, classes=present, y=codes)
    return weight
