"""Speed of whole fits and of inference, memory, and start-up."""

import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from skorch.callbacks import Callback
from torch import Tensor

from benchmarks import fresh
from benchmarks.data import few_labels
from benchmarks.plain import start_of, train_bare
from benchmarks.timing import Bench, alternate, compare, quartiles, timed
from sk_equivae import EquiVAEClassifier
from sk_equivae._module import EquiVAEModule
from sk_equivae._training import INFERENCE_BATCH

LABELS = 100
LOOP_ROWS, LOOP_BATCHES, LOOP_EPOCHS = 1_000, (128, 32), 5
INFERENCE_ROWS = (10_000, 60_000)
FITTED_ROWS = 100  # of a fit that just gives weights
MEMORY_BATCHES = 20


class StopAfter(Callback):
    """Ends training after so many batches."""

    def __init__(self, n_batches: int):
        self.n_batches = n_batches

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        self.n_done_ = 0

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        self.n_done_ += training
        if self.n_done_ == self.n_batches:
            raise KeyboardInterrupt  # how callbacks of skorch end training


# ---------------------------------------------------------------- fit and inference


def measure_loop(bench: Bench) -> dict[str, Any]:
    """Whole `fit` against a bare loop of the same module, objective, batches and schedule.

    A thousand digits with 100 labels, for five epochs: by default there are more, and what
    comes before and after them weighs less. The loop is given its networks and its rows
    ready; `fit` checks X, makes networks, keeps a history, makes prototypes, and labels the
    training rows too.
    """
    n = bench.few(LOOP_ROWS, 200)
    X = bench.split.X_train[:n]
    y = few_labels(bench.split.y_train[:n], LABELS, bench.seed)
    figures = {}
    for batch in LOOP_BATCHES[: bench.few(len(LOOP_BATCHES), 1)]:
        estimator = EquiVAEClassifier(
            max_epochs=bench.few(LOOP_EPOCHS, 1),
            batch_size=batch,
            max_batch_size=None,
            random_state=bench.seed,
        )
        sides = {
            "fit": timed(partial(estimator.fit, X, y)),
            "bare": partial(bare_seconds, estimator, X, y),
        }
        figures[str(batch)] = compare(alternate(sides, bench.few(5, 1)), "fit", "bare")
    return {"batch": figures, "rows": n, "labels": LABELS}


def bare_seconds(estimator: EquiVAEClassifier, X: NDArray, y: NDArray) -> float:
    """Seconds of the loop alone, after all that goes before it."""
    start = start_of(clone(estimator), X, y)
    return timed(partial(train_bare, start))()


def measure_inference(bench: Bench) -> dict[str, Any]:
    """`predict` and `transform` against a bare forward pass, and against an MLP of scikit-learn.

    The bare pass is f_inv alone, in batches of the same size, from uint8. The MLP has as many
    parameters as f_inv and one hidden layer, and is given its rows as float32 in [0, 1].
    """
    split = bench.split
    X = np.concatenate([split.X_train, split.X_valid])
    model = EquiVAEClassifier(max_epochs=1, random_state=bench.seed)
    model.fit(split.X_train[:FITTED_ROWS], split.y_train[:FITTED_ROWS])
    n_parameters = sum(p.numel() for p in model._module.invariant.parameters())
    mlp = mlp_of_size(n_parameters, split.X_train[:FITTED_ROWS], split.y_train[:FITTED_ROWS])
    figures = {}
    for n in (100, 200) if bench.smoke else INFERENCE_ROWS:
        some, pixels = X[:n], flat(X[:n])
        sides = {
            "bare": timed(partial(bare_forward, model._module, some)),
            "predict": timed(partial(model.predict, some)),
            "transform": timed(partial(model.transform, some)),
            "mlp": timed(partial(mlp.predict, pixels)),
        }
        seconds = alternate(sides, bench.repetitions(15))
        figures[str(n)] = {
            "predict": compare(seconds, "predict", "bare"),
            "transform": compare(seconds, "transform", "bare"),
            "predict_to_mlp": compare(seconds, "predict", "mlp"),
        }
    sizes = {"f_inv": n_parameters, "mlp": sum(w.size for w in mlp.coefs_ + mlp.intercepts_)}
    return {"rows": figures, "parameters": sizes}


