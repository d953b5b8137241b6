"""Jobs as documents: YAML or JSON text to plain data and back. No database.

Reads what YAML 1.2 and JSON share, so that ``off`` and ``2005-12-01`` stay words. Anchors, aliases
and tags are refused: a few lines of them can stand for gigabytes.
"""

import json
import re
from collections.abc import Hashable
from typing import Any

import yaml

from fsbench_web.platform import plain_text

MAXIMUM_BYTES = 64 * 1024
MAXIMUM_DEPTH = 20


class UnreadableDocument(ValueError):
    """The text is no such document; the message says where and why."""


def read(text: str | bytes) -> Any:
    """The data of a document. Raises UnreadableDocument."""
    if isinstance(text, str):
        text = text.encode("utf-8", "replace")
    if len(text) > MAXIMUM_BYTES:
        raise UnreadableDocument(
            f"The job file is larger than {MAXIMUM_BYTES // 1024} KiB: a list of values in options "
            "stands for many configurations, and jobs can be submitted in parts."
        )
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableDocument(
            f"The job file is not UTF-8 text (byte {error.start}): save it as UTF-8."
        ) from None
    if not decoded.strip():
        raise UnreadableDocument("The job file is empty.")
    try:
        is_json = decoded.lstrip().startswith("{")
        data = _read_json(decoded) if is_json else _read_yaml(decoded)
    except RecursionError:
        raise _depth_error() from None
    _check(data)
    return data


def write(data: Any) -> str:
    """The data as YAML, which ``read`` reads as the same data."""
    return yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )


def _read_json(text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, value in pairs:
            if key in mapping:
                raise UnreadableDocument(f'"{key}" is said twice: leave one of them out.')
            mapping[key] = value
        return mapping

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise UnreadableDocument(
            f"The job file is not JSON: line {error.lineno}, column {error.colno}: {error.msg}."
        ) from None
    except UnreadableDocument:
        raise
    except ValueError:  # a number of thousands of digits
        raise UnreadableDocument("The job file holds a number that is far too large.") from None


def _read_yaml(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader with less, see below)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        sentence = error.problem or error.context or "it cannot be read"
        raise UnreadableDocument(f"The job file is not YAML: {place}{sentence}.") from None
    except yaml.YAMLError as error:
        sentence = str(error).splitlines()[0]
        raise UnreadableDocument(f"The job file is not YAML: {sentence}.") from None
    except ValueError:
        raise UnreadableDocument("The job file holds a number that is far too large.") from None


class _Loader(yaml.SafeLoader):
    """Refuses aliases, tags and repeated keys; knows YAML 1.2's words and no others."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()
        if getattr(event, "anchor", None) is not None:
            raise yaml.composer.ComposerError(
                None, None, "anchors and aliases are not read; write the text out", event.start_mark
            )
        if getattr(event, "tag", None) is not None:
            raise yaml.composer.ComposerError(
                None, None, "tags are not read; leave the tag out", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be a text", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'"{key}" is said twice; leave one of them out', key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


_WORDS = {
    "tag:yaml.org,2002:null": (r"~|null||", ["~", "n", ""]),
    "tag:yaml.org,2002:bool": (r"true|false", ["t", "f"]),
    "tag:yaml.org,2002:int": (r"[-+]?(0|[1-9][0-9]*)", list("-+0123456789")),
    "tag:yaml.org,2002:float": (r"[-+]?(0|[1-9][0-9]*)\.[0-9]+", list("-+0123456789")),
}
for _tag, (_pattern, _first) in _WORDS.items():
    _Loader.add_implicit_resolver(_tag, re.compile(rf"^(?:{_pattern})$"), _first)


class _Dumper(yaml.SafeDumper):
    """Writes every list and map out: an alias would be refused when it is read again."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent(self, data: Any) -> None:
        # What starts with a brace is JSON: the outermost map is never written on one line.
        node = self.represent_data(data)
        if isinstance(node, yaml.CollectionNode):
            node.flow_style = False
        self.serialize(node)


def _depth_error() -> UnreadableDocument:
    return UnreadableDocument(f"The job file is nested more than {MAXIMUM_DEPTH} levels deep.")


def _check(data: Any) -> None:
    """Refuse what no database could hold, or no job needs."""
    waiting = [(data, 1)]
    while waiting:
        value, depth = waiting.pop()
        if depth > MAXIMUM_DEPTH:
            raise _depth_error()
        if isinstance(value, str):
            if problem := plain_text.problem(value):
                raise UnreadableDocument(
                    "The job file contains a control character, half a character or another sign "
                    f"that cannot be seen, which no name in fsbench has. {problem}"
                )
        elif isinstance(value, dict):
            waiting += [(inner, depth + 1) for pair in value.items() for inner in pair]
        elif isinstance(value, list):
            waiting += [(inner, depth + 1) for inner in value]
        elif isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                raise UnreadableDocument("The job file holds a value that is no number (NaN).")
        elif isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
            raise UnreadableDocument("The job file holds a number that is far too large.")
