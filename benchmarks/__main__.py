"""The command line; see the docstring of `benchmarks`."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import benchmarks
import benchmarks.studies  # they register themselves
from benchmarks.data.files import VARIABLE
from benchmarks.registry import DATASETS, METHODS, STUDIES
from benchmarks.results import DirtyTreeError, read, tidy
from benchmarks.runner import run_study, stale


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks", description=benchmarks.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure what has no result yet")
    run.add_argument("study", choices=[*STUDIES])
    run.add_argument("--datasets", nargs="+", choices=[*DATASETS], metavar="DATASET")
    number = lambda text: text if text == "all" else int(text)  # noqa: E731
    run.add_argument("--labels", nargs="+", type=number, help="a number in all, or 'all'")
    run.add_argument("--methods", nargs="+", choices=[*METHODS], metavar="METHOD")
    run.add_argument("--settings", nargs="+", metavar="SETTING")
    run.add_argument("--seeds", nargs="+", type=int)
    run.add_argument("--jobs", type=int, default=1, help="runs at a time")
    run.add_argument("--data", type=Path, help=f"folder of the data sets (default: ${VARIABLE})")
    run.add_argument("--stale", action="store_true", help="measure stale results again")
    run.add_argument("--smoke", action="store_true", help="one epoch on a slice, nothing is kept")
    run.add_argument("--dry-run", action="store_true", help="say what would be run")
    commands.add_parser("report", help="rebuild all tables and plots from the results")
    old = commands.add_parser("stale", help="list results of code that has changed since")
    old.add_argument("studies", nargs="*", metavar="STUDY")
    old.add_argument("--drop", action="store_true", help="remove them; the report has dashes then")
    commands.add_parser("list", help="list studies, data sets and methods")
    return parser


def list_all() -> None:
    """Everything that is registered, and how many results there are."""
    for study in STUDIES.values():
        print(f"{study.name}: {study.title} ({len(read(study.name))} results)")
        for name in ("datasets", "methods", "settings"):
            print(f"    {name}: {', '.join(getattr(study, name))}")
    for entry in (*DATASETS.values(), *METHODS.values()):
        print(f"{entry.name}: {entry.title}" + (f" ({entry.note})" if entry.note else ""))


def list_stale(studies: Sequence[str], drop: bool) -> None:
    """Stale results by data set, labels, method and setting; and remove them if asked to."""
    results = stale(studies)
    names = ("study", "dataset", "labels", "method", "setting", "commit")
    for group, n in Counter(tuple(str(r[name]) for name in names) for r in results).items():
        print(", ".join(group[:-1]) + f": {n} at {group[-1]}")
    print(f"{len(results)} of {sum(len(read(s)) for s in studies or STUDIES)} results are stale.")
    for study in {result["study"] for result in results} if drop else ():
        tidy(study, without=results)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit status."""
    options = vars(make_parser().parse_args(argv))
    command = options.pop("command")
    if command == "list":
        list_all()
    elif command == "stale":
        list_stale(**options)
    elif command == "report":
        from benchmarks.report import write_report  # needs matplotlib

        write_report()
    else:
        try:
            run_study(options.pop("study"), again=options.pop("stale"), **options)
        except (DirtyTreeError, FileNotFoundError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
