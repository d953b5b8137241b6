"""A database of 0.11 upgrades, and every number in it stays.

``version-0.11`` holds databases that the services of 0.11.0 (05bc4417) filled: the published
studies, imports of four formats, runs in five states, a job, people, a team, tokens, a grant,
permalinks, a watch and a work profile. Tables that these did not fill have one row, with a value
in every column. ``numbers.json`` lists the measurements as 0.11 read them.
"""

import json
import lzma
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.deploy.site import Site

OLD = Path(__file__).with_name("version-0.11")
OURS = ("accounts_", "catalog_", "compare_", "imports_", "operations_", "studies_")
# Later versions dropped these on purpose.
DROPPED_TABLES = {"studies_keptbestscore", "studies_keptbestscores"}
DROPPED_COLUMNS = {("studies_series", "scores_stamp")}
DROPPED_ROWS = {("operations_chore", "Best scores of studies")}

Rows = dict[str, list[dict[str, Any]]]
Open = Callable[[], Any]
MIGRATE = ["migrate", "--verbosity", "0", "--skip-checks"]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def databases(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[str, bool], tuple[Site, Open]]]:
    """``databases(name, is_old)`` makes a database, empty or of 0.11: its site, and a connector."""
    names: list[str] = []

    def of_sqlite(name: str, is_old: bool) -> tuple[Site, Open]:
        folder = tmp_path / name
        folder.mkdir()
        file = folder / "fsbench.sqlite3"
        if is_old:
            file.write_bytes(lzma.decompress((OLD / "database.sqlite3.xz").read_bytes()))
        return Site(folder), lambda: sqlite3.connect(file)

    def of_postgresql(name: str, is_old: bool) -> tuple[Site, Open]:
        head, _, parameters = request.getfixturevalue("postgres_url").partition("?")
        url = f"{head.rpartition('/')[0]}/{name}?{parameters}"
        with psycopg.connect(request.getfixturevalue("postgres_url"), autocommit=True) as server:
            server.execute(f"CREATE DATABASE {name}")
        names.append(name)
        if is_old:
            with psycopg.connect(url) as connection:
                connection.execute(lzma.decompress((OLD / "database.sql.xz").read_bytes()))
        return Site(tmp_path, url), lambda: psycopg.connect(url)

    yield of_sqlite if request.param == "sqlite" else of_postgresql
    for name in names:
        with psycopg.connect(request.getfixturevalue("postgres_url"), autocommit=True) as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def read_rows(connect: Open) -> Rows:
    """All rows of our tables, in the order of their keys."""
    rows: Rows = {}
    with closing(connect()) as connection:
        cursor = connection.cursor()
        is_sqlite = isinstance(connection, sqlite3.Connection)
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            if is_sqlite
            else "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        )
        for (table,) in cursor.fetchall():
            if table.startswith(OURS):
                cursor.execute(f"SELECT * FROM {table} ORDER BY 1")
                columns = [column[0] for column in cursor.description]
                rows[table] = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    return rows


def kept(table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if (table, name) not in DROPPED_COLUMNS}
        for row in rows
        if (table, row.get("name")) not in DROPPED_ROWS
    ]


def test_every_number_of_0_11_stays(
    databases: Callable[[str, bool], tuple[Site, Open]],
) -> None:
    site, connect = databases("old", True)
    before = read_rows(connect)
    assert [table for table, rows in before.items() if not rows] == []
    _, measured, tables = site.steps(MIGRATE, "measurements", "tables")
    after = read_rows(connect)
    assert DROPPED_TABLES & after.keys() == set()
    for table in before.keys() - DROPPED_TABLES:
        expected = kept(table, before[table])
        got = [
            {name: row[name] for name in old}
            for row, old in zip(after[table], expected, strict=True)
        ]
        assert (table, got) == (table, expected)

    numbers = json.loads(lzma.decompress((OLD / "numbers.json.xz").read_bytes()))["measurements"]
    assert len(numbers) == 1137
    assert sorted(measured, key=repr) == numbers

    new, _ = databases("new", False)
    assert tables == new.steps(MIGRATE, "tables")[1]
