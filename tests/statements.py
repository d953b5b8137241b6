"""Which tests need no second database: all that they ask of it, others ask of PostgreSQL too.

What a test of the database shows on PostgreSQL beyond SQLite is that its statements are understood,
typed, ordered and locked there. ``asked_by_others.txt`` lists the tests of which each statement is
sent to PostgreSQL by a test that stays; these run on SQLite alone. Each variant of a parametrized
test is a test of its own. Never listed are tests with transactions of their own (locks), odd values
and programs that ask which database it is (``STAY``), and what is named after an order, a search or
a lock (``DIFFERS``), where the two may answer the same differently. A statement counts with how it
ended: one that is refused is another than one that is not. A new or renamed test is in no list, and
runs on both.

The list is made anew by (the first also with PostgreSQL, before it ``-m tests.services ...``)::

    .venv/bin/python -m pytest -q -n 2 --dist loadfile --database -p tests.statements
    .venv/bin/python -m tests.statements
"""

import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

LIST = Path(__file__).parent / "asked_by_others.txt"
RECORDS = Path(__file__).parent.parent / ".cache" / "statements"
STAY = (
    "tests/accounts/test_attacks.py",
    "tests/api/protocol/",
    "tests/imports/test_large.py",
    "tests/imports/test_renewal.py",
    "tests/operations/",
    "tests/platform/",
    "tests/studies/scores/",
)
DIFFERS = re.compile(
    "order|sort|search|newest|latest|oldest|first|last|case|nul|odd|hostile"
    "|(?<!b)lock|lease|fenc|at_once|concurrent|twice|busy"
)

_sent: set[str] = set()


def listed_tests() -> frozenset[str]:
    """The tests of the list."""
    return frozenset(LIST.read_text().split("\n")[:-1])


@cache
def kind_of(statement: str) -> str:
    """The statement without values and without how many there are."""
    kind = re.sub(r"%s(?:\s*,\s*%s)+", "%s", statement)
    kind = re.sub(r"VALUES .*?(?= ON CONFLICT| RETURNING|$)", "VALUES", kind, flags=re.DOTALL)
    kind = re.sub(r'"s\d+_x\d+"', '"savepoint"', kind)
    if kind.startswith("INSERT"):
        kind = re.sub(r"UNION ALL SELECT.*", "UNION", kind, flags=re.DOTALL)
    return re.sub(r"\b\d+\b", "0", re.sub(r"'[^']*'", "''", kind))


def chosen(sent: dict[str, set[str]], seconds: dict[str, float], stay: set[str]) -> set[str]:
    """The tests that no statement needs, of those in ``sent`` (their statements) beside ``stay``.

    Greedy: next stays who sends most that nobody who stays sent, for each second.
    """
    rest = {name: set(kinds) for name, kinds in sent.items() if name not in stay}
    seen = set().union(*(sent[name] for name in stay if name in sent))
    while rest:
        for kinds in rest.values():
            kinds -= seen
        name = max(rest, key=lambda name: (len(rest[name]) / max(seconds[name], 0.02), name))
        if not rest[name]:
            break
        seen |= rest.pop(name)
    return set(rest)


def stays(name: str) -> bool:
    """Whether a test of this name is for both databases whatever it sends."""
    return name.startswith(STAY) or bool(DIFFERS.search(name.partition("[")[0]))


def write_list() -> None:
    """The list from what was recorded."""
    sent: dict[str, set[str]] = {}
    seconds: Counter[str] = Counter()
    stay = set()
    for record in RECORDS.glob("*.jsonl"):
        for line in record.read_text().splitlines():
            test: dict[str, Any] = json.loads(line)
            name = test["name"]
            sent.setdefault(name, set()).update(test["kinds"])
            seconds[name] += test["seconds"]
            if test["stays"] or stays(name):
                stay.add(name)
    names = chosen(sent, seconds, stay)
    LIST.write_text("".join(f"{name}\n" for name in sorted(names)))
    less, of = sum(seconds[name] for name in names), sum(seconds.values())
    print(f"{len(names)} of {len(sent)} tests, {less:.0f} of {of:.0f} processor seconds")


def pytest_configure(config: pytest.Config) -> None:
    from django.db.backends.utils import CursorWrapper

    if not hasattr(config, "workerinput"):
        shutil.rmtree(RECORDS, ignore_errors=True)
    RECORDS.mkdir(parents=True, exist_ok=True)
    for name in ("_execute", "_executemany"):
        setattr(CursorWrapper, name, _noted(getattr(CursorWrapper, name)))


def _noted(send: Any) -> Any:
    def noted(self: Any, statement: Any, *rest: Any) -> Any:
        try:
            answer = send(self, statement, *rest)
        except Exception as error:
            _sent.add(f"{kind_of(str(statement))} {type(error).__name__}")
            raise
        _sent.add(kind_of(str(statement)))
        return answer

    return noted


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _sent.clear()
    before, failed = time.process_time(), item.session.testsfailed
    try:
        return (yield)
    finally:
        mark = item.get_closest_marker("django_db")
        fixtures = getattr(item, "fixturenames", ())
        has_transactions = mark is not None and bool(mark.kwargs.get("transaction"))
        has_transactions |= "transactional_db" in fixtures
        record = {
            "name": item.nodeid,
            "seconds": time.process_time() - before,
            "kinds": sorted(_sent),
            "stays": has_transactions or item.session.testsfailed > failed,
        }
        with (RECORDS / f"{os.getpid()}.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    write_list()
