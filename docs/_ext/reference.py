"""The reference: everything public, found in `__all__`, in groups by where it is defined."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import sk_equivae

DOCS = Path(__file__).parents[1]
# Groups of the page, by the modules whose public names they hold. The first that fits is taken.
GROUPS = {
    "Estimators": ("sk_equivae.estimators",),
    "Displays": ("sk_equivae.display", "sk_equivae.explore"),
    "Settings of the training": ("sk_equivae.training",),
    "Cross-validation and search": ("sk_equivae.model_selection",),
    "Data sets and presets": (
        "sk_equivae.datasets",
        "sk_equivae.image_folders",
        "sk_equivae.presets",
    ),
    "Errors and warnings": ("sk_equivae.files", "sk_equivae._warnings"),
    "The model in PyTorch": ("sk_equivae.model",),
}
# Modules with public names beside those of the package itself.
MODULES = ("model_selection", "datasets", "presets", "model")
HEAD = """Reference
=========

Everything public. An example belongs to each entry.

"""


def public_names() -> dict[str, list[str]]:
    """Return the full names of all public functions and classes, by group."""
    groups: dict[str, list[str]] = {title: [] for title in GROUPS}
    others: list[str] = []
    for where in ("", *MODULES):
        module = importlib.import_module(f"sk_equivae.{where}".rstrip("."))
        names = getattr(module, "__all__", None) or [
            name
            for name, thing in inspect.getmembers(module, callable)
            if not name.startswith("_") and thing.__module__ == module.__name__
        ]
        for name in names:
            thing = getattr(module, name)
            if callable(thing):
                group = next((t for t, starts in GROUPS.items()
                              if thing.__module__.startswith(starts)), "")  # fmt: skip
                found = groups[group] if group else others
                found.append(f"{module.__name__}.{name}")
    return groups | ({"Others": others} if others else {})


def write_reference(app: Any, config: Any) -> None:
    """Write the page with the lists of names, from which autosummary makes a page for each."""
    parts = [HEAD]
    for title, names in public_names().items():
        if names:
            lines = "\n".join(f"   ~{name}" for name in names)
            parts.append(
                f"{title}\n{'-' * len(title)}\n\n"
                f".. autosummary::\n   :toctree: .\n   :nosignatures:\n\n{lines}\n\n"
            )
    page = DOCS / "generated" / "reference.rst"
    page.parent.mkdir(exist_ok=True)
    text = "".join(parts)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def skip_others(
    app: Any, what: str, name: str, thing: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what scikit-learn and others define and document."""
    module = getattr(thing, "__module__", None)
    function = getattr(thing, "fget", None) or getattr(thing, "__func__", thing)
    module = getattr(function, "__module__", module)
    if module is not None and not str(module).startswith("sk_equivae"):
        return True
    if name.endswith("_request") or not inspect.getdoc(thing):
        return True
    return None if skip is False else skip


def escape_shapes(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Escape the marks of reStructuredText in shapes such as (n, *row_shape)."""
    for i, line in enumerate(lines):
        if " shape" in line or "(n, *" in line:
            line = re.sub(r"(?<![*\\])\*(?=\w)", r"\\*", line)
            lines[i] = re.sub(r"(?<=\w)_(?=[,)])", r"\\_", line)


def setup(app: Any) -> dict[str, Any]:
    """Connect to Sphinx."""
    assert sk_equivae.__all__
    # before Sphinx looks for pages
    app.connect("config-inited", write_reference)
    app.connect("autodoc-skip-member", skip_others)
    app.connect("autodoc-process-docstring", escape_shapes, priority=400)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
