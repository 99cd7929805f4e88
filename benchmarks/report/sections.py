"""The sections of the report: one function each, from results to markdown."""

import json
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.job import RULES
from benchmarks.registry import DATASETS, METHODS, STUDIES
from benchmarks.report import tables
from benchmarks.report.tables import DASH, MARK, OLD_ALL, Errors, Line, column_name, summary
from benchmarks.results import OLD, Result
from benchmarks.studies import IMAGES, TABLES, UCI_TABLES

PAPER_RULES = {
    "prototype": "distance on f_inv", "posterior": "q(y\\|x)", "likelihood": "p(x, y)",
}  # fmt: skip
PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
GROUPS = {
    **{DATASETS[name].title: (name,) for name in IMAGES},
    "tables of scikit-learn": TABLES,
    "tables of the UCI repository": UCI_TABLES,
}
MORE = {DATASETS[name].title: (name,) for name in STUDIES["more_data"].datasets}
PAPERS = {DATASETS[name].title: (name,) for name in STUDIES["paper"].datasets}
PAIRED = (
    "Paired with EquiVAE's prototype rule, by the same draws of labels: the mean difference in "
    "points, the draws in which it has the sign of the mean, and p of Wilcoxon's signed-rank test "
    "(of a t-test below 6 draws)."
)


def error_tables(study: str, groups: dict[str, tuple[str, ...]], results: list[Result]) -> str:
    errors = Errors(study, results)
    return "\n\n".join(errors.table(name, group) for name, group in groups.items())


def paired(study: str, groups: dict[str, tuple[str, ...]], results: list[Result]) -> str:
    errors = Errors(study, results)
    made = (errors.paired(name, group) for name, group in groups.items())
    return "\n\n".join([PAIRED, *filter(None, made)])


def ablation(results: list[Result]) -> str:
    """The defaults, and each part of them switched off, for the same seeds."""
    errors = Errors("ablation", results)
    columns = errors.columns(errors.study.datasets)
    places = [(column, rule) for column in columns for rule in RULES[:2]]
    all_old = tables.old_note(results) == OLD_ALL
    rows = [["test error, %", *(f"{column_name(c)}, {rule}" for c, rule in places)]]
    for name, setting in errors.study.settings.items():
        lines = ((Line("equivae", name, rule), column) for column, rule in places)
        rows.append([setting.title, *(errors.cell(*line, all_old) for line in lines)])
    return tables.markdown(rows) + errors.notes(columns)


def robustness(results: list[Result]) -> str:
    """A line a number of labels or a scenario, a column a method and rule."""
    errors = Errors("robustness", results)
    lines = [line for line in tables.lines_of(errors.study) if line.setting == "default"]
    columns = errors.columns(errors.study.datasets)
    all_old = tables.old_note(results) == OLD_ALL
    rows = [["test error, %", *(tables.title(errors.study, line) for line in lines)]]
    for name, setting in errors.study.settings.items():
        for column in columns:
            if column[1] in (setting.labels or [column[1]]):
                words = ", ".join(filter(None, [column_name(column), setting.title]))
                own = (line._replace(setting=name) for line in lines)
                rows.append([words, *(errors.cell(line, column, all_old) for line in own)])
    return tables.markdown(rows) + errors.notes(columns)


# ---------------------------------------------------------------- the paper's tables


def supervised(results: list[Result]) -> str:
    return _paper_tables([r for r in results if r["labels"] == "all"], lambda n: n == "all")


def semi_supervised(results: list[Result]) -> str:
    return _paper_tables([r for r in results if r["labels"] != "all"], lambda n: n != "all")


