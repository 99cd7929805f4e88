"""The sections of the report: one function each, from results to markdown.

A section is an entry of `SECTIONS`: its name (also of the marks in README.md), the study whose
results it shows, its title, and the function.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, NamedTuple

from benchmarks.registry import DATASETS, METHODS, STUDIES
from benchmarks.report.published import PUBLISHED
from benchmarks.report.statistics import DASH, summary
from benchmarks.report.tables import (
    MARK,
    OLD_ALL,
    OLD_SOME,
    RULE_WORDS,
    Errors,
    Line,
    column_name,
    error_table,
    labels_order,
    lines_of,
    markdown,
    measure_table,
    notes,
    paired_table,
    title,
)
from benchmarks.results import OLD, Result
from benchmarks.studies import IMAGES, TABLES, UCI_TABLES

PAPER_RULES = {
    "prototype": "distance on f_inv", "posterior": "q(y\\|x)", "likelihood": "p(x, y)",
}  # fmt: skip
GROUPS = {
    **{DATASETS[name].title: (name,) for name in IMAGES},
    "tables of scikit-learn": TABLES,
    "tables of the UCI repository": UCI_TABLES,
}
PAIRED = (
    "Paired with EquiVAE's prototype rule, by the same draws of labels: the mean difference in "
    "points, the draws in which it has the sign of the mean, and p of Wilcoxon's signed-rank test "
    "(of a t-test below 6 draws)."
)


def few_labels(results: list[Result]) -> str:
    errors = Errors("few_labels", results)
    return "\n\n".join(error_table(errors, name, group) for name, group in GROUPS.items())


def few_labels_paired(results: list[Result]) -> str:
    errors = Errors("few_labels", results)
    made = (paired_table(errors, name, group) for name, group in GROUPS.items())
    return "\n\n".join([PAIRED, *filter(None, made)])


def more_data(results: list[Result]) -> str:
    errors = Errors("more_data", results)
    parts = [error_table(errors, DATASETS[name].title, (name,)) for name in errors.study.datasets]
    parts += [paired_table(errors, DATASETS[n].title, (n,)) for n in errors.study.datasets]
    return "\n\n".join(filter(None, parts))


def ablation(results: list[Result]) -> str:
    """The defaults, and each part of them switched off, for the same seeds."""
    errors = Errors("ablation", results)
    columns = errors.columns(errors.study.datasets)
    all_old = errors.all_old(columns)
    rules = list(RULE_WORDS)[:2]
    names = [f"{column_name(c, True)}, {rule}" for c in columns for rule in rules]
    rows = [["test error, %", *names]]
    for setting, entry in errors.study.settings.items():
        places = [(Line("equivae", setting, rule), c) for c in columns for rule in rules]
        rows.append([entry.title, *(errors.cell(*place, not all_old) for place in places)])
    return markdown(rows) + notes(errors, columns, lines_of(errors.study))


def robustness(results: list[Result]) -> str:
    """A line a number of labels or a scenario, a column a method and rule."""
    errors = Errors("robustness", results)
    lines = [line for line in lines_of(errors.study) if line.setting == "default"]
    parts = []
    for dataset in errors.study.datasets:
        columns = errors.columns((dataset,))
        all_old = errors.all_old(columns)
        names = (title(errors.study, line) for line in lines)
        rows = [[f"{DATASETS[dataset].title}, test error, %", *names]]
        for setting, entry in errors.study.settings.items():
            for column in columns if entry.labels is None else [(dataset, n) for n in entry.labels]:
                name = entry.title or column_name(column, False)
                places = [(line._replace(setting=setting), column) for line in lines]
                rows.append([name, *(errors.cell(*place, not all_old) for place in places)])
        parts.append(markdown(rows) + notes(errors, columns, lines))
    return "\n\n".join(parts)


# ---------------------------------------------------------------- the paper's tables


def supervised(results: list[Result]) -> str:
    return _paper_tables(results, lambda labels: labels == "all")


def semi_supervised(results: list[Result]) -> str:
    return _paper_tables(results, lambda labels: labels != "all")


def _paper_tables(results: list[Result], wanted: Callable[[Any], bool]) -> str:
    """A table a data set: what was measured / published, a line a method and rule."""
    errors = Errors("paper", results)
    parts = []
    for dataset in errors.study.datasets:
        columns = [c for c in errors.columns((dataset,)) if wanted(c[1])]
        all_old = errors.all_old(columns)
        corner = f"{DATASETS[dataset].title}, test error, %: measured / published"
        rows = [[corner, *(column_name(c, False) for c in columns)]]
        for line in lines_of(errors.study):
            published = PUBLISHED.get((dataset, line.method, line.rule), {})
            cells = []
            for column in columns:
                measured, known = errors.cell(line, column, not all_old), published.get(column[1])
                both = f"{measured} / {known or DASH}"
                cells.append(DASH if (measured, known) == (DASH, None) else both)
            if any(cell != DASH for cell in cells):
                rows.append([title(errors.study, line, PAPER_RULES), *cells])
        parts.append(markdown(rows) + notes(errors, columns, lines_of(errors.study)))
    return "\n\n".join(parts)


def paper_paired(results: list[Result]) -> str:
    errors = Errors("paper", results)
    made = (paired_table(errors, DATASETS[n].title, (n,)) for n in errors.study.datasets)
    return "\n\n".join([PAIRED, *filter(None, made)])


# ---------------------------------------------------------------- other figures


def at(*path: str) -> Callable[[Result], Any]:
    """A figure among the measures of a result; None if it has none."""
    return lambda result: reduce(
        lambda found, key: found.get(key) if isinstance(found, dict) else None,
        path,
        result["measures"],
    )


PROBED = {
    "v_drawn_relative": "v drawn, relative to its class", "v_drawn": "v drawn",
    "v_mean_relative": "the mean of v, relative to its class", "v_mean": "the mean of v",
    "f_inv": "f_inv",
}  # fmt: skip
GENERATION: dict[str, Callable[[Result], Any]] = {
    **{
        f"Class found in {words} by a {kind} probe, %": at("probes", name, kind)
        for name, words in PROBED.items()
        for kind in ("linear", "neural")
    },
    "Chance, %": at("chance"),
    "KL[q(v\\|r_y,x) \\|\\| p(v)] of test rows, nats": at("kl_v"),
    "Dimensions of v with more than 0.2 nats": at("kl_used"),
    "Bound on log p(x) of test rows, nats": at("bound"),
    "The judge, an SVC, on real test rows, %": at("judge"),
    "Samples that the judge recognises as their class, %": at("samples"),
    "Style transfer: class kept, %": at("class_kept"),
    "Style transfer: v nearer to the style's than to a random row's, %": at("style_nearer"),
    "Reconstruction by r and v, mean square error": at("mse"),
    "Reconstruction by PCA with as many components": at("mse_pca"),
}
DECIMALS = dict.fromkeys((words for words in GENERATION if words.startswith("Reconstr")), 4)


def generation(results: list[Result]) -> str:
    study = STUDIES["generation"]
    places = {(d, n, s) for d, labels in study.datasets.items() for n in labels
              for s in study.settings}  # fmt: skip
    places |= {(r["dataset"], r["labels"], r["setting"]) for r in results}
    order = list(study.datasets)
    columns: dict[str, list[Result]] = {}
    for d, n, s in sorted(
        places, key=lambda p: (order.index(p[0]) if p[0] in order else 9, labels_order(p[1]), p[2])
    ):
        name = column_name((d, n), True)
        name += f", {study.settings[s].title}" if study.settings[s].title else ""
        columns[name] = [
            r for r in results if (r["dataset"], r["labels"], r["setting"]) == (d, n, s)
        ]
    columns = {name: found for name, found in columns.items() if found} or columns
    return measure_table("", columns, GENERATION, DECIMALS)


CALIBRATION = {
    "log-loss, nats": ("log_loss", 3), "ECE (15 bins), %": ("ece", 2),
    "confidence on noise, %": ("noise", 1),
}  # fmt: skip


def calibration(results: list[Result]) -> str:
    errors = Errors("calibration", results)
    parts = []
    for column in errors.columns(errors.study.datasets):
        name = column_name(column, True)
        found = [r for r in results if (r["dataset"], r["labels"]) == column]
        if not found:
            parts.append(f"*{name}: not measured yet.*")
            continue
        rows = [[name, "test error, %", *CALIBRATION]]
        for line in lines_of(errors.study):
            own = [r["measures"][line.rule] for r in found if r["method"] == line.method]
            cells = [summary([m[key] for m in own], n) for key, n in CALIBRATION.values()]
            rows.append([title(errors.study, line), errors.cell(line, column), *cells])
        parts.append(markdown(rows) + notes(errors, [column], lines_of(errors.study)))
    return "\n\n".join(parts)


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
    all_old = bool(results) and all(r["fingerprint"] == OLD for r in results)
    rows = [["ratio of seconds, measured in turns", "measured", "seconds", "threads", "bar"]]
    for name, (words, bar) in SPEED.items():
        if name not in found:
            rows.append([words, DASH, DASH, DASH, bar])
            continue
        figures, result = found[name]
        text = f"{figures['ratio']:.2f}"
        if figures["lower"] is not None:
            text += f" ({figures['lower']:.2f} to {figures['upper']:.2f})"
        text += MARK if result["fingerprint"] == OLD and not all_old else ""
        seconds = " / ".join(f"{s:.3g}" for s in figures["seconds"])
        rows.append([words, text, seconds, str(result["threads"]), bar])
    some_old = any(r["fingerprint"] == OLD for r in results)
    said = OLD_ALL if all_old else OLD_SOME if some_old else ""
    return markdown(rows) + (f"\n\n*{said}*" if said else "")


class Section(NamedTuple):
    """A part of the report."""

    study: str
    title: str
    make: Callable[[list[Result]], str]
    plot: str = ""


SECTIONS: dict[str, Section] = {
    "few_labels": Section("few_labels", "Few labels", few_labels),
    "few_labels_paired": Section("few_labels", "Few labels, draw by draw", few_labels_paired),
    "more_data": Section("more_data", "Time series and texts", more_data),
    "ablation": Section("ablation", STUDIES["ablation"].title, ablation),
    "robustness": Section("robustness", STUDIES["robustness"].title, robustness),
    "generation": Section("generation", STUDIES["generation"].title, generation),
    "calibration": Section("calibration", STUDIES["calibration"].title, calibration),
    "supervised": Section("paper", "The paper's Table 1", supervised, plot="paper"),
    "semi_supervised": Section("paper", "The paper's Table 2", semi_supervised),
    "paper_paired": Section("paper", "The paper's tables, draw by draw", paper_paired),
    "speed": Section("speed", "Speed", speed, plot="speed"),
}


def seeds_table(study: str, results: Iterable[Result]) -> str:
    """The error of every seed behind each mean."""
    errors = Errors(study, results)
    rows = [["data set", "labels", "method", "test error by seed, %"]]
    for column in errors.columns([*DATASETS]):
        for line in sorted(
            {line for line, c in errors.values if c == column},
            key=lambda line: (list(METHODS).index(line.method), line),
        ):
            by_seed = errors.values[line, column]
            text = ", ".join(f"{seed}: {by_seed[seed]:.2f}" for seed in sorted(by_seed))
            mark = MARK if (line, column) in errors.old else ""
            name = title(errors.study, line)
            rows.append([DATASETS[column[0]].title, str(column[1]), name, text + mark])
    return markdown(rows) if len(rows) > 1 else ""
