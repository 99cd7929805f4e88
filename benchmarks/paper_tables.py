"""The paper's two tables and the numbers of its figures, from result files alone."""

from collections.abc import Iterable
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from benchmarks.paper_methods import METHODS
from benchmarks.results import mean_and_error, read

TITLES = {"mnist": "MNIST", "svhn": "SVHN"}
COLUMNS: dict[str, tuple[int, ...]] = {"mnist": (100, 600, 1000, 3000), "svhn": (1000, 3000)}
SETTINGS = {"paper": ", paper's settings", "best": ", our best", "default": ""}
RULES = {
    "prototype": ", distance on f_inv",
    "posterior": ", q(y\\|x)",
    "likelihood": ", p(x, y)",
    "predict": "",
}

Key = tuple[str, str, str]  # data set, method, rule

# Test errors in per cent, as published: from the tables of Feige 2019, which has those of the
# other systems from their papers, but for the line marked otherwise.
SUPERVISED: dict[Key, str] = {
    ("mnist", "benchmark", "predict"): "0.84 ± 0.03",
    ("mnist", "equivae-neural", "predict"): "0.82 ± 0.03",
    ("mnist", "equivae", "prototype"): "0.82 ± 0.05",
    ("mnist", "m1m2", "predict"): "0.96",
    ("mnist", "aae", "predict"): "0.85 ± 0.02",
    ("svhn", "benchmark", "predict"): "10.04 ± 0.14",
    ("svhn", "equivae-neural", "predict"): "11.97 ± 0.34",
    ("svhn", "equivae", "prototype"): "12.30 ± 0.28",
}
# The paper does not say by which rule its semi-supervised EquiVAE predicts. Taken to be q(y|x),
# since it compares with a classifier of that architecture.
SEMI_SUPERVISED: dict[Key, dict[int, str]] = {
    ("mnist", "equivae", "posterior"): {
        100: "8.90 ± 0.70", 600: "3.99 ± 0.17", 1000: "3.34 ± 0.17", 3000: "2.23 ± 0.14",
    },
    ("mnist", "benchmark", "predict"): {
        100: "21.91 ± 0.66", 600: "6.64 ± 0.35", 1000: "5.43 ± 0.31", 3000: "2.96 ± 0.11",
    },
    ("mnist", "siddharth", "predict"): {
        100: "9.71 ± 0.91", 600: "3.84 ± 0.86", 1000: "2.88 ± 0.79", 3000: "1.57 ± 0.93",
    },
    ("mnist", "m2", "predict"): {
        100: "11.97 ± 1.71", 600: "4.94 ± 0.13", 1000: "3.60 ± 0.56", 3000: "3.92 ± 0.63",
    },
    ("svhn", "equivae", "posterior"): {1000: "37.95 ± 0.66", 3000: "24.95 ± 0.57"},
    ("svhn", "benchmark", "predict"): {1000: "39.64 ± 1.47", 3000: "25.50 ± 0.91"},
    ("svhn", "siddharth", "predict"): {1000: "38.91 ± 1.06", 3000: "29.07 ± 0.83"},
    ("svhn", "m1m2", "predict"): {1000: "36.02 ± 0.10"},
    # Kingma et al. 2014, Table 1
    ("mnist", "m1m2", "predict"): {100: "3.33", 1000: "2.40"},
}  # fmt: skip

CLAIMS = (
    ("Class found in v by a linear probe, %", ("probe_accuracy", "v", "linear")),
    ("Class found in v by a neural probe, %", ("probe_accuracy", "v", "neural")),
    ("Chance, %", ("chance",)),
    ("Class found in f_inv by a linear probe, %", ("probe_accuracy", "f_inv", "linear")),
    ("Class found in f_inv by a neural probe, %", ("probe_accuracy", "f_inv", "neural")),
    ("KL[q(v\\|r_y,x) \\|\\| p(v)] of test rows, nats", ("kl_v",)),
    ("Bound on log p(x) of test rows, nats", ("bound",)),
)


def table(folder: Path) -> str:
    """All three tables, with titles; empty without results."""
    parts = (
        ("Supervised (the paper's Table 1)", table_supervised(folder)),
        ("Semi-supervised (the paper's Table 2)", table_semi_supervised(folder)),
        ("What the paper's figures show", table_claims(folder)),
    )
    return "\n\n".join(f"### {title}\n\n{made}" for title, made in parts if made)


