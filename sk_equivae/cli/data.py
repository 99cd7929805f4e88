"""Rows and labels from a folder of images, a table or a file of arrays."""

from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..datasets import load_image_folder
from ..estimators.labels import UNLABELED, is_unlabeled
from ..fitted.rows import RowSpec
from ..image_folders import read_images
from .tables import has_texts, read_table, table_labels, text_columns

TABLES = {".csv": ",", ".tsv": "\t"}
ARRAYS = (".npz", ".npy")
ROW_NAMES, LABEL_NAMES = ("X", "x", "data", "images"), ("y", "target", "labels")


class Data(NamedTuple):
    """Rows, their labels (None if there are none), and a name for each row."""

    X: Any
    y: Any
    names: NDArray[Any]


def read_data(
    source: str, options: Namespace, spec: RowSpec | None = None, classes: Any = None
) -> Data:
    """Read rows and labels.

    Parameters
    ----------
    source : str
        A folder, an image, a table or a file of arrays.
    options : Namespace
        The options of the command line: target, drop, unlabeled; in `fit` also size, channels
        and image_shape.
    spec : RowSpec, optional
        The rows of a fitted model, to which images are brought, and which tells the columns of
        texts.
    classes : ndarray, optional
        The classes of a fitted model: if they are texts, so are the labels of a table.

    Returns
    -------
    data : Data
        The rows, their labels and their names.
    """
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(
            f"{source} is not there. Expected a folder of images, a .csv, .tsv, .npz or .npy file."
        )
    kind = path.suffix.lower()
    if kind == ".gz":
        kind = Path(path.stem).suffix.lower()
    if path.is_dir():
        return _from_folder(path, options, spec)
    if kind in TABLES:
        return _from_table(path, TABLES[kind], options, spec, classes)
    if kind in ARRAYS:
        return _from_arrays(path, options)
    if spec is not None:
        size, channels = _image_form(spec, path)
        images = read_images([path], size, channels)
        return Data(_to_units(images, spec), None, np.array([path.name]))
    raise ValueError(
        f"Expected a folder of images, a .csv, .tsv, .npz or .npy file; got {source}. Put images "
        "into one folder per class, or save the table as CSV."
    )


# -------------------------------------------------------------------- images


def _from_folder(path: Path, options: Namespace, spec: RowSpec | None) -> Data:
    if options.target is not None:
        raise ValueError(
            "--target is for tables: the labels of images are the names of their folders. Leave it "
            "out."
        )
    if spec is None:
        found = load_image_folder(path, image_size=options.size, channels=options.channels)
        images = found.data
    else:
        size, channels = _image_form(spec, path)
        found = load_image_folder(path, image_size=size, channels=channels)
        images = _to_units(found.data, spec)
    has_labels = len(found.target_names) > 0
    if spec is None and not has_labels:
        raise ValueError(
            f"Expected one sub-folder of images per class in {path}; found images without a class "
            "only. Put some images of each class into a folder with its name."
        )
    return Data(images, found.labels if has_labels else None, found.filenames)


def _image_form(spec: RowSpec, path: Path) -> tuple[tuple[int, int], int]:
    """Return size and channels of the images that a model takes."""
    if not spec.is_image:
        raise ValueError(
            f"The model was trained on rows of {spec.row_shape[0]} columns, not on images; got "
            f"{path}. Expected a .csv, .tsv, .npz or .npy file."
        )
    channels, height, width = spec.input_shape
    if channels not in (1, 3):
        raise ValueError(
            f"The model takes images of {channels} channels, which image files do not have. Pass "
            "a .npz or .npy file."
        )
    return (height, width), channels


def _to_units(images: NDArray[np.uint8], spec: RowSpec) -> NDArray[Any]:
    """Return images in the shape and on the scale that a model was trained with."""
    X: NDArray[Any] = images.reshape(len(images), *spec.row_shape)
    low, high = spec.value_range
    if spec.dtype == np.uint8:
        return X
    return X / 255 if low >= 0 and high <= 1 else X.astype(spec.dtype)


# -------------------------------------------------------------------- tables


