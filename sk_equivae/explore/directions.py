"""Directions of v: along which rows differ, or which change the decoded rows most."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..fitted.model import FittedModel
from ..model.rules import to_float64
from .layers import Description
from .packing import to_base64

Floats = NDArray[np.floating[Any]]

# Number of classes in which the effect of a direction is measured.
MAX_CLASSES = 20


def _basis(name: str, names: list[str] | None, vectors: Floats, weight: Floats) -> Description:
    """Describe orthonormal directions, sorted by weight; those without names are numbered."""
    order = np.argsort(-weight, kind="stable")
    vectors, total = vectors[order], weight.sum()
    # the sign of an eigenvector is arbitrary; fixed, so that the page is reproducible
    largest = np.abs(vectors).argmax(axis=1)
    vectors = vectors * np.sign(vectors[np.arange(len(vectors)), largest])[:, None]
    numbered = [f"direction {i + 1}" for i in range(len(vectors))]
    return {
        "name": name,
        "names": numbered if names is None else [names[i] for i in order],
        "vectors": to_base64(vectors),
        "share": (weight[order] / total if total > 0 else np.zeros(len(weight))).tolist(),
    }


def describe_directions(model: FittedModel, v: Floats | None) -> list[Description]:
    """Describe bases of v.

    Parameters
    ----------
    model : FittedModel
        The model.
    v : ndarray of shape (n, n_equivariant) or None
        v of given rows.

    Returns
    -------
    bases : list of dict
        "principal", the principal directions of v, or without enough rows "effect", the
        directions that change the decoded rows most; and "plain", the dimensions of v.
    """
    n_v = model.module.n_latents[1]
    change = _changes(model)
    plain = _basis("plain", [f"v{i}" for i in range(n_v)], np.eye(n_v), np.diag(change))
    if n_v == 1:
        return [plain]
    if v is not None and len(v) > 2 and v.std(axis=0).any():
        name, weighed = "principal", np.linalg.eigh(np.cov(v.astype(np.float64), rowvar=False))
    else:
        name, weighed = "effect", np.linalg.eigh(change)
    weight, vectors = weighed
    return [_basis(name, None, vectors.T, np.maximum(weight, 0.0)), plain]


def _changes(model: FittedModel) -> Floats:
    """Return the mean product of the changes that a step along each two dimensions of v makes."""
    module, n_v = model.module, model.module.n_latents[1]
    r = model.tensor(model.prototypes[model.has_prototype][:MAX_CLASSES])
    changes = []
    with torch.inference_mode():
        for i in range(n_v):
            step = torch.zeros(len(r), n_v, dtype=r.dtype, device=r.device)
            step[:, i] = 1.0
            change = module.decode(r, step).mean - module.decode(r, -step).mean
            changes.append(to_float64(change).numpy().ravel())
    matrix = np.stack(changes)
    return matrix @ matrix.T / matrix.shape[1]
