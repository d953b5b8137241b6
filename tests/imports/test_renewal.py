"""Warnings of an import, as reading its files again renews them."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.core.formats.result import ParsedResult, Problem
from fsbench_web.imports import rereads as reading
from fsbench_web.imports.models import Import
from fsbench_web.imports.rereads import renewed_warnings
from fsbench_web.studies.models import Artefact
from tests.importing import import_files

TARGET: dict[str, Any] = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}


def row(message: str, file: str | None = "a.txt", line: int | None = 3) -> dict[str, Any]:
    place = {"file": file, "line": line, "column": None}
    return {**place, "message": message, "count": 1, "lost": True}


def parsed(*messages: str, unread: tuple[str, ...] = ()) -> ParsedResult:
    result = ParsedResult("table", "table", warnings=[Problem(3, None, text) for text in messages])
    result.unread_columns = [(1, word) for word in unread]
    return result


def messages(rows: Any) -> list[tuple[str | None, str]]:
    return [(warning["file"], warning["message"]) for warning in rows]


def test_what_is_said_today_takes_the_place_of_what_was_said() -> None:
    remark = row("A repeat of run 3.", line=None)
    report = {
        "warnings": [row("Old.", "b.txt"), row("Old."), remark, row("Old.", "c.txt")],
        "remarks": [remark],
    }
    warnings = renewed_warnings(report, "a.txt", parsed("New."))
    assert messages(warnings) == [
        ("b.txt", "Old."),
        ("a.txt", "New."),
        ("a.txt", "A repeat of run 3."),
        ("c.txt", "Old."),
    ]
    report["warnings"] = warnings
    assert renewed_warnings(report, "a.txt", parsed("New.")) is None


def test_nothing_is_taken_from_an_import_that_did_not_keep_its_remarks_apart() -> None:
    report = {"warnings": [row("Of a repeat, or of an older parser.")]}
    assert messages(renewed_warnings(report, "a.txt", parsed("New."))) == [
        ("a.txt", "New."),
        ("a.txt", "Of a repeat, or of an older parser."),
    ]
    full = {"warnings": [row("Old."), row("And 5 more.", None, None)]}
    assert renewed_warnings(full, "a.txt", parsed("New.")) is None


@pytest.mark.django_db
def test_warnings_alone_are_renewed_too(ada: User, signed_in: Client) -> None:
    data = b"test,value,unit,colour\nuntar,0,s,red\nmake,4,s,red\n"
    import_files([("t.csv", data)], **TARGET, user=ada)
    imported, artefact = Import.objects.get(), Artefact.objects.get()
    right = imported.report["warnings"]
    assert len(right) == 2
    assert reading.difference(artefact).is_empty
    imported.report = {"warnings": [], "remarks": []}
    imported.save()
    address = f"/imports/reread/{artefact.pk}/"
    page = signed_in.get(address).content.decode()
    assert "The import gets the new warnings below" in page
    assert "colour" in page
    difference = signed_in.get(f"/api/v1/artefacts/{artefact.pk}/reread").json()
    assert (difference["warnings"], difference["is_empty"]) == (right, False)
    imported.refresh_from_db()
    assert imported.report["warnings"] == [], "looking changes nothing"
    assert signed_in.post(address, {"digest": difference["digest"]}).status_code == 302
    imported.refresh_from_db()
    assert imported.report["warnings"] == right
    assert "Nothing would change" in signed_in.get(address).content.decode()
    assert signed_in.post(address, {"digest": difference["digest"]}).status_code == 422


@pytest.mark.django_db
def test_columns_that_were_said_to_be_left_out_stay_so(ada: User) -> None:
    ignored = row('Column "colour" is not read, as the import says.', "t.csv", 1)
    ignored["lost"] = False
    warnings = renewed_warnings(
        {"warnings": [ignored], "remarks": []}, "t.csv", parsed(unread=("colour",))
    )
    assert warnings is None
