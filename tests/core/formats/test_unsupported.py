"""What people upload and fsbench does not read: it says so, and what to do."""

import bz2
import io
import lzma
import zipfile

import pytest

from fsbench_web.core.formats import UnknownFormat, UnreadableFile, archive, parse


def opendocument() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        opened.writestr("content.xml", "<x/>")
    return packed.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (bz2.compress(b"x"), "packed with bzip2"),
        (lzma.compress(b"x"), "packed with xz"),
        (b"7z\xbc\xaf\x27\x1c\x00\x04", "packed with 7-Zip"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "Save the table as .xlsx"),
        (b"%PDF-1.7\n", "a PDF"),
        (opendocument(), "an OpenDocument file"),
    ],
)
def test_what_is_no_text_is_named(data: bytes, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        parse("x", data)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr("a", data)
    packed.seek(0)
    [member] = archive.members("x.zip", packed, 10**6)
    assert words in member.problem


def test_a_spreadsheet_of_another_office_is_no_archive() -> None:
    with pytest.raises(UnreadableFile, match="OpenDocument file"):
        list(archive.members("x.ods", io.BytesIO(opendocument()), 10**6))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Version  2.00       ------Sequential Output------ --Sequential Input- --Random-\n"
            "                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n"
            "host           32M  870k  99  1.5g  99  1.1g  99 1.4g  99  5.0g  99 +++++ +++\n",
            "one line of CSV",
        ),
        (
            "\tIOZONE: Performance Test of Sequential File I/O  --  V2.01 (10/21/94)\n"
            "\tMB      reclen  bytes/sec written   bytes/sec read\n\t1 512 1000 2000\n",
            "from 2.02 on",
        ),
    ],
)
def test_what_is_text_is_named_with_what_to_do(text: str, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words) as refused:
        parse("x", f"$ the tool\n{text}".encode())
    assert refused.value.problems[0].line == 2


@pytest.mark.parametrize(
    "text",
    [
        '[\n {"test": "write", "mbps": 512}\n]\n',
        '{"write": 512, "read": 900}\n{"write": 513, "read": 901}\n{"write": 514, "read": 902}\n',
        '{\n  "a": 1,\n  "b": 2,\n "c": [1,2,3]}\n',
    ],
)
def test_json_of_nobody_is_no_table(text: str) -> None:
    with pytest.raises(UnknownFormat, match="is JSON"):
        parse("own.json", text.encode())
