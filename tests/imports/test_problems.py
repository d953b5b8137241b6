"""Reasons: codes with parameters, labels of fields on pages, and one line for one kind."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.imports.problems import ImportProblem, grouped, refusal


def test_pages_say_labels_and_calls_say_names() -> None:
    found = refusal("filesystem_missing", field="filesystem")
    assert found.message.startswith("filesystem is missing")
    assert found.summary.startswith("File system is missing")
    assert found.as_row()["parameters"] == {"field": "filesystem"}


def test_a_message_that_begins_with_the_name_of_a_field_is_no_label() -> None:
    """Labels went by the first word: "test ..." of a file called so became "Test ..."."""
    assert ImportProblem("test x is odd.").summary == "test x is odd."


def test_problems_of_one_kind_are_one_line_with_a_count() -> None:
    rows = [
        ImportProblem.of(problem("not_a_number", line, 4, found=f'"x{line}"'), "a.csv")
        for line in range(2, 56)
    ]
    other = ImportProblem.of(problem("no_size", 3, 2, found='"big"'), "a.csv")
    [numbers, size] = grouped([*rows, other])
    assert (numbers.first.line, numbers.count) == (2, 54)
    assert numbers.lines == tuple(range(2, 56))
    assert (size.first.code, size.count) == ("no_size", 1)
    assert ImportProblem.from_json({**vars(other), "parameters": [["found", '"big"']]}) == other


@pytest.mark.django_db
def test_pages_and_refusals_group_what_is_wrong_in_many_lines(signed_in: Client) -> None:
    rows = "".join(f"write,{n}k,{64 * n}k,fast{n},MB/s,ext4\n" for n in (4, 8, 16))
    data = f"test,bs,file_size,value,unit,fs\nwrite,64k,64m,5,MB/s,ext4\n{rows}"
    sent = {"study": "Lab", "file": SimpleUploadedFile("a.csv", data.encode())}
    answer = signed_in.post("/imports/new/", sent)
    text = signed_in.get(answer["Location"]).content.decode()
    assert text.count('data-code="not_a_number" data-count="3"') == 1
