"""The paper's Tables 1 and 2, beside the systems that they name.

`python -m benchmarks.paper --dataset mnist --labels 100 --method equivae --seeds 0 1 2 --data DIR`
measures what is not measured yet and prints the tables; results are in
`benchmarks/results/paper`, a file for each data set, number of labels, method, preset and seed.
The seed draws the labels and the weights; splits are the same for all. A run that is killed goes
on from its checkpoint when it is started again (see `benchmarks.checkpoints`); checkpoints are
kept outside the repository, and after a change of the code they are to be deleted. `wall_seconds`
and `cpu_seconds` of a result are those of the process that ended the run, `fit_seconds` those of
all epochs, whoever trained them. To choose settings, `--valid-only` leaves the test rows alone;
its results are in `benchmarks/results/paper_valid` and enter no table.
"""

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from benchmarks import checkpoints
from benchmarks.checkpoints import attach_checkpoints, steps_of, training_seconds
from benchmarks.claims import measure_claims
from benchmarks.data import VARIABLE
from benchmarks.generation import flat
from benchmarks.models import Models, labels_option
from benchmarks.paper_methods import METHODS, PRESETS, set_epochs, training_rows
from benchmarks.paper_tables import table
from benchmarks.results import FOLDER, digest, run_once
from sk_equivae.presets import EPOCHS, paper

