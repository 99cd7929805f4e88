"""Tables of `benchmarks.few_labels`, from result files alone."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.few_labels_data import DATASETS, SCENARIOS
from benchmarks.few_labels_methods import METHODS, OFF, RULES
from benchmarks.results import mean_and_error, read

PARTS = {"valid": "validation error, %", "test": "test error, %"}
# A table each; several sets in one have a column for their mean.
GROUPS = {
    "MNIST": ["mnist"],
    "Fashion-MNIST": ["fashion"],
    "digits 8x8": ["digits"],
    "tabular rows": ["iris", "wine", "cancer", "digits-rows"],
}
MEAN, SECONDS = "mean", "fit, s"

Key = Callable[[dict[str, Any], str], Any]  # of a result's config and a rule
BySeed = dict[int, float]


def collect(
    results: Iterable[dict], part: str, line: Key, column: Key
) -> dict[Any, dict[Any, BySeed]]:
    """Errors by line, column and seed."""
    errors: dict[Any, dict[Any, BySeed]] = {}
    for result in results:
        config = result["config"]
        for rule, error in result["errors"][part].items():
            row = errors.setdefault(line(config, rule), {})
            row.setdefault(column(config, rule), {})[config["seed"]] = error
    return errors


def cell(by_seed: BySeed | None) -> str:
    """The mean over seeds, with its error."""
    return mean_and_error(list(by_seed.values())) if by_seed else ""


def mean_over(row: dict[Any, BySeed], columns: Sequence) -> BySeed:
    """The mean over all columns, for the seeds that have them all."""
    seeds = set.intersection(*(set(row.get(column, {})) for column in columns))
    return {s: float(np.mean([row[column][s] for column in columns])) for s in sorted(seeds)}


def markdown(corner: str, columns: Iterable[str], lines: dict[str, list[str]]) -> str:
    """A table of cells."""
    rows = [[corner, *columns], *([name, *cells] for name, cells in lines.items())]
    text = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([text[0], "|---" * len(rows[0]) + "|", *text[1:]])


def method_and_rule(config: dict[str, Any], rule: str) -> tuple[str, str]:
    return config["method"], rule


def in_order(keys: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Methods and rules as they are listed above."""
    methods, rules = list(METHODS), ["predict", *RULES]
    return sorted(keys, key=lambda key: (methods.index(key[0]), rules.index(key[1])))


def title(method: str, rule: str, results: Iterable[dict]) -> str:
    """The name of a method and rule, with what the method had to leave out."""
    name = METHODS[method].title
    limits = {
        result["n_unlabeled"]
        for result in results
        if result["config"]["method"] == method
        and result["n_unlabeled"] == result["config"]["most_unlabeled"]
    }
    name += "".join(f", {limit:,} of the unlabelled rows" for limit in limits)
    return name if rule == "predict" else f"{name}, {rule}"


# ---------------------------------------------------------------- the comparison


def table(folder: Path, part: str = "test") -> str:
    """A table for each group of data sets, a line a method and rule; empty without results."""
    results = list(read(folder))
    tables = []
    for name, datasets in GROUPS.items():
        members = [result for result in results if result["config"]["dataset"] in datasets]
        if members:
            tables.append(_group_table(f"{name}, {PARTS[part]}", datasets, members, part))
    return "\n\n".join(tables)


def _group_table(corner: str, datasets: list[str], results: list[dict], part: str) -> str:
    errors = collect(
        results, part, method_and_rule, lambda config, _: (config["dataset"], config["labels"])
    )
    found = {column for row in errors.values() for column in row}
    columns = sorted(found, key=lambda column: (datasets.index(column[0]), column[1]))
    several = len(datasets) > 1
    names = [
        f"{DATASETS[dataset].title}, {labels} labels" if several else f"{labels} labels"
        for dataset, labels in columns
    ]
    lines = {}
    for method, rule in in_order(errors):
        row = errors[method, rule]
        cells = [cell(row.get(column)) for column in columns]
        if several:
            cells.append(cell(mean_over(row, columns)))
        seconds = [r["fit_seconds"] for r in results if r["config"]["method"] == method]
        lines[title(method, rule, results)] = [*cells, f"{np.mean(seconds):.1f}"]
    return markdown(corner, [*names, *([MEAN] if several else []), SECONDS], lines)


# ---------------------------------------------------------------- parts switched off


def ablation_table(folder: Path, part: str = "test") -> str:
    """The defaults, and each part of them switched off, for the same seeds.

    The results of the defaults are those of the comparison, in the folder beside.
    Empty without results.
    """
    results = list(read(folder))
    if not results:
        return ""
    runs = {_run(result) for result in results}
    defaults = [r for r in read(folder.parent / "few_labels") if _run(r) in runs]
    results = [r for r in [*defaults, *results] if r["config"]["method"] == "equivae"]
    errors = collect(
        results,
        part,
        lambda config, _: config["ablation"],
        lambda config, rule: (config["dataset"], config["labels"], rule),
    )
    columns = [
        (dataset, labels, rule)
        for dataset in DATASETS
        for labels in sorted({run[1] for run in runs if run[0] == dataset})
        for rule in RULES[:2]
    ]
    names = [f"{DATASETS[dataset].title}, {n} labels, {rule}" for dataset, n, rule in columns]
    lines = {
        _switched_off(ablation): [cell(errors[ablation].get(column)) for column in columns]
        for ablation in [None, *OFF]
        if ablation in errors
    }
    return markdown(PARTS[part], names, lines)


def _run(result: dict) -> tuple[str, int, int]:
    config = result["config"]
    return config["dataset"], config["labels"], config["seed"]


def _switched_off(ablation: str | None) -> str:
    return "defaults" if ablation is None else f"`{ablation}={OFF[ablation]!r}`"


# ---------------------------------------------------------------- labels of real users


def robustness_table(folder: Path, part: str = "test") -> str:
    """A table a data set: a line a scenario, a column a method and rule; empty without results."""
    results = list(read(folder))
    tables = []
    for dataset in DATASETS:
        members = [result for result in results if result["config"]["dataset"] == dataset]
        if not members:
            continue
        errors = collect(members, part, lambda config, _: config["scenario"], method_and_rule)
        columns = in_order({column for row in errors.values() for column in row})
        lines = {
            scenario.words: [cell(errors[name].get(column)) for column in columns]
            for name, scenario in SCENARIOS.items()
            if name in errors
        }
        names = [title(*column, members) for column in columns]
        tables.append(markdown(f"{DATASETS[dataset].title}, {PARTS[part]}", names, lines))
    return "\n\n".join(tables)
