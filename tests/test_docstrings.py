"""What docstrings say of the code is so: the exceptions that they name exist."""

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = [
    path
    for folder in ("benchmarks", "client", "deploy", "fsbench_web", "runner", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "migrations" not in path.parts
]
EXCEPTION = r"``?[\w.]+``?|_?[A-Z]\w*(?:\.[A-Z]\w*)?"
RAISES = re.compile(rf"\bRaises ((?:{EXCEPTION})(?:(?:, | and | or |, and )(?:{EXCEPTION}))*)")
NAME = re.compile(r"_?[A-Z]\w*(?:\.[A-Z]\w*)?")


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def classes() -> set[str]:
    """Of the language and of all of this code."""
    ours = {
        node.name for path in FILES for node in nodes_of(path) if isinstance(node, ast.ClassDef)
    }
    return ours | set(dir(builtins))


@cache
def of_libraries() -> set[str]:
    """What some file imports or takes of a module: exceptions of libraries are among these."""
    nodes = [node for path in FILES for node in nodes_of(path)]
    return {node.name.split(".")[-1] for node in nodes if isinstance(node, ast.alias)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


def raised(path: Path) -> Iterator[tuple[int, str]]:
    """Line of the function or class, and each exception that its docstring says it raises."""
    for node in nodes_of(path):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            continue
        text = " ".join((ast.get_docstring(node) or "").split())
        for sentence in RAISES.findall(text):
            for name in NAME.findall(sentence):
                yield getattr(node, "lineno", 1), name


def test_docstrings_are_read() -> None:
    assert sum(1 for path in FILES for _ in raised(path)) > 200


def test_each_exception_that_a_docstring_names_exists() -> None:
    assert [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in FILES
        for line, name in raised(path)
        if name.split(".")[0] not in classes() | of_libraries()
    ] == []
