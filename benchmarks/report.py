"""Rebuild `benchmarks/RESULTS.md`, the tables of the README and the plots of both.

All of it comes from the result files alone.

`python -m benchmarks.report`
"""

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks import few_labels_tables, generation, paper_plot, paper_tables, speed_table
from benchmarks.results import FOLDER

README = Path(__file__).parent.parent / "README.md"
RESULTS = Path(__file__).parent / "RESULTS.md"
DOCS = README.parent / "docs"

# The folder of the results, the title, and what makes the table.
TABLES: dict[str, tuple[str, str, Callable[[Path], str]]] = {
    "few_labels": ("few_labels", "Few labels", few_labels_tables.table),
    "ablation": (
        "ablation",
        "What each part of the defaults gives",
        few_labels_tables.ablation_table,
    ),
    "robustness": (
        "robustness",
        "Labels as real users have them",
        few_labels_tables.robustness_table,
    ),
    "generation": (
        "generation",
        "Generation, style and new classes on MNIST",
        generation.table,
    ),
    "supervised": ("paper", "The paper's Table 1", paper_tables.table_supervised),
    "semi_supervised": ("paper", "The paper's Table 2", paper_tables.table_semi_supervised),
    "claims": ("paper", "What v and f_inv hold", paper_tables.table_claims),
    "speed": ("speed", "Speed", speed_table.table),
}

# By the folder of the results: what the plot shows, and what draws it; none without results.
PLOTS: dict[str, tuple[str, Callable[[Path, Path], None]]] = {
    "paper": ("Test error against the number of labels", paper_plot.plot),
    "speed": ("Steps and trainings beside a plain reading of the paper", speed_table.plot),
}


def mark(name: str) -> str:
    return f"<!-- results: {name} -->"


def fill(text: str, name: str, table: str) -> str:
    """Put a table between its marks in a text."""
    marks = mark(name), "<!-- end -->"
    pattern = re.compile(f"{re.escape(marks[0])}.*?{re.escape(marks[1])}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"Expected the mark {marks[0]!r} in the text; found none.")
    return pattern.sub(lambda _: f"{marks[0]}\n{table}\n{marks[1]}", text)


def tables() -> dict[str, str]:
    """All tables that have results, by name."""
    made = {name: make(FOLDER / folder) for name, (folder, _, make) in TABLES.items()}
    return {name: table for name, table in made.items() if table}


def results_text() -> str:
    """All tables, for researchers."""
    parts = [
        "# Results\n\nWritten by `python -m benchmarks.report` from the files in `results/`.\n"
    ]
    shown = set()
    for name, table in tables().items():
        folder, title, _ = TABLES[name]
        parts.append(f"## {title}\n\n{table}\n")
        if folder in PLOTS and folder not in shown:
            shown.add(folder)
            parts.append(f"![{PLOTS[folder][0]}](../docs/{folder}.png)\n")
    return "\n".join(parts)


def readme_text(text: str) -> str:
    """The README with those tables that it has marks for."""
    for name, table in tables().items():
        if mark(name) in text:
            text = fill(text, name, table)
    return text


def main() -> None:
    import matplotlib

    README.write_text(readme_text(README.read_text()))
    RESULTS.write_text(results_text())
    matplotlib.use("Agg")
    for name, (_, plot) in PLOTS.items():
        plot(FOLDER / name, DOCS / f"{name}.png")


if __name__ == "__main__":
    main()
