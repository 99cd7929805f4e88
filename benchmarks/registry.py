"""What can be measured: data sets, methods and studies, and the runs that they make up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

Labels = int | str  # a number in all, or "all"


class Split(NamedTuple):
    """Rows with all their labels 0, ..., K - 1; the validation part may be empty."""

    X: NDArray
    y: NDArray
    X_valid: NDArray
    y_valid: NDArray
    X_test: NDArray
    y_test: NDArray
    note: str = ""  # what must be said beside every figure of these rows


@dataclass(frozen=True)
class DataSet:
    """A data set. Its `load` turns a folder (or None) and a RandomState into a `Split`."""

    name: str
    title: str
    load: Callable
    n_classes: int
    labels_per_class: tuple[int, ...] = (5,)  # what is usually measured
    n_seeds: int = 10  # likewise; fewer where a fit takes minutes
    has_images: bool = False
    has_units: bool = False  # methods that go by distances standardise the features
    note: str = ""

    @property
    def usual_labels(self) -> tuple[int, ...]:
        """Numbers of labels in all."""
        return tuple(n * self.n_classes for n in self.labels_per_class)


class Task(NamedTuple):
    """What a method has to solve."""

    dataset: DataSet
    labels: Labels
    seed: int


@dataclass(frozen=True)
class Method:
    """A way to learn. Its `make` turns a `Task` into an estimator."""

    name: str
    title: str
    make: Callable
    takes_images: bool = False  # as they are; else flat rows, bytes as values in [0, 1]
    labeled_only: bool = False  # gets no unlabelled rows
    max_unlabeled: int | None = None  # gets no more of them, where they take too much time
    max_labeled: int | None = None
    note: str = ""  # what differs from the method's own paper; stands below every table


@dataclass(frozen=True)
class Setting:
    """One way to run the methods of a study."""

    title: str = ""
    parameters: Any = field(default_factory=dict)  # for `set_params`, or a function that gives them
    draw: Callable | None = None  # which rows have labels, see `data.draws`; None is `balanced`
    methods: tuple[str, ...] | None = None  # that it is for; None means all
    labels: tuple[Labels, ...] | None = None


@dataclass(frozen=True)
class Study:
    """A question. Its `measure` turns a `Job` into the figures of a run."""

    name: str
    title: str
    measure: Callable
    datasets: dict[str, tuple[Labels, ...]]  # with their numbers of labels
    methods: tuple[str, ...]
    settings: dict[str, Setting] = field(default_factory=lambda: {"default": Setting()})
    n_seeds: int | None = None  # instead of what the data sets say
    elsewhere: str = ""  # a study whose runs serve this one too, where both have them


class Run(NamedTuple):
    """One line of results."""

    study: str
    dataset: str
    labels: Labels
    method: str
    setting: str
    seed: int

    def __str__(self) -> str:
        what = f"{self.dataset}, {self.labels} labels, {self.method}, {self.setting}"
        return f"{self.study}: {what}, seed {self.seed}"


DATASETS: dict[str, DataSet] = {}
METHODS: dict[str, Method] = {}
STUDIES: dict[str, Study] = {}


def dataset(name: str, title: str, **options: Any) -> Callable[[Callable], Callable]:
    """Register a loader as a data set; options are the fields of `DataSet`."""
    return lambda load: DATASETS.setdefault(name, DataSet(name, title, load, **options)).load


def method(name: str, title: str, **options: Any) -> Callable[[Callable], Callable]:
    """Register a factory as a method; options are the fields of `Method`."""
    return lambda make: METHODS.setdefault(name, Method(name, title, make, **options)).make


def study(*fields: Any, **options: Any) -> None:
    """Register a study, all of whose names must be known."""
    new = Study(*fields, **options)
    for name in {*new.datasets} - {*DATASETS} | {*new.methods} - {*METHODS}:
        raise ValueError(f"Study {new.name!r} names {name!r}, which is not registered.")
    STUDIES[new.name] = new


def all_runs_of(
    study: Study,
    datasets: Sequence[str] | None = None,
    labels: Sequence[Labels] | None = None,
    methods: Sequence[str] | None = None,
    settings: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> list[Run]:
    """The runs that a study consists of, or those of them that were asked for."""
    for name in settings or []:
        if name not in study.settings:
            raise ValueError(f"Expected a setting of {[*study.settings]}; got {name!r}.")
    return [
        Run(study.name, name, number, each, setting, seed)
        for name in datasets or study.datasets
        for seed in (range(study.n_seeds or DATASETS[name].n_seeds) if seeds is None else seeds)
        for number in labels or study.datasets.get(name) or DATASETS[name].usual_labels
        for each in methods or study.methods
        for setting in settings or study.settings
        if each in (study.settings[setting].methods or [each])
        and (labels or number in (study.settings[setting].labels or [number]))
    ]


def runs_of(study: Study, **chosen: Sequence | None) -> list[Run]:
    """Those of the runs that are not measured in another study.

    Seed by seed, so that every line of a table is there as soon as possible.
    """
    seeds = {"seeds": chosen.get("seeds")}
    other = all_runs_of(STUDIES[study.elsewhere], **seeds) if study.elsewhere else []
    runs = {run[1:]: run for run in all_runs_of(study, **chosen)}
    left = runs.keys() - {run[1:] for run in other}
    return sorted((runs[key] for key in runs if key in left), key=lambda run: run.seed)
