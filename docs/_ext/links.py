"""Check that every link of the built site leads to a page, a file and an anchor that exist.

`python docs/_ext/links.py docs/_build/html` needs no network: addresses outside are left out, but
those of files of this repository are looked up in it.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from repository import ADDRESS, ROOT


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.append(value)
            elif value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)


def broken_links(folder: Path) -> list[str]:
    """Return a line for each link that leads nowhere."""
    paths = (path for path in folder.rglob("*.html") if "_static" not in path.parts)
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in paths}
    found = []
    for path, page in pages.items():
        for link in page.links:
            reason = _problem(link, path, pages)
            if reason:
                found.append(f"{path.relative_to(folder.resolve())}: {link} ({reason})")
    return found


def _problem(link: str, path: Path, pages: dict[Path, Page]) -> str:
    if link.startswith(ADDRESS):
        inside = unquote(urlsplit(link).path.split("/blob/main/")[1])
        return "" if (ROOT / inside).exists() else "no such file in the repository"
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return "no such file"
    if parts.fragment and target in pages and parts.fragment != "":
        known = unquote(parts.fragment) in pages[target].anchors
        return "" if known else "no such anchor"
    return ""


if __name__ == "__main__":
    wrong = sorted(set(broken_links(Path(sys.argv[1]))))
    print("\n".join(wrong) or "All links lead somewhere.")
    sys.exit(bool(wrong))
