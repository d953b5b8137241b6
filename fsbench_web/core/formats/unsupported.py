"""What people upload and fsbench does not read, and words where numbers should be."""

import re
from collections import defaultdict
from collections.abc import Sequence

from fsbench_web.core.formats.result import ParsedResult, Problem
from fsbench_web.core.formats.text import quoted

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
        "This is IOzone 2.01 or older: its output has no matrix of record and file sizes; "
        "fsbench reads IOzone from 2.02 on. Enter its numbers as a table "
        "(test,record_size_kb,file_size_kb,value,unit).",
    ),
)


def packed_problem(data: bytes) -> str:
    """Why a file that is no text is not read, by its first 100 bytes; "" if unknown."""
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
    """Whether it is a report of Vdbench that has no results of its own."""
    return any(re.search(r"<title>Vdbench \S+\.html</title>", line) for line in lines[:20])


def text_problem(lines: Sequence[str]) -> tuple[int, str] | None:
    """The line, from 1, that tells what a text is, and what to do; None where none does."""
    for number, line in enumerate(lines, start=1):
        for pattern, message in _TEXTS:
            if pattern.search(line):
                return number, message
    return None


_JSON = re.compile(r"\s*(?:\{\s*(?:[\"}]|$)|\[\s*(?:[{\[\"0-9-]|$))")
_HTML = re.compile(
    r"\s*<(?:!doctype html|html|head|body|div|table|thead|tbody|tr)\b", re.IGNORECASE
)


def is_json(lines: Sequence[str]) -> bool:
    """Whether a text begins as JSON does."""
    return _JSON.match(_beginning(lines)) is not None


def is_html(lines: Sequence[str]) -> bool:
    """Whether a text begins as a page or a table of HTML does."""
    return _HTML.match(_beginning(lines)) is not None


def _beginning(lines: Sequence[str]) -> str:
    return next((line for line in lines if line.strip()), "")[:200]


_MOST_WORDS = 5
# NaN and infinity as C, Java and Microsoft's libraries print them, with a unit behind them or
# without; a minus before a number; tags of forums and pages. Not within words, paths and dates.
_ODD = re.compile(
    r"(?<![\w./\-])(?:"
    r"[-+]?(?:nan|inf(?:inity)?|1\.#(?:inf|ind|qnan|snan)0*)"
    r"(?=$|[^a-z_]|[kmgt](?![a-z])|[kmgt]?i?b(?:/s|its?\b|ytes?\b)|[mun]?s(?:ec)?\b)"
    r"|-(?=\.?[0-9]))"
    r"|\[(?=[/bcfilqsu])/?(?:b|i|u|s|code|quote|color|size|font|list)(?:=[^\]\n]{0,40})?\]"
    r"|<(?=[/bceipst])/?(?:b|i|em|strong|code|tt|pre|span|br)(?: [^<>\n]{0,80})?/?>",
    re.IGNORECASE,
)


def with_numbers(lines: Sequence[str]) -> tuple[list[str], dict[int, str]] | None:
    """The lines with numbers in place of NaN, infinities and minuses, and without tags.

    Also what stood there, by line from 1. None where there is nothing such.
    """
    odd: dict[int, list[str]] = defaultdict(list)
    changed = list(lines)

    def note(number: int, word: str) -> None:
        if len(odd[number]) < _MOST_WORDS:
            odd[number].append(word)

    for number, line in enumerate(lines, start=1):
        if _ODD.search(line) is None:
            continue

        def put(match: re.Match[str], number: int = number, line: str = line) -> str:
            if match[0][0] in "[<":
                note(number, match[0])
                return ""
            start = match.start()
            note(number, line[start : start + 40].split()[0] if match[0] == "-" else match[0])
            return "1" + "0" * (len(match[0]) - 1)

        changed[number - 1] = _ODD.sub(put, line)
    if not odd:
        return None
    return changed, {number: ", ".join(dict.fromkeys(words)) for number, words in odd.items()}


def lost_values(result: ParsedResult, wanted: ParsedResult, odd: dict[int, str]) -> list[Problem]:
    """Warnings of what ``with_numbers`` gives more, in lines without a warning."""
    before, after = _by_line(result, odd), _by_line(wanted, odd)
    reported = {warning.line for warning in result.warnings if not warning.is_note}
    warnings = []
    for line, values in after.items():
        had = before.get(line, {})
        names = [key for key, number in values.items() if had.get(key, number) != number]
        if len(values) > len(had):
            names += [key for key in values if key not in had]
        if names and line not in reported:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            message = f"{names[0][0]}{more}: not read because of {quoted(odd[line])} in the line."
            warnings.append(Problem(line, None, message))
    return warnings


def _by_line(
    result: ParsedResult, odd: dict[int, str]
) -> dict[int, dict[tuple[object, ...], float]]:
    lines: dict[int, dict[tuple[object, ...], float]] = defaultdict(dict)
    for value in result.values:
        if value.line in odd:
            sizes = value.record_size_kb, value.file_size_kb
            key = (value.test, value.load, value.configuration, value.repeat, *sizes)
            lines[value.line][key] = value.value
    return lines
