"""`explore`: one HTML file in which to play with r and v.

The page runs the decoder itself, in JavaScript. This module describes the model to it: the
decoder's layers, the classes, the directions of v and some rows whose style can be taken.
The page is in `explore/`.
"""

import html
import json
import os
import re
import uuid
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..estimators.base import BaseEquiVAE
from ..estimators.generative import check_count
from ..model.networks import ConvDecoderBody, DenseDecoderBody
from .description import (
    describe_decoder,
    describe_rows,
    generated_latents,
    in_turn,
    plain_basis,
    principal_basis,
)


def explore(
    estimator: Any,
    path: Any,
    *,
    X: ArrayLike | None = None,
    y: Any = None,
    n_styles: int = 20,
    dims: tuple[int, int] | None = None,
    invert: bool | None = None,
    title: str | None = None,
    random_state: Any = 0,
) -> Path:
    """Write a page to play with: choose a class, drag through styles, mix the two.

    The page is one HTML file that needs no server and no network: the decoder runs in
    the browser, and what is shown is what the estimator's own decoder gives. It works with
    a mouse, by touch and from the keyboard.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer, fitted
        With a decoder of this library, of images or of tabular rows.
    path : path-like
        The file to write, in a folder that exists. A file that is there is replaced, once
        the new one is complete.
    X : array-like of the shape seen in `fit`, optional
        Rows whose style can be taken. The page then also offers the principal directions
        of their v. Without it the rows to take from are generated.
    y : label or array-like of shape (n,), optional
        Classes of X. Without it, and where it says unlabelled, the predicted ones.
    n_styles : int, default=20
        How many rows to show, the classes in turn.
    dims : (int, int), optional
        The dimensions of v on the pad when the page opens. Without it the first two principal
        directions of X; without X the dimensions that change the decoded rows most.
    invert : bool, optional
        Show grey images in negative, high values dark, as ink on paper. Without it where
        most of the images is low.
    title : str, optional
    random_state : int, RandomState instance or None, default=0
        For the rows that are generated without X.

    Returns
    -------
    path : pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from sk_equivae import EquiVAEClassifier, explore
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EquiVAEClassifier(latent_dim=2, max_epochs=1, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = explore(model, Path(folder) / "iris.html", X=X, y=y)
    ...     page.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    _check_estimator(estimator)
    path = _check_path(path)
    if X is None and y is not None:
        raise ValueError("explore expects the rows X that y belongs to; got y alone. Pass X too.")
    n_styles = check_count(n_styles, "n_styles", 1)
    n_v = estimator.model_.module.n_latents[1]
    if dims is not None and not (
        np.shape(dims) == (2,)
        and all(isinstance(i, int | np.integer) and 0 <= i < n_v for i in dims)
        and dims[0] != dims[1]
    ):
        raise ValueError(
            f"dims should be two different dimensions of v, from 0 to {n_v - 1}; got {dims!r}. "
            "Leave it out for those that matter most."
        )
    model = describe_decoder(estimator)
    if X is None:
        codes, v = generated_latents(estimator, n_styles, random_state)
        rows, bases = None, []
    else:
        valid, fitted = estimator._validate_rows(X), estimator.model_
        given = None if y is None else estimator._codes(y, len(valid))
        codes, v = fitted.latents(valid, estimator.predict_with, given)
        v = v.astype(np.float64)
        bases = principal_basis(v)
        kept = in_turn(codes, n_styles)
        rows = valid[kept].reshape(-1, *fitted.rows.row_shape)
        codes, v = codes[kept], v[kept]
    bases.append(plain_basis(estimator))
    model |= describe_rows(estimator, codes, v, rows, invert)
    model["bases"] = bases
    model["start"] = {"basis": 0, "axes": [0, 1] if n_v > 1 else [0]}
    if dims is not None:
        axes = [bases[-1]["names"].index(f"v{i}") for i in dims]
        model["start"] = {"basis": len(bases) - 1, "axes": axes}
    title = f"Inside an {type(estimator).__name__}" if title is None else str(title)
    _write_whole(path, _fill_page(model, title))
    return path


# ---------------------------------------------------------------- checks


def _check_estimator(estimator: Any) -> None:
    if not isinstance(estimator, BaseEquiVAE):
        raise TypeError(
            "explore expects an EquiVAEClassifier or EquiVAETransformer; got "
            f"{type(estimator).__name__}. Of a pipeline or a search, pass the step or the best "
            "estimator itself."
        )
    check_is_fitted(estimator)
    body = estimator.model_.module.decoder.body
    # A subclass may compute anything.
    if type(body) not in (ConvDecoderBody, DenseDecoderBody):
        raise ValueError(
            "explore expects a decoder of this library, which the page knows how to run; got "
            f"{type(body).__name__}. Fit with decoder=None, or look at the model with "
            "`sample`, `interpolate` and the displays."
        )


def _check_path(path: Any) -> Path:
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(
            f"explore expects the path of a file; got the folder {str(path)!r}. Add a name, for "
            "example 'explore.html'."
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"explore expects a path in a folder that exists; got {str(path)!r}, and there is no "
            f"folder {str(path.parent)!r}. Make it first."
        )
    return path


# ---------------------------------------------------------------- the file


def _fill_page(model: dict[str, Any], title: str) -> str:
    folder = resources.files(__package__) / "static"

    def read(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    # "<" could end the script element that holds the model
    parts = {
        "title": html.escape(title),
        "model": json.dumps(model, allow_nan=False).replace("<", "\\u003c"),
        **{name: read(name) for name in ("page.css", "decoder.js", "drawing.js", "page.js")},
    }
    # All at once, so that nothing in a title or a label is taken for a place to fill.
    return re.sub(r"\{\{ ([a-z.]+) \}\}", lambda match: parts[match[1]], read("page.html"))


def _write_whole(path: Path, text: str) -> None:
    """Write a file such that at any time there is the old one or the new one."""
    # Not by `tempfile`, which would keep the page from other users of the machine.
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
