"""`explore`: write the page, one HTML file with the description of a model in it.

The page runs the decoder itself, in JavaScript. Its sources are in `static/`.
"""

import html
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..display.checks import check_estimator
from ..estimators.generative import check_count
from ..files.atomic import write_whole
from ..model.networks import ConvDecoderBody, DenseDecoderBody
from .decoder import describe_decoder
from .description import (
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
    """Write a page to try out a model: choose a class, drag through styles, mix the two.

    The page is one HTML file that needs no server and no network: the decoder runs in
    the browser, and shows what the estimator's own decoder gives. It works with mouse,
    touch and keyboard. Images with other than 1, 3 or 4 channels are shown in grey, as the
    mean over the channels.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator with a decoder of this library, of images or of tabular rows.
    path : path-like
        File to write, in a folder that exists. An existing file is replaced once the new one
        is complete.
    X : array-like of the shape seen in `fit`, default=None
        Rows whose style can be taken. The page then also offers the principal directions
        of their v. None generates rows.
    y : label or array-like of shape (n,), default=None
        Classes of X. The predicted classes are taken for unlabelled rows, and for all rows
        if it is None.
    n_styles : int, default=20
        Number of rows to show, alternating between classes.
    dims : tuple of (int, int), default=None
        Dimensions of v on the pad when the page opens. None takes the first two principal
        directions of X; without X, the dimensions that change the decoded rows most.
    invert : bool, default=None
        Show grey images in negative: high values dark, like ink on paper. None does so if
        the images are mostly dark.
    title : str, default=None
        Title of the page. None names the estimator.
    random_state : int, RandomState instance or None, default=0
        Seed of the rows that are generated without X.

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
    check_estimator(estimator, "explore")
    _check_decoder(estimator)
    page = _check_path(path)
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
    write_whole(page, _fill_page(model, title).encode())
    return page


# ---------------------------------------------------------------- checks


def _check_decoder(estimator: Any) -> None:
    """Raise unless the page can run the decoder, and draw what it returns."""
    if estimator.model_.rows.layout is not None:
        raise ValueError(
            "explore expects images or rows of numbers; got an estimator of a table with "
            "categories or missing values, which the page cannot draw yet. Use `sample`, "
            "`interpolate` and the displays."
        )
    body = estimator.model_.module.decoder.body
    # not `isinstance`: a subclass may compute anything
    if type(body) not in (ConvDecoderBody, DenseDecoderBody):
        raise ValueError(
            "explore expects a decoder of this library, which the page knows how to run; got "
            f"{type(body).__name__}. Fit with networks=Networks(decoder=None), or look at the "
            "model with `sample`, `interpolate` and the displays."
        )


def _check_path(path: Any) -> Path:
    """Return the path of a file in an existing folder, or raise."""
    page = Path(path)
    if page.is_dir():
        raise IsADirectoryError(
            f"explore expects the path of a file; got the folder {str(page)!r}. Add a name, for "
            "example 'explore.html'."
        )
    if not page.parent.is_dir():
        raise FileNotFoundError(
            f"explore expects a path in a folder that exists; got {str(page)!r}, and there is no "
            f"folder {str(page.parent)!r}. Make it first."
        )
    return page


# ---------------------------------------------------------------- the file


def _fill_page(model: dict[str, Any], title: str) -> str:
    """Return the page, with the description of a model in it."""
    folder = resources.files(__package__) / "static"

    def read(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    # "<" could end the script element that holds the model
    parts = {
        "title": html.escape(title),
        "model": json.dumps(model, allow_nan=False).replace("<", "\\u003c"),
        **{name: read(name) for name in ("page.css", "decoder.js", "drawing.js", "page.js")},
    }
    # all at once, so that nothing in a title or a label is replaced
    return re.sub(r"\{\{ ([a-z.]+) \}\}", lambda match: parts[match[1]], read("page.html"))
