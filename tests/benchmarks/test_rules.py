"""What the sources of the benchmarks must be: small, and strangers to the package's inside."""

import ast

import pytest

import sk_equivae
from benchmarks.results import ROOT

FILES = sorted((ROOT / "benchmarks").rglob("*.py"))
PUBLIC_MODULES = ("sk_equivae.presets", "sk_equivae.datasets")


def imported(path):
    """Modules and names of sk_equivae that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_public_names_and_the_model_alone(path):
    for module, name in imported(path):
        if module.partition(".")[0] != "sk_equivae":
            continue
        is_model = module.split(".")[:2] == ["sk_equivae", "model"]
        is_public = module == "sk_equivae" and name in sk_equivae.__all__
        assert is_model or is_public or module in PUBLIC_MODULES, f"{module}.{name}"
        assert not name.startswith("_")


def test_sizes():
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert max(lines.values()) < 300
    assert sum(lines.values()) <= 3_000
