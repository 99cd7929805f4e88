"""The rows that the page shows, their place in the latent space, and how drawings are framed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from ..display.mosaic import as_images, drawn_channels, value_range
from ..estimators.arguments import make_generators
from ..fitted.model import Codes, FittedModel
from ..fitted.styles import to_class
from .layers import Description
from .packing import to_base64, to_digits

Floats = NDArray[np.floating[Any]]
Rows = NDArray[Any]

# Values of pixels in the page: whole bytes and sixteenths are exact.
LEVELS = 4080
# Characters of all pixels together; fewer rows are shown above it.
MAX_CHARACTERS = 480_000
# Values below this part of full ink do not belong to the figure on an image.
INK = 0.2


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


def generate(model: FittedModel, n_rows: int, random_state: Any) -> tuple[Codes, Floats, Rows]:
    """Generate rows as `sample` does, alternating between classes.

    Parameters
    ----------
    model : FittedModel
        The model.
    n_rows : int
        Number of rows.
    random_state : int, RandomState instance or None
        Seed of v.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        Classes that have a prototype.
    v : ndarray of shape (n_rows, n_equivariant)
        Draws from the distribution of v in these classes.
    rows : ndarray of shape (n_rows, n_features)
        The decoded rows.
    """
    codes = np.resize(np.flatnonzero(model.has_prototype), n_rows)
    rng, _ = make_generators(random_state)
    u = rng.normal(size=(n_rows, model.module.n_latents[1]))
    v = to_class(u, codes, model.v_mean, model.v_covariance)
    return codes, v, model.decode(model.r(codes), v).reshape(n_rows, -1)


def describe_rows(
    model: FittedModel, codes: Codes, v: Floats, rows: Rows, are_given: bool
) -> Description:
    """Describe the rows that the page shows, and their maps.

    Parameters
    ----------
    model : FittedModel
        The model.
    codes, v : ndarray of shape (n,) and (n, n_equivariant)
        Classes and v of the rows.
    rows : ndarray of shape (n, n_features)
        The rows.
    are_given : bool
        Whether they are the user's. Generated rows are not stored: the page decodes them.

    Returns
    -------
    described : dict
        The rows, and the principal planes of f_inv(x) and of v.
    """
    f_inv = model.f_inv(rows)
    place = {int(code): i for i, code in enumerate(np.flatnonzero(model.has_prototype))}
    described: Description = {
        "given": are_given,
        "classes": [place[int(code)] for code in codes],
        "f_inv": to_base64(f_inv),
        "v": to_base64(v),
    }
    if are_given and model.rows.is_image:
        values = rows.astype(np.float64)
        low, high = (0.0, 255.0) if model.rows.dtype == np.uint8 else (values.min(), values.max())
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        levels = np.rint((values - low) / max(high - low, 1e-12) * LEVELS).astype(np.int64)
        described["pixels"] = to_digits(levels, n_digits=2)
        described["range"] = [float(low), float(high)]
    elif are_given:
        described["values"] = to_base64(rows)
    return {"rows": described, "maps": {"r": plane(f_inv), "v": plane(v)}}


def n_rows_kept(model: FittedModel, n_rows: int) -> int:
    """Return how many rows fit in the page."""
    n_pixels = int(np.prod(model.rows.input_shape)) if model.rows.is_image else 1
    return min(n_rows, max(24, MAX_CHARACTERS // (2 * n_pixels)))


def plane(z: Floats) -> Description:
    """Describe the plane of the two principal components.

    Parameters
    ----------
    z : ndarray of shape (n, n_latents)
        Representations of rows.

    Returns
    -------
    plane : dict
        Mean, and one or two orthonormal directions.
    """
    n_components = min(2, z.shape[1])
    if len(z) > n_components:
        pca = PCA(n_components, svd_solver="full").fit(z.astype(np.float64))
        mean, directions = pca.mean_, pca.components_
    else:
        mean, directions = z.mean(axis=0), np.eye(z.shape[1])[:n_components]
    return {"mean": to_base64(mean), "directions": to_base64(directions)}


# ---------------------------------------------------------------- drawings


def describe_shades(estimator: Any, rows: Rows, invert: bool | None) -> Description:
    """Describe which values are drawn in black and white, and how a drawing becomes an image.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator of images.
    rows : ndarray of shape (n, n_features)
        Rows that the page shows.
    invert : bool or None
        Show grey images in negative. None does so if they are mostly dark.

    Returns
    -------
    shades : dict
        The limits, and the frame of figures on an even ground.
    """
    spec = estimator.model_.rows
    shown = as_images(estimator, rows.reshape(-1, *spec.row_shape))
    low, high = value_range(estimator, shown)
    scaled = np.clip((shown.astype(np.float64) - low) / (high - low), 0, 1)
    n_drawn = drawn_channels(spec.input_shape[0])
    dark = bool(scaled.mean() < 0.5) if invert is None else bool(invert)
    return {
        "limits": [low, high],
        "invert": n_drawn == 1 and dark,
        "drawn_channels": n_drawn,
        "frame": frame_of(scaled) if n_drawn == 1 else None,
    }


def frame_of(images: Floats) -> Description | None:
    """Describe where figures lie on their images: place, size and strokes.

    Drawings are brought there. For MNIST, where figures fill a box of 20 pixels and have their
    centre of mass in the middle, that is what its authors did.

    Parameters
    ----------
    images : ndarray of shape (n, height, width)
        Images with values in [0, 1].

    Returns
    -------
    frame : dict or None
        The ground, 0 or 1; the usual ranges of the centre of mass and of the longer side, and
        the usual width of a stroke, in pixels. None if the ground is not even, as on photographs.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.zeros((3, 8, 8))
    >>> images[:, 1:7, 3:5] = 1.0
    >>> frame = frame_of(images)
    >>> frame["ground"], frame["centre"][1], frame["side"], frame["stroke"]
    (0.0, [4.0, 4.0], [6.0, 6.0], 1.91)
    """
    edges = [images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]]
    border = np.concatenate([edge.ravel() for edge in edges])
    ground = float(np.round(np.median(border)))
    if np.mean(np.abs(border - ground) < INK) < 0.7:
        return None
    ink = np.abs(images - ground)
    ink = ink[ink.max(axis=(1, 2)) > INK]
    if len(ink) == 0:
        return None
    mass = ink.sum(axis=(1, 2))
    sides, centres = [], []
    for axis in (1, 2):  # over columns, then over rows
        other = 3 - axis
        middles = np.arange(ink.shape[axis]) + 0.5
        centres.append(ink.sum(axis=other) @ middles / mass)
        filled = (ink > INK).any(axis=other)
        last = filled.shape[1] - filled[:, ::-1].argmax(axis=1)
        sides.append(last - filled.argmax(axis=1))
    padded = np.pad(ink, ((0, 0), (1, 1), (1, 1)))
    outline = sum(np.abs(np.diff(padded, axis=axis)).sum(axis=(1, 2)) for axis in (1, 2))

    def usual(values: Any) -> list[float]:
        return np.quantile(values, (0.01, 0.99)).tolist()

    return {
        "ground": ground,
        "centre": [usual(centre) for centre in centres],
        "side": usual(np.maximum(*sides)),
        # a stroke is half of its outline long; along both axes a slanted outline counts 4 / pi
        "stroke": round(float(np.median(2 * mass / outline * 4 / np.pi)), 2),
    }
