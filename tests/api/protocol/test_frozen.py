"""Version 1 as other programs know it: calls, parameters and fields may be added, never lost.

``v1.json`` is the OpenAPI document without its prose. After an addition write it again, in
``manage.py shell``: ``from tests.api.protocol.test_frozen import freeze; freeze()``.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsbench_web.api.main import api

FROZEN = Path(__file__).with_name("v1.json")
PROSE = {"description", "title", "summary", "examples", "info", "operationId", "tags", "deprecated"}


def without_prose(part: Any, has_names: bool = False) -> Any:
    """The part with lists in one order; ``has_names``: its keys are no words of OpenAPI."""
    if isinstance(part, list):
        return sorted(map(without_prose, part), key=json.dumps)
    if not isinstance(part, dict):
        return part
    return {
        key: without_prose(value, key == "properties")
        for key, value in part.items()
        if has_names or key not in PROSE
    }


def current() -> dict[str, Any]:
    """Calls and models of now, by name. The path's own parameters stand in the name."""
    document = json.loads(json.dumps(api.get_openapi_schema(path_prefix="/api/v1/")))
    calls = {
        re.sub(r"{\w+}", "{}", f"{method} {path}"): call
        for path, methods in document["paths"].items()
        for method, call in methods.items()
    }
    for call in calls.values():
        call["parameters"] = {
            f"{parameter['in']} {parameter['name']}": parameter
            for parameter in call.get("parameters", [])
            if parameter["in"] != "path"
        }
    parts = calls | document["components"]["schemas"]
    return {name: without_prose(part) for name, part in parts.items()}


def freeze() -> None:
    lines = [
        f"{json.dumps(name)}: {json.dumps(part, sort_keys=True)}"
        for name, part in sorted(current().items())
    ]
    FROZEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def lost(frozen: Any, now: Any, place: str = "") -> Iterator[str]:
    """Where something is missing, differs, or is asked for that was not."""
    if isinstance(frozen, dict) and isinstance(now, dict):
        for key, value in frozen.items():
            if key == "required" and isinstance(value, list) and isinstance(now.get(key), list):
                named = frozen.get("properties", {}).keys() | value
                yield from lost(
                    value, [name for name in now[key] if name in named], f"{place}/{key}"
                )
            elif key in now:
                yield from lost(value, now[key], f"{place}/{key}")
            else:
                yield f"{place}/{key}"
        if place.endswith("/parameters"):
            yield from (f"{place}/{key}" for key in now.keys() - frozen if now[key]["required"])
    elif isinstance(frozen, list) and isinstance(now, list) and not place.endswith("/required"):
        yield from (f"{place}: {value}" for value in frozen if value not in now)
    elif frozen != now:
        yield f"{place}: {frozen} -> {now}"


def asked_for_now(frozen: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Fields that bodies need now, and did not."""
    waiting = [name for part in now.values() for name in names_in(part.get("requestBody"))]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in frozen and name not in seen:
            seen.add(name)
            waiting += names_in(now[name])
            before, after = (set(model[name].get("required", [])) for model in (frozen, now))
            yield from (f"{name}/{field}" for field in after - before)


def names_in(part: Any) -> list[str]:
    """The models that a part of the document refers to."""
    return re.findall(r"#/components/schemas/(\w+)", json.dumps(part))


def test_nothing_of_version_1_is_lost() -> None:
    frozen, now = json.loads(FROZEN.read_text()), current()
    assert list(lost(frozen, now)) == []
    assert list(asked_for_now(frozen, now)) == []


@pytest.mark.parametrize(
    "path",
    [
        ("get /api/v1/runs",),
        ("get /api/v1/runs", "parameters", "query study"),
        ("get /api/v1/runs", "responses", "404"),
        ("RunSummary", "properties", "sweep"),
        ("RunOut", "required"),
    ],
)
def test_a_loss_is_seen(path: tuple[str, ...]) -> None:
    now = current()
    *parents, last = path
    part = now
    for key in parents:
        part = part[key]
    del part[last]
    assert list(lost(json.loads(FROZEN.read_text()), now)) == ["/" + "/".join(path)]


def test_a_body_that_needs_more_is_seen() -> None:
    now = current()
    now["JobIn"]["required"].append("repeats")
    found = list(asked_for_now(json.loads(FROZEN.read_text()), now))
    assert found == ["JobIn/repeats"]
