"""What a command says when the database did not do what was asked of it."""

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from fsbench_web.platform import database_problems


def find_no_room() -> None:
    """Whatever database it is: its own error."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$")
        cursor.execute("PRAGMA page_count")
        cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0]}")
        try:
            cursor.execute("CREATE TABLE more AS SELECT zeroblob(10000000) AS bytes")
        finally:
            cursor.execute("PRAGMA max_page_count = 1000000000")


def test_a_disk_that_is_full_is_called_one(db: None) -> None:
    """A migration, say, that found no room: DATABASE_URL is right, and the database runs."""
    with pytest.raises(OperationalError) as raised:
        find_no_room()
    text = database_problems.sentences(raised.value)
    assert text.startswith("The disk of the database is full: ")
    assert "Make room" in text
    assert "DATABASE_URL" not in text


@pytest.mark.parametrize("said", ["no such table: auth_user", "connection failed.", "one\n two"])
def test_what_the_database_said_is_a_sentence_of_its_own(said: str) -> None:
    text = database_problems.sentences(DatabaseError(said))
    assert text.startswith("The database cannot be used: ")
    assert ". Check DATABASE_URL" in text
    assert "\n" not in text
    assert ".." not in text
