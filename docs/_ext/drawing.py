"""The drawing of the architecture, from the import contracts in pyproject.toml."""

import ast
import tomllib
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
WIDTH, ROW, GAP = 760, 58, 12


def rooms() -> list[list[str]]:
    """Return the packages of each layer, the highest first."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (contract,) = (c for c in contracts if c["id"] == "rooms")
    return [[name.strip(" ()") for name in layer.split("|")] for layer in contract["layers"]]


def summary(room: str) -> str:
    """Return the first sentence of the docstring of a package or module."""
    path = ROOT / "sk_equivae" / room
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ").replace("`", "").rstrip(".")


def svg(layers: list[list[str]]) -> str:
    """Return a drawing: a row per layer, which imports only from the rows below it."""
    height = len(layers) * (ROW + GAP) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="sans-serif"><title>The packages of sk_equivae in layers</title>'
    ]
    for i, layer in enumerate(layers):
        width = (WIDTH - (len(layer) - 1) * GAP) / len(layer)
        for j, room in enumerate(layer):
            x, y = j * (width + GAP), i * (ROW + GAP)
            words, most = summary(room), int(width / 6.4)
            words = words if len(words) <= most else words[: most - 1] + "…"
            parts.append(
                f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{ROW}" rx="6" '
                'fill="#d9e8f7" stroke="#3f90da"/>'
                f'<text x="{x + 12:.0f}" y="{y + 24}" font-size="16" font-weight="bold" '
                f'fill="#20242b">{escape(room)}</text>'
                f'<text x="{x + 12:.0f}" y="{y + 45}" font-size="12" fill="#20242b">'
                f"{escape(words)}</text>"
            )
    note = "A package imports only from the rows below it."
    parts.append(f'<text x="0" y="{height - 8}" font-size="12" fill="#717581">{note}</text></svg>')
    return "\n".join(parts) + "\n"


def write_drawing(app: Any, config: Any) -> None:
    """Write the drawing, unless it is up to date."""
    path = ROOT / "docs" / "generated" / "architecture.svg"
    path.parent.mkdir(exist_ok=True)
    text = svg(rooms())
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("config-inited", write_drawing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
