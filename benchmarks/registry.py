"""What can be measured: data sets, methods and studies, and the runs that they make up."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Labels = int | str  # a number in all, or "all"


class Split(NamedTuple):
    """Rows with all their labels; the validation part may be empty.

    Attributes
    ----------
    X, y, X_valid, y_valid, X_test, y_test : ndarray
        Labels are 0, ..., K - 1.
    note : str
        What must be said beside every figure of these rows.
    """

    X: NDArray
    y: NDArray
    X_valid: NDArray
    y_valid: NDArray
    X_test: NDArray
    y_test: NDArray
    note: str = ""


@dataclass(frozen=True)
class DataSet:
    """A data set.

    Attributes
    ----------
    name, title : str
    load : callable
        From a folder (or None) and a RandomState to a `Split`. Data sets without a split of
        their own draw one.
    labels_per_class : tuple of int
        Numbers that are usually measured, for each class.
    n_classes : int
    n_seeds : int
        Seeds that are usually measured: fewer where a fit takes minutes.
    has_units : bool
        Features have units of their own, so methods that go by distances standardise them.
    note : str
        What the tables say about it.
    """

    name: str
    title: str
    load: Callable[[Path | None, np.random.RandomState], Split]
    n_classes: int
    labels_per_class: tuple[int, ...] = (5,)
    n_seeds: int = 10
    has_units: bool = False
    note: str = ""


@dataclass(frozen=True)
class Task:
    """What a method has to solve: given to its factory."""

    dataset: DataSet
    labels: Labels
    seed: int


@dataclass(frozen=True)
class Method:
    """A way to learn.

    Attributes
    ----------
    name, title : str
    make : callable
        From a `Task` to an estimator.
    takes_images : bool
        Gets images as they are; else flat rows, bytes as values in [0, 1].
    labeled_only : bool
        Gets the labelled rows only.
    max_unlabeled : int or None
        Gets at most this many unlabelled rows, where more take too much time.
    max_labeled : int or None
        Likewise of the labelled rows.
    note : str
        What differs from the method's own paper.
    """

    name: str
    title: str
    make: Callable[[Task], Any]
    takes_images: bool = False
    labeled_only: bool = False
    max_unlabeled: int | None = None
    max_labeled: int | None = None
    note: str = ""


Parameters = dict[str, Any] | Callable[[Method, Task], dict[str, Any]]


@dataclass(frozen=True)
class Setting:
    """One way to run the methods of a study.

    Attributes
    ----------
    title : str
        What the tables say; empty for the usual way.
    parameters : dict or callable
        For `set_params` of the estimator; or a function of method and task that returns it.
    draw : callable or None
        Which rows there are, and their labels; None is `balanced`. See `benchmarks.data.draws`.
    methods, labels : tuple or None
        The methods and numbers of labels that it is for; None means all of the study.
    """

    title: str = ""
    parameters: Parameters = field(default_factory=dict)
    draw: Callable | None = None
    methods: tuple[str, ...] | None = None
    labels: tuple[Labels, ...] | None = None


@dataclass(frozen=True)
class Study:
    """A question: data sets by labels, methods, settings and seeds, and what is measured.

    Attributes
    ----------
    name, title : str
    measure : callable
        From a `Job` to the figures of its run.
    datasets : dict
        Data set by name: its numbers of labels.
    methods : tuple of str
    settings : dict of str to Setting
    n_seeds : int or None
        Instead of what the data sets say.
    """

    name: str
    title: str
    measure: Callable[[Any], dict[str, Any]]
    datasets: dict[str, tuple[Labels, ...]]
    methods: tuple[str, ...]
    settings: dict[str, Setting] = field(default_factory=lambda: {"default": Setting()})
    n_seeds: int | None = None


class Run(NamedTuple):
    """One line of results."""

    study: str
    dataset: str
    labels: Labels
    method: str
    setting: str
    seed: int

    def __str__(self) -> str:
        labels = "all" if self.labels == "all" else self.labels
        return (
            f"{self.study}: {self.dataset}, {labels} labels, {self.method}, {self.setting}, "
            f"seed {self.seed}"
        )


DATASETS: dict[str, DataSet] = {}
METHODS: dict[str, Method] = {}
STUDIES: dict[str, Study] = {}


def dataset(name: str, title: str, **options: Any) -> Callable[[Callable], Callable]:
    """Register a loader as a data set; options are the fields of `DataSet`."""

    def register(load: Callable) -> Callable:
        DATASETS[name] = DataSet(name, title, load, **options)
        return load

    return register


def method(name: str, title: str, **options: Any) -> Callable[[Callable], Callable]:
    """Register a factory as a method; options are the fields of `Method`."""

    def register(make: Callable) -> Callable:
        METHODS[name] = Method(name, title, make, **options)
        return make

    return register


def add_study(study: Study) -> None:
    """Register a study, all of whose names must be known."""
    for known, names, kind in (
        (DATASETS, study.datasets, "data set"),
        (METHODS, study.methods, "method"),
    ):
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(
                f"Study {study.name!r} names the {kind} {unknown[0]!r}, which is not registered."
            )
    STUDIES[study.name] = study


def _chosen(asked: Sequence | None, usual: Iterable, kind: str, known: Iterable) -> list:
    """What was asked for, or the usual; unknown names raise."""
    for name in asked or []:
        if name not in known:
            raise ValueError(
                f"Expected {kind} among {', '.join(map(str, known))}; got {name!r}. "
                "`python -m benchmarks list` shows them all."
            )
    return list(asked if asked is not None else usual)


def runs_of(
    study: Study,
    datasets: Sequence[str] | None = None,
    labels: Sequence[Labels] | None = None,
    methods: Sequence[str] | None = None,
    settings: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> list[Run]:
    """The runs of a study, or those of them that were asked for.

    Seed by seed, so that every line of a table is there as soon as possible.
    """
    names = _chosen(datasets, study.datasets, "a data set", DATASETS)
    chosen_methods = _chosen(methods, study.methods, "a method", METHODS)
    chosen_settings = _chosen(settings, study.settings, "a setting", study.settings)
    runs = []
    for name in names:
        entry = DATASETS[name]
        usual = study.datasets.get(name) or usual_labels(entry)
        own_seeds = seeds if seeds is not None else range(study.n_seeds or entry.n_seeds)
        for seed in own_seeds:
            for number in labels if labels is not None else usual:
                for each in chosen_methods:
                    for setting in chosen_settings:
                        if _fits(study.settings[setting], each, number, labels is not None):
                            runs.append(Run(study.name, name, number, each, setting, seed))
    return sorted(runs, key=lambda run: run.seed)


def _fits(setting: Setting, method_name: str, labels: Labels, asked: bool) -> bool:
    right_method = setting.methods is None or method_name in setting.methods
    right_labels = setting.labels is None or labels in setting.labels or asked
    return right_method and right_labels


def usual_labels(entry: DataSet) -> tuple[int, ...]:
    """Numbers of labels in all."""
    return tuple(n * entry.n_classes for n in entry.labels_per_class)
