"""Kernels of imported results: a column of a table, or said beside the files."""

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from fsbench_web.accounts.models import Person, Role
from fsbench_web.compare.history.lines import history
from fsbench_web.imports import rereads
from fsbench_web.imports.models import ImportedFile
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.imports.sources import FileDescription, Target, unpack
from fsbench_web.imports.storing.commit import import_sources, import_uploads
from fsbench_web.studies.models import Artefact, Run, Series
from tests.importing import import_files

pytestmark = pytest.mark.django_db

ROWS = [
    *("ext4,6.9.1,1,untar,10,s", "ext4,6.9.1,2,untar,11,s"),
    *("ext4,6.10.0,1,untar,20,s", "ext4,,1,untar,30,s"),
]


def table(*rows: str, kernel: str = "kernel") -> bytes:
    return "\n".join([f"filesystem,{kernel},repeat,test,value,unit", *rows, ""]).encode()


def stored() -> list[tuple[str, int]]:
    runs = Run.objects.select_related("series").order_by("pk")
    return sorted((run.series.kernel, run.repeat) for run in runs)


def one_file(data: bytes, target: Target, **fields: Any) -> None:
    """Import a file of which more is said than of all files together."""
    import_uploads([("t.csv", io.BytesIO(data))], target, None, given=FileDescription(**fields))


def nothing_changed() -> bool:
    """Whether reading again what was imported gives the same."""
    artefact = Artefact.objects.get()
    difference = rereads.difference(artefact)
    assert not difference.new_runs
    return difference.is_empty


@pytest.mark.parametrize("header", ["kernel", "Kernel Version", "uname_r"])
def test_a_table_says_it_in_a_column(header: str) -> None:
    import_files([("t.csv", table(*ROWS, kernel=header))], study="Lab", user=None)
    assert stored() == [("", 1), ("6.10.0", 1), ("6.9.1", 1), ("6.9.1", 2)]
    assert nothing_changed()


def test_what_is_said_beside_is_for_rows_that_leave_it_empty() -> None:
    import_files([("t.csv", table(*ROWS))], study="Lab", kernel=" 6.12.9 ", user=None)
    assert stored() == [("6.10.0", 1), ("6.12.9", 1), ("6.9.1", 1), ("6.9.1", 2)]
    one_file(table(ROWS[3]), Target("Lab", kernel="6.1"), kernel="6.2")
    assert ("6.2", 1) in stored()


def test_an_empty_column_is_read() -> None:
    import_files([("t.csv", table(ROWS[3]))], study="Lab", kernel="6.1", user=None)
    assert stored() == [("6.1", 1)]
    assert nothing_changed()


def test_trends_go_by_it() -> None:
    for version, value in (("6.9.1", 10), ("6.10.0", 20)):
        rows = [f"ext4,{version},{repeat},untar,{value + repeat},s" for repeat in (1, 2, 3)]
        import_files([("t.csv", table(*rows))], study="Lab", hardware="Array", user=None)
    line = history(Series.objects.latest("pk"), "untar", "mean", "kernel", 10.0)
    assert [point.name for point in line.points] == ["6.9.1", "6.10.0"]
    assert [entry.change.place for entry in line.changes] == [1]


def test_a_column_that_is_left_out_is_left_out() -> None:
    rows = [f"ext4,6.{repeat},{repeat},untar,{repeat},s" for repeat in (1, 2, 3)]
    with pytest.raises(ImportRefused, match="mood"):
        one_file(
            table(*rows).replace(b"unit", b"unit,mood").replace(b",s\n", b",s,x\n"),
            Target("Lab"),
            ignored=("kernel",),
        )
    one_file(table(*rows), Target("Lab"), ignored=("kernel",))
    assert stored() == [("", 1), ("", 2), ("", 3)]
    assert nothing_changed()


