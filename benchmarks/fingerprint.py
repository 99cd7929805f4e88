"""Fingerprints of the code that decides a number.

The fingerprint of a run covers the data set's loader, the draw of labels, the method's factory, the
setting's parameters and the measurement; every function, class and constant of `benchmarks` that
these use; and the modules of sk_equivae that any of them uses, with all that those import. What
is hashed is the code without comments, docstrings, annotations and decorators, so that a
result becomes stale only if its code has changed. Nothing is imported to find this out.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import job
from benchmarks.data.draws import balanced
from benchmarks.registry import DATASETS, METHODS, STUDIES, Run

ROOT = Path(__file__).parents[1]
# The rooms of the package that decide numbers; pictures and files do not.
ROOMS = ("model", "fitted", "training", "estimators", "generation", "presets", "datasets")
# Texts of docstrings.
NO_CODE = {"sk_equivae.estimators.documentation"}
OWN, PACKAGE = "benchmarks", "sk_equivae"
# Types and plumbing; of the latter, what turns a data set into rows counts.
IGNORED = {"benchmarks.registry", "benchmarks.job"}
ROWS_OF_A_JOB = ("prepare", "view")
IGNORED_FIELDS = {"decorator_list", "annotation", "returns", "type_comment", "kind", "ctx"}


def fingerprint(run: Run) -> str:
    """Twelve digits that change with the code behind the figures of a run."""
    study, method, dataset = STUDIES[run.study], METHODS[run.method], DATASETS[run.dataset]
    setting = study.settings[run.setting]
    functions = [dataset.load, setting.draw or balanced, method.make, study.measure, job.prepare]
    flags = [
        method.takes_images, method.labeled_only, method.max_labeled, method.max_unlabeled,
        dataset.has_units,
    ]  # fmt: skip
    if callable(setting.parameters):
        functions.append(setting.parameters)
    else:
        flags.append(sorted(setting.parameters.items()))
    texts = [repr(flags), *(digest_of(f.__module__, f.__name__) for f in functions)]
    return _hash("\n".join(texts))


@cache
def digest_of(module: str, name: str) -> str:
    """Of a definition at the top of a module of ours, and of all that it uses."""
    parts: dict[str, str] = {}
    _visit(module, name, parts)
    return _hash("\n".join(f"{key}: {parts[key]}" for key in sorted(parts)))


def _visit(module: str, name: str, parts: dict[str, str]) -> None:
    key = f"{module}.{name}"
    if key in parts or (module in IGNORED and name not in ROWS_OF_A_JOB):
        return
    definitions, imports = _names(module)
    for node in definitions.get(name, ()):
        parts[key] = parts.get(key, "") + normal_form(node)
        for used in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {name}:
            if used in definitions:
                _visit(module, used, parts)
            elif used in imports:
                _visit_import(*imports[used], parts)


def _visit_import(module: str, name: str, parts: dict[str, str]) -> None:
    root = module.partition(".")[0]
    if root == OWN:
        if _path(f"{module}.{name}"):
            raise ValueError(f"Import names from {module}.{name}, not the module itself.")
        _visit(module, name, parts)
    elif root == PACKAGE:
        for found in sorted(_closure(_home(module, name))):
            parts[found] = _hash(normal_form(_tree(found)))


def _home(module: str, name: str) -> str:
    """The module in which a name that is imported from another one is defined."""
    if _path(f"{module}.{name}"):
        return f"{module}.{name}"
    definitions, imports = _names(module)
    if name in definitions or name not in imports:
        return module
    return _home(*imports[name])


@cache
def _closure(module: str) -> frozenset[str]:
    """A module of the package and all that it imports, of the rooms that decide numbers."""
    found: set[str] = set()
    todo = [module]
    while todo:
        now = todo.pop()
        room = now.split(".")[1] if "." in now else ""
        if now in found | NO_CODE or room not in ROOMS or not _path(now):
            continue
        found.add(now)
        for target, name in _names(now)[1].values():
            if target.partition(".")[0] == PACKAGE:
                todo.append(_home(target, name))
    return frozenset(found)


# ---------------------------------------------------------------- source files


def _path(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.exists()), None)


@cache
def _tree(module: str) -> ast.Module:
    path = _path(module)
    if path is None:
        raise ValueError(f"Expected the source of {module} below {ROOT}; found none.")
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _names(module: str) -> tuple[dict[str, list[ast.AST]], dict[str, tuple[str, str]]]:
    """What is defined at the top of a module, and where its imported names come from."""
    definitions: dict[str, list[ast.AST]] = {}
    imports: dict[str, tuple[str, str]] = {}
    is_package = str(_path(module)).endswith("__init__.py")
    for node in _tree(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for inner in ast.walk(target):
                    if isinstance(inner, ast.Name):
                        definitions.setdefault(inner.id, []).append(node)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                n_up = node.level - is_package
                parents = module.split(".")[: -n_up or None]
                source = ".".join([*parents, *source.split(".")]).rstrip(".")
            imports.update({a.asname or a.name: (source, a.name) for a in node.names})
    return definitions, imports


def normal_form(node: Any) -> str:
    """A node of the syntax tree as a text, without what does not matter.

    Examples
    --------
    >>> one, other = "def f(x: int): return x", "def f(x):  # no comment\\n    return x"
    >>> normal_form(ast.parse(one)) == normal_form(ast.parse(other))
    True
    """
    if isinstance(node, list):
        return "[" + ",".join(map(normal_form, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [f"{name}={normal_form(value)}" for name, value in _fields(node)]
    return f"{type(node).__name__}({','.join(fields)})"


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    has_docstring = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
        ast.get_docstring(node, clean=False) is not None
    )
    for name, value in ast.iter_fields(node):
        if name == "body" and has_docstring:
            value = value[1:]
        # fields that are empty differ between versions of Python
        if name not in IGNORED_FIELDS and value is not None and value != []:
            yield name, value


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
