"""The commands: each is a function of the options."""

import csv
import sys
import time
from argparse import Namespace
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ..display import SamplesDisplay
from ..estimators import EquiVAEClassifier, load
from ..estimators.labels import is_unlabeled
from ..explore import explore as write_page
from .data import Data, read_data

# Images with more pixels than this take long on a CPU.
MANY_PIXELS = 96 * 96
# Labels with which other programs write gaps. The estimator itself warns of None and NaN.
GAPS = frozenset({"NA", "N/A", "<NA>", "null", "NULL"})


def fit(options: Namespace) -> None:
    """Train a model and save it."""
    out = Path(options.out)
    for written in (out, options.checkpoint):
        if written is not None:
            _check_folder(Path(written))
    data = read_data(options.data, options)
    if data.y is None:
        raise ValueError(
            f"{options.data} has no labels. Expected them as the array y, beside the rows X."
        )
    model = EquiVAEClassifier(
        options.latent_dim,
        image_shape=None if np.ndim(data.X) > 2 else options.image_shape,
        max_epochs=options.epochs or "auto",
        checkpoint=options.checkpoint,
        device=options.device,
        random_state=options.seed,
        verbose=0 if options.quiet else 1,
    )
    if not options.quiet:
        _describe(data)
    start = time.perf_counter()
    model.fit(data.X, data.y)
    model.set_params(verbose=0, checkpoint=None).save(out)
    if not options.quiet:
        seconds = time.perf_counter() - start
        _tell(f"Trained for {model.n_iter_} epochs in {seconds:.0f} s; the model is in {out}.")


def _describe(data: Data) -> None:
    """Print what was read, so that a mistake shows before the training."""
    missing = is_unlabeled(data.y)
    names, counts = np.unique([str(label) for label in data.y[~missing]], return_counts=True)
    classes = ", ".join(f"{name} ({n})" for name, n in list(zip(names, counts, strict=True))[:12])
    more = f", ... ({len(names)} in all)" if len(names) > 12 else ""
    shape = np.shape(data.X)
    what = f"images of {shape[1]}x{shape[2]} pixels" if len(shape) > 2 else f"{shape[1]} columns"
    _tell(
        f"{shape[0]:,} rows, {what}; {missing.sum():,} without a label. "
        f"Labels per class: {classes}{more}."
    )
    for name in GAPS.intersection(names.tolist()) if len(shape) == 2 else ():
        _tell(f"{name!r} is taken for a class. If it means no label, pass --unlabeled {name!r}.")
    for name in _keys(data.X):
        _tell(f"The column {name!r} has another value in every row: --drop leaves it out.")
    if len(shape) > 2 and shape[1] * shape[2] > MANY_PIXELS:
        _tell("Large images take long: --size 64 makes them smaller.")


def _keys(X: Any) -> list[str]:
    """Return the columns of texts that name the rows instead of describing them."""
    if not hasattr(X, "columns"):
        return []
    texts = [name for name in X if X[name].dtype.kind not in "iufb"]
    return [name for name in texts if len(X) > 1 and X[name].nunique() == len(X)]