def _from_table(
    path: Path, separator: str, options: Namespace, spec: RowSpec | None, classes: Any
) -> Data:
    frame = read_table(path, separator, {options.target, *text_columns(spec)})
    chosen = [*options.drop, *([] if options.target is None else [options.target])]
    unknown = [name for name in chosen if name not in frame]
    if unknown and not (spec is not None and unknown == [options.target]):
        raise ValueError(
            f"{path} has no column {unknown[0]!r}. Its columns are: {_listed(frame.columns)}."
        )
    if spec is None and options.target is None:
        raise ValueError(
            f"--target is missing: which column of {path} holds the labels? Its columns are: "
            f"{_listed(frame.columns)}."
        )
    y = None
    if options.target in frame:
        y = table_labels(frame[options.target], options.unlabeled, has_texts(classes))
        y = _labels(y, options)
    frame = frame.drop(columns=[name for name in chosen if name in frame])
    names = np.arange(1, len(frame) + 1)
    n_columns = len(frame.columns)
    if spec is not None and spec.is_image and n_columns != int(np.prod(spec.input_shape)):
        raise ValueError(
            f"The model was trained on images: expected {np.prod(spec.input_shape)} columns of "
            f"pixels; {path} has {n_columns} columns. Leave others out with --target and --drop, "
            "or pass other data."
        )
    flat_images = spec.is_image if spec is not None else options.image_shape is not None
    return Data(_as_pixels(frame, path) if flat_images else frame, y, names)


def _listed(names: Any, most: int = 20) -> str:
    """Return the first names as one text, and how many there are in all."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown + (f", ... ({len(names)} in all)" if len(names) > most else "")


def _as_pixels(frame: Any, path: Path) -> NDArray[Any]:
    """Return a table of pixels as an array; bytes if they are."""
    X = frame.to_numpy()
    if X.dtype.kind not in "iuf":
        odd = [name for name in frame if frame[name].dtype.kind not in "iuf"]
        raise ValueError(
            f"Expected images in {path}, one row of pixels each; got other values than numbers in "
            f"the column {odd[0]!r}. Leave it out with --drop, or pass other data."
        )
    is_bytes = X.dtype.kind in "iu" and X.min(initial=0) >= 0 and X.max(initial=0) <= 255
    return X.astype(np.uint8) if is_bytes else X


# -------------------------------------------------------------------- arrays


def _from_arrays(path: Path, options: Namespace) -> Data:
    try:
        found = np.load(path, allow_pickle=False)
        arrays = {"X": found} if isinstance(found, np.ndarray) else dict(found)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{path} could not be read ({error}). Expected plain arrays, as numpy.savez writes "
            "them: labels as numbers or strings, not as objects."
        ) from error
    wanted = LABEL_NAMES if options.target is None else (options.target,)
    label = next((name for name in wanted if name in arrays), None)
    if options.target is not None and label is None:
        raise ValueError(f"{path} has no array {options.target!r}; it has {_listed([*arrays])}.")
    rest = {name: array for name, array in arrays.items() if name != label and array.ndim > 1}
    row = next((name for name in ROW_NAMES if name in rest), None)
    if row is None and len(rest) != 1:
        raise ValueError(
            f"Expected the rows as the array X in {path}; it has {_listed([*arrays])}. Save "
            "them by numpy.savez(file, X=rows, y=labels)."
        )
    X = rest[row] if row is not None else next(iter(rest.values()))
    y = None if label is None else _labels(arrays[label], options)
    return Data(X, y, np.arange(1, len(X) + 1))


def _labels(y: NDArray[Any], options: Namespace) -> Any:
    """Return labels with -1 for the rows that `--unlabeled` marks, and for gaps."""
    missing = np.array([str(value) == options.unlabeled for value in y])
    if y.dtype.kind in "USO" and (y == str(UNLABELED)).any():
        missing |= y == str(UNLABELED)
    if not missing.any() and y.dtype != object:
        return y
    labels = y.astype(object)
    labels[missing] = UNLABELED
    labels[is_unlabeled(labels)] = UNLABELED
    return labels
