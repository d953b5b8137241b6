"""Bytes of an upload -> lines, or every reason why they are not text."""

import codecs
import csv
import re
from itertools import islice

from fsbench_web.core.formats.result import MIN_VALUE, Problem, UnknownFormat, UnreadableFile

MAX_LINE_LENGTH = 10_000
MAX_PROBLEMS = 100
# A reader stops here: nobody reads them, and a hostile file has some in each of its lines.
ENOUGH_PROBLEMS = 1000
# A line costs some fifty bytes of memory beside its text, whatever stands in it.
MAX_LINES = 1_000_000
# JSON and XML have a line for each number and for each bracket.
MAX_LINES_OF_DOCUMENTS = 3_000_000
MAX_LINES_OF_TABLES = 5_000_000
_LOOKED_AT = 50_000
# What no benchmark tool prints: control characters other than tab, newline, form feed.
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_DIGIT = re.compile("[1-9]").search
MOST_DIGITS = 1000
"""Of a number: no float has as many, and Python takes 4,300 for an integer."""
_MANY_DIGITS = re.compile(rf"(?<![0-9])[0-9]{{{MOST_DIGITS + 1}}}")
NODE_MAP = "Nodemap: "
"""mdtest writes a digit for each task into this line, no number: 62,400 of them in a run
of 2023.
"""
# What a terminal is told: colours, titles, where to write.
_COLOURS = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]\x0f?|[=>78cDEHMNOZ])"
)
_PREFIX = 200
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def underflows(text: str, value: float) -> bool:
    """Whether a number is below MIN_VALUE and no zero, also if its float is zero."""
    if value == 0:
        return _DIGIT(text.lower().partition("e")[0]) is not None
    return 0 < value < MIN_VALUE


def lines_of(data: bytes, limit: int = MAX_LINES) -> list[str]:
    """The lines of a UTF-8 or UTF-16 text, without their ends and terminal codes.

    Raises UnreadableFile for an empty file and for binary content.
    """
    if not data.strip():
        raise UnknownFormat([Problem(None, None, "The file is empty.")])
    # Every end of a line has one of these bytes, in UTF-16 too.
    if max(data.count(b"\n"), data.count(b"\r")) > limit:
        message = f"The file has more than {limit:,} lines: split it."
        raise UnreadableFile([Problem(None, None, message)])
    text = _COLOURS.sub("", _decoded(data))
    if not text.strip():  # a byte order mark alone
        raise UnknownFormat([Problem(None, None, "The file is empty.")])
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    problems: list[Problem] = []
    is_text = True
    is_odd = _CONTROL.search(text) is not None or max(map(len, lines)) > MOST_DIGITS
    for number, line in enumerate(lines if is_odd else (), start=1):
        if len(problems) >= ENOUGH_PROBLEMS:
            break
        control = _CONTROL.search(line)
        if control:
            character = "a NUL byte" if control[0] == "\x00" else f"control code {ord(control[0])}"
            message = f"Found {character}, expected text: this is not the output of a tool."
            problems.append(Problem(number, control.start() + 1, message))
            is_text = False
        elif (
            len(line) > MOST_DIGITS
            and NODE_MAP not in line[:_PREFIX]
            and (digits := _MANY_DIGITS.search(line)) is not None
        ):
            message = f"Found a number of more than {MOST_DIGITS:,} digits: no tool prints one."
            problems.append(Problem(number, digits.start() + 1, message))
    if not is_text:
        raise UnknownFormat(capped(problems))
    if problems:
        raise UnreadableFile(capped(problems))
    return lines


def remarks_on(data: bytes) -> list[str]:
    """What ``lines_of`` took off or had to guess of a file, as sentences."""
    remarks = ["The codes of a terminal (colours) were taken off."] if b"\x1b" in data else []
    if _bare_utf_16(data):
        remarks.append("The file was read as UTF-16, which no mark says.")
    return remarks


def _bare_utf_16(data: bytes) -> str:
    """The encoding of UTF-16 without a mark, by the NUL in each Latin character; "" for none."""
    head = data[:4096]
    if data.startswith(_UTF_16) or len(data) % 2:
        return ""
    zeros = {"utf-16-le": head[1::2].count(0), "utf-16-be": head[::2].count(0)}
    few, many = sorted(zeros, key=zeros.__getitem__)
    is_sure = zeros[many] > 0.7 * len(head) / 2 and zeros[few] < 0.02 * len(head)
    return many if is_sure else ""


def csv_fields(line: str, delimiter: str = ",") -> list[str]:
    """The fields of a line of CSV; none where it is none."""
    try:
        return [text.strip() for text in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def cut_off(word: str) -> str:
    """What to say of a number at which a file ends, without the end of its line."""
    return f"The file ends at {quoted(word)}, which may have been longer: it is left out."


def beyond_measure(word: str, unit: str) -> str:
    """What to say of a number that no clock and no disk can give, as a counter that ran over."""
    return f"{quoted(word)} {unit} is more than can be measured: a counter of the tool ran over."


def check_lengths(lines: list[str], excused: str = "") -> None:
    """Refuse long lines, but not those that begin with ``excused``. Raises UnreadableFile."""
    if max(map(len, lines), default=0) <= MAX_LINE_LENGTH:
        return
    too_long = (
        Problem(
            number,
            MAX_LINE_LENGTH + 1,
            f"The line has {len(line)} characters; {MAX_LINE_LENGTH} is the most.",
        )
        for number, line in enumerate(lines, start=1)
        if len(line) > MAX_LINE_LENGTH and not (excused and line.startswith(excused))
    )
    if problems := list(islice(too_long, ENOUGH_PROBLEMS)):
        raise UnreadableFile(capped(problems))


def lines_to_look_at(lines: list[str]) -> list[str]:
    """The lines by which a format is recognised: many, each cut to the longest that tools print."""
    return [line[:MAX_LINE_LENGTH] for line in lines[:_LOOKED_AT]]


def _decoded(data: bytes) -> str:
    encoding = "utf-16" if data.startswith(_UTF_16) else _bare_utf_16(data)
    if encoding:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            message = f"The file starts as UTF-16 text and is not: {error.reason}."
            raise UnreadableFile([Problem(None, None, message)]) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        message = (
            f"Found byte 0x{data[error.start]:02x}, which is not UTF-8 text. "
            "Save the file as UTF-8, or upload the tool's text output itself."
        )
        kind = UnknownFormat if b"\0" in data[:4096] else UnreadableFile
        raise kind([Problem(line, column, message)]) from None


def as_utf8(data: bytes) -> bytes:
    """The output of a tool that ran here; bytes that are no text become U+FFFD."""
    return data.decode("utf-8", "replace").encode()


def capped(problems: list[Problem]) -> list[Problem]:
    """The first problems, and how many more there are."""
    if len(problems) <= MAX_PROBLEMS:
        return problems
    more = len(problems) - MAX_PROBLEMS
    message = f"And {more} more problems."
    if len(problems) >= ENOUGH_PROBLEMS:
        message = f"And {more} more problems; what follows was not read."
    return [*problems[:MAX_PROBLEMS], Problem(None, None, message)]


def quoted(text: str, limit: int = 60) -> str:
    """A piece of the file as a message quotes it."""
    text = text.strip()
    return f'"{text[:limit]}…"' if len(text) > limit else f'"{text}"'