def test_what_was_imported_before_it_was_read_is_read_again_without() -> None:
    one_file(
        table(*(f"ext4,6.{repeat},{repeat},untar,{repeat},s" for repeat in (1, 2, 3))),
        Target("Lab"),
        ignored=("kernel",),
    )
    row = ImportedFile.objects.get()
    row.runs = [[key[:5], run] for key, run in row.runs]
    row.save()
    assert nothing_changed()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [("6" * 201, "more than 200 characters"), ("6.1\u200b", "cannot be shown")],
)
def test_what_cannot_be_is_refused(kernel: str, message: str) -> None:
    for data, target_kernel in (
        (table(f"ext4,{kernel},1,untar,1,s"), ""),
        (table(ROWS[3]), kernel),
    ):
        with pytest.raises(ImportRefused, match=message):
            import_files([("t.csv", data)], study="Lab", kernel=target_kernel, user=None)
    assert not Run.objects.exists()


def test_outputs_of_other_kernels_are_not_called_other_workloads(sample: Any) -> None:
    output = sample("iozone-3.489-direct-io")
    files = unpack([(f"{kernel}.txt", io.BytesIO(output)) for kernel in ("6.1", "6.2")])
    sources = [
        replace(source, description=FileDescription(kernel=source.path.removesuffix(".txt")))
        for source in files
    ]
    result = import_sources(sources, Target("Lab", "ext4", "ext4"), None)
    assert stored() == [("6.1", 1), ("6.2", 1)]
    assert not [row for row in result.warnings if "no repeats of each other" in row["message"]]


@pytest.fixture
def api(client: Client, ada: User) -> Client:
    Person.objects.update_or_create(user=ada, defaults={"role": Role.CONTRIBUTOR})
    client.force_login(ada)
    return client


def test_the_api_takes_it(api: Client) -> None:
    sent = {"study": "Lab", "file": SimpleUploadedFile("t.csv", table(ROWS[3])), "kernel": "6.1"}
    response = api.post("/api/v1/imports", sent)
    assert response.status_code == 201, response.content
    assert stored() == [("6.1", 1)]
    detail = api.get(f"/api/v1/imports/{response.json()['id']}").json()
    assert detail["target"]["kernel"] == "6.1"
    (run,) = detail["runs"]
    assert api.get(f"/api/v1/runs/{run}").json()["kernel"] == "6.1"
    page = api.get(f"/runs/{run}/").content.decode()
    assert '<dt>Kernel</dt><dd><span class="mono">6.1</span></dd>' in page


def test_a_preview_shows_it_and_it_can_be_corrected(api: Client) -> None:
    sent = {"study": "Lab", "file": SimpleUploadedFile("t.csv", table(ROWS[3])), "kernel": "6.1"}
    preview = api.post("/api/v1/imports/previews", sent).json()
    (file,) = preview["files"]
    assert (file["given"]["kernel"], file["runs"][0]["kernel"]) == ("6.1", "6.1")
    page = api.get(f"/imports/{preview['id']}/").content.decode()
    assert f'name="kernel-{file["id"]}" maxlength="200"\n      value="6.1"' in page
    assert ", kernel 6.1, repeat 1" in re.sub(r"\s+", " ", page)
    changed = api.patch(
        f"/api/v1/imports/{preview['id']}",
        {"files": [{"id": file["id"], "kernel": "6.2"}]},
        content_type="application/json",
    )
    assert changed.status_code == 200, changed.content
    assert changed.json()["files"][0]["runs"][0]["kernel"] == "6.2"
    form = {f"configuration-{file['id']}": "", f"take-{file['id']}": "on", "study": "Lab"}
    api.post(f"/imports/{preview['id']}/check/", form | {f"kernel-{file['id']}": "6.3"})
    assert api.post(f"/api/v1/imports/{preview['id']}/commit").status_code in (200, 201)
    assert stored() == [("6.3", 1)]
    assert "6.3" in api.get(f"/imports/{preview['id']}/").content.decode()


def test_the_command_takes_it(tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(table(ROWS[3]))
    call_command("import_results", str(path), study="Lab", kernel="6.1")
    assert stored() == [("6.1", 1)]
