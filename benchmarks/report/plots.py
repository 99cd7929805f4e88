"""Plots of the report, from results alone; the same bytes each time."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.registry import DATASETS, METHODS
from benchmarks.report.sections import PAPER_RULES, PUBLISHED, WORDS
from benchmarks.report.tables import OURS, Errors, lines_of, standard_error, title
from benchmarks.results import Result

TICKS, DPI = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100), 90


def plot_paper(results: list[Result], path: Path) -> None:
    """Test errors against the number of labels: dots measured, rings published."""
    errors = Errors("paper", results)
    measured = {line for line, _ in errors.values if line.rule in ("prototype", "predict")}
    lines = [line for line in lines_of(errors.study) if line in measured]
    palette = mpl.colormaps["tab20"].colors
    colors = {line: palette[i % len(palette)] for i, line in enumerate(lines)} | {OURS: "black"}
    figure = Figure(figsize=(12.4, 4.6), layout="constrained")
    handles: dict[str, Any] = {}
    axes = figure.subplots(1, len(errors.study.datasets))
    for ax, dataset in zip(axes, errors.study.datasets, strict=True):
        columns = [labels for _, labels in errors.columns((dataset,))]
        for line in lines:
            found = {n: [*errors.values.get((line, (dataset, n)), {}).values()] for n in columns}
            points = {n: (float(np.mean(e)), standard_error(e)) for n, e in found.items() if e}
            name = title(errors.study, line, PAPER_RULES).replace("\\", "")
            _line(ax, columns, points, color=colors[line], marker="o", label=name)
        for method in METHODS:
            own = [color for line, color in colors.items() if line.method == method]
            style = {"color": (own or ["grey"])[0], "marker": "o", "mfc": "none", "linestyle": ":"}
            _line(ax, columns, published(dataset, method), **style)
        _axes(ax, columns, DATASETS[dataset].title)
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    where = {"loc": "outside right upper", "title": "dots: measured; rings: published"}
    figure.legend([*handles.values()], [*handles], fontsize=8, **where)
    figure.savefig(path, dpi=DPI, metadata={"Software": None})


def published(dataset: str, method: str) -> dict[Any, tuple[float, float]]:
    """What the papers say of a method, mean and error; of EquiVAE, by whichever rule."""
    points = {}
    for texts in PUBLISHED[dataset].get(method, {}).values():
        for n, text in texts.items():
            mean, _, error = text.partition(" ± ")
            points[n if n == "all" else int(n)] = float(mean), float(error or 0)
    return points


def _line(ax: Any, columns: list, points: dict[Any, tuple[float, float]], **style: Any) -> None:
    places = [i for i, n in enumerate(columns) if n in points]
    if places:
        means, errors = zip(*(points[columns[i]] for i in places), strict=True)
        ax.errorbar(places, means, yerr=errors, markersize=5, capsize=2, **style)


def _axes(ax: Any, columns: list, name: str) -> None:
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ticks = [t for t in TICKS if low <= t <= high]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.set_yticks([], minor=True)
    ax.set_xticks(range(len(columns)), [str(n) for n in columns])
    ax.set(title=name, xlabel="labels", ylabel="test error, %")


def plot_speed(results: list[Result], path: Path) -> None:
    """The ratios of the speed study, with their quartiles."""
    found = {name: m for r in results for name, m in r["measures"].items()}
    names = [name for name in WORDS["speed"] if name in found][::-1]
    figure = Figure(figsize=(9, 0.45 * max(3, len(names)) + 1), layout="constrained")
    ax = figure.subplots()
    for place, name in enumerate(names):
        ratio, lower, upper = (found[name][key] for key in ("ratio", "lower", "upper"))
        ax.plot([ratio], [place], "o", color="C0")
        if lower is not None:
            ax.plot([lower, upper], [place, place], "-", color="C0")
        ax.annotate(f"{ratio:.2f}", (ratio, place), (6, 4), textcoords="offset points", fontsize=8)
    ax.axvline(1, color="grey", linestyle=":")
    ax.set_yticks(range(len(names)), [WORDS["speed"][name][0] for name in names], fontsize=8)
    ax.set(xscale="log", xlabel="ratio of seconds", xlim=(0.5, 40))
    ax.set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    figure.savefig(path, dpi=DPI, metadata={"Software": None})


PLOTS = {
    "paper": ("Test error against the number of labels", plot_paper),
    "speed": ("Ratios of times, measured in turns", plot_speed),
}
