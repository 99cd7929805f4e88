"""Plots of the report, from results alone; the same bytes each time."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.registry import DATASETS, METHODS
from benchmarks.report.published import PUBLISHED
from benchmarks.report.sections import PAPER_RULES, SPEED
from benchmarks.report.statistics import standard_error
from benchmarks.report.tables import Errors, Line, lines_of, title
from benchmarks.results import Result

DRAWN_RULES = ("prototype", "predict")  # one of each method
OURS = Line("equivae", "default", "prototype")
TICKS = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
DPI = 90


def new_figure(width: float, height: float) -> Figure:
    """A figure that no window shows."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a PNG that does not name who drew it."""
    figure.savefig(path, dpi=DPI, metadata={"Software": None})


def plot_paper(results: list[Result], path: Path) -> None:
    """Test errors against the number of labels: dots measured, rings published."""
    errors = Errors("paper", results)
    lines = [line for line in lines_of(errors.study) if line.rule in DRAWN_RULES]
    lines = [line for line in lines if any(line == known for known, _ in errors.values)]
    palette = mpl.colormaps["tab20"].colors
    colors = {line: palette[i % len(palette)] for i, line in enumerate(lines)} | {OURS: "black"}
    figure = new_figure(12.4, 4.6)
    handles: dict[str, Any] = {}
    for ax, dataset in zip(
        figure.subplots(1, len(errors.study.datasets)), errors.study.datasets, strict=True
    ):
        columns = [labels for _, labels in errors.columns((dataset,))]
        for line in lines:
            points = {
                n: (float(np.mean(found)), standard_error(found))
                for n in columns
                if (found := [*errors.values.get((line, (dataset, n)), {}).values()])
            }
            name = title(errors.study, line, PAPER_RULES).replace("\\", "")
            _line(ax, columns, points, color=colors[line], marker="o", label=name)
        for method in METHODS:
            _rings(ax, columns, dataset, method, colors)
        _axes(ax, columns, DATASETS[dataset].title)
        found, names = ax.get_legend_handles_labels()
        handles.update(zip(names, found, strict=True))
    figure.legend(
        list(handles.values()), list(handles), loc="outside right upper", fontsize=8,
        title="dots: measured; rings: published",
    )  # fmt: skip
    save(figure, path)


def _rings(ax: Any, columns: list, dataset: str, method: str, colors: dict[Line, Any]) -> None:
    """What the papers say of a method; of EquiVAE, by whichever rule."""
    own = [color for line, color in colors.items() if line.method == method]
    texts: dict[Any, str] = {}
    for (of_dataset, of_method, _), published in PUBLISHED.items():
        if (of_dataset, of_method) == (dataset, method):
            texts |= published
    points = {}
    for n, text in texts.items():
        mean, _, error = text.partition(" ± ")
        points[n] = float(mean), float(error or 0)
    style = {"color": own[0] if own else "grey", "marker": "o", "mfc": "none", "linestyle": ":"}
    _line(ax, columns, points, **style)


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
    names = [name for name in SPEED if name in found][::-1]
    figure = new_figure(9, 0.45 * max(3, len(names)) + 1)
    ax = figure.subplots()
    for place, name in enumerate(names):
        figures = found[name]
        ax.plot([figures["ratio"]], [place], "o", color="C0")
        if figures["lower"] is not None:
            ax.plot([figures["lower"], figures["upper"]], [place, place], "-", color="C0")
        ax.annotate(
            f"{figures['ratio']:.2f}", (figures["ratio"], place), (6, 4),
            textcoords="offset points", fontsize=8,
        )  # fmt: skip
    ax.axvline(1, color="grey", linestyle=":")
    ax.set_yticks(range(len(names)), [SPEED[name][0] for name in names], fontsize=8)
    ax.set(xscale="log", xlabel="ratio of seconds", xlim=(0.5, 40))
    ax.set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    save(figure, path)


PLOTS = {
    "paper": ("Test error against the number of labels", plot_paper),
    "speed": ("Ratios of times, measured in turns", plot_speed),
}
