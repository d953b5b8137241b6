"""No private name of a library is used: what may change in any of its releases breaks the site.

What is called on foreign objects is held by ruff (SLF001; the names that Django documents are
listed in pyproject.toml). Here is what it does not see: imports, classes that stand on foreign
ones and call or replace what these keep to themselves, and objects that are made round their class.
"""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
OURS = ("fsbench_web", "runner")
FILES = [
    path
    for folder in (*OURS, "client")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "migrations" not in path.parts
]
# Written with an underscore, and documented by Django for everybody's use.
DOCUMENTED = {"_meta", "_state", "_default_manager", "_base_manager"}


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_private(name: str) -> bool:
    parts = name.split(".")
    return parts[0] not in (*OURS, "fsbench", "__future__") and any(
        part.startswith("_") or part == "internal" for part in parts
    )


def test_nothing_private_is_imported() -> None:
    imports = {path: [*filter(is_private, imported(path))] for path in FILES}
    assert {str(path): names for path, names in imports.items() if names} == {}


def test_no_object_is_made_round_its_class() -> None:
    paths = [
        str(path)
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute)
        and node.attr == "__new__"
        and ast.unparse(node) == "object.__new__"
    ]
    assert paths == []


def modules() -> Iterator[ModuleType]:
    for top in OURS:
        package = importlib.import_module(top)
        for info in pkgutil.walk_packages(package.__path__, f"{top}."):
            # The settings of a site, and what is run rather than imported.
            is_run = info.name.endswith(("__main__", ".asgi", ".celery", ".settings"))
            if not is_run and ".migrations" not in info.name:
                yield importlib.import_module(info.name)


def is_ours(cls: type) -> bool:
    return cls.__module__.split(".")[0] in OURS


def inherited(cls: type) -> set[str]:
    """What the foreign classes under this one keep to themselves."""
    return {
        name
        for base in cls.__mro__[1:-1]
        if not is_ours(base)
        for name in vars(base)
        if name.startswith("_") and not name.startswith(("__", "_abc"))
    } - DOCUMENTED


def classes_in(body: list[ast.stmt]) -> dict[str, list[ast.ClassDef]]:
    """The classes of a module, those in conditions among them, by name."""
    by_name: dict[str, list[ast.ClassDef]] = {}
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            by_name.setdefault(statement.name, []).append(statement)
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in ("body", "orelse", "finalbody"):
                for name, classes in classes_in(getattr(statement, part, [])).items():
                    by_name.setdefault(name, []).extend(classes)
    return by_name


def names_in(body: list[ast.ClassDef]) -> set[str]:
    """The names of attributes and methods in the text of a class."""
    nodes = [node for cls in body for node in ast.walk(cls)]
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)} | {
        node.name for node in nodes if isinstance(node, ast.FunctionDef)
    }


def test_classes_use_nothing_private_of_those_they_stand_on() -> None:
    uses = {}
    count = 0
    for module in modules():
        texts = classes_in(nodes_of(Path(str(module.__file__)))[0].body)  # type: ignore[attr-defined]
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == module.__name__:
                text = texts.get(cls.__name__, [])  # none of one that a library made
                uses[f"{module.__name__}.{cls.__qualname__}"] = names_in(text) & inherited(cls)
                count += bool(text)
    assert count > 500
    assert {name: names for name, names in uses.items() if names} == {}
