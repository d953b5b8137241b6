"""Tests that are left to SQLite send nothing that PostgreSQL is not asked by others."""

import pytest

from tests.statements import chosen, kind_of, listed_tests, stays


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT a FROM b WHERE c IN (%s, %s) LIMIT 21", "SELECT a FROM b WHERE c IN (%s) LIMIT 0"),
        ("INSERT INTO a (b, c) VALUES (%s, %s), (%s, %s)", "INSERT INTO a (b, c) VALUES"),
        ("INSERT INTO a VALUES (%s) RETURNING a.id", "INSERT INTO a VALUES RETURNING a.id"),
        ('SAVEPOINT "s140_x2"', 'SAVEPOINT "savepoint"'),
        ("SELECT 'lab' AS a1", "SELECT '' AS a1"),
    ],
)
def test_a_statement_is_known_without_its_values(statement: str, kind: str) -> None:
    assert kind_of(statement) == kind


def test_what_only_one_test_sends_is_sent_and_nothing_is_lost() -> None:
    sent = {
        "walk": {"a", "b", "c"},
        "locks": {"a", "d"},
        "only": {"e"},
        "twice": {"b"},
        "again": {"d", "a"},
        "nothing": set(),
    }
    left_out = chosen(sent, dict.fromkeys(sent, 1.0), stay={"locks"})
    assert left_out == {"twice", "again", "nothing"}
    stay = sent.keys() - left_out
    assert set().union(*(sent[name] for name in stay)) == set().union(*sent.values())


def test_what_costs_less_stays() -> None:
    sent = {"dear": {"a", "b"}, "cheap": {"a", "b"}}
    assert chosen(sent, {"dear": 3.0, "cheap": 0.1}, stay=set()) == {"dear"}


def test_what_is_for_both_databases_is_never_left_out() -> None:
    assert stays("tests/api/protocol/test_hostile.py::test_nul")
    assert stays("tests/studies/views/test_search.py::test_words")
    assert not stays("tests/studies/jobs/test_priority.py::test_it_is_kept")
    names = listed_tests()
    assert names
    assert not [name for name in names if stays(name)]
