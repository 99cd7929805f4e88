"""The table and the picture of the speed benchmark, from its result files alone."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.figures import new_figure, save
from benchmarks.results import mean_and_error, read

Result = dict[str, Any]
Line = tuple[str, str, str]  # words, figure, bar

CONTENDERS = {
    "plain": "plain reading of the paper",
    "paper": "the paper's parameters",
    "ours": "defaults",
}
VERBS = ("fit", "transform")


def times(figures: Result) -> str:
    """A ratio, and its quartiles."""
    return f"{figures['ratio']:.2f} ({figures['ratio_lower']:.2f} to {figures['ratio_upper']:.2f})"


def complements_lines(result: Result) -> Iterator[Line]:
    for m_max, figures in result["m_max"].items():
        bar = "≥ 2.5" if m_max == "7" else ""
        yield f"Supervised step, m_max={m_max}: times a plain reading's speed", times(figures), bar
    for m_max, figures in result["m_is_m_max"].items():
        words = f"The same, when m happens to be m_max={m_max}"
        yield words, times(figures), ""
    for m_max, figures in result["as_written"].items():
        words = f"Supervised step, m_max={m_max}: the plain reading in PyTorch's own layers"
        yield words, times(figures), ""
    ratio = result["slowest_to_quickest_m_max"]
    yield "The slowest m_max, times the seconds of the quickest", f"{ratio:.2f}", "≤ 1.10"


def classes_lines(result: Result) -> Iterator[Line]:
    bars = {"10 end": "≥ 3", "100 end": "≥ 15"}
    for case, figures in result["classes"].items():
        n_classes, stage = case.split()
        words = f"Semi-supervised step, {n_classes} classes, at the {stage} of training"
        decoded = f"; {figures['decoded']['ours']:.1f} classes decoded a row"
        yield f"{words}: times the exact sum's speed", times(figures) + decoded, bars.get(case, "")


def threshold_lines(result: Result) -> Iterator[Line]:
    words = f"Validation error, %, {result['labels']} labels, {result['epochs']} epochs"
    for rule in result["valid_error"]["default"]:
        for name, bar in ("default", "≤ exact sum, but for noise"), ("exact", ""):
            which = "default class_threshold" if name == "default" else "exact sum"
            errors = result["valid_error"][name][rule]
            yield f"{words}, {rule}: {which}", mean_and_error(errors), bar


def loop_lines(result: Result) -> Iterator[Line]:
    bars = {"128": "≤ 1.10", "32": "≤ 1.25"}
    for batch, figures in result["batch"].items():
        words = f"Whole fit, batch {batch}: times the seconds of a bare loop"
        yield words, times(figures), bars.get(batch, "")


def arithmetic_lines(result: Result) -> Iterator[Line]:
    for name, share in result["share"].items():
        if name != "matrix product":
            bar = "≥ 70" if name == "transform" else "≥ 45"
            rate = result["gflop_per_second"][name]
            words = f"Arithmetic of {name}, % of a matrix product's rate"
            yield words, f"{100 * share:.0f} ({rate:.0f} GFLOP/s)", bar


def inference_lines(result: Result) -> Iterator[Line]:
    for n, figures in result["rows"].items():
        for verb in ("predict", "transform"):
            words = f"{verb} of {int(n):,} images: times the seconds of a bare forward pass"
            yield words, times(figures[verb]), "≤ 1.10"
        words = f"predict of {int(n):,} images: times the seconds of scikit-learn's MLP"
        yield words, times(figures["predict_to_mlp"]), ""


def memory_lines(result: Result) -> Iterator[Line]:
    sizes = [int(n) for n in result["images"]]
    for verb in VERBS:
        for n in sizes:
            peak = result["images"][str(n)][verb]["peak"]
            yield f"Peak memory of {verb}, {n:,} images, MB without the map", f"{peak:.0f}", ""
        words = f"Growth of {verb}'s from {min(sizes):,} to {max(sizes):,} images, MB"
        yield words, f"{result['growth_mb'][verb]:.0f}", "< 200"


def to_error_lines(result: Result) -> Iterator[Line]:
    labels, trained = result["labels"], result["training"]
    goal = f"{result['paper_error']:.2f}% validation error with {labels} labels"
    for rule in trained["ours"]["reached"]:
        for name, words in CONTENDERS.items():
            yield f"Until {goal}, {rule}: {words}", _time_to(trained[name], rule), ""
        ours, plain = trained["ours"]["reached"][rule], trained["plain"]["reached"][rule]
        words = f"Until {goal}, {rule}: defaults, part of the plain reading's time"
        if ours:
            whole = plain["seconds"] if plain else trained["plain"]["seconds"]
            part = f"{'' if plain else 'below '}{ours['seconds'] / whole:.3f}"
            yield words, part, "≤ 0.1" if labels == 100 else "≤ 0.5"


def _time_to(figures: Result, rule: str) -> str:
    reached = figures["reached"][rule]
    if reached:
        return f"{reached['seconds']:.0f} s, {reached['epochs']:.1f} epochs"
    span = "the whole training," if figures["whole"] else "the first"
    return f"not reached within {span} {figures['seconds'] / 60:.0f} min"


def startup_lines(result: Result) -> Iterator[Line]:
    seconds = result["seconds"]
    words = "First fit of 150 rows of 4 features, s"
    yield f"{words}: default parameters", f"{seconds['fit']['median']:.2f}", "< 1.5"
    yield f"{words}: one epoch", f"{seconds['one_epoch']['median']:.2f}", ""
    words = "Import of sk_equivae after torch, scikit-learn and skorch, s"
    yield words, f"{seconds['import']['median']:.2f}", "< 0.5"


def pyro_lines(result: Result) -> Iterator[Line]:
    rates = result["unlabelled_rows_per_second"]
    for side, words in ("ours", "EquiVAE, at the end of training"), ("pyro", "M2 in pyro"):
        yield f"Unlabelled rows a second in training: {words}", f"{rates[side]:.0f}", ""
    yield "EquiVAE, times the speed of M2 in pyro", times(result), "≥ 2"


LINES: dict[str, Callable[[Result], Iterator[Line]]] = {
    "complements": complements_lines,
    "classes": classes_lines,
    "threshold-error": threshold_lines,
    "loop": loop_lines,
    "arithmetic": arithmetic_lines,
    "inference": inference_lines,
    "memory": memory_lines,
    "to-error-100": to_error_lines,
    "to-error-all": to_error_lines,
    "startup": startup_lines,
    "pyro": pyro_lines,
}


def results_of(folder: Path) -> dict[str, Result]:
    """Results by the name of their measurement, in the order of the table."""
    found = {result["config"]["measurement"]: result for result in read(folder)}
    return {name: found[name] for name in LINES if name in found}


def table(folder: Path) -> str:
    """A line a figure, with the bar beside it; empty without results."""
    results = results_of(folder)
    if not results:
        return ""
    lines = ["| | measured | bar |", "|---|---|---|"]
    for name, result in results.items():
        lines += [f"| {' | '.join(line)} |" for line in LINES[name](result)]
    return "\n".join(lines)


# ---------------------------------------------------------------- the picture


def draw_complements(ax: Any, result: Result) -> None:
    m_max = [int(m) for m in result["m_max"]]
    for side, words in ("plain", CONTENDERS["plain"]), ("ours", "ours"):
        seconds = [f["seconds"][f"{side} {m}"] for m, f in result["m_max"].items()]
        ax.plot(m_max, [1000 * s["median"] for s in seconds], "o-", label=words)
    ax.set(title="Supervised step", xlabel="m_max", ylabel="ms", ylim=(0, None), xticks=m_max)
    ax.legend()


def draw_classes(ax: Any, result: Result) -> None:
    for stage in ("start", "end"):
        cases = {int(c.split()[0]): f for c, f in result["classes"].items() if stage in c}
        ratios = [figures["ratio"] for figures in cases.values()]
        ax.plot(list(cases), ratios, "o-", label=f"{stage} of training")
    ax.set(title="Semi-supervised step", xlabel="classes", ylabel="times the exact sum's speed")
    ax.set(xticks=list(cases), ylim=(0, None))
    ax.legend()


def draw_to_error(ax: Any, result: Result) -> None:
    for name, words in CONTENDERS.items():
        looks = result["training"][name]["looks"]
        errors = [look["valid_error"]["posterior"] for look in looks]
        ax.plot([look["seconds"] for look in looks], errors, ".-", label=words)
    ax.axhline(result["paper_error"], color="grey", linestyle=":")
    ax.set(title=f"MNIST, {result['labels']} labels", xlabel="s", xscale="log", yscale="log")
    ax.set_ylabel("validation error of q(y|x), %")
    ax.legend(loc="upper right", fontsize="x-small")


DRAWINGS: dict[str, Callable[[Any, Result], None]] = {
    "complements": draw_complements,
    "classes": draw_classes,
    "to-error-100": draw_to_error,
    "to-error-all": draw_to_error,
}


def plot(folder: Path, path: Path) -> None:
    """Write a picture with a panel for each result that has one; none without results."""
    results = {name: r for name, r in results_of(folder).items() if name in DRAWINGS}
    if not results:
        return
    figure = new_figure(4 * len(results), 3.2)
    axes = figure.subplots(1, len(results), squeeze=False)[0]
    for ax, (name, result) in zip(axes, results.items(), strict=True):
        DRAWINGS[name](ax, result)
    save(figure, path)
