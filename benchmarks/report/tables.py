"""Tables of errors by method and data set, from results alone."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.registry import DATASETS, METHODS, STUDIES, Labels, Study
from benchmarks.report.statistics import DASH, comparison, summary
from benchmarks.results import OLD, Result

RULE_WORDS = {"prototype": "prototype", "posterior": "posterior", "likelihood": "likelihood"}
RULES_OF = {"equivae": tuple(RULE_WORDS)}
MARK = "°"
OLD_ALL = "All of it was measured with version 0.1."
OLD_SOME = f"{MARK} measured with version 0.1."

Column = tuple[str, Labels]


class Line(NamedTuple):
    """A line of a table: a method, a setting and a rule of prediction."""

    method: str
    setting: str
    rule: str


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table; the first row is its head."""
    text = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([text[0], "|---" * len(rows[0]) + "|", *text[1:]])


def lines_of(study: Study) -> list[Line]:
    """All lines that a study has, measured or not."""
    return [
        Line(method, setting, rule)
        for method in study.methods
        for rule in RULES_OF.get(method, ("predict",))
        for setting, entry in study.settings.items()
        if entry.methods is None or method in entry.methods
    ]


def title(study: Study, line: Line, words: dict[str, str] = RULE_WORDS) -> str:
    """The words of a line."""
    parts = [METHODS[line.method].title, words.get(line.rule, "")]
    parts.append(study.settings[line.setting].title)
    return ", ".join(part for part in parts if part)


class Errors:
    """Test errors of a study by line, column and seed.

    Parameters
    ----------
    study : str
    results : list of dict
    """

    def __init__(self, study: str, results: Iterable[Result]):
        self.study = STUDIES[study]
        self.results = list(results)
        self.values: dict[tuple[Line, Column], dict[int, float]] = {}
        self.old: set[tuple[Line, Column]] = set()
        for result in self.results:
            column = result["dataset"], result["labels"]
            for rule, error in result["errors"].items():
                place = Line(result["method"], result["setting"], rule), column
                self.values.setdefault(place, {})[result["seed"]] = error
                if result["fingerprint"] == OLD:
                    self.old.add(place)

    def columns(self, datasets: Iterable[str]) -> list[Column]:
        """Those that the study has or that have been measured, in order."""
        measured = {column for _, column in self.values}
        found = []
        for name in datasets:
            labels = {*self.study.datasets.get(name, ())} | {n for d, n in measured if d == name}
            found += [(name, n) for n in sorted(labels, key=labels_order)]
        return found

    def all_old(self, columns: Iterable[Column]) -> bool:
        """Whether every result of some columns is of version 0.1."""
        there = {place for place in self.values if place[1] in set(columns)}
        return bool(there) and there <= self.old

    def cell(self, line: Line, column: Column, mark: bool = True) -> str:
        by_seed = self.values.get((line, column), {})
        old = mark and (line, column) in self.old
        return summary(list(by_seed.values())) + (MARK if old else "")

    def mean(self, line: Line, columns: Sequence[Column]) -> dict[int, float]:
        """The mean over columns, for the seeds that have them all."""
        rows = [self.values.get((line, column), {}) for column in columns]
        seeds = set.intersection(*(set(row) for row in rows)) if rows else set()
        return {seed: float(np.mean([row[seed] for row in rows])) for seed in sorted(seeds)}

    def seconds(self, line: Line, columns: Sequence[Column]) -> str:
        """The mean time of a fit, or a dash."""
        walls = [
            result["wall"]
            for result in self.results
            if (result["method"], result["setting"]) == line[:2]
            and (result["dataset"], result["labels"]) in columns
            and result["wall"] is not None
        ]
        return f"{np.mean(walls):.1f}" if walls else DASH


def labels_order(labels: Labels) -> tuple[bool, int]:
    return (True, 0) if labels == "all" else (False, int(labels))


def column_name(column: Column, with_dataset: bool) -> str:
    labels = "all labels" if column[1] == "all" else f"{column[1]} labels"
    return f"{DATASETS[column[0]].title}, {labels}" if with_dataset else labels


def error_table(
    errors: Errors, corner: str, datasets: Sequence[str], lines: Sequence[Line] | None = None
) -> str:
    """Test errors, a line a method; several data sets have a column for their mean."""
    columns = errors.columns(datasets)
    lines = lines_of(errors.study) if lines is None else lines
    if not any((line, column) in errors.values for line in lines for column in columns):
        return f"*{corner}: not measured yet.*"
    several, all_old = len(datasets) > 1, errors.all_old(columns)
    head = [f"{corner}, test error, %", *(column_name(c, several) for c in columns)]
    rows = [[*head, *(["mean"] if several else []), "fit, s"]]
    for line in lines:
        cells = [errors.cell(line, column, mark=not all_old) for column in columns]
        if several:
            cells.append(summary(list(errors.mean(line, columns).values())))
        rows.append([title(errors.study, line), *cells, errors.seconds(line, columns)])
    return markdown(rows) + notes(errors, columns, lines)


def notes(errors: Errors, columns: Sequence[Column], lines: Iterable[Line]) -> str:
    """What must be said below a table: of data sets, methods, single results and versions."""
    there = {line.method for line in lines} & {
        line.method for line, column in errors.values if column in columns
    }
    texts = [DATASETS[name].note for name, _ in columns]
    texts += [METHODS[name].note for name in METHODS if name in there]
    texts += [
        note
        for result in errors.results
        if (result["dataset"], result["labels"]) in columns
        for note in result.get("note", "").split("; ")
    ]
    said = [f"{text[0].upper()}{text[1:]}." for text in dict.fromkeys(texts) if text]
    if errors.all_old(columns):
        said.append(OLD_ALL)
    elif any(column in columns for _, column in errors.old):
        said.append(OLD_SOME)
    return "\n\n*" + " ".join(said).replace("|", "\\|") + "*" if said else ""


def paired_table(errors: Errors, corner: str, datasets: Sequence[str]) -> str:
    """EquiVAE's prototype rule against each other method, by the same draws of labels."""
    ours = Line("equivae", "default", "prototype")
    columns = [c for c in errors.columns(datasets) if (ours, c) in errors.values]
    rows = [[corner, *(column_name(c, len(datasets) > 1) for c in columns)]]
    for line in lines_of(errors.study):
        if line.method == ours.method and line.setting == ours.setting:
            continue
        cells = [
            comparison(errors.values[ours, c], errors.values.get((line, c), {})) for c in columns
        ]
        if any(cell != DASH for cell in cells):
            rows.append([title(errors.study, line), *cells])
    return markdown(rows) if len(rows) > 1 else ""


def measure_table(
    corner: str, columns: dict[str, list[Result]], rows: dict[str, Callable[[Result], Any]],
    decimals: dict[str, int],
) -> str:  # fmt: skip
    """Other figures: a line each, a column for each group of results."""
    found = [result for results in columns.values() for result in results]
    all_old = bool(found) and all(r["fingerprint"] == OLD for r in found)
    table = [[corner, *columns]]
    for words, get in rows.items():
        cells = []
        for results in columns.values():
            values = [(get(r), r["fingerprint"] == OLD) for r in results]
            known = [(value, old) for value, old in values if value is not None]
            old = any(o for _, o in known) and not all_old
            text = summary([value for value, _ in known], decimals.get(words, 2), worst=False)
            cells.append(text + (MARK if old else ""))
        table.append([words, *cells])
    said = OLD_ALL if all_old else OLD_SOME if any(r["fingerprint"] == OLD for r in found) else ""
    return markdown(table) + (f"\n\n*{said}*" if said else "")
