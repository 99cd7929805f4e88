"""Rebuild `benchmarks/RESULTS.md` and the tables of the README from the result files alone.

`python -m benchmarks.report`
"""

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks import digits, generation
from benchmarks.results import FOLDER

README = Path(__file__).parent.parent / "README.md"
RESULTS = Path(__file__).parent / "RESULTS.md"

TABLES: dict[str, tuple[str, Callable[[Path], str]]] = {
    "digits": ("Few labels on 8x8 digits", digits.table),
    "generation": ("Generation, style and new classes on MNIST", generation.table),
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


def main() -> None:
    readme = README.read_text()
    parts = [
        "# Results\n\nWritten by `python -m benchmarks.report` from the files in `results/`.\n"
    ]
    for name, (title, make) in TABLES.items():
        if not any((FOLDER / name).glob("*.json")) and mark(name) not in readme:
            continue  # not measured yet
        table = make(FOLDER / name)
        readme = fill(readme, name, table)
        parts.append(f"## {title}\n\n{table}\n")
    README.write_text(readme)
    RESULTS.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
