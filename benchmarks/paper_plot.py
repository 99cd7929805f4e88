"""The paper's two tables as a picture, from result files alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import new_figure, save
from benchmarks.paper_methods import METHODS
from benchmarks.paper_tables import (
    COLUMNS,
    RULES,
    SEMI_SUPERVISED,
    SETTINGS,
    SUPERVISED,
    TITLES,
    Key,
    changes,
    of_dataset,
)
from benchmarks.results import read, standard_error

DRAWN_RULES = ("prototype", "predict")  # one of each method
TICKS = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)

Points = dict[Any, tuple[float, float]]  # mean and standard error by the number of labels
Curve = tuple[str, str]  # method, and the words of the legend

OURS: Curve = "equivae", METHODS["equivae"].words + RULES["prototype"] + SETTINGS["best"]


def measured(results: list[dict[str, Any]]) -> dict[Curve, Points]:
    """Test errors by method and settings, in the order of `METHODS`."""
    found: dict[Curve, dict[Any, list[float]]] = {}
    for result in results:
        config = result["config"]
        method = config["method"]
        for rule in DRAWN_RULES:
            if rule in result["errors"]:
                words = METHODS[method].words + RULES[rule] + changes(config)
                errors = found.setdefault((method, words), {})
                errors.setdefault(config["labels"], []).append(result["errors"][rule]["test"])
    order = list(METHODS)
    return {
        curve: {n: (float(np.mean(e)), standard_error(e)) for n, e in found[curve].items()}
        for curve in sorted(found, key=lambda curve: order.index(curve[0]))
    }


def published(dataset: str, method: str) -> Points:
    """What the papers say of a method; of EquiVAE, by whichever rule."""
    tables: list[tuple[Key, Mapping[Any, str]]] = [
        *SEMI_SUPERVISED.items(),
        *((key, {"all": text}) for key, text in SUPERVISED.items()),
    ]
    texts: dict[Any, str] = {}
    for key, columns in tables:
        if key[:2] == (dataset, method):
            texts.update(columns)
    return {n: _parse(text) for n, text in texts.items()}


def _parse(text: str) -> tuple[float, float]:
    mean, _, error = text.partition(" ± ")
    return float(mean), float(error or 0)


def draw(ax: Any, dataset: str, results: list[dict[str, Any]], colors: dict[Curve, Any]) -> None:
    """Test errors against the number of labels: dots measured, rings published."""
    columns = [*COLUMNS[dataset], "all"]
    for curve, points in measured(results).items():
        _line(ax, columns, points, color=colors[curve], marker="o", label=curve[1])
    # the first curve of a method lends its colour to what is published of it
    for method, color in {method: colors[method, w] for method, w in reversed(colors)}.items():
        style = {"color": color, "marker": "o", "mfc": "none", "linestyle": ":"}
        _line(ax, columns, published(dataset, method), **style)
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ticks = [t for t in TICKS if low <= t <= high]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.set_yticks([], minor=True)
    ax.set_xticks(range(len(columns)), [str(n) for n in columns])
    ax.set(title=TITLES[dataset], xlabel="labels", ylabel="test error, %")


def _line(ax: Any, columns: list[Any], points: Points, **style: Any) -> None:
    places = [i for i, n in enumerate(columns) if n in points]
    if places:
        means, errors = zip(*(points[columns[i]] for i in places), strict=True)
        ax.errorbar(places, means, yerr=errors, markersize=5, capsize=2, **style)


def plot(folder: Path, path: Path) -> None:
    """Write a picture with a panel for each data set; none without results."""
    import matplotlib as mpl

    results = list(read(folder))
    panels = {name: chosen for name in TITLES if (chosen := of_dataset(results, name))}
    if not panels:
        return
    curves = measured(results)
    palette = mpl.colormaps["tab20"].colors
    colors = {curve: palette[i % len(palette)] for i, curve in enumerate(curves)}
    colors |= {curve: "black" for curve in curves if curve == OURS}
    figure = new_figure(4.2 * len(panels) + 4, 4.6)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    handles: dict[str, Any] = {}
    for ax, (dataset, chosen) in zip(axes, panels.items(), strict=True):
        draw(ax, dataset, chosen, colors)
        lines, labels = ax.get_legend_handles_labels()
        handles.update(zip(labels, lines, strict=True))
    figure.legend(
        list(handles.values()), list(handles), loc="outside right upper", fontsize=8,
        title="dots: measured; rings: published",
    )  # fmt: skip
    save(figure, path)
