"""The sections of the report: one function each, from results to markdown."""

import json
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.job import ONE_RULE, RULES
from benchmarks.registry import DATASETS, METHODS, STUDIES
from benchmarks.report import tables
from benchmarks.report.tables import DASH, Errors, Line, column_name, summary
from benchmarks.results import Result
from benchmarks.studies import IMAGES, TABLES, UCI_TABLES

PAPER_RULES = {
    "prototype": "distance on f_inv", "posterior": "q(y\\|x)", "likelihood": "p(x, y)",
}  # fmt: skip
# What the papers say, and words: of the figures of the generation study by where they are among its
# measures, of the ratios of the speed study with their bars.
PUBLISHED, WORDS = (
    json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for name in ("published.json", "words.json")
)
GROUPS = {
    **{DATASETS[name].title: (name,) for name in IMAGES},
    "tables of scikit-learn": TABLES,
    "tables of the UCI repository": UCI_TABLES,
}
MORE = {DATASETS[name].title: (name,) for name in STUDIES["more_data"].datasets}
PAPERS = {DATASETS[name].title: (name,) for name in STUDIES["paper"].datasets}


def by_group(study: str, paired: bool, groups: dict[str, tuple], results: list[Result]) -> str:
    """The errors of each group of data sets, or the comparison draw by draw."""
    errors = Errors(study, results)
    made = [(errors.paired if paired else errors.table)(*group) for group in groups.items()]
    return "\n\n".join(filter(None, [WORDS["paired"] * paired, *made]))


def best_peers(results: list[Result]) -> str:
    """EquiVAE beside the best other method, chosen in hindsight: a line a data set or group."""
    errors = Errors("few_labels", results)
    groups = {column_name(c): [c] for name in IMAGES for c in errors.columns((name,))}
    groups |= {f"{t}, mean": errors.columns(n) for t, n in GROUPS.items() if len(n) > 1}
    rows = [["test error, %", "EquiVAE", "best of the others", ""]]
    others = [line for line in tables.lines_of(errors.study) if line.rule == ONE_RULE]
    for words, columns in groups.items():
        ours = errors.mean(tables.OURS, columns)
        peers = {line: found for line in others if (found := errors.mean(line, columns))}
        if ours and peers:
            best = min(peers, key=lambda line: float(np.mean(peers[line])))
            cells = [summary(found, worst=False) for found in (ours, peers[best])]
            notes = sorted({r["note"] for r in errors.of(columns) if "note" in r})
            rows.append([", ".join([words, *notes]), *cells, tables.title(errors.study, best)])
    return tables.markdown(rows) if len(rows) > 1 else "*Not measured yet.*"


def ablation(results: list[Result]) -> str:
    """The defaults, and each part of them switched off, for the same seeds."""
    errors = Errors("ablation", results)
    columns = errors.columns(errors.study.datasets)
    places = [(column, rule) for column in columns for rule in RULES[:2]]
    rows = [["test error, %", *(f"{column_name(c)}, {rule}" for c, rule in places)]]
    for name, setting in errors.study.settings.items():
        lines = ((Line("equivae", name, rule), column) for column, rule in places)
        rows.append([setting.title, *(errors.cell(*line) for line in lines)])
    return tables.markdown(rows) + errors.notes(columns)


def robustness(results: list[Result]) -> str:
    """A line a number of labels or a scenario, a column a method and rule."""
    errors = Errors("robustness", results)
    lines = [line for line in tables.lines_of(errors.study) if line.setting == "default"]
    columns = errors.columns(errors.study.datasets)
    rows = [["test error, %", *(tables.title(errors.study, line) for line in lines)]]
    for name, setting in errors.study.settings.items():
        for column in columns:
            if column[1] in (setting.labels or [column[1]]):
                words = ", ".join(filter(None, [column_name(column), setting.title]))
                own = (line._replace(setting=name) for line in lines)
                rows.append([words, *(errors.cell(line, column) for line in own)])
    return tables.markdown(rows) + errors.notes(columns)


def paper_tables(supervised: bool, results: list[Result]) -> str:
    """A table a data set: what was measured / published, a line a method and rule."""
    errors = Errors("paper", [r for r in results if (r["labels"] == "all") == supervised])
    parts = []
    for dataset in errors.study.datasets:
        columns = [c for c in errors.columns((dataset,)) if (c[1] == "all") == supervised]
        corner = f"{DATASETS[dataset].title}, test error, %: measured / published"
        rows = [[corner, *(column_name(c, False) for c in columns)]]
        for line in tables.lines_of(errors.study):
            published = PUBLISHED[dataset].get(line.method, {}).get(line.rule, {})
            cells = [f"{errors.cell(line, c)} / {published.get(str(c[1]), DASH)}" for c in columns]
            cells = [DASH if cell == f"{DASH} / {DASH}" else cell for cell in cells]
            if any(cell != DASH for cell in cells):
                rows.append([tables.title(errors.study, line, PAPER_RULES), *cells])
        parts.append(tables.markdown(rows) + errors.notes(columns))
    return "\n\n".join(parts)


