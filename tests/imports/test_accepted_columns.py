"""Columns that are said while an import is accepted: what was previewed is what is stored."""

import re
import threading
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.imports import mappings, queue, uploads
from fsbench_web.imports.models import Import, ImportFile, ImportState, SavedMapping
from fsbench_web.platform import limits
from tests.measured import measured

ROWS = "test;value;second;unit\n" + "".join(f"seq{n};{n};{n + 100};KB/s\n" for n in range(1, 9))
COLUMNS = {
    **{"shape": "long", "header_line": 1, "delimiter": ";"},
    "columns": {"test": 0, "value": 1, "unit": 3},
}
FORM = {
    **{"shape": "long", "header_line": "1", "delimiter": ";"},
    **{"record_unit": "KB", "file_unit": "KB"},
    **{"column-test": "0", "column-value": "1", "column-unit": "3"},
}


@pytest.fixture
def ada(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> User:
    monkeypatch.setattr(limits, "MOST_RUNS_STORED", 0)
    return User.objects.create_user("ada")


@pytest.fixture
def api(ada: User) -> Client:
    _, token = tokens.create(ada, "imports", can_import=True)
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def signed_in(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def work() -> None:
    while (row := queue.claim()) is not None:
        queue.work_on(row, threading.Event())


@pytest.fixture
def file(api: Client) -> ImportFile:
    """A table whose values are said to be in its third column."""
    fields = {"study": "Lab", "filesystem": "xfs", "configuration": "xfs"}
    sent = {**fields, "file": SimpleUploadedFile("t.csv", ROWS.encode())}
    answer = api.post("/api/v1/imports/previews", sent)
    assert answer.status_code in (201, 202), answer.content.decode()
    work()
    uploaded = ImportFile.objects.get()
    says = {**COLUMNS, "columns": {"test": 0, "value": 2, "unit": 3}, "name": "the third"}
    assert put_columns(api, uploaded, says) == 200
    work()
    assert Import.objects.get().state == ImportState.PREVIEWED
    return uploaded


def put_columns(api: Client, file: ImportFile, columns: dict[str, Any]) -> int:
    address = f"/api/v1/imports/{file.import_of_id}/files/{file.pk}/columns"
    return api.put(address, columns, content_type="application/json").status_code


@pytest.mark.parametrize("way", ["program", "kept by a program", "page", "kept by the page"])
def test_columns_that_come_behind_accepting_change_nothing(
    way: str, file: ImportFile, api: Client, signed_in: Client, monkeypatch: Any
) -> None:
    saved = SavedMapping.objects.get()
    saved.mapping = {**saved.mapping, "columns": COLUMNS["columns"]}
    saved.save()
    address = f"/imports/{file.import_of_id}/files/{file.pk}/columns/"
    use = mappings.apply

    def late(*args: Any) -> None:
        uploads.commit_stashed(file.import_of_id, User.objects.get())
        use(*args)

    monkeypatch.setattr(mappings, "apply", late)
    status = {
        "program": lambda: put_columns(api, file, {**COLUMNS, "name": "the second"}),
        "kept by a program": lambda: put_columns(api, file, {"kept": saved.pk}),
        "page": lambda: signed_in.post(address, {**FORM, "name": "the second"}).status_code,
        "kept by the page": lambda: signed_in.post(address, {"use": saved.pk}).status_code,
    }[way]()
    assert status == 404
    assert SavedMapping.objects.get() == saved
    work()
    assert Import.objects.get().state == ImportState.DONE
    assert sorted(measurement.value for measurement in measured()) == list(range(101, 109))


def test_columns_that_come_before_accepting_are_previewed_first(
    file: ImportFile, api: Client
) -> None:
    assert put_columns(api, file, COLUMNS) == 200
    assert Import.objects.get().state == ImportState.PREVIEWED
    uploads.commit_stashed(file.import_of_id, User.objects.get())
    work()
    assert sorted(measurement.value for measurement in measured()) == list(range(1, 9))


def shown_columns(client: Client, where: str) -> str:
    """What the form of a preview says of the columns that it shows."""
    match = re.search('name="columns" value="([0-9a-f]{64})"', client.get(where).content.decode())
    assert match is not None
    return match[1]


@pytest.mark.parametrize("most_runs", [0, 1000])
def test_a_preview_that_another_window_made_old_is_not_stored(
    most_runs: int, api: Client, signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One window shows the third column; the second one is said in another, and checked."""
    monkeypatch.setattr(limits, "MOST_RUNS_STORED", most_runs)
    fields = {"study": "Lab", "filesystem": "xfs", "configuration": "xfs"}
    sent = {**fields, "file": SimpleUploadedFile("t.csv", ROWS.encode())}
    assert api.post("/api/v1/imports/previews", sent).status_code in (201, 202)
    work()
    file = ImportFile.objects.get()
    where = f"/imports/{file.import_of_id}/"
    assert put_columns(api, file, {**COLUMNS, "columns": {"test": 0, "value": 2, "unit": 3}}) == 200
    work()
    older = shown_columns(signed_in, where)
    assert put_columns(api, file, COLUMNS) == 200
    work()
    form = {"study": "Elsewhere", f"take-{file.pk}": "1"}
    for step in ("check", "commit"):
        answer = signed_in.post(f"{where}{step}/", {**form, "columns": older})
        assert answer.status_code == 422
        assert "changed since this preview was shown" in answer.content.decode()
        assert Import.objects.get().target["study"] == "Lab"
    work()
    assert Import.objects.get().state == ImportState.PREVIEWED
    newer = shown_columns(signed_in, where)
    form |= {"study": "Lab", f"filesystem-{file.pk}": "xfs", f"configuration-{file.pk}": "xfs"}
    answer = signed_in.post(f"{where}commit/", {**form, "columns": newer})
    assert answer.status_code == 302, answer.content.decode()
    work()
    assert sorted(measurement.value for measurement in measured()) == list(range(1, 9))


@pytest.mark.parametrize("most_runs", [0, 1000])
def test_words_for_not_measured_are_said_on_the_page_of_columns(
    most_runs: int, api: Client, signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_RUNS_STORED", most_runs)
    fields = {"study": "Lab", "filesystem": "xfs", "configuration": "xfs"}
    rows = ROWS.replace("seq3;3;", "seq3;timeout;").replace("seq5;5;", "seq5;timeout;")
    sent = {**fields, "file": SimpleUploadedFile("t.csv", rows.encode())}
    assert api.post("/api/v1/imports/previews", sent).status_code in (201, 202)
    work()
    file = ImportFile.objects.get()
    where = f"/imports/{file.import_of_id}/"
    columns = f"{where}files/{file.pk}/columns/"
    answer = signed_in.post(columns, {**FORM, "not_measured": " timeout ,, failed", "name": "k"})
    assert answer.status_code == 302, answer.content.decode()
    work()
    assert 'value="timeout, failed"' in signed_in.get(columns).content.decode()
    page = signed_in.get(where).content.decode()
    assert "was said to mean that nothing was measured" in page
    assert SavedMapping.objects.get().mapping["not_measured"] == ["timeout", "failed"]
    answer = api.post(f"/api/v1/imports/{file.import_of_id}/commit")
    assert answer.status_code in (200, 202), answer.content.decode()
    work()
    assert Import.objects.get().state == ImportState.DONE
    assert sorted(measurement.value for measurement in measured()) == [1, 2, 4, 6, 7, 8]
    assert "was said to mean" in signed_in.get(where).content.decode()


def test_programs_say_them_too(file: ImportFile, api: Client) -> None:
    assert put_columns(api, file, {**COLUMNS, "not_measured": ["timeout"]}) == 200
    file.refresh_from_db()
    assert file.mapping is not None
    assert file.mapping["not_measured"] == ["timeout"]
    work()
    assert put_columns(api, file, {**COLUMNS, "not_measured": ["3"]}) == 422
    assert put_columns(api, file, {**COLUMNS, "not_measured": ["x" * 61]}) == 422
    assert put_columns(api, file, {**COLUMNS, "not_measured": ["x"] * 21}) == 422
