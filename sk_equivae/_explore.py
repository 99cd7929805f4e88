"""`explore`: one HTML file in which to play with r and v.

The page runs the decoder itself, in JavaScript. This module describes the model to it: the
decoder's layers, the classes, the directions of v and some rows whose style can be taken.
The page is in `explore/`.
"""

import base64
import html
import json
import os
import re
import uuid
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ._base import BaseEquiVAE
from ._device import exact
from ._generation import _check_count, _generator
from ._mosaic import as_images, feature_names, value_range
from ._networks import Conv, ConvDecoderBody, DenseDecoderBody, UpConv

# Classes in which the effect of a direction is measured; the first few say enough.
MAX_CLASSES = 20
# A bar of a tabular feature is full at so many standard deviations.
REACH = 3.0


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
    n_styles = _check_count(n_styles, "n_styles", 1)
    n_v = estimator._module.n_latents[1]
    if dims is not None and not (
        np.shape(dims) == (2,)
        and all(isinstance(i, int | np.integer) and 0 <= i < n_v for i in dims)
        and dims[0] != dims[1]
    ):
        raise ValueError(
            f"dims should be two different dimensions of v, from 0 to {n_v - 1}; got {dims!r}. "
            "Leave it out for those that matter most."
        )
    model = _describe_decoder(estimator)
    if X is None:
        codes, v = _generated_latents(estimator, n_styles, random_state)
        rows, bases = None, []
    else:
        codes, v_tensor = estimator._latents(X, y)
        v = v_tensor.numpy().astype(np.float64)
        bases = _principal_basis(v)
        kept = _in_turn(codes, n_styles)
        rows = estimator._validate_rows(X)[kept].reshape(-1, *estimator._spec.row_shape)
        codes, v = codes[kept], v[kept]
    bases.append(_plain_basis(estimator))
    model |= _describe_rows(estimator, codes, v, rows, invert)
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
    body = estimator._module.decoder.body
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


# ---------------------------------------------------------------- the decoder


def _base64(values: Any, dtype: str = "<f4") -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


class _Weights:
    """Tensors one after the other in one array; layers keep their place and size."""

    def __init__(self) -> None:
        self.parts: list[NDArray] = []
        self.size = 0

    def add(self, tensor: Tensor) -> list[int]:
        values = tensor.detach().cpu().numpy().ravel()
        place = [self.size, len(values)]
        self.parts.append(values)
        self.size += len(values)
        return place

    def layer(self, op: str, layer: Any, relu: bool, **sizes: Any) -> dict:
        place = {"weight": self.add(layer.weight), "bias": self.add(layer.bias)}
        return {"op": op, "relu": relu, **place, **sizes}


def _describe_decoder(estimator: Any) -> dict[str, Any]:
    """Layers, weights and units of p(x | r, v), as `decoder.js` reads them."""
    module, spec, weights = estimator._module, estimator._spec, _Weights()
    decoder = module.decoder
    layers = [weights.layer("linear", decoder.dense, relu=True)]
    body = decoder.body
    if isinstance(body, ConvDecoderBody):
        layers += _conv_layers(body, weights)
    else:
        stack = list(body)
        layers += [
            weights.layer("linear", layer, relu=layer is not stack[-1])
            for layer in stack
            if isinstance(layer, nn.Linear)
        ]
    model = {
        "kind": "image" if spec.is_image else "tabular",
        "shape": list(spec.input_shape),
        "likelihood": spec.likelihood,
        "bytes": spec.dtype == np.uint8,
        "reach": REACH,
        "dense_r": weights.layer("linear", decoder.dense_r, relu=True),
        "dense_v": weights.layer("linear", decoder.dense_v, relu=True),
        "layers": layers,
    }
    for name in ("shift", "scale"):
        values = exact(getattr(module, name)).numpy().ravel()
        model[name] = np.broadcast_to(values, spec.input_shape[:1]).tolist()
    model["weights"] = _base64(np.concatenate(weights.parts))
    return model


def _conv_layers(body: ConvDecoderBody, weights: _Weights) -> list[dict]:
    layers = [weights.layer("linear", body.dense, relu=True)]
    # torch itself says where each pixel comes from: it rounds in its own way
    rows, columns = (
        nn.functional.interpolate(torch.arange(n).float()[None, None], size=m).long().ravel()
        for n, m in zip(body.start, body.grid, strict=True)
    )
    channels = body.dense.out_features // (body.start[0] * body.start[1])
    source = {"rows": rows.tolist(), "columns": columns.tolist()}
    layers.append({"op": "grid", "channels": channels, "in_size": body.start, **source})
    size: tuple = body.grid
    stack = list(body.layers)
    for layer in stack:
        if not isinstance(layer, Conv | UpConv):
            continue
        out_size = layer.out_size if isinstance(layer, UpConv) else size
        layers.append(
            weights.layer(
                "upconv" if isinstance(layer, UpConv) else "conv",
                layer,
                relu=layer is not stack[-1],
                n_in=layer.in_channels,
                n_out=layer.out_channels,
                kernel=layer.kernel_size,
                in_size=size,
                out_size=out_size,
            )
        )
        size = out_size
    return layers


