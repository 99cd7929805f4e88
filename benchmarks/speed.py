"""What training and inference cost, beside other ways to do the same, on MNIST.

`python -m benchmarks.speed --data DIR` measures what is not measured yet, prints the table and
draws `docs/speed.png`; results are in `benchmarks/results/speed`, a file a measurement. Delete
a file to measure again. Both sides of a comparison are measured in one run, in turns; nothing
else should run on the machine meanwhile.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib
import torch

from benchmarks.data import VARIABLE, load_mnist
from benchmarks.figures import DOCS
from benchmarks.results import FOLDER, run_once
from benchmarks.speed_errors import measure_threshold, measure_to_error
from benchmarks.speed_fits import (
    measure_inference,
    measure_loop,
    measure_memory,
    measure_startup,
)
from benchmarks.speed_steps import (
    measure_arithmetic,
    measure_classes,
    measure_complements,
    measure_pyro,
)
from benchmarks.speed_table import plot, table
from benchmarks.timing import Bench

MEASUREMENTS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "complements": measure_complements,
    "classes": measure_classes,
    "threshold-error": measure_threshold,
    "loop": measure_loop,
    "arithmetic": measure_arithmetic,
    "inference": measure_inference,
    "memory": measure_memory,
    "to-error-100": partial(measure_to_error, labels=100),
    "to-error-all": partial(measure_to_error, labels="all"),
    "startup": measure_startup,
    "pyro": measure_pyro,
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    where = f"folder of the data sets (default: the environment variable {VARIABLE})"
    parser.add_argument("--data", type=Path, help=where)
    parser.add_argument(
        "--measurements", nargs="+", default=list(MEASUREMENTS), choices=list(MEASUREMENTS)
    )
    parser.add_argument(
        "--minutes", type=float, default=Bench.minutes, help="longest training of to-error-*"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=Bench.sizes, help="numbers of images of memory"
    )
    parser.add_argument("--output", type=Path, help="where to write results")
    parser.add_argument("--smoke", action="store_true", help="little, to see that it runs")
    arguments = parser.parse_args(argv)
    real = FOLDER / "speed"
    output = arguments.output or (Path(tempfile.mkdtemp()) if arguments.smoke else real)
    bench = Bench(
        load_mnist(arguments.data),
        smoke=arguments.smoke,
        minutes=arguments.minutes,
        sizes=tuple(arguments.sizes),
    )
    for name in arguments.measurements:
        if name == "pyro" and find_spec("pyro") is None:
            print(
                "pyro: skipped, since pyro-ppl is not installed; "
                'pip install ".[benchmarks]" installs it.',
                file=sys.stderr,
            )
            continue
        print(f"{name} ...", file=sys.stderr)
        run_once(output / f"{name}.json", config(name, bench), partial(MEASUREMENTS[name], bench))
    print(table(output))
    matplotlib.use("Agg")
    plot(output, (DOCS if output == real else output) / "speed.png")


def config(name: str, bench: Bench) -> dict[str, Any]:
    """What a result file says about how it was measured."""
    options: dict[str, Any] = {"seed": bench.seed, "threads": torch.get_num_threads()}
    if name.startswith("to-error"):
        options["minutes"] = bench.minutes
    if name == "memory":
        options["sizes"] = list(bench.sizes)
    return {"measurement": name, "smoke": bench.smoke, **options}


if __name__ == "__main__":
    main()
