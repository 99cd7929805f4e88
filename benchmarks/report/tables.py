"""Tables of errors by method and data set, with means, worst draws and paired tests."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.job import ONE_RULE, RULES
from benchmarks.registry import DATASETS, METHODS, STUDIES, Labels, Study
from benchmarks.results import Result

DASH = "-"

Column = tuple[str, Labels]  # data set and number of labels


class Line(NamedTuple):
    """A line of a table."""

    method: str
    setting: str
    rule: str


OURS = Line("equivae", "default", "prototype")


def standard_error(values: Sequence[float]) -> float:
    """Of the mean; 0 for one value."""
    return float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0


def summary(values: Sequence[float], decimals: int = 2, worst: bool = True) -> str:
    """Mean ± standard error, the worst of the draws, and how many there are."""
    if not len(values):
        return DASH
    text = f"{np.mean(values):.{decimals}f}"
    if len(values) > 1:
        text += f" ± {standard_error(values):.{decimals}f}"
        text += f", worst {max(values):.{decimals}f}" if worst else ""
    return f"{text} ({len(values)})"


def paired_p_value(differences: Sequence[float]) -> float | None:
    """Of a two-sided t-test that paired differences are 0; None if it cannot tell."""
    values = np.asarray(differences, dtype=float)
    if len(values) < 2 or values.std() == 0:
        return 1.0 if len(values) > 1 and not values.any() else None
    return float(stats.ttest_1samp(values, 0).pvalue)


def comparison(ours: dict[int, float], theirs: dict[int, float]) -> str:
    """How far the first is ahead, by errors of the same seeds."""
    differences = np.array([theirs[s] - ours[s] for s in sorted(ours.keys() & theirs.keys())])
    if not len(differences):
        return DASH
    mean, p = float(differences.mean()), paired_p_value(differences)
    word = "ahead" if mean > 0 else "behind" if mean < 0 else "level"
    n_same = int((np.sign(differences) == np.sign(mean)).sum())
    text = f"{word} by {abs(mean):.2f}, {n_same} of {len(differences)}"
    return text if p is None else f"{text}, p = {p:.3f}" if p >= 0.001 else f"{text}, p < 0.001"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table; the first row is its head."""
    text = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([text[0], "|---" * len(rows[0]) + "|", *text[1:]])


def lines_of(study: Study) -> list[Line]:
    """All lines that a study has, measured or not."""
    return [
        Line(method, setting, rule)
        for method in study.methods
        for rule in (RULES if method == OURS.method else (ONE_RULE,))
        for setting, entry in study.settings.items()
        if method in (entry.methods or [method])
    ]


def title(study: Study, line: Line, words: dict[str, str] | None = None) -> str:
    """The words of a line."""
    rule = "" if line.rule == ONE_RULE else (words or {}).get(line.rule, line.rule)
    parts = METHODS[line.method].title, rule, study.settings[line.setting].title
    return ", ".join(filter(None, parts))


def column_name(column: Column, with_dataset: bool = True) -> str:
    return (f"{DATASETS[column[0]].title}, " if with_dataset else "") + f"{column[1]} labels"


class Errors:
    """Test errors of a study by line, column and seed."""

    def __init__(self, study: str, results: Sequence[Result]):
        self.study, self.results = STUDIES[study], results
        self.values: dict[tuple[Line, Column], dict[int, float]] = {}
        for result in results:
            for rule, error in result["errors"].items():
                line = Line(result["method"], result["setting"], rule)
                place = line, (result["dataset"], result["labels"])
                self.values.setdefault(place, {})[result["seed"]] = error

    def columns(self, datasets: Iterable[str]) -> list[Column]:
        """Those that the study has or that have been measured, in order."""
        known = {(name, n) for name, labels in self.study.datasets.items() for n in labels}
        known |= {column for _, column in self.values}
        order = [*datasets]
        return sorted(
            (column for column in known if column[0] in order),
            key=lambda c: (order.index(c[0]), c[1] == "all", str(c[1]).zfill(9)),
        )

    def of(self, columns: Sequence[Column]) -> list[Result]:
        return [r for r in self.results if (r["dataset"], r["labels"]) in columns]

    def cell(self, line: Line, column: Column) -> str:
        return summary([*self.values.get((line, column), {}).values()])

    def mean(self, line: Line, columns: Sequence[Column]) -> list[float]:
        """The means over columns, for the seeds that have them all."""
        rows = [self.values.get((line, column), {}) for column in columns]
        return [np.mean([row[s] for row in rows]) for s in set.intersection(*map(set, rows))]

    def ranks(self, columns: Sequence[Column]) -> dict[Line, str]:
        """The mean rank of each method by default, from 0, the best; EquiVAE by its first rule."""
        means = {
            line: np.array([np.mean([*self.values[line, c].values()]) for c in columns])
            for line in lines_of(self.study)
            if line == OURS or line.rule == ONE_RULE
            if all((line, c) in self.values for c in columns)
        }
        every = np.array([*means.values()])
        return {k: f"{(own > every + 1e-9).sum(axis=0).mean():.1f}" for k, own in means.items()}

    def seconds(self, line: Line, columns: Sequence[Column]) -> str:
        """The mean time of a fit, or a dash."""
        own = (r for r in self.of(columns) if (r["method"], r["setting"]) == line[:2])
        seconds = [r["cpu"] for r in own]
        return f"{np.mean(seconds):.1f}" if seconds else DASH

    def notes(self, columns: Sequence[Column]) -> str:
        """What must be said below a table: of data sets, methods and results."""
        there = self.of(columns)
        texts = [DATASETS[name].note for name, _ in columns]
        texts += [METHODS[n].note for n in METHODS if any(r["method"] == n for r in there)]
        texts += [note for r in there for note in r.get("note", "").split("; ")]
        said = [f"{text[0].upper()}{text[1:]}." for text in dict.fromkeys(texts) if text]
        return "\n\n*" + " ".join(said).replace("|", "\\|") + "*" if said else ""

    def table(self, corner: str, datasets: Sequence[str]) -> str:
        """Test errors, a line a method; several data sets have a column for their mean."""
        columns = self.columns(datasets)
        there, several = self.of(columns), len(datasets) > 1
        if not there:
            return f"*{corner}: not measured yet.*"
        head = [f"{corner}, test error, %", *(column_name(c, several) for c in columns)]
        rows = [[*head, *["mean", "mean rank"] * several, "fit, s"]]
        ranks = self.ranks(columns)
        for line in lines_of(self.study):
            cells = [self.cell(line, column) for column in columns]
            cells += [summary(self.mean(line, columns)), ranks.get(line, DASH)] * several
            rows.append([title(self.study, line), *cells, self.seconds(line, columns)])
        return markdown(rows) + self.notes(columns)

    def paired(self, corner: str, datasets: Sequence[str]) -> str:
        """EquiVAE's prototype rule against each other method; empty without results."""
        columns = [c for c in self.columns(datasets) if (OURS, c) in self.values]
        rows = [[corner, *(column_name(c, len(datasets) > 1) for c in columns)]]
        for line in lines_of(self.study):
            theirs = [self.values.get((line, c), {}) for c in columns]
            if line[:2] != OURS[:2] and any(theirs):
                ours = (self.values[OURS, c] for c in columns)
                cells = map(comparison, ours, theirs)
                rows.append([title(self.study, line), *cells])
        return markdown(rows) if len(rows) > 1 else ""