def _load(path: str) -> Any:
    """Return a saved model."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not there. Expected a model that `fit` has written.")
    return load(path)


def predict(options: Namespace) -> None:
    """Write the class of each row, and the probabilities of all classes."""
    model = _load(options.model)
    if not is_classifier(model):
        raise ValueError(
            f"{options.model} holds an {type(model).__name__}, which does not predict classes. Use "
            "`transform`, or train a model by `fit`."
        )
    data = _read_for(model, options)
    probabilities = model.predict_proba(data.X)
    labels = model.classes_[probabilities.argmax(axis=1)]
    header = [_name_of_names(data), "class", *(f"p({name})" for name in model.classes_)]
    with _lines(options.out) as write:
        write.writerow(header)
        for name, label, row in zip(data.names, labels, probabilities, strict=True):
            write.writerow([name, label, *(f"{p:.4f}" for p in row)])
    if data.y is None:
        return
    known = ~is_unlabeled(data.y)
    right = [str(a) == str(b) for a, b in zip(labels[known], data.y[known], strict=True)]
    if right:
        _tell(f"Accuracy on the {len(right):,} rows with a label: {np.mean(right):.1%}.")


def transform(options: Namespace) -> None:
    """Write the representation of each row."""
    model = _load(options.model).set_params(representation=options.representation)
    kind = "" if options.out is None else Path(options.out).suffix.lower()
    if kind not in ("", ".csv", ".npy"):
        raise ValueError(f"--out should end in .csv or .npy; got {options.out}.")
    data = _read_for(model, options)
    Z = np.asarray(model.transform(data.X))
    if kind == ".npy":
        np.save(options.out, Z)
        return
    with _lines(options.out) as write:
        write.writerow([_name_of_names(data), *model.get_feature_names_out()])
        for name, row in zip(data.names, Z, strict=True):
            write.writerow([name, *(f"{value:.6g}" for value in row)])


def sample(options: Namespace) -> None:
    """Generate rows of each class."""
    model = _load(options.model)
    rows, out = model.model_.rows, Path(options.out)
    kinds = (".png", ".npz") if rows.is_image else (".csv", ".npz")
    if out.suffix.lower() not in kinds:
        what = "images" if rows.is_image else "tables"
        raise ValueError(f"--out should end in {' or '.join(kinds)} for {what}; got {out}.")
    _check_folder(out)
    classes = _known_classes(model, options.classes)
    if out.suffix.lower() == ".png":
        _draw_samples(model, classes, options, out)
        return
    X, y = model.sample(y=np.repeat(classes, options.n), random_state=options.seed)
    if out.suffix.lower() == ".npz":
        labels = y.astype(str) if y.dtype == object else y
        np.savez_compressed(out, X=np.asarray(X), y=labels)
        return
    names = getattr(X, "columns", [f"x{i}" for i in range(np.shape(X)[1])])
    with _lines(options.out) as write:
        write.writerow([*names, "class"])
        for row, label in zip(np.asarray(X, dtype=object), y, strict=True):
            write.writerow([*map(_cell, row), label])


def _cell(value: Any) -> Any:
    """Return a value as it stands in a table, with six digits."""
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    return "" if value is None else value


def _known_classes(model: Any, names: list[str] | None) -> NDArray[Any]:
    """Return the classes with the given names; labels may be numbers."""
    if names is None:
        return model.classes_
    by_name = {str(label): label for label in model.classes_.tolist()}
    for name in names:
        if name not in by_name:
            raise ValueError(f"There is no class {name!r}; the classes are {', '.join(by_name)}.")
    return np.array([by_name[name] for name in names], dtype=model.classes_.dtype)


def _draw_samples(model: Any, classes: NDArray[Any], options: Namespace, out: Path) -> None:
    """Draw a column of images per class."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Drawing needs matplotlib, which is not installed. Install it by `pip install "
            "'sk-equivae[plot]'`, or write a .npz file."
        ) from error
    height, width = 0.8 * options.n, 0.8 * len(classes)
    figure = Figure(figsize=(max(2.0, width), max(1.5, height) + 0.5), layout="constrained")
    FigureCanvasAgg(figure)  # not by pyplot, which may open windows
    SamplesDisplay.from_estimator(
        model,
        n_samples=options.n,
        classes=classes,
        random_state=options.seed,
        ax=figure.add_subplot(),
    )
    figure.savefig(out, dpi=150)


def explore(options: Namespace) -> None:
    """Write the page."""
    model = _load(options.model)
    out = Path(options.out or Path(options.model).with_suffix(".html").name)
    _check_folder(out)
    data = None if options.data is None else _read_for(model, options)
    write_page(
        model,
        out,
        X=None if data is None else data.X,
        y=None if data is None else data.y,
        title=Path(options.model).stem,
    )
    _tell(f"The page is in {out}. Open it in a browser; it needs no server.")
    if options.open:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())


def info(options: Namespace) -> None:
    """Print what a model is."""
    model = _load(options.model)
    rows = model.model_.rows
    channels, *size = rows.input_shape if rows.is_image else (0,)
    what = f"rows of {model.n_features_in_} columns"
    if rows.is_image:
        colour = {1: "grey", 3: "colour"}.get(channels, f"{channels}-channel")
        what = f"{colour} images of {size[0]}x{size[1]} pixels"
    lines = {
        "file": f"{options.model}, {Path(options.model).stat().st_size / 1e6:.1f} MB",
        "model": repr(model),
        "rows": f"{what}, values from {rows.value_range[0]:g} to {rows.value_range[1]:g}",
        "likelihood": rows.likelihood,
        "labels": ", ".join(
            f"{label} ({count:g})"
            for label, count in zip(model.classes_, model.class_count_, strict=True)
        ),
        "epochs": str(model.n_iter_),
    }
    if hasattr(model, "feature_names_in_"):
        lines["columns"] = ", ".join(model.feature_names_in_)
    for name, text in lines.items():
        print(f"{name:12}{' '.join(text.split())}")


# -------------------------------------------------------------------- shared


def _read_for(model: Any, options: Namespace) -> Data:
    """Read rows for a fitted model: of a table, the columns that it was trained on."""
    classes = getattr(model, "classes_", None)
    data = read_data(options.data, options, model.model_.rows, classes)
    names = getattr(model, "feature_names_in_", None)
    if names is None or not hasattr(data.X, "columns"):
        return data
    missing = [name for name in names if name not in data.X]
    if missing:
        raise ValueError(
            f"{options.data} lacks the columns {', '.join(missing)}, which {options.model} was "
            "trained on. Add them; values may be empty if the model has seen gaps."
        )
    return data._replace(X=data.X[list(names)])


def _name_of_names(data: Data) -> str:
    return "row" if data.names.dtype.kind == "i" else "file"


def _check_folder(path: Path) -> None:
    """Raise before the work if the result could not be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Expected the name of a file to write.")
    if not path.parent.exists():
        raise FileNotFoundError(f"The folder {path.parent} is not there. Make it first.")


@contextmanager
def _lines(out: str | None) -> Any:
    """Yield a writer of CSV, to a file or to the standard output."""
    if out is None:
        yield csv.writer(sys.stdout, lineterminator="\n")
        return
    _check_folder(Path(out))
    with open(out, "w", newline="", encoding="utf-8") as file:
        yield csv.writer(file, lineterminator="\n")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
