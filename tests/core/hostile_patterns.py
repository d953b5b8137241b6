"""Strings on which a regular expression may take superlinear time, made from its own parts."""

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

METHODS = frozenset(("match", "search", "fullmatch", "findall", "finditer", "sub", "split"))
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
PROBES = " \t0aA_-./:;,\"'=()[]{}<>|%+#"
TAILS = ("\x00", "", " !")
_MANY = 200


class Use(NamedTuple):
    """A pattern, where it stands, and how it is called there."""

    place: str
    pattern: re.Pattern[str]
    method: str


def uses(*packages: str) -> list[Use]:
    """Every use of a text pattern in the packages."""
    modules = [module for package in packages for module in _modules(package)]
    trees = {
        module.__name__: ast.parse(Path(str(module.__file__)).read_text()) for module in modules
    }
    by_name = {name: _methods(tree) for name, tree in trees.items()}
    found = {}
    for module in modules:
        own = by_name[module.__name__]
        patterns = dict(_module_patterns(module))
        known = {name for name in patterns if "[" not in name}
        others = set().union(*(own[name] for name in own if name not in known))
        for name, pattern in patterns.items():
            methods = own[name] or {m for names in by_name.values() for m in names[name]} or others
            for method in methods or {"search"}:
                found[module.__name__, pattern, method] = name
        for pattern, method, line in _inline(trees[module.__name__]):
            found[module.__name__, pattern, method] = str(line)
    return [Use(f"{m}:{name}", pattern, method) for (m, pattern, method), name in found.items()]


def _modules(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    yield root
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        yield importlib.import_module(info.name)


def _methods(tree: ast.AST) -> defaultdict[str, set[str]]:
    """By the name of a pattern, what is called of it."""
    methods: defaultdict[str, set[str]] = defaultdict(set)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            base = node.value
            name = base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
            if name != "re":
                methods[name].add(node.attr)
    return methods


def _module_patterns(module: ModuleType) -> Iterator[tuple[str, re.Pattern[str]]]:
    for name, value in vars(module).items():
        for number, pattern in enumerate(_patterns_in(value)):
            yield (name if isinstance(value, re.Pattern) else f"{name}[{number}]"), pattern


def _patterns_in(value: Any) -> Iterator[re.Pattern[str]]:
    value = getattr(value, "__self__", value) if callable(value) else value
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _patterns_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _patterns_in(inner)


def _inline(tree: ast.AST) -> Iterator[tuple[re.Pattern[str], str, int]]:
    """Patterns that stand in a call: ``re.fullmatch("[0-9]+", text)``."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=method),
                args=[ast.Constant(value=str(text)), *_],
            ) if method in METHODS:
                yield re.compile(text), method, node.lineno


def hostile_texts(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """(beginning, what is repeated behind it): every repeat of the pattern, led up to."""
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    texts = dict.fromkeys([*_led_up_to(tree, ""), *(("", probe) for probe in PROBES)])
    texts |= dict.fromkeys(("", start + unit) for start, unit in list(texts) if start)
    texts |= dict.fromkeys(("", start) for start, _ in list(texts) if start)
    return list(texts)


def _led_up_to(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    for operation, argument in tree:
        if operation in REPEATS:
            least, most, inner = argument
            if most > _MANY:
                letters = _letters(*inner[0]) if len(inner) == 1 else []
                units = [*letters[:4], *(letter for letter in letters if letter in PROBES)]
                yield from ((before, unit) for unit in {*units, _shortest(inner)} if unit)
            yield from _led_up_to(inner, before)
            before += _shortest(inner) * least
            continue
        for inner in _parts(operation, argument):
            yield from _led_up_to(inner, before)
        before += _shortest([(operation, argument)])


def _parts(operation: Any, argument: Any) -> list[Any]:
    if operation is codes.SUBPATTERN:
        return [argument[3]]
    if operation is codes.BRANCH:
        return list(argument[1])
    if operation is codes.ATOMIC_GROUP:
        return [argument]
    return [argument[1]] if operation in (codes.ASSERT, codes.ASSERT_NOT) else []


def _shortest(tree: Any) -> str:
    """A text that it matches, as short as it may be, as far as that is easily said."""
    text = ""
    for operation, argument in tree:
        if operation in REPEATS:
            text += _shortest(argument[2]) * argument[0]
        elif operation in (codes.SUBPATTERN, codes.BRANCH, codes.ATOMIC_GROUP):
            text += _shortest(_parts(operation, argument)[0])
        else:
            text += "".join(_letters(operation, argument)[:1])
    return text


def _letters(operation: Any, argument: Any) -> list[str]:
    """Letters that it matches."""
    if operation is codes.LITERAL:
        return [chr(argument)]
    if operation is codes.NOT_LITERAL:
        return [letter for letter in PROBES if letter != chr(argument)]
    if operation is codes.ANY:
        return list(PROBES)
    if operation is not codes.IN:
        return []
    letters: dict[str, None] = {}
    for kind, value in argument:
        if kind is codes.LITERAL:
            letters[chr(value)] = None
        elif kind is codes.RANGE:
            letters |= dict.fromkeys(map(chr, range(value[0], min(value[1], 0x7E) + 1)))
        elif kind is codes.CATEGORY:
            letters |= dict.fromkeys(letter for letter in PROBES if _is_in(value, letter))
    if argument[0][0] is codes.NEGATE:
        return [letter for letter in PROBES if letter not in letters]
    return list(letters)


def _is_in(category: Any, letter: str) -> bool:
    is_in = {
        "SPACE": letter.isspace(),
        "DIGIT": letter.isdigit(),
        "WORD": letter.isalnum() or letter == "_",
    }[str(category).rsplit("_", 1)[1]]
    return is_in != ("_NOT_" in str(category))
