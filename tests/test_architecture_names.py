"""Every name of the code that the documents of the architecture have is one that the code has."""

import ast
import os
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("architecture", "decisions", "glossary")]
TEXT = "\n".join(page.read_text() for page in PAGES)
FILES = sorted(set(re.findall(r"\b\w+\.py\b", TEXT)) - {"plotly.py"})
# Of the language, of libraries and of tools, not of this code.
OTHERS = re.compile(
    r"(manage|docker|make|plotly|trace|details|static|objects|numpy|scipy|pyproject|luns|fsbench\.source|runner\.fetch_guest_kernel)\b"
)
MADE = (ROOT / "data", ROOT / "staticfiles")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
CALL = re.compile(r"([A-Za-z_][\w.]*)\(")


@cache
def modules() -> dict[str, Path]:
    """Modules and packages by dotted name."""
    paths = {}
    for top in ("fsbench_web", "runner", "benchmarks", "client"):
        for path in (ROOT / top).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            paths[".".join(part for part in parts if part != "__init__")] = path
    return paths


@cache
def files() -> set[str]:
    """Names of the files of the checkout, without what was made in it (.venv, caches, data)."""
    names: set[str] = set()
    for folder, folders, here in os.walk(ROOT):
        folders[:] = [one for one in folders if one[0] != "." and Path(folder, one) not in MADE]
        names.update(here)
    return names


@cache
def defined() -> dict[str, set[str]]:
    """What each file defines or imports, fields and methods included, by dotted module."""
    definitions: dict[str, set[str]] = defaultdict(set)
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                definitions[name].add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                definitions[name].add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                definitions[name].add(node.attr)
            elif isinstance(node, ast.alias):
                definitions[name].add((node.asname or node.name).split(".")[0])
    return definitions


@cache
def everything() -> set[str]:
    names = set().union(*defined().values())
    return names | {part for module in modules() for part in module.split(".")}


def problem(name: str) -> str:
    """Why this dotted name is of no code, or ""."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        tail = "." + ".".join(parts[:end])
        fitting = [module for module in modules() if f".{module}".endswith(tail)]
        if fitting:
            rest = parts[end:]
            if not rest or any(rest[0] in defined()[module] for module in fitting):
                return "" if all(part in everything() for part in rest) else f"no {rest}"
            return f"{'.'.join(parts[:end])} has no {rest[0]}"
    missing = [part for part in parts if part not in everything()]
    return f"nothing is called {missing[0]}" if missing else ""


def names() -> list[str]:
    mentions = []
    prose = re.sub(r"(?s)```.*?```", "", TEXT)
    for code in re.findall(r"`([^`]+)`", prose):
        mentions += [n for n in (*DOTTED.findall(code), *CALL.findall(code)) if not OTHERS.match(n)]
    return sorted(set(mentions))


def test_there_are_names_to_look_at() -> None:
    assert len(names()) > 12


@pytest.mark.parametrize("name", names())
def test_the_code_has_it(name: str) -> None:
    if name.rpartition(".")[2] in ("py", "md", "html", "js", "toml", "yml", "sh"):
        assert name in files(), f"there is no file {name}"
    else:
        assert not problem(name), problem(name)


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_there(name: str) -> None:
    assert list(ROOT.glob(name)) or any(
        path.name == name for path in (*modules().values(), *ROOT.glob("tests/*.py"))
    ), f"there is no file {name}"
