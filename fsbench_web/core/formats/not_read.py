"""What people do upload and fsbench does not read, each with what to do instead. Pure."""

import re
from collections.abc import Sequence

# The first bytes of a file (file(1)'s magic), and what it is.
_PACKED = (
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\x1f\x9d", "compress (.Z)"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!", "RAR"),
)
_DOCUMENTS = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office file of before 2007, such as .xls"),
    (b"%PDF-", "a PDF"),
)
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"
_TEXTS = (
    (
        re.compile(r"^Version\s+[0-9.]+[a-z]?\s+-+\s*Sequential Output"),
        "This is bonnie++'s report in words, which rounds its numbers. Below it bonnie++ prints "
        "them as one line of CSV (with -q that line alone, on standard output): upload that line, "
        "or the report with it.",
    ),
    (
        re.compile(r"^\s*IOZONE: Performance Test of .*File I/O", re.IGNORECASE),
        "This is IOzone 2.01 or older, whose output has no matrix of record and file sizes; "
        "fsbench reads IOzone from 2.02 on. Enter its numbers as a table "
        "(test,record_size_kb,file_size_kb,value,unit).",
    ),
)


def packed(data: bytes) -> str:
    """Why a file that is no text is not read, and what to do; "" where this module does not know.

    ``data`` is the file, or its first 100 bytes at least.
    """
    for magic, name in _PACKED:
        if data.startswith(magic):
            return (
                f"It is packed with {name}, which fsbench does not unpack. Unpack it, or pack it "
                "as zip, tar.gz or gz."
            )
    for magic, name in _DOCUMENTS:
        if data.startswith(magic):
            return f"It is {name}, which fsbench does not read. Save the table as .xlsx or as CSV."
    if _OPEN_DOCUMENT in data[:100]:
        return (
            "It is an OpenDocument file, which fsbench does not read. Save the table as .xlsx or "
            "as CSV."
        )
    return ""


def is_beside(lines: Sequence[str]) -> bool:
    """Whether it is a report that Vdbench writes beside those that are read, and holds no more."""
    return any(re.search(r"<title>Vdbench \S+\.html</title>", line) for line in lines[:20])


def text(lines: Sequence[str]) -> tuple[int, str] | None:
    """The line, from 1, that tells what a text is, and what to do; None where none does."""
    for number, line in enumerate(lines, start=1):
        for pattern, message in _TEXTS:
            if pattern.search(line):
                return number, message
    return None