def _paper_tables(results: list[Result], wanted: Callable[[Any], bool]) -> str:
    """A table a data set: what was measured / published, a line a method and rule."""
    errors = Errors("paper", results)
    parts = []
    for dataset in errors.study.datasets:
        columns = [c for c in errors.columns((dataset,)) if wanted(c[1])]
        all_old = tables.old_note(errors.of(columns)) == OLD_ALL
        corner = f"{DATASETS[dataset].title}, test error, %: measured / published"
        rows = [[corner, *(column_name(c, False) for c in columns)]]
        for line in tables.lines_of(errors.study):
            published = PUBLISHED[dataset].get(line.method, {}).get(line.rule, {})
            cells = [
                f"{errors.cell(line, c, all_old)} / {published.get(str(c[1]), DASH)}"
                for c in columns
            ]
            cells = [DASH if cell == f"{DASH} / {DASH}" else cell for cell in cells]
            if any(cell != DASH for cell in cells):
                rows.append([tables.title(errors.study, line, PAPER_RULES), *cells])
        parts.append(tables.markdown(rows) + errors.notes(columns))
    return "\n\n".join(parts)


# ---------------------------------------------------------------- other figures

PROBED = {
    "v_drawn_relative": "v drawn, relative to its class", "v_drawn": "v drawn",
    "v_mean_relative": "the mean of v, relative to its class", "v_mean": "the mean of v",
    "f_inv": "f_inv",
}  # fmt: skip
# Where a figure is among the measures, and its words.
GENERATION = {
    **{
        f"probes {name} {kind}": f"Class found in {words} by a {kind} probe, %"
        for name, words in PROBED.items()
        for kind in ("linear", "neural")
    },
    "chance": "Chance, %",
    "kl_v": "KL[q(v\\|r_y,x) \\|\\| p(v)] of test rows, nats",
    "kl_used": "Dimensions of v with more than 0.2 nats",
    "bound": "Bound on log p(x) of test rows, nats",
    "judge": "The judge, an SVC, on real test rows, %",
    "samples": "Samples that the judge recognises as their class, %",
    "class_kept": "Style transfer: class kept, %",
    "style_nearer": "Style transfer: v nearer to the style's than to a random row's, %",
    "mse": "Reconstruction by r and v, mean square error",
    "mse_pca": "Reconstruction by PCA with as many components",
}


def generation(results: list[Result]) -> str:
    study = STUDIES["generation"]
    columns: dict[str, list[Result]] = {}
    for result in results:
        setting = study.settings[result["setting"]].title
        name = column_name((result["dataset"], result["labels"]))
        columns.setdefault(", ".join(filter(None, [name, setting])), []).append(result)
    rows = [["", *columns]]
    for path, words in GENERATION.items():
        cells = []
        for found in columns.values():
            values = (reduce(lambda m, k: m.get(k, {}), path.split(), r["measures"]) for r in found)
            numbers = [value for value in values if value != {}]
            cells.append(summary(numbers, 4 if "mse" in path else 2, worst=False))
        rows.append([words, *cells])
    note = tables.old_note(results)
    return tables.markdown(rows) + (f"\n\n*{note}*" if note else "")


CALIBRATION = {
    "log-loss, nats": ("log_loss", 3), "ECE (15 bins), %": ("ece", 2),
    "confidence on noise, %": ("noise", 1),
}  # fmt: skip


def calibration(results: list[Result]) -> str:
    errors = Errors("calibration", results)
    parts = []
    for column in errors.columns(errors.study.datasets):
        found = errors.of([column])
        rows = [[column_name(column), "test error, %", *CALIBRATION]]
        for line in tables.lines_of(errors.study) if found else []:
            own = [r["measures"][line.rule] for r in found if r["method"] == line.method]
            cells = [summary([m[key] for m in own], n) for key, n in CALIBRATION.values()]
            rows.append([tables.title(errors.study, line), errors.cell(line, column), *cells])
        name = f"*{rows[0][0]}: not measured yet.*"
        parts.append(tables.markdown(rows) + errors.notes([column]) if found else name)
    return "\n\n".join(parts)


