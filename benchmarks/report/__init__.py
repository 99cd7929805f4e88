"""RESULTS.md, SEEDS.md, the tables of the README and the plots of both, from results alone.

`python -m benchmarks report` writes them; a second time it changes nothing. README.md holds the
tables of those sections for which it has the marks `<!-- results: NAME -->` and `<!-- end -->`.
"""

import re
from pathlib import Path

import benchmarks.studies  # noqa: F401 (they register themselves)
from benchmarks.registry import STUDIES
from benchmarks.report.plots import PLOTS
from benchmarks.report.sections import SECTIONS, seeds_table
from benchmarks.report.tables import MARK
from benchmarks.results import FOLDER, ROOT, read

README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
SEEDS = ROOT / "benchmarks" / "SEEDS.md"
DOCS = ROOT / "docs"
INTRODUCTION = """# Results

Written by `python -m benchmarks report` from the files in `results/`. An error is the mean ± its
standard error over draws of labels, the worst draw, and in brackets how many draws there were; all
of them are in [SEEDS.md](SEEDS.md). A dash is what has not been measured. "fit, s" is the mean wall
time of `fit`, with the graph of neighbours and the labelling of the training rows; a dash where it
was not taken.
"""
SEEDS_INTRODUCTION = f"""# All seeds

The errors behind each mean of [RESULTS.md](RESULTS.md), written by `python -m benchmarks report`.
{MARK} measured with version 0.1.
"""


def mark(name: str) -> str:
    return f"<!-- results: {name} -->"


def fill(text: str, name: str, table: str) -> str:
    """Put a table between its marks in a text."""
    marks = mark(name), "<!-- end -->"
    pattern = re.compile(f"{re.escape(marks[0])}.*?{re.escape(marks[1])}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"Expected the mark {marks[0]!r} in the text; found none.")
    return pattern.sub(lambda _: f"{marks[0]}\n{table}\n{marks[1]}", text)


def tables(folder: Path = FOLDER) -> dict[str, str]:
    """The tables of all sections, by name."""
    return {name: part.make(read(part.study, folder)) for name, part in SECTIONS.items()}


def results_text(folder: Path = FOLDER) -> str:
    """All tables."""
    parts = [INTRODUCTION]
    for name, table in tables(folder).items():
        section = SECTIONS[name]
        parts.append(f"## {section.title}\n\n{table}\n")
        if section.plot:
            parts.append(f"![{PLOTS[section.plot][0]}](../docs/{section.plot}.png)\n")
    return "\n".join(parts)


def seeds_text(folder: Path = FOLDER) -> str:
    """The errors of all seeds, a section a study."""
    parts = [SEEDS_INTRODUCTION]
    for study in STUDIES.values():
        table = seeds_table(study.name, read(study.name, folder))
        if table:
            parts.append(f"## {study.title}\n\n{table}\n")
    return "\n".join(parts)


def readme_text(text: str, folder: Path = FOLDER) -> str:
    """The README with those tables that it has marks for."""
    for name, table in tables(folder).items():
        if mark(name) in text:
            text = fill(text, name, table)
    return text


def write_report(folder: Path = FOLDER, root: Path = ROOT) -> None:
    """Rebuild everything from the results of a folder."""
    pages = {
        README: readme_text(README.read_text(encoding="utf-8"), folder),
        RESULTS: results_text(folder),
        SEEDS: seeds_text(folder),
    }
    for path, text in pages.items():
        target = root / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    (root / "docs").mkdir(exist_ok=True)
    for name, (_, draw) in PLOTS.items():
        draw(read(name, folder), root / "docs" / f"{name}.png")