DATASETS = tuple(EPOCHS)
# What differs from the estimator's defaults, by data set and number of labels; chosen on
# validation rows.
BEST: dict[str, dict[Any, dict[str, Any]]] = {"mnist": {}, "svhn": {}}
# The claims take as long as half a training, so they are measured for one seed.
CLAIMS_SEED = 0
# What the paper's preset says about a classifier without a generative part.
OF_CLASSIFIER = (
    "augment", "batch_norm", "ema_decay", "lr", "lr_decay", "batch_size", "max_batch_size",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One result: what is run, and from which settings.

    Parameters
    ----------
    dataset : {"mnist", "svhn"}
    labels : int or "all"
    method : str
        A key of `METHODS`.
    preset : {"paper", "best", "default"}
        "default" for the methods of others.
    seed : int
    epochs : int, optional
        Instead of the preset's.
    parameters : dict
        Of the estimator, before those of the preset; names as for `set_params`.
    note : str
        What the tables must say beside this result.
    """

    dataset: str
    labels: Any
    method: str
    preset: str
    seed: int
    epochs: int | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    def name(self) -> str:
        """Of the result file."""
        parts = (self.dataset, self.labels, self.method, self.preset, self.seed)
        changed = {"epochs": self.epochs, **self.parameters}
        is_changed = self.epochs is not None or self.parameters
        return "_".join(map(str, parts)) + (f"_{digest(changed)}" if is_changed else "")

    def make(self) -> Any:
        """The estimator, not fitted."""
        estimator = METHODS[self.method].make(self.seed)
        estimator.set_params(**preset_parameters(self))
        if self.epochs is not None:
            set_epochs(estimator, self.epochs)
        return estimator.set_params(**self.parameters)


def preset_parameters(run: Run) -> dict[str, Any]:
    """What a preset says about the estimator of a method."""
    if run.preset == "default":
        return {}
    n_labels = None if run.labels == "all" else run.labels
    papers = paper(run.dataset, n_labels)
    if run.method == "benchmark":
        if run.preset == "best":
            return {}
        # with few labels alone the paper's epochs would be a few dozen steps
        epochs = papers["max_epochs"] if n_labels is None else "auto"
        return {**{name: papers[name] for name in OF_CLASSIFIER}, "max_epochs": epochs}
    chosen = papers if run.preset == "paper" else BEST[run.dataset].get(run.labels, {})
    prefix = "equivae__" if run.method == "equivae-neural" else ""
    return {prefix + name: value for name, value in chosen.items()}


def fit(
    run: Run, models: Models, folder: Path, X: NDArray, y: NDArray
) -> tuple[Any, dict[str, Any]]:
    """The estimator of a run, trained, and what there is to say about its training."""
    estimator = run.make()
    rows = {**place(run), "smoke": models.smoke}
    if METHODS[run.method].max_rows is not None:
        rows["rows"] = METHODS[run.method].max_rows
    start = time.perf_counter()
    with (
        attach_checkpoints(estimator, run.method, rows, folder, models.verbose) as kept,
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", "The `probability` parameter", FutureWarning)
        warnings.filterwarnings("ignore", "y contains no unlabeled samples", UserWarning)
        warnings.filterwarnings("ignore", "max_iter", ConvergenceWarning)
        estimator.fit(X, y)
    seconds = time.perf_counter() - start
    history = histories(estimator, run.method)
    if kept:
        seconds = sum(training_seconds(epochs) for epochs in history.values())
    return estimator, {
        "fit_seconds": round(seconds, 2),
        "history": history,
        "trained_at": sorted({commit for checkpoint in kept for commit in checkpoint.commits}),
        "threads": torch.get_num_threads(),
    }


def measure(run: Run, models: Models, folder: Path, valid_only: bool = False) -> dict[str, Any]:
    """Errors in per cent on test and validation rows, by each rule, and how they came about.

    Parameters
    ----------
    run : Run
    models : Models
        Gives the data; trained models are not kept.
    folder : Path
        Of the checkpoints.
    valid_only : bool
        Do not look at test rows.
    """
    start = time.process_time()
    method, split = METHODS[run.method], models.split(run.dataset)
    X, y = models.training_rows(run.dataset, run.labels, run.seed)
    rows = training_rows(method, y)
    view = (lambda images: images) if method.images else flat
    estimator, training = fit(run, models, folder, view(X[rows]), y[rows])
    parts = {"valid": split[2:4]} if valid_only else {"valid": split[2:4], "test": split[4:]}
    errors: dict[str, dict[str, float]] = {}
    for rule in method.rules:
        if len(method.rules) > 1:
            estimator.set_params(predict_with=rule)
        errors[rule] = {
            part: error(estimator, view(images), truth) for part, (images, truth) in parts.items()
        }
    figures: dict[str, Any] = {
        "errors": errors,
        "n_rows": len(rows),
        "n_labeled": int((y[rows] >= 0).sum()),
        "sliced": len(rows) < int((y >= 0).sum() if method.labeled_only else len(y)),
        **training,
    }
    if run.method == "equivae" and run.seed == CLAIMS_SEED and not valid_only:
        estimator.set_params(predict_with=method.rules[0])
        figures["claims"] = measure_claims(estimator, split, run.seed)
    return {**figures, "cpu_seconds": round(time.process_time() - start, 2)}


def place(run: Run) -> dict[str, Any]:
    """The row and column of a table, and the seed."""
    return {"dataset": run.dataset, "labels": run.labels, "seed": run.seed}


def error(estimator: Any, X: NDArray, y: NDArray) -> float:
    return 100 * float(np.mean(estimator.predict(X) != y))


def histories(estimator: Any, name: str) -> dict[str, list[dict[str, float]]]:
    """The numbers of each epoch, for each network of an estimator."""
    return {
        step_name: [
            {
                key: round(float(value), 6)
                for key, value in row.items()
                if isinstance(value, (int, float)) and not isinstance(value, bool)
            }
            for row in step.history_
        ]
        for step_name, step in steps_of(estimator, name)
        if hasattr(step, "history_")
    }


def settings(estimator: Any) -> dict[str, Any]:
    """All parameters of an estimator, for the result file."""
    parameters = estimator.get_params()
    numbers = {k: v for k, v in parameters.items() if k != "steps" and not hasattr(v, "get_params")}
    return json.loads(json.dumps(numbers, default=repr))


def parse(argv: Sequence[str] | None) -> tuple[argparse.Namespace, Models]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("--dataset", choices=DATASETS, default="mnist")
    parser.add_argument("--labels", type=labels_option, default="all", help="a number, or all")
    parser.add_argument("--method", nargs="+", choices=list(METHODS), default=["equivae"])
    parser.add_argument(
        "--preset", choices=PRESETS, default="paper", help="of EquiVAE and the benchmark classifier"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    where = f"folder of the data sets (default: the environment variable {VARIABLE})"
    parser.add_argument("--data", type=Path, help=where)
    parser.add_argument("--epochs", type=int, help="train all networks for so many epochs")
    parser.add_argument(
        "--parameters",
        type=json.loads,
        default={},
        metavar="JSON",
        help="of the estimator, such as '{\"latent_dim\": 8}'",
    )
    parser.add_argument("--note", default="", help="what to say beside the figures, of the data")
    parser.add_argument("--valid-only", action="store_true", help="do not look at test rows")
    parser.add_argument("--output", type=Path, help="where to write results")
    parser.add_argument("--checkpoints", type=Path, default=checkpoints.FOLDER)
    parser.add_argument("--smoke", action="store_true", help="one epoch on a slice")
    parser.add_argument("--verbose", type=int, default=1, help="0 shows no progress bar")
    arguments = parser.parse_args(argv)
    if arguments.smoke and arguments.epochs is None:
        arguments.epochs = 1
    if arguments.output is None:
        real = FOLDER / ("paper_valid" if arguments.valid_only else "paper")
        arguments.output = Path(tempfile.mkdtemp()) if arguments.smoke else real
    models = Models(arguments.data, smoke=arguments.smoke, verbose=arguments.verbose)
    return arguments, models


def main(argv: Sequence[str] | None = None) -> None:
    arguments, models = parse(argv)
    for method in arguments.method:
        presets = METHODS[method].presets
        for seed in arguments.seeds:
            run = Run(
                arguments.dataset,
                arguments.labels,
                method,
                arguments.preset if len(presets) > 1 else presets[0],
                seed,
                arguments.epochs,
                arguments.parameters,
                arguments.note,
            )
            config = {
                **vars(run),
                "rows": METHODS[method].max_rows,
                "settings": settings(run.make()),
            }
            do = partial(measure, run, models, arguments.checkpoints, arguments.valid_only)
            result = run_once(arguments.output / f"{run.name()}.json", config, do)
            if arguments.valid_only:
                print(run.name(), json.dumps(result["errors"]))
    if not arguments.valid_only:
        print(table(arguments.output))


if __name__ == "__main__":
    main()