# The words and the bar of each ratio.
SPEED = {
    "m_max 10 to 1": ("Supervised step: m_max=10 beside m_max=1", "≤ 1.10"),
    "10 classes, exact to truncated": (
        "Semi-supervised step, 10 classes: the exact sum beside the defaults", "≥ 3",
    ),
    "100 classes, exact to truncated": ("The same, 100 classes", "≥ 15"),
    "fit to bare loop, batch 128": ("Whole fit beside a bare loop, batch 128", "≤ 1.10"),
    "fit to bare loop, batch 32": ("The same, batch 32", "≤ 1.25"),
    "predict to bare forward": ("predict beside a bare forward pass, 10,000 images", "≤ 1.10"),
    "transform to bare forward": ("transform likewise", "≤ 1.10"),
    "import to imports of its dependencies": (
        "Import of everything beside that of torch, scikit-learn and skorch", "≤ 1.10",
    ),
}  # fmt: skip


def speed(results: list[Result]) -> str:
    """Ratios of seconds, with their quartiles and bars."""
    found = {name: (m, r) for r in results for name, m in r["measures"].items()}
    note = tables.old_note(results)
    rows = [["ratio of seconds, measured in turns", "measured", "seconds", "threads", "bar"]]
    for name, (words, bar) in SPEED.items():
        cells = [DASH] * 3
        if name in found:
            figures, result = found[name]
            text = f"{figures['ratio']:.2f}"
            if figures["lower"] is not None:
                text += f" ({figures['lower']:.2f} to {figures['upper']:.2f})"
            text += MARK if result["fingerprint"] == OLD and note != OLD_ALL else ""
            seconds = " / ".join(f"{s:.3g}" for s in figures["seconds"])
            cells = [text, seconds, str(result["threads"])]
        rows.append([words, *cells, bar])
    return tables.markdown(rows) + (f"\n\n*{note}*" if note else "")


def seeds(study: str, results: list[Result]) -> str:
    """The error of every seed behind each mean."""
    errors = Errors(study, results)
    rows = [["data set", "labels", "method", "test error by seed, %"]]
    for column in errors.columns(DATASETS):
        lines = {line for line, own in errors.values if own == column}
        for line in sorted(lines, key=lambda line: ([*METHODS].index(line.method), line)):
            by_seed = sorted(errors.values[line, column].items())
            text = ", ".join(f"{seed}: {error:.2f}" for seed, error in by_seed)
            text += MARK if (line, column) in errors.old else ""
            name = tables.title(errors.study, line)
            rows.append([DATASETS[column[0]].title, str(column[1]), name, text])
    return tables.markdown(rows) if len(rows) > 1 else ""


class Section(NamedTuple):
    """A part of the report, and of the README where that has its mark."""

    study: str
    title: str
    make: Callable[[list[Result]], str]
    plot: str = ""


SECTIONS: dict[str, Section] = {
    "few_labels": Section("few_labels", "Few labels", partial(error_tables, "few_labels", GROUPS)),
    "few_labels_paired": Section(
        "few_labels", "Few labels, draw by draw", partial(paired, "few_labels", GROUPS)
    ),
    "more_data": Section(
        "more_data", "Time series and texts", partial(error_tables, "more_data", MORE)
    ),
    "more_data_paired": Section(
        "more_data", "Time series and texts, draw by draw", partial(paired, "more_data", MORE)
    ),
    "ablation": Section("ablation", STUDIES["ablation"].title, ablation),
    "robustness": Section("robustness", STUDIES["robustness"].title, robustness),
    "generation": Section("generation", STUDIES["generation"].title, generation),
    "calibration": Section("calibration", STUDIES["calibration"].title, calibration),
    "supervised": Section("paper", "The paper's Table 1", supervised, plot="paper"),
    "semi_supervised": Section("paper", "The paper's Table 2", semi_supervised),
    "paper_paired": Section(
        "paper", "The paper's tables, draw by draw", partial(paired, "paper", PAPERS)
    ),
    "speed": Section("speed", "Speed", speed, plot="speed"),
}