def generation(results: list[Result]) -> str:
    study = STUDIES["generation"]
    columns: dict[str, list[Result]] = {}
    for result in results:
        setting = study.settings[result["setting"]].title
        name = column_name((result["dataset"], result["labels"]))
        columns.setdefault(", ".join(filter(None, [name, setting])), []).append(result)
    rows = [["", *columns]]
    for path, words in WORDS["generation"].items():
        cells = []
        for found in columns.values():
            values = (reduce(lambda m, k: m.get(k, {}), path.split(), r["measures"]) for r in found)
            numbers = [value for value in values if value != {}]
            cells.append(summary(numbers, 4 if "mse" in path else 2, worst=False))
        rows.append([words, *cells])
    return tables.markdown(rows)


CALIBRATION = {
    "log-loss, nats": ("log_loss", 3), "ECE (15 bins), %": ("ece", 2),
    "confidence on noise, %": ("noise", 1),
}  # fmt: skip


def calibration(results: list[Result]) -> str:
    """A table a data set, of those results that tell something of the probabilities."""
    told = [r for r in results if any("ece" in m for m in r["measures"].values())]
    errors = Errors("few_labels", told)
    parts = []
    for column in [c for c in errors.columns(DATASETS) if errors.of([c])]:
        rows = [[column_name(column), "test error, %", *CALIBRATION]]
        for line in [line for line, own in errors.values if own == column]:
            own = [r for r in errors.of([column]) if (r["method"], r["setting"]) == line[:2]]
            found = [r["measures"][line.rule] for r in own if line.rule in r["measures"]]
            cells = [summary([m[key] for m in found], n) for key, n in CALIBRATION.values()]
            rows.append([tables.title(errors.study, line), errors.cell(line, column), *cells])
        parts.append(tables.markdown(rows) + errors.notes([column]))
    return "\n\n".join(parts) or "*Not measured yet.*"


def speed(results: list[Result]) -> str:
    """Ratios of seconds, with their quartiles and bars."""
    found = {name: (m, r) for r in results for name, m in r["measures"].items()}
    rows = [["ratio of seconds, measured in turns", "measured", "seconds", "threads", "bar"]]
    for name, (words, bar) in WORDS["speed"].items():
        cells = [DASH] * 3
        if name in found:
            figures, result = found[name]
            text = f"{figures['ratio']:.2f}"
            if figures["lower"] is not None:
                text += f" ({figures['lower']:.2f} to {figures['upper']:.2f})"
            seconds = " / ".join(f"{s:.3g}" for s in figures["seconds"])
            cells = [text, seconds, str(result["threads"])]
        rows.append([words, *cells, bar])
    return tables.markdown(rows)


def seeds(study: str, results: list[Result]) -> str:
    """The error of every seed behind each mean."""
    errors = Errors(study, results)
    rows = [["data set", "labels", "method", "test error by seed, %"]]
    for column in errors.columns(DATASETS):
        lines = {line for line, own in errors.values if own == column}
        for line in sorted(lines, key=lambda line: ([*METHODS].index(line.method), line)):
            by_seed = sorted(errors.values[line, column].items())
            text = ", ".join(f"{seed}: {error:.2f}" for seed, error in by_seed)
            name = tables.title(errors.study, line)
            rows.append([DATASETS[column[0]].title, str(column[1]), name, text])
    return tables.markdown(rows) if len(rows) > 1 else ""


class Section(NamedTuple):
    """A part of the report, and of the README where that has its mark."""

    study: str
    title: str
    make: Callable[[list[Result]], str]
    plot: str = ""


DRAWS = ", draw by draw"
FEW, OTHER, PAPER = "Few labels", "Time series and text embeddings", "The paper's "
SECTIONS: dict[str, Section] = {
    "best_peers": Section("few_labels", "In short", best_peers),
    "few_labels": Section("few_labels", FEW, partial(by_group, "few_labels", False, GROUPS)),
    "few_labels_paired": Section(
        "few_labels", FEW + DRAWS, partial(by_group, "few_labels", True, GROUPS)
    ),
    "more_data": Section("more_data", OTHER, partial(by_group, "more_data", False, MORE)),
    "more_data_paired": Section(
        "more_data", OTHER + DRAWS, partial(by_group, "more_data", True, MORE)
    ),
    "ablation": Section("ablation", STUDIES["ablation"].title, ablation),
    "robustness": Section("robustness", STUDIES["robustness"].title, robustness),
    "generation": Section("generation", STUDIES["generation"].title, generation),
    "calibration": Section("few_labels", "How good the probabilities are", calibration),
    "supervised": Section("paper", PAPER + "Table 1", partial(paper_tables, True), "paper"),
    "semi_supervised": Section("paper", PAPER + "Table 2", partial(paper_tables, False)),
    "paper_paired": Section(
        "paper", PAPER + "tables" + DRAWS, partial(by_group, "paper", True, PAPERS)
    ),
    "speed": Section("speed", "Speed", speed, "speed"),
}
