"""`explore`: one HTML file with the description of a model in it.

The page runs the networks itself, in JavaScript. Its sources are in `static/`.
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
from ..estimators.arguments import check_count
from ..files.atomic import write_whole
from .directions import describe_directions
from .layers import Description
from .model import describe_model
from .rows import describe_rows, describe_shades, generate, in_turn, n_rows_kept

# Rows of which v is computed to find the principal directions.
MAX_ROWS = 5_000
# Height in a notebook, in pixels.
HEIGHT = 740


def explore(
    estimator: Any,
    path: Any = None,
    *,
    X: ArrayLike | None = None,
    y: Any = None,
    n_rows: int = 300,
    dims: tuple[int, int] | None = None,
    invert: bool | None = None,
    title: str | None = None,
    random_state: Any = 0,
) -> Any:
    """Make a page to try out a model: draw, and see what the model makes of it.

    The page is one HTML file that needs no server and no network: encoders and decoder run in
    the browser, and give what the estimator gives. Draw or drop an image, or set the features of
    a row, and see its class probabilities, the nearest prototypes, the reconstruction and its
    place in the latent space. Change the style, go from one image to another, and draw samples.
    The page works with mouse, touch and keyboard.

    Parameters
    ----------
    estimator : EquiVAEClassifier or EquiVAETransformer
        A fitted estimator, of images or of tabular rows. Its decoder must be made of layers that
        the page knows, as those of this library are. With other encoders the page generates,
        but does not classify.
    path : path-like, default=None
        File to write, in a folder that exists. An existing file is replaced once the new one
        is complete. None returns a page that a notebook displays.
    X : array-like of the shape seen in `fit`, default=None
        Rows to show. The page offers the principal directions of their v. None generates rows.
    y : label or array-like of shape (n,), default=None
        Classes of X. The predicted classes are taken for unlabelled rows, and for all rows
        if it is None.
    n_rows : int, default=300
        Number of rows to show, alternating between classes. Of large images fewer are shown, so
        that the page stays small.
    dims : tuple of (int, int), default=None
        Dimensions of v on the pad when the page opens. None takes the first two principal
        directions of X; without X, the directions that change the decoded rows most.
    invert : bool, default=None
        Show grey images in negative: high values dark, like ink on paper. None does so if
        the images are mostly dark.
    title : str, default=None
        Title of the page. None names the estimator.
    random_state : int, RandomState instance or None, default=0
        Seed of the rows that are generated without X.

    Returns
    -------
    page : pathlib.Path or Page
        The file; without `path` a page that displays itself in a notebook, and has `save`.

    Notes
    -----
    Where the rows show figures on an even ground, as MNIST does, drawings are brought into the
    same frame: scaled if they are larger or smaller than the figures of the rows, with their
    centre of mass in the middle, and in strokes of the same width. Images that are dropped on the
    page are cut to the proportions of the model's images and resized; models of grey images see
    their luminance, and figures are moved and scaled only as far as needed.

    With `predict_with="likelihood"` and a table with categories or missing values, the page
    classifies by the prototypes, and says so.

    Images with other than 1, 3 or 4 channels are shown in grey, as the mean over the channels.

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

    In a notebook, the last line of a cell is enough:

    >>> explore(model)
    Page('Inside an EquiVAEClassifier')
    """
    check_estimator(estimator, "explore")
    file = None if path is None else _check_path(path)
    if X is None and y is not None:
        raise ValueError("explore expects the rows X that y belongs to; got y alone. Pass X too.")
    n_rows = check_count(n_rows, "n_rows", 1)
    _check_dims(dims, estimator.model_.module.n_latents[1])
    title = f"Inside an {type(estimator).__name__}" if title is None else str(title)
    model = describe_model(estimator)
    model |= _describe_data(estimator, X, y, n_rows, dims, invert, random_state)
    page = Page(title, _fill_page(model, title))
    return page if file is None else page.save(file)


class Page:
    """A page that displays itself in a notebook, made by `explore`.

    Attributes
    ----------
    title : str
        Title of the page.
    html : str
        The whole page.
    """

    def __init__(self, title: str, html: str):
        self.title = title
        self.html = html

    def save(self, path: Any) -> Path:
        """Write the page to a file, in a folder that exists.

        Parameters
        ----------
        path : path-like
            The file. An existing one is replaced once the new one is complete.

        Returns
        -------
        path : pathlib.Path
            The file.
        """
        file = _check_path(path)
        write_whole(file, self.html.encode())
        return file

    def __repr__(self) -> str:
        return f"Page({self.title!r})"

    def _repr_html_(self) -> str:
        """Return a frame with the page in it, for notebooks."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.title)}" '
            'sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0; border-radius: 8px"></iframe>'
        )


def _describe_data(
    estimator: Any,
    X: Any,
    y: Any,
    n_rows: int,
    dims: Any,
    invert: bool | None,
    random_state: Any,
) -> Description:
    """Describe the rows, the directions of v, and what the page opens with."""
    fitted = estimator.model_
    n_rows = n_rows_kept(fitted, n_rows) if X is not None else n_rows
    if X is None:
        codes, v, rows = generate(fitted, n_rows, random_state)
        bases = describe_directions(fitted, None)
    else:
        rows = estimator._validate_rows(X)
        given = np.full(len(rows), -1) if y is None else estimator._codes(y, len(rows))
        some = np.sort(in_turn(given, MAX_ROWS))
        codes, v = fitted.latents(rows[some], estimator.predict_with, given[some])
        bases = describe_directions(fitted, v)
        kept = in_turn(codes, n_rows)
        codes, v, rows = codes[kept], v[kept], rows[some[kept]]
    described = describe_rows(fitted, codes, v, rows, X is not None)
    if fitted.rows.is_image:
        described |= describe_shades(estimator, rows, invert)
    n_v = fitted.module.n_latents[1]
    start = {"basis": 0, "axes": [0, 1] if n_v > 1 else [0]}
    if dims is not None:
        start = {"basis": len(bases) - 1, "axes": [bases[-1]["names"].index(f"v{i}") for i in dims]}
    return described | {"bases": bases, "start": start}


# ---------------------------------------------------------------- checks


def _check_dims(dims: Any, n_v: int) -> None:
    """Raise unless `dims` are two dimensions of v, or None."""
    if dims is not None and not (
        np.shape(dims) == (2,)
        and all(isinstance(i, int | np.integer) and 0 <= i < n_v for i in dims)
        and dims[0] != dims[1]
    ):
        raise ValueError(
            f"dims should be two different dimensions of v, from 0 to {n_v - 1}; got {dims!r}. "
            "Leave it out for those that matter most."
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


def _fill_page(model: Description, title: str) -> str:
    """Return the page, with the description of a model in it."""
    folder = resources.files(__package__) / "static"

    def read(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name == "title":
            return html.escape(title)
        if name == "model":
            # "<" could end the script element that holds the model
            return json.dumps(model, allow_nan=False).replace("<", "\\u003c")
        return read(name)

    # all at once, so that nothing in a title or a label is replaced
    return re.sub(r"\{\{ ([a-z.]+) \}\}", fill, read("page.html"))
