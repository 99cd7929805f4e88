"""Trained models, kept outside the repository and trained once."""

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from benchmarks import checkpoints
from benchmarks.checkpoints import attach_checkpoints, training_seconds
from benchmarks.data import LOADERS, VARIABLE, Split, few_labels
from benchmarks.results import CACHE, digest, whole
from sk_equivae import EquiVAEClassifier

FOLDER = CACHE / "models"
# What differs from the estimator's defaults: shorter trainings for outliers and a picture.
PARAMETERS: dict[str, dict[str, Any]] = {
    "mnist": {},
    "fashion": {"max_epochs": 2},
    "svhn": {"max_epochs": 3},
}
SMOKE_ROWS, SMOKE_PARAMETERS = 400, {"max_epochs": 1}


@dataclass(frozen=True)
class Trained:
    """A fitted estimator, and how it came about."""

    estimator: EquiVAEClassifier
    config: dict[str, Any]
    fit_seconds: float
    commit: str

    def origin(self) -> dict[str, Any]:
        """What a result says about the model that it was measured on."""
        return {"model": {"fit_seconds": self.fit_seconds, "commit": self.commit}}


@dataclass
class Models:
    """Data sets and the models trained on them.

    Parameters
    ----------
    data : Path, optional
        The folder of the data sets.
    folder : Path
        Where models are kept, a file each. Its name holds a digest of all parameters of the
        estimator; after a change of the code itself, delete the files.
    checkpoints : Path
        Where states of trainings are kept; trainings of other benchmarks among them.
    overrides : dict
        Parameters of the estimator that go before those of the data set.
    smoke : bool
        One epoch on a slice, to see that it runs.
    verbose : int
        As the estimator's.
    """

    data: Path | None = None
    folder: Path = FOLDER
    checkpoints: Path = checkpoints.FOLDER
    overrides: dict[str, Any] = field(default_factory=dict)
    smoke: bool = False
    verbose: int = 0
    _splits: dict[str, Split] = field(default_factory=dict, repr=False)
    _kept: dict[Path, Any] = field(default_factory=dict, repr=False)

    def split(self, dataset: str) -> Split:
        """The rows of a data set, read once."""
        if dataset not in self._splits:
            split = LOADERS[dataset](self.data)
            if self.smoke:
                split = Split(
                    *(rows[:SMOKE_ROWS] for rows in split[:2]),
                    *(rows[: SMOKE_ROWS // 4] for rows in split[2:]),
                )
            self._splits[dataset] = split
        return self._splits[dataset]

    def training_rows(
        self, dataset: str, labels: Any, seed: int, classes: Sequence[int] | None = None
    ) -> tuple[NDArray, NDArray]:
        """Images and labels, -1 where there is none; of some classes only, if they are given."""
        X, truth = self.split(dataset)[:2]
        y = few_labels(truth, labels, seed)
        if classes is None:
            return X, y
        kept = np.isin(truth, classes)
        return X[kept], y[kept]

    def get(
        self,
        dataset: str,
        labels: Any,
        seed: int,
        classes: Sequence[int] | None = None,
        **parameters: Any,
    ) -> Trained:
        """The model of a data set, trained now if it is not there yet.

        Parameters
        ----------
        dataset : {"mnist", "fashion", "svhn"}
        labels : int or "all"
        seed : int
            Of the draw of labels and of the estimator.
        classes : sequence of int, optional
            Train on rows of these classes only.
        **parameters : dict
            Of the estimator.
        """
        parameters = {**PARAMETERS[dataset], **parameters, **self.overrides}
        if self.smoke:
            parameters.update(SMOKE_PARAMETERS)
        estimator = EquiVAEClassifier(random_state=seed, **parameters)
        config = {
            "dataset": dataset,
            "labels": labels,
            "seed": seed,
            "classes": None if classes is None else list(classes),
            "smoke": self.smoke,
            "parameters": estimator.get_params(),
        }

        def train() -> Trained:
            X, y = self.training_rows(dataset, labels, seed, classes)
            place = {key: config[key] for key in ("dataset", "labels", "seed", "smoke")}
            if classes is not None:
                place["classes"] = config["classes"]
            options = (place, self.checkpoints, self.verbose)
            with attach_checkpoints(estimator, "equivae", *options) as kept:
                estimator.fit(X, y)
            commits = ", ".join(kept[0].commits)  # not those of now: they may have trained before
            return Trained(estimator, config, training_seconds(estimator.history_), commits)

        return self.once(f"{dataset}_{labels}_{seed}", config, train)

    def once(self, name: str, config: dict[str, Any], make: Callable[[], Any]) -> Any:
        """What was kept under a name and configuration, made and kept now if nothing was."""
        path = self.folder / f"{name}_{digest(config)}.joblib"
        if path not in self._kept and path.exists():
            self._kept[path] = joblib.load(path)
        elif path not in self._kept:
            self._kept[path] = make()
            with whole(path, "wb") as file:
                joblib.dump(self._kept[path], file)
        return self._kept[path]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of all benchmarks that need data sets and models."""
    where = f"folder of the data sets (default: the environment variable {VARIABLE})"
    parser.add_argument("--data", type=Path, help=where)
    parser.add_argument("--models", type=Path, default=FOLDER, help="where trained models are kept")
    parser.add_argument("--checkpoints", type=Path, default=checkpoints.FOLDER)
    parser.add_argument("--output", type=Path, help="where to write what is made")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, help="train for so many epochs")
    parser.add_argument(
        "--parameters",
        type=json.loads,
        default={},
        metavar="JSON",
        help="of the estimator, such as '{\"latent_dim\": 8}'",
    )
    parser.add_argument("--smoke", action="store_true", help="one epoch, to see that it runs")
    parser.add_argument("--verbose", type=int, default=0, help="of the estimator, in training")


def parse(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, output: Path
) -> tuple[argparse.Namespace, Models]:
    """Options and models; a smoke run does not write to where real results are."""
    arguments = parser.parse_args(argv)
    if arguments.output is None:
        arguments.output = Path(tempfile.mkdtemp()) if arguments.smoke else output
    overrides = dict(arguments.parameters)
    if arguments.epochs is not None:
        overrides["max_epochs"] = arguments.epochs
    models = Models(
        arguments.data,
        arguments.models,
        arguments.checkpoints,
        overrides,
        arguments.smoke,
        arguments.verbose,
    )
    return arguments, models


def labels_option(text: str) -> Any:
    """For argparse: "all" or a number of labels."""
    return text if text == "all" else int(text)
