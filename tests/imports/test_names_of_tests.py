"""Tests that a table calls otherwise than they are called here, and sizes that stand alone."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.core.formats import UnreadableFile
from fsbench_web.core.formats.tables.mapping import Mapping, NeedsMapping
from fsbench_web.core.formats.tables.table import parse
from fsbench_web.imports.models import Import, ImportFile
from tests.measured import measured

HEADER = "fs,rw,bs,file_size,bw (MiB/s)"
TABLE = f"{HEADER}\next4,randread,4k,1g,812\next4,write,4k,1g,512\n"
LONG = Mapping(
    columns={"test": 0, "value": 1}, constants={"unit": "KiB/s"}, names={"randread": "random_read"}
)


def upload(client: Client, text: str = TABLE) -> str:
    file = SimpleUploadedFile("a.csv", text.encode())
    answer = client.post("/imports/new/", {"study": "Lab", "file": file})
    assert answer.status_code == 302, answer.content.decode()
    return str(answer["Location"])


@pytest.mark.django_db
def test_a_name_is_proposed_and_nothing_is_renamed_without_a_word(signed_in: Client) -> None:
    address = upload(signed_in)
    page = signed_in.get(address).content.decode()
    assert "fsbench has other names" in page
    file = signed_in.get(f"/api/v1{address[:-1]}").json()["files"][0]
    assert file["proposed_names"] == {"randread": "random_read"}
    signed_in.post(f"{address}commit/")
    assert {measurement.test for measurement in measured()} == {"randread", "write"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("meant", "stored"), [(None, "random_read"), ("reread", "reread"), ("", "randread")]
)
def test_the_page_of_columns_takes_ours_or_another_or_none(
    signed_in: Client, meant: str | None, stored: str
) -> None:
    address = upload(signed_in)
    columns = f"{address}files/{ImportFile.objects.get().pk}/columns/"
    answer = signed_in.get(columns)
    table = answer.context["table"]
    assert table.names == {"randread": "random_read"}
    form = {f"column-{f.name}": f.column for f in table.fields if f.column is not None}
    form |= {"constant-unit": "MiB/s", "word-0": "randread", "record_unit": "", "delimiter": ","}
    form["meant-0"] = table.names["randread"] if meant is None else meant
    assert signed_in.post(columns, form).status_code == 302
    assert "fsbench has other names" not in signed_in.get(address).content.decode()
    signed_in.post(f"{address}commit/")
    assert {measurement.test for measurement in measured()} == {stored, "write"}
    assert Import.objects.get().imported_files.get().mapping["names"] == {"randread": stored}


@pytest.mark.django_db
def test_programs_say_names_and_wrong_ones_are_refused(signed_in: Client) -> None:
    address = upload(signed_in)
    file = ImportFile.objects.get()
    put = f"/api/v1{address}files/{file.pk}/columns"
    columns = {"test": 1, "record_size_kb": 2, "file_size_kb": 3, "value": 4, "filesystem": 0}
    body = {"columns": columns, "constants": {"unit": "MiB/s"}}

    def send(names: dict[str, str]):
        mapping = body | {"names": names}
        return signed_in.put(put, mapping, content_type="application/json")

    refused = send({"randread": "a\x07b"})
    assert refused.status_code == 422
    assert [error["code"] for error in refused.json()["errors"]] == ["no_test_name"]
    answer = send({"randread": "random_read"})
    assert answer.status_code == 200, answer.content
    assert answer.json()["files"][0]["proposed_names"] == {}
    assert "random_read" in {test["test"] for test in answer.json()["files"][0]["runs"][0]["tests"]}


def test_a_block_size_alone_says_once_what_to_add() -> None:
    rows = "\n".join(f"ext4,randread,{2**n}k,{n}" for n in range(2, 9))
    lines = f"fs,rw,bs,bw (MiB/s)\n{rows}".splitlines()
    with pytest.raises(NeedsMapping) as refused:
        parse(lines)
    (problem,) = refused.value.problems
    assert problem.line == 2
    assert problem.code == "no_file_size"
    example = ["fs,rw,bs,file_size,bw (MiB/s)", "ext4,randread,4k,1g,812"]
    assert example[1] in problem.message
    (value,) = parse(example).numbers.values()
    assert (value.test, value.record_size_kb, value.file_size_kb) == ("randread", 4, 2**20)


def test_a_row_without_one_of_two_sizes_is_refused_where_it_stands() -> None:
    lines = [HEADER, "ext4,randread,4k,,1", "ext4,read,4k,,2", "ext4,read,4k,1g,2"]
    with pytest.raises(UnreadableFile) as refused:
        parse(lines)
    assert [(problem.line, problem.column) for problem in refused.value.problems] == [
        (2, 4),
        (3, 4),
    ]
    assert not isinstance(refused.value, NeedsMapping)
