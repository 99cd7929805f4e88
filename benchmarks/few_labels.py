"""Few labels: EquiVAE beside its peers, what each of its parts gives, and what it can stand.

`python -m benchmarks.few_labels --data DIR` runs what is not there yet and prints the table;
results are in `benchmarks/results/few_labels`. With `--ablation` parts of the defaults are
switched off, one at a time (`results/ablation`); with `--robustness` the labels are as they
come to real users (`results/robustness`). Every run measures the validation and the test part
of one fit: choose by `--part valid`, which is what is printed; the report shows the test part.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from benchmarks.data import VARIABLE
from benchmarks.few_labels_data import DATASETS, SCENARIOS, as_drawn, few_label_rows
from benchmarks.few_labels_methods import METHODS, OFF, make, measure, parameters_of
from benchmarks.few_labels_tables import PARTS, ablation_table, robustness_table, table
from benchmarks.results import FOLDER, run_once

ABLATION_LABELS = {"mnist": (100,), "digits": (50,)}
ROBUSTNESS_METHODS = ("equivae", "spreading", "selftraining")
SMOKE_LABELS_A_CLASS = 5


def run(
    study: str,
    arguments: argparse.Namespace,
    dataset: str,
    labels: int,
    method: str,
    seed: int,
    ablation: str | None = None,
    scenario: str | None = None,
) -> None:
    """Measure one method once, unless its result is there."""
    estimator = make(method, dataset, labels, seed, arguments.smoke)
    if ablation is not None:
        estimator.set_params(**{ablation: OFF[ablation]})
    config = {
        "dataset": dataset,
        "labels": labels,
        "method": method,
        "seed": seed,
        "ablation": ablation,
        "scenario": scenario,
        "smoke": arguments.smoke,
        "most_unlabeled": METHODS[method].most_unlabeled,
        "parameters": parameters_of(estimator),
    }
    choose = SCENARIOS[scenario].choose if scenario else as_drawn
    place = None
    shared = method == "equivae" and DATASETS[dataset].load is None and scenario is None
    if shared and not arguments.smoke:
        place = {key: config[key] for key in ("dataset", "labels", "seed", "smoke")}

    def measure_it() -> dict[str, Any]:
        rows = few_label_rows(dataset, labels, seed, arguments.data, arguments.smoke, choose)
        return measure(method, estimator, rows, place)

    name = f"{dataset}_{scenario or labels}_{ablation or method}_{seed}.json"
    run_once(arguments.output / study / name, config, measure_it)


def comparisons(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every method on every data set."""
    for dataset in arguments.datasets or DATASETS:
        for labels in _labels(arguments, dataset, DATASETS[dataset].labels):
            for method in arguments.methods or METHODS:
                yield {"dataset": dataset, "labels": labels, "method": method}


def ablations(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The defaults, which are a line of the comparison too, and each part switched off."""
    for dataset in arguments.datasets or ABLATION_LABELS:
        usual = ABLATION_LABELS.get(dataset, DATASETS[dataset].labels)
        for labels in _labels(arguments, dataset, usual):
            what = {"dataset": dataset, "labels": labels, "method": "equivae"}
            yield {**what, "study": "few_labels"}
            for ablation in arguments.ablation or OFF:
                yield {**what, "ablation": ablation}


def scenarios(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Some methods on labels as real users have them."""
    for dataset in arguments.datasets or ["digits"]:
        for scenario in arguments.robustness or SCENARIOS:
            labels = SCENARIOS[scenario].labels_a_class * DATASETS[dataset].n_classes
            for method in arguments.methods or ROBUSTNESS_METHODS:
                yield {
                    "dataset": dataset,
                    "labels": labels,
                    "method": method,
                    "scenario": scenario,
                }


def _labels(arguments: argparse.Namespace, dataset: str, usual: tuple[int, ...]) -> Sequence[int]:
    if arguments.labels is None and arguments.smoke:
        return [SMOKE_LABELS_A_CLASS * DATASETS[dataset].n_classes]
    return arguments.labels or usual


STUDIES = {
    "few_labels": (comparisons, table),
    "ablation": (ablations, ablation_table),
    "robustness": (scenarios, robustness_table),
}


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options, checked against each other; a smoke run writes elsewhere."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_labels", description=__doc__)
    where = f"folder of the data sets (default: the environment variable {VARIABLE})"
    parser.add_argument("--data", type=Path, help=where)
    parser.add_argument("--datasets", nargs="+", choices=list(DATASETS))
    parser.add_argument("--labels", type=int, nargs="+", help="how many in all")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--part", choices=list(PARTS), default="valid", help="what is printed")
    parser.add_argument("--ablation", nargs="*", choices=list(OFF), help="none named: all")
    parser.add_argument("--robustness", nargs="*", choices=list(SCENARIOS), help="likewise")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--smoke", action="store_true", help="one epoch, to see that it runs")
    parser.add_argument("--output", type=Path, help="folder of the folders of results")
    arguments = parser.parse_args(argv)
    _check(parser, arguments)
    if arguments.output is None:
        arguments.output = Path(tempfile.mkdtemp()) if arguments.smoke else FOLDER
    return arguments


def _check(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """End with what is wrong if options do not go together."""
    for dataset in arguments.datasets or DATASETS:
        n_classes = DATASETS[dataset].n_classes
        if any(labels < 1 or labels % n_classes for labels in arguments.labels or []):
            parser.error(
                f"--labels should be multiples of the {n_classes} classes of {dataset}; got "
                f"{arguments.labels}. Name the data sets that they are for with --datasets."
            )
    if arguments.ablation is not None and arguments.methods is not None:
        parser.error(f"--ablation is of EquiVAE; got --methods {arguments.methods}. Leave it out.")
    if arguments.robustness is None:
        return
    if arguments.labels is not None:
        parser.error(
            f"--robustness has its own numbers of labels; got --labels {arguments.labels}. "
            "Leave it out."
        )
    if any(DATASETS[dataset].n_classes != 10 for dataset in arguments.datasets or []):
        parser.error(
            f"--robustness is for data sets of ten classes; got {arguments.datasets}. Take "
            "digits or mnist."
        )


def main(argv: Sequence[str] | None = None) -> None:
    arguments = parse(argv)
    asked = [study for study in ("ablation", "robustness") if getattr(arguments, study) is not None]
    for study in asked or ["few_labels"]:
        runs, make_table = STUDIES[study]
        # Seed by seed: a table with all lines is there as soon as can be.
        Parallel(n_jobs=arguments.jobs)(
            delayed(run)(**{"study": study, "arguments": arguments, "seed": seed, **what})
            for seed in arguments.seeds
            for what in runs(arguments)
        )
        print(make_table(arguments.output / study, arguments.part))


if __name__ == "__main__":
    main()