def bare_forward(module: EquiVAEModule, X: NDArray) -> Tensor:
    """f_inv of images, as one would write it in PyTorch."""
    with torch.inference_mode():
        parts = [
            module.f_inv(module.normalize(x[:, None]))  # one channel: channels-last as it is
            for x in torch.from_numpy(X).split(INFERENCE_BATCH)
        ]
        return torch.cat(parts)


def flat(X: NDArray) -> NDArray[np.float32]:
    """Images as rows of pixels in [0, 1]."""
    return X.reshape(len(X), -1).astype(np.float32) / 255


def mlp_of_size(n_parameters: int, X: NDArray, y: NDArray) -> MLPClassifier:
    """An MLP with as many parameters, trained just so that it has weights."""
    n_pixels, n_classes = int(np.prod(X.shape[1:])), len(np.unique(y))
    n_hidden = round((n_parameters - n_classes) / (n_pixels + 1 + n_classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return MLPClassifier((n_hidden,), max_iter=1, random_state=0).fit(flat(X), y)


# ---------------------------------------------------------------- memory and start-up


def measure_memory(bench: Bench) -> dict[str, Any]:
    """Peak memory of `fit` and of `transform` on memory maps of several sizes.

    Random digits again and again, 100 of them labelled; each in a process of its own.
    Training ends after a few batches. What counts is anonymous memory, without the pages of
    the map.
    """
    figures: dict[str, dict[str, Any]] = {}
    sizes = (200, 300) if bench.smoke else bench.sizes
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_images(bench, n, Path(folder))
            fit = fresh.run(fresh.fit_memory, folder, bench.few(MEMORY_BATCHES, 2))
            figures[str(n)] = {"fit": fit, "transform": fresh.run(fresh.transform_memory, folder)}
    least, most = figures[str(min(sizes))], figures[str(max(sizes))]
    growth = {verb: most[verb]["peak"] - least[verb]["peak"] for verb in ("fit", "transform")}
    return {"images": figures, "growth_mb": growth}


def write_images(bench: Bench, n: int, folder: Path, chunk: int = 50_000) -> None:
    """A memory map of n images, and labels of 100 of them."""
    rng = np.random.RandomState(bench.seed)
    images, truth = bench.split.X_train, bench.split.y_train
    shape = (n, *images.shape[1:])
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.uint8, shape=shape)
    drawn = rng.randint(len(images), size=n)
    for start in range(0, n, chunk):
        X[start : start + chunk] = images[drawn[start : start + chunk]]
    X.flush()
    np.save(folder / "y.npy", few_labels(truth[drawn], LABELS, bench.seed))


def measure_startup(bench: Bench) -> dict[str, Any]:
    """The first fit of a process on 150 rows of 4 features, and the import of the package.

    All in fresh processes, in turns. `fit` is by default parameters; `one_epoch` of it is what
    comes before and after training.
    """
    parameters = {"max_epochs": 2} if bench.smoke else {}
    sides = {
        "fit": partial(fresh.run, fresh.iris_seconds, parameters),
        "one_epoch": partial(fresh.run, fresh.iris_seconds, {"max_epochs": 1}),
    }
    imports = []

    def import_package() -> float:
        imports.append(fresh.run(fresh.import_seconds))
        return imports[-1]["package"]

    seconds = alternate({**sides, "import": import_package}, bench.few(9, 1), warm_up=0)
    others = np.array([one["others"] for one in imports])
    return {
        "seconds": {name: quartiles(values) for name, values in seconds.items()},
        "import_of_others": quartiles(others),
    }
