"""The command line; see the docstring of `benchmarks`."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import benchmarks
import benchmarks.studies  # they register themselves
from benchmarks.data.files import VARIABLE
from benchmarks.registry import DATASETS, METHODS, STUDIES, Labels
from benchmarks.results import FOLDER, DirtyTreeError, read
from benchmarks.runner import run_study, stale


def labels_option(text: str) -> Labels:
    """For argparse: "all" or a number of labels."""
    return text if text == "all" else int(text)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=benchmarks.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure what has no result yet")
    run.add_argument("study", choices=list(STUDIES))
    run.add_argument("--datasets", nargs="+", choices=list(DATASETS), metavar="DATASET")
    run.add_argument("--labels", nargs="+", type=labels_option, help="in all, or 'all'")
    run.add_argument("--methods", nargs="+", choices=list(METHODS), metavar="METHOD")
    run.add_argument("--settings", nargs="+", metavar="SETTING")
    run.add_argument("--seeds", nargs="+", type=int)
    run.add_argument("--jobs", type=int, default=1, help="runs at a time")
    where = f"folder of the data sets (default: the environment variable {VARIABLE})"
    run.add_argument("--data", type=Path, help=where)
    run.add_argument("--stale", action="store_true", help="measure stale results again")
    run.add_argument("--smoke", action="store_true", help="one epoch on a slice, nothing is kept")
    run.add_argument("--dry-run", action="store_true", help="say what would be run")
    commands.add_parser("report", help="rebuild all tables and plots from the results")
    old = commands.add_parser("stale", help="list results of code that has changed since")
    old.add_argument("studies", nargs="*", metavar="STUDY")
    commands.add_parser("list", help="list studies, data sets and methods")
    return parser


def list_all() -> None:
    """Everything that is registered, and how many results there are."""
    for study in STUDIES.values():
        results = read(study.name)
        print(f"{study.name}: {study.title} ({len(results)} results)")
        for name, labels in study.datasets.items():
            print(f"    {name}: {', '.join(map(str, labels))} labels")
        print(f"    methods: {', '.join(study.methods)}")
        print(f"    settings: {', '.join(study.settings)}")
    print("methods:")
    for method in METHODS.values():
        print(f"    {method.name}: {method.title}" + (f" ({method.note})" if method.note else ""))


def list_stale(studies: Sequence[str]) -> int:
    """Print stale results by data set, method and setting; how many there are."""
    results = stale(studies or None)
    groups = Counter(
        (r["study"], r["dataset"], str(r["labels"]), r["method"], r["setting"], r["commit"])
        for r in results
    )
    for (study, dataset, labels, method, setting, commit), n in groups.items():
        print(f"{study}: {dataset}, {labels} labels, {method}, {setting}: {n} at {commit}")
    total = sum(len(read(study)) for study in studies or STUDIES)
    print(f"{len(results)} of {total} results are stale.")
    return len(results)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit status."""
    options = vars(make_parser().parse_args(argv))
    command = options.pop("command")
    if command == "list":
        list_all()
    elif command == "stale":
        list_stale(options["studies"])
    elif command == "report":
        from benchmarks.report import write_report

        write_report(FOLDER)
    else:
        options["again"] = options.pop("stale")
        try:
            run_study(options.pop("study"), **options)
        except (DirtyTreeError, FileNotFoundError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
