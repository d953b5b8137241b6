"""Statements that PostgreSQL keeps prepared give what they give by themselves."""

from contextlib import suppress

import pytest
from django.db import DatabaseError, NotSupportedError, connection, transaction

from fsbench_web.platform.statements.fixed_queries import FixedQuery
from fsbench_web.platform.statements.prepared_statements import prepared
from fsbench_web.studies.models import Study

TEXT = "SELECT slug, is_published FROM studies_study WHERE slug = %s OR slug = %s ORDER BY slug"


def rows(*slugs: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(prepared(cursor, TEXT), slugs)
        answer: list[tuple[object, ...]] = cursor.fetchall()
    return answer


@pytest.mark.django_db
def test_rows_are_those_of_the_values_each_time(django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    Study.objects.create(slug="one", title="One")
    Study.objects.create(slug="it's", title="Two")
    with django_assert_num_queries(8):
        for _ in range(8):  # PostgreSQL plans without the values from the sixth time on
            assert [slug for slug, _ in rows("one", "it's")] == ["it's", "one"]
    assert [slug for slug, _ in rows("one", "none")] == ["one"]


@pytest.mark.django_db
def test_without_values() -> None:
    for _ in range(2):
        with connection.cursor() as cursor:
            cursor.execute(prepared(cursor, "SELECT 1 + 1"))
            assert cursor.fetchall() == [(2,)]


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_is_taken_back_takes_nothing_with_it() -> None:
    with transaction.atomic():
        assert rows("none", "none") == []
        transaction.set_rollback(True)
    assert rows("none", "none") == []


@pytest.mark.django_db(transaction=True)
def test_a_new_connection_has_its_own() -> None:
    assert rows("none", "none") == []
    connection.close()
    assert rows("none", "none") == []


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_prepared_raises_as_djangos_queries_do() -> None:
    for _ in range(2):
        with pytest.raises(DatabaseError), connection.cursor() as cursor:
            cursor.execute(prepared(cursor, "SELECT nothing FROM nowhere WHERE a = %s"), ["a"])


@pytest.mark.django_db(transaction=True)
def test_columns_that_change_beneath_a_process_fail_once_at_most() -> None:
    query = FixedQuery(["*"], "FROM changing WHERE a = %s")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE changing (a integer)")
        cursor.execute("INSERT INTO changing VALUES (1)")
        try:
            assert [tuple(row) for row in query.rows(1)] == [(1,)]
            cursor.execute("ALTER TABLE changing ADD COLUMN b integer")
            with suppress(NotSupportedError):
                query.rows(1)
            assert [tuple(row) for row in query.rows(1)] == [(1, None)]
        finally:
            cursor.execute("DROP TABLE changing")
