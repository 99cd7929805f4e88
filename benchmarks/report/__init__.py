"""RESULTS.md, SEEDS.md, the tables of the README and the plots of both, from results alone.

`python -m benchmarks report` writes them; a second time it changes nothing. README.md holds the
tables of those sections for which it has the marks `<!-- results: NAME -->` and `<!-- end -->`.
"""

import re
from pathlib import Path

import benchmarks.studies  # noqa: F401 (they register themselves)
from benchmarks.registry import STUDIES, all_runs_of
from benchmarks.report import sections
from benchmarks.report.plots import PLOTS
from benchmarks.results import FOLDER, ROOT, Result, key_of, read

README, MARK = ROOT / "README.md", "<!-- results: {} -->"
RESULTS, SEEDS = ROOT / "benchmarks" / "RESULTS.md", ROOT / "benchmarks" / "SEEDS.md"


def fill(text: str, name: str, table: str) -> str:
    """Put a table between its marks in a text."""
    marks = MARK.format(name), "<!-- end -->"
    pattern = re.compile(f"{re.escape(marks[0])}.*?{re.escape(marks[1])}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"Expected the mark {marks[0]!r} in the text; found none.")
    return pattern.sub(lambda _: f"{marks[0]}\n{table}\n{marks[1]}", text)


def gather(study: str, folder: Path) -> list[Result]:
    """The results of a study, with those of its runs that were measured in another one."""
    found, other = read(study, folder), STUDIES[study].elsewhere
    places = {run[1:-1] for run in all_runs_of(STUDIES[study])}
    return found + [r for r in (read(other, folder) if other else []) if key_of(r)[1:-1] in places]


def tables(folder: Path = FOLDER) -> dict[str, str]:
    """The tables of all sections, by name."""
    return {name: s.make(gather(s.study, folder)) for name, s in sections.SECTIONS.items()}


def results_text(folder: Path = FOLDER) -> str:
    """All tables."""
    parts = ["\n".join(sections.WORDS["introduction"]) + "\n"]
    for name, table in tables(folder).items():
        section = sections.SECTIONS[name]
        parts.append(f"## {section.title}\n\n{table}\n")
        if section.plot:
            parts.append(f"![{PLOTS[section.plot][0]}](../docs/{section.plot}.png)\n")
    return "\n".join(parts)


def seeds_text(folder: Path = FOLDER) -> str:
    """The errors of all seeds, a section a study."""
    made = {s.title: sections.seeds(s.name, read(s.name, folder)) for s in STUDIES.values()}
    parts = (f"## {name}\n\n{table}\n" for name, table in made.items() if table)
    return "\n".join(["\n".join(sections.WORDS["seeds"]) + "\n", *parts])


def readme_text(text: str, folder: Path = FOLDER) -> str:
    """The README with those tables that it has marks for."""
    for name, table in tables(folder).items():
        if MARK.format(name) in text:
            text = fill(text, name, table)
    return text


def write_report(folder: Path = FOLDER, root: Path = ROOT) -> None:
    """Rebuild everything from the results of a folder, below the root of a source tree."""
    (root / "benchmarks").mkdir(parents=True, exist_ok=True)
    (root / "docs").mkdir(exist_ok=True)
    readme = readme_text(README.read_text(encoding="utf-8"), folder)
    pages = {README: readme, RESULTS: results_text(folder), SEEDS: seeds_text(folder)}
    for path, text in pages.items():
        (root / path.relative_to(ROOT)).write_text(text, encoding="utf-8")
    for name, (_, draw) in PLOTS.items():
        draw(gather(name, folder), root / "docs" / f"{name}.png")
