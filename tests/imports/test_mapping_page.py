"""Tables of any kind: the mapping page, and mappings kept for the next file."""

from operator import attrgetter

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.accounts.models import AuditEntry
from fsbench_web.imports.models import Import, ImportFile, SavedMapping
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.imports.storing.commit import import_files
from fsbench_web.studies.models import Run
from tests.measured import measured

pytestmark = pytest.mark.django_db
LAB = b"when;bs;MB;mode;speed\n2005;4;1;seq-w;1234,5\n2005;8;1;<b>seq-r</b>;99\n2005;8;1;seq-r;99\n"
GOOD = LAB.replace(b"<b>seq-r</b>", b"seq-q")
TARGET = {"study": "Lab", "filesystem": "ext3", "configuration": "ext3_wb"}
FORM = {
    "shape": "long",
    "header_line": "1",
    "delimiter": ";",
    "decimal": "",
    "record_unit": "KB",
    "file_unit": "MB",
    "column-record_size_kb": "1",
    "column-file_size_kb": "2",
    "column-test": "3",
    "column-value": "4",
    "constant-unit": "kB/s",
}


def upload(client: Client, data: bytes = GOOD, name: str = "lab.csv") -> str:
    answer = client.post("/imports/new/", {**TARGET, "file": SimpleUploadedFile(name, data)})
    assert answer.status_code == 302, answer.content.decode()
    return str(answer["Location"])


def page_of(where: str) -> str:
    return f"{where}files/{ImportFile.objects.latest('id').pk}/columns/"


def test_a_table_with_other_names_is_mapped_and_imported(signed_in: Client) -> None:
    where = upload(signed_in)
    text = signed_in.get(where).content.decode()
    assert "Say which column is what" in text
    assert page_of(where) in text
    assert signed_in.post(f"{where}commit/").status_code == 422
    text = signed_in.get(page_of(where)).content.decode()
    assert "seq-w" in text
    answer = signed_in.post(page_of(where), FORM)
    assert answer.status_code == 302, answer.content.decode()
    assert signed_in.get(where).status_code == 200
    assert not Run.objects.exists()
    signed_in.post(f"{where}commit/")
    fields = ("test", "record_size_kb", "file_size_kb", "value", "unit", "line")
    assert list(map(attrgetter(*fields), measured())) == [
        ("seq-w", 4, 1024, 1234.5, "KB/s", 2),
        ("seq-q", 8, 1024, 99, "KB/s", 3),
        ("seq-r", 8, 1024, 99, "KB/s", 4),
    ]


def test_a_kept_mapping_is_proposed_for_the_same_header(signed_in: Client) -> None:
    where = upload(signed_in)
    signed_in.post(page_of(where), {**FORM, "name": "Lab sheet"})
    assert SavedMapping.objects.get().name == "Lab sheet"
    other = GOOD.replace(b"1234,5", b"17")
    where = upload(signed_in, other)
    text = signed_in.get(where).content.decode()
    assert "read as “Lab sheet”" in text
    signed_in.post(f"{where}commit/")
    assert Run.objects.count() == 1
    where = upload(signed_in, b"other;header;of\nwrite;1;2\nread;1;2\n")
    assert "read as" not in signed_in.get(where).content.decode()


def test_a_name_that_exists_is_replaced(signed_in: Client) -> None:
    where = upload(signed_in)
    for unit in ("KB/s", "MB/s"):
        signed_in.post(page_of(where), {**FORM, "name": "Lab", "constant-unit": unit})
    assert SavedMapping.objects.get().mapping["constants"]["unit"] == "MB/s"
    # Whose tables are read by it next must be able to find out who said so.
    found = AuditEntry.objects.filter(what="columns kept").order_by("id")
    assert [(one.thing, one.detail["columns"]["constants"]["unit"]) for one in found] == [
        ("columns Lab", "KB/s"),
        ("columns Lab", "MB/s"),
    ]


def test_a_mapping_that_does_not_fit_is_told_with_its_lines(signed_in: Client) -> None:
    where = upload(signed_in, LAB)
    answer = signed_in.post(page_of(where), FORM)
    assert answer.status_code == 422
    text = answer.content.decode()
    assert "line 3, column 4" in text
    assert "<b>seq-r" not in text
    answer = signed_in.post(page_of(where), {**FORM, "column-value": ""})
    assert "value is missing" in answer.content.decode()
    assert ImportFile.objects.get().mapping is None


def test_the_table_can_be_looked_at_otherwise(signed_in: Client) -> None:
    where = upload(signed_in)
    answer = signed_in.post(page_of(where), {**FORM, "delimiter": "|", "look": "1"})
    assert answer.status_code == 200
    assert "when;bs;MB;mode;speed" in answer.content.decode()
    assert ImportFile.objects.get().mapping is None


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"shape": "cube"},
        {"delimiter": '"'},
        {"delimiter": "ab"},
        {"column-value": "99999999999999999999"},
        {"column-value": "²"},
        {"header_line": "x"},
        {"sheet": "none"},
        {"file_unit": "miles"},
        {"constant-unit": "x" * 300},
        {"constant-repeat": "-1"},
        {"name": "x" * 101},
        {"decimal": "'"},
    ],
)
def test_no_form_breaks_the_page(signed_in: Client, form: dict[str, str]) -> None:
    where = upload(signed_in)
    given = {**FORM, **form} if form else {}
    for look in ({}, {"look": "1"}):
        assert signed_in.post(page_of(where), {**given, **look}).status_code in (200, 302, 422)


def test_matrices_and_tests_in_columns_are_mapped(signed_in: Client) -> None:
    where = upload(signed_in, b"speed;4;8\n64;1;2\n128;3;4\n")
    form = {"shape": "matrix", "header_line": "1", "delimiter": ";", "rows_are": "file"}
    answer = signed_in.post(page_of(where), {**form, "constant-unit": "KB/s"})
    assert "needs a test" in answer.content.decode()
    said = {**form, "constant-unit": "KB/s", "constant-test": "write"}
    assert signed_in.post(page_of(where), said).status_code == 302
    signed_in.post(f"{where}commit/")
    assert len(measured()) == 4
    where = upload(signed_in, b"file,untar,make\nx,1,2\n")
    form = {
        "shape": "tests",
        "header_line": "1",
        "delimiter": ",",
        "test-1": "untar",
        "unit-1": "s",
    }
    assert signed_in.post(page_of(where), {**form, "unit-2": "s"}).status_code == 302


def test_nobody_else_maps_an_upload(signed_in: Client, client: Client) -> None:
    where = upload(signed_in)
    client.force_login(User.objects.create_user("eve"))
    assert client.get(page_of(where)).status_code == 404
    assert client.post(page_of(where), FORM).status_code == 404
    row = Import.objects.get()
    signed_in.post(page_of(where), FORM)
    signed_in.post(f"{where}commit/")
    assert signed_in.get(f"/imports/{row.pk}/files/1/columns/").status_code == 404


def test_the_api_refuses_a_table_that_needs_a_person() -> None:
    with pytest.raises(ImportRefused) as refused:
        import_files([("lab.csv", GOOD)], **TARGET, user=None)
    assert "Say which column is what" in refused.value.problems[0].message
