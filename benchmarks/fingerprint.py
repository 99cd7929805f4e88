"""Fingerprints of the code that decides a number.

They cover the data set's loader, the draw of labels, the method's factory, the setting's parameters
and the measurement; all of `benchmarks` that these use; and the modules of sk_equivae that any of
them uses, with what those import, if data of this kind needs it. Comments, docstrings, annotations,
decorators and checks of what a user passes do not count.
"""

import ast
import hashlib
import re
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.data.draws import balanced
from benchmarks.job import prepare
from benchmarks.registry import DATASETS, METHODS, STUDIES, Run

ROOT = Path(__file__).parents[1]
OWN, PACKAGE = "benchmarks", "sk_equivae"
# The rooms of the package that decide numbers; pictures and files do not, nor the time left.
ROOMS = ("model", "fitted", "training", "estimators", "generation", "presets", "datasets")
# Nor do frames, texts as labels, rejected rows, files, checks, and methods that nothing here calls.
_OF_USERS = ("frames", "labels", "libraries", "rejection", "storage")
NO_CODE = {f"sk_equivae.training.{name}" for name in ("checkpoint", "forecast")}
NO_CODE |= {f"sk_equivae.estimators.{name}" for name in _OF_USERS}
NO_FUNCTION = re.compile(r"_?check|(score|add_classes)$")
# What only tables use, or only images: a change there leaves the figures of the others as they are.
OF_TABLES = frozenset(
    f"sk_equivae.training.pseudo_labels.{name}" for name in ("discriminant", "experts", "pooling")
)
OF_IMAGES = frozenset(
    f"sk_equivae.{name}"
    for name in ("model.residual", "training.pictures", "training.pseudo_labels.gradients")
)
# Types and plumbing; of the latter, what turns a data set into rows counts.
IGNORED, ROWS_OF_A_JOB = {"benchmarks.registry", "benchmarks.job"}, {"prepare", "view"}
IGNORED_FIELDS = {"decorator_list", "annotation", "returns", "type_comment", "kind", "ctx"}


def fingerprint(run: Run) -> str:
    """Twelve digits that change with the code behind the figures of a run."""
    study, method, dataset = STUDIES[run.study], METHODS[run.method], DATASETS[run.dataset]
    setting = study.settings[run.setting]
    flags = (method.takes_images, method.labeled_only, method.max_labeled, method.max_unlabeled)
    things = [dataset.load, setting.draw or balanced, method.make, study.measure, prepare]
    things += [setting.parameters, *flags, dataset.has_units]
    unused = OF_TABLES if dataset.has_images else OF_IMAGES
    return _hash("\n".join(_of_value(thing, unused) for thing in things))


def _of_value(value: Any, unused: frozenset[str]) -> str:
    """Of a function or class of ours, a partial of one, or a plain value."""
    if isinstance(value, partial):
        given = (value.func, *value.args, *sorted(value.keywords.items()))
        return "\n".join(_of_value(each, unused) for each in given)
    module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    is_ours = bool(name) and module.partition(".")[0] == OWN
    return digest_of(module, name, unused) if is_ours else name or repr(value)


@cache
def digest_of(module: str, name: str, unused: frozenset[str]) -> str:
    """Of a definition at the top of a module of ours, and of all that it uses."""
    parts: dict[str, str] = {}
    _visit(module, name, parts)
    return _hash("\n".join(f"{key}: {parts[key]}" for key in sorted(parts.keys() - unused)))


def _visit(module: str, name: str, parts: dict[str, str]) -> None:
    key = f"{module}.{name}"
    if key in parts or (module in IGNORED and name not in ROWS_OF_A_JOB):
        return
    definitions, imports = _names(module)
    for node in definitions.get(name, ()):
        parts[key] = parts.get(key, "") + normal_form(node)
        for used in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {name}:
            source, own = imports.get(used, (module, used))
            if _path(f"{source}.{own}") and source.partition(".")[0] == OWN:
                parts[f"{source}.{own}"] = normal_form(_tree(f"{source}.{own}"))
            elif used in definitions or source.partition(".")[0] == OWN:
                _visit(source, own, parts)
            elif used in imports and source.partition(".")[0] == PACKAGE:
                found = _closure(_home(source, own))
                parts.update({each: _hash(normal_form(_tree(each))) for each in found})


def _home(module: str, name: str) -> str:
    """The module in which a name that is imported from another one is defined."""
    if _path(f"{module}.{name}"):
        return f"{module}.{name}"
    definitions, imports = _names(module)
    return module if name in definitions or name not in imports else _home(*imports[name])


@cache
def _closure(module: str) -> frozenset[str]:
    """A module of the package and all that it imports, of the rooms that decide numbers."""
    found: set[str] = set()
    todo = [module]
    while todo:
        now = todo.pop()
        if now in found or now.split(".")[1:2] not in [[room] for room in ROOMS]:
            continue
        found.add(now)
        sources = _names(now)[1].values()
        todo += [_home(*source) for source in sources if source[0].partition(".")[0] == PACKAGE]
    return frozenset(found - NO_CODE)


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
    for node in _tree(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for inner in (n for n in ast.walk(target) if isinstance(n, ast.Name)):
                    definitions.setdefault(inner.id, []).append(node)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                n_up = node.level - str(_path(module)).endswith("__init__.py")
                source = ".".join([*module.split(".")[: -n_up or None], source]).rstrip(".")
            imports.update({a.asname or a.name: (source, a.name) for a in node.names})
    return definitions, imports


def normal_form(node: Any) -> str:
    """A node of the syntax tree as a text, without what does not matter.

    Fields that are empty are left out: which ones there are differs between versions of Python.

    Examples
    --------
    >>> one, other = "def f(x: int): return x", "def f(x):  # no comment\\n    return x"
    >>> normal_form(ast.parse(one)) == normal_form(ast.parse(other))
    True
    """
    if isinstance(node, list):
        return "[" + ",".join(map(normal_form, filter(_counts, node))) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        fields["body"] = node.body[ast.get_docstring(node, clean=False) is not None :]
    kept = {k: v for k, v in fields.items() if k not in IGNORED_FIELDS and v not in (None, [])}
    inner = ",".join(f"{name}={normal_form(value)}" for name, value in kept.items())
    return f"{type(node).__name__}({inner})"


def _counts(node: Any) -> bool:  # what is imported counts where it is used
    is_import = isinstance(node, ast.Import | ast.ImportFrom)
    return not (is_import or (isinstance(node, ast.FunctionDef) and NO_FUNCTION.match(node.name)))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
