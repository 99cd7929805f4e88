"""Pages of the repository on the site, with links that lead somewhere.

README, CHANGELOG, CONTRIBUTING and the results are read where they are, and copied into
`generated/`. Links to files of the repository that are no pages lead to its address.
"""

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ADDRESS = "https://github.com/sk-equivae/sk-equivae/blob/main/"
# what is copied: the file of the repository, and the page of the site
PAGES = {
    "CHANGELOG.md": "changes",
    "CONTRIBUTING.md": "contributing",
    "benchmarks/RESULTS.md": "results",
    "benchmarks/SEEDS.md": "seeds",
}
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s]+)(\))")


def target(source: Path, link: str, page: Path) -> str:
    """Return where a link of a file leads to, if the file is shown as a page of the site.

    Parameters
    ----------
    source : Path
        The file with the link.
    link : str
        The link, relative to the file.
    page : Path
        The page that shows the file.

    Returns
    -------
    link : str
        Relative to the page, or an address.
    """
    name, hash_, anchor = link.partition("#")
    path = (source.parent / name).resolve()
    if not path.is_relative_to(ROOT) or not path.exists():
        return link  # a page that is made later, or a mistake that Sphinx reports
    inside = path.relative_to(ROOT).as_posix()
    if inside in PAGES:
        path = DOCS / "generated" / f"{PAGES[inside]}.md"
    elif inside == "README.md":
        path = DOCS / "index.md"
    elif not path.is_relative_to(DOCS) or path.is_dir():
        return f"{ADDRESS}{inside}{hash_}{anchor}"
    return Path(os.path.relpath(path, page.parent)).as_posix() + hash_ + anchor


def rewritten(text: str, source: Path, page: Path) -> str:
    """Return a text whose links work on the page."""
    return LINK.sub(lambda m: m[1] + target(source, m[2], page) + m[3], text)


def copy_pages(app: Any, config: Any) -> None:
    """Write the pages of `PAGES`, unless they are up to date."""
    folder = DOCS / "generated"
    folder.mkdir(exist_ok=True)
    for name, made in PAGES.items():
        page = folder / f"{made}.md"
        text = rewritten((ROOT / name).read_text(encoding="utf-8"), ROOT / name, page)
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def read_source(app: Any, name: str, content: list[str]) -> None:
    """Rewrite the links of a page that is written in Markdown."""
    page = DOCS / f"{name}.md"
    if page.exists() and page.parent != DOCS / "generated":
        content[0] = rewritten(content[0], page, page)


def setup(app: Any) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("config-inited", copy_pages)
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