# ---------------------------------------------------------------- directions of v


def _basis(name: str, measure: str, names: list[str], vectors: NDArray, weight: NDArray) -> dict:
    """Orthonormal directions, the one of most weight first."""
    order = np.argsort(-weight, kind="stable")
    total = weight.sum()
    return {
        "name": name,
        "measure": measure,
        "names": names if name == "principal" else [names[i] for i in order],
        "vectors": _base64(vectors[order]),
        "share": (weight[order] / total if total > 0 else np.zeros(len(weight))).tolist(),
    }


def _principal_basis(v: NDArray) -> list[dict]:
    """The principal directions of v over rows, if there are rows enough to have some."""
    if len(v) < 3 or v.shape[1] < 2 or not v.std(axis=0).any():
        return []
    variance, vectors = np.linalg.eigh(np.cov(v, rowvar=False))
    directions = vectors.T
    # An eigenvector has no sign of its own; this one makes the page the same each time.
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]
    names = [f"direction {i + 1}" for i in range(v.shape[1])]
    measure = "of the variety"
    return [_basis("principal", measure, names, directions, np.maximum(variance, 0.0))]


def _plain_basis(estimator: Any) -> dict:
    """The dimensions of v, by how much a step of each changes what is decoded."""
    module = estimator._module
    n_v = module.n_latents[1]
    r = estimator._tensor(estimator.prototypes_[estimator._has_prototype()][:MAX_CLASSES])
    effect = np.zeros(n_v)
    with torch.inference_mode():
        for i in range(n_v):
            step = torch.zeros(len(r), n_v, dtype=r.dtype, device=r.device)
            step[:, i] = 1.0
            change = module.decode(r, step).mean - module.decode(r, -step).mean
            effect[i] = float(exact(change).square().mean())
    names = [f"v{i}" for i in range(n_v)]
    return _basis("plain", "of the change", names, np.eye(n_v), effect)


# ---------------------------------------------------------------- rows and classes


def _in_turn(codes: NDArray, n_rows: int) -> NDArray:
    """The first rows, the classes taking turns."""
    turn = np.zeros(len(codes), dtype=int)
    for code in np.unique(codes):
        of_class = codes == code
        turn[of_class] = np.arange(of_class.sum())
    return np.lexsort((codes, turn))[:n_rows]


def _generated_latents(estimator: Any, n_rows: int, random_state: Any) -> tuple[NDArray, NDArray]:
    codes = np.resize(np.flatnonzero(estimator._has_prototype()), n_rows)
    rng, _ = _generator(random_state)
    return codes, rng.normal(size=(n_rows, estimator._module.n_latents[1]))


def _describe_rows(
    estimator: Any, codes: NDArray, v: NDArray, rows: NDArray | None, invert: bool | None
) -> dict[str, Any]:
    """Classes, features, and the rows whose style can be taken."""
    known = np.flatnonzero(estimator._has_prototype())
    place = {int(code): i for i, code in enumerate(known)}
    labels = [str(label) for label in estimator.classes_]
    styles = {
        "v": _base64(v),
        "classes": [place[int(code)] for code in codes],
        "given": rows is not None,
    }
    described: dict[str, Any] = {
        "n_latents": list(estimator._module.n_latents),
        "classes": [labels[code] for code in known],
        "prototypes": _base64(estimator.prototypes_[known]),
        "styles": styles,
    }
    if not estimator._spec.is_image:
        if rows is not None:
            styles["rows"] = _base64(rows)
        return described | {"features": feature_names(estimator)}
    # What black and white are is settled by images that the page will show.
    decoded = estimator._decode(estimator._r(codes), torch.from_numpy(v))
    shown = as_images(estimator, decoded if rows is None else np.concatenate([decoded, rows]))
    low, high = value_range(estimator, shown)
    scaled = np.clip((shown.astype(np.float64) - low) / (high - low), 0, 1)
    if rows is not None:
        given = np.round(255 * scaled[len(decoded) :]).reshape(len(rows), *scaled.shape[1:3], -1)
        styles["rows"] = _base64(given.transpose(0, 3, 1, 2), "u1")
    grey = estimator._spec.input_shape[0] == 1
    dark = bool(scaled.mean() < 0.5) if invert is None else bool(invert)
    return described | {"limits": [low, high], "invert": grey and dark}


# ---------------------------------------------------------------- the file


def _fill_page(model: dict[str, Any], title: str) -> str:
    folder = resources.files(__package__) / "explore"

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
