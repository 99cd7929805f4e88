"""Rebuild `benchmarks/RESULTS.md` and the tables of the README from the result files alone.

`python -m benchmarks.report`
"""

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks import few_labels_tables, generation, paper_tables, speed_table
from benchmarks.results import FOLDER

README = Path(__file__).parent.parent / "README.md"
RESULTS = Path(__file__).parent / "RESULTS.md"
SPEED_PICTURE = README.parent / "docs" / "speed.png"

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
    parts += [f"## {TABLES[name][1]}\n\n{table}\n" for name, table in tables().items()]
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
    if any((FOLDER / "speed").glob("*.json")):
        matplotlib.use("Agg")
        speed_table.plot(FOLDER / "speed", SPEED_PICTURE)


if __name__ == "__main__":
    main()