def table_supervised(folder: Path) -> str:
    """Test errors with all labels, a line a method; empty without results."""
    results = [r for r in read(folder) if r["config"]["labels"] == "all"]
    parts = []
    for dataset, title in TITLES.items():
        chosen = of_dataset(results, dataset)
        if not chosen:
            continue
        lines = [f"| {title}, all labels | test error, % | published |", "|---|---|---|"]
        for (method, rule, words), found in lines_of(chosen, dataset, SUPERVISED).items():
            published = SUPERVISED.get((dataset, method, rule), "-")
            lines.append(f"| {words} | {cell(found, rule)} | {published} |")
        parts.append("\n".join(lines) + notes(chosen))
    return "\n\n".join(parts)


def table_semi_supervised(folder: Path) -> str:
    """Test errors with few labels, a line a method; empty without results."""
    results = [r for r in read(folder) if r["config"]["labels"] != "all"]
    parts = []
    for dataset, title in TITLES.items():
        chosen = of_dataset(results, dataset)
        if not chosen:
            continue
        columns = sorted({*COLUMNS[dataset], *(r["config"]["labels"] for r in chosen)})
        head = " | ".join(f"{n} labels" for n in columns)
        lines = [
            f"| {title}, test error, %: measured / published | {head} |",
            "|---|" + "---|" * len(columns),
        ]
        for (method, rule, words), found in lines_of(chosen, dataset, SEMI_SUPERVISED).items():
            published = SEMI_SUPERVISED.get((dataset, method, rule), {})
            cells = (
                both(cell([r for r in found if r["config"]["labels"] == n], rule), published.get(n))
                for n in columns
            )
            lines.append(f"| {words} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines) + notes(chosen))
    return "\n\n".join(parts)


def table_claims(folder: Path) -> str:
    """Numbers of the figures, a column for each data set, number of labels and preset."""
    columns: dict[str, list[dict[str, Any]]] = {}
    for result in sorted(read(folder), key=_place):
        if "claims" in result:
            config = result["config"]
            name = f"{TITLES[config['dataset']]}, {config['labels']} labels{changes(config)}"
            columns.setdefault(name, []).append(result["claims"])
    if not columns:
        return ""
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for words, path in CLAIMS:
        values = ([reduce(getitem, path, claims) for claims in c] for c in columns.values())
        lines.append(f"| {words} | " + " | ".join(map(mean_and_error, values)) + " |")
    return "\n".join(lines)


def _place(result: dict[str, Any]) -> tuple[str, float]:
    """The order of data sets, and of numbers of labels in each."""
    labels = result["config"]["labels"]
    return result["config"]["dataset"], float("inf") if labels == "all" else labels


def of_dataset(results: Iterable[dict[str, Any]], dataset: str) -> list[dict[str, Any]]:
    return [r for r in results if r["config"]["dataset"] == dataset]


def lines_of(
    results: list[dict[str, Any]], dataset: str, published: Iterable[Key]
) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """Results by method, rule and the words of a line, in the order of `METHODS`.

    A published figure that has not been measured has a line too.
    """
    lines: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for result in results:
        config = result["config"]
        for rule in result["errors"]:
            words = METHODS[config["method"]].words + RULES[rule] + changes(config)
            if result["sliced"]:
                words += f", {config['rows']:,} rows"
            lines.setdefault((config["method"], rule, words), []).append(result)
    measured = {(method, rule) for method, rule, _ in lines}
    for of_dataset, method, rule in published:
        if of_dataset == dataset and (method, rule) not in measured:
            lines[method, rule, METHODS[method].words + RULES[rule]] = []
    order, rules = list(METHODS), list(RULES)
    return dict(sorted(lines.items(), key=lambda i: (order.index(i[0][0]), rules.index(i[0][1]))))


def changes(config: dict[str, Any]) -> str:
    """The preset, and what a run has changed of it."""
    changed = {**({"epochs": config["epochs"]} if config["epochs"] else {}), **config["parameters"]}
    return SETTINGS[config["preset"]] + "".join(f", {k}={v}" for k, v in changed.items())


def cell(results: list[dict[str, Any]], rule: str) -> str:
    """Mean ± standard error and the number of seeds; a dash without results."""
    return mean_and_error([r["errors"][rule]["test"] for r in results]) if results else "-"


def both(measured: str, published: str | None) -> str:
    """Measured / published; one dash if there is neither."""
    return measured if published is None and measured == "-" else f"{measured} / {published or '-'}"


def notes(results: list[dict[str, Any]]) -> str:
    """What was to be said beside the results."""
    texts = dict.fromkeys(r["config"]["note"] for r in results if r["config"]["note"])
    return "".join(f"\n\n*{text}*" for text in texts)
