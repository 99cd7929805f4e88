"""Description of a model for the page: directions of v, classes and rows."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..display.mosaic import as_images, drawn_channels, feature_names, value_range
from ..estimators.generative import make_generators
from ..fitted.model import Codes
from ..model.rules import to_float64
from .decoder import Description, to_base64

Floats = NDArray[np.floating[Any]]

# Number of classes in which the effect of a direction is measured.
MAX_CLASSES = 20

# ---------------------------------------------------------------- directions of v


def _basis(
    name: str, measure: str, names: list[str], vectors: Floats, weight: Floats
) -> Description:
    """Describe orthonormal directions, sorted by weight."""
    order = np.argsort(-weight, kind="stable")
    total = weight.sum()
    return {
        "name": name,
        "measure": measure,
        "names": names if name == "principal" else [names[i] for i in order],
        "vectors": to_base64(vectors[order]),
        "share": (weight[order] / total if total > 0 else np.zeros(len(weight))).tolist(),
    }


def principal_basis(v: Floats) -> list[Description]:
    """Describe the principal directions of v.

    Parameters
    ----------
    v : ndarray of shape (n, n_equivariant)
        v of rows.

    Returns
    -------
    bases : list of dict
        One basis, or none if there are too few rows or dimensions.
    """
    if len(v) < 3 or v.shape[1] < 2 or not v.std(axis=0).any():
        return []
    variance, vectors = np.linalg.eigh(np.cov(v, rowvar=False))
    directions = vectors.T
    # the sign of an eigenvector is arbitrary; fixed, so that the page is reproducible
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]
    names = [f"direction {i + 1}" for i in range(v.shape[1])]
    measure = "of the variety"
    return [_basis("principal", measure, names, directions, np.maximum(variance, 0.0))]


def plain_basis(estimator: Any) -> Description:
    """Describe the dimensions of v, sorted by their effect on the decoded rows.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator.

    Returns
    -------
    basis : dict
        The basis.
    """
    model = estimator.model_
    module, n_v = model.module, model.module.n_latents[1]
    r = model.tensor(model.prototypes[model.has_prototype][:MAX_CLASSES])
    effect = np.zeros(n_v)
    with torch.inference_mode():
        for i in range(n_v):
            step = torch.zeros(len(r), n_v, dtype=r.dtype, device=r.device)
            step[:, i] = 1.0
            change = module.decode(r, step).mean - module.decode(r, -step).mean
            effect[i] = float(to_float64(change).square().mean())
    names = [f"v{i}" for i in range(n_v)]
    return _basis("plain", "of the change", names, np.eye(n_v), effect)


# ---------------------------------------------------------------- rows and classes


def in_turn(codes: Codes, n_rows: int) -> NDArray[np.intp]:
    """Return positions of the first rows of each class, alternating between classes.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Classes of the rows.
    n_rows : int
        Number of rows to return, if there are as many.

    Returns
    -------
    rows : ndarray of int
        Positions of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> in_turn(np.array([0, 0, 0, 1, 1]), n_rows=4)
    array([0, 3, 1, 4])
    """
    turn = np.zeros(len(codes), dtype=int)
    for code in np.unique(codes):
        of_class = codes == code
        turn[of_class] = np.arange(of_class.sum())
    return np.lexsort((codes, turn))[:n_rows]


def generated_latents(estimator: Any, n_rows: int, random_state: Any) -> tuple[Codes, Floats]:
    """Return codes and v of rows to generate, alternating between classes.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator.
    n_rows : int
        Number of rows.
    random_state : int, RandomState instance or None
        Seed of v.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        Classes that have a prototype.
    v : ndarray of shape (n_rows, n_equivariant)
        Draws from the prior.
    """
    model = estimator.model_
    codes = np.resize(np.flatnonzero(model.has_prototype), n_rows)
    rng, _ = make_generators(random_state)
    return codes, rng.normal(size=(n_rows, model.module.n_latents[1]))


def describe_rows(
    estimator: Any, codes: Codes, v: Floats, rows: NDArray[Any] | None, invert: bool | None
) -> Description:
    """Describe the classes, the features, and the rows whose style can be taken.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator.
    codes : ndarray of shape (n,)
        Classes of the rows.
    v : ndarray of shape (n, n_equivariant)
        v of the rows.
    rows : ndarray of shape (n, *row_shape) or None
        The rows. None if they are generated.
    invert : bool or None
        Show grey images in negative. None does so if they are mostly dark.

    Returns
    -------
    model : dict
        What is added to the description of the decoder.
    """
    model = estimator.model_
    known = np.flatnonzero(model.has_prototype)
    place = {int(code): i for i, code in enumerate(known)}
    labels = [str(label) for label in estimator.classes_]
    styles = {
        "v": to_base64(v),
        "classes": [place[int(code)] for code in codes],
        "given": rows is not None,
    }
    described: Description = {
        "n_latents": list(model.module.n_latents),
        "classes": [labels[code] for code in known],
        "prototypes": to_base64(estimator.prototypes_[known]),
        "styles": styles,
    }
    if not model.rows.is_image:
        if rows is not None:
            styles["rows"] = to_base64(rows)
        return described | {"features": feature_names(estimator)}
    # black and white depend on the images that the page will show
    decoded = model.decode(model.r(codes), v)
    shown = as_images(estimator, decoded if rows is None else np.concatenate([decoded, rows]))
    low, high = value_range(estimator, shown)
    scaled = np.clip((shown.astype(np.float64) - low) / (high - low), 0, 1)
    if rows is not None:
        given = np.round(255 * scaled[len(decoded) :]).reshape(len(rows), *scaled.shape[1:3], -1)
        styles["rows"] = to_base64(given.transpose(0, 3, 1, 2), "u1")
    n_drawn = drawn_channels(model.rows.input_shape[0])
    dark = bool(scaled.mean() < 0.5) if invert is None else bool(invert)
    shades = {"limits": [low, high], "invert": n_drawn == 1 and dark, "drawn_channels": n_drawn}
    return described | shades
