"""Take off what mail programs, terminals and CI put around a tool's lines. Pure.

Known are mail, ``cat -n``, diffs, containers and CI time stamps, before nearly all lines.
"""

import quopri
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from fsbench_web.core.formats.text import quoted

_MOST_LAYERS = 4
_LOOKED_AT = 200
_NEARLY_ALL = 0.9
_HALF = 0.5
_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z| ?[+-][0-9]{2}:?[0-9]{2})?"
_STAMP = re.compile(
    # CI jobs, some with job and step before the time; syslog; the kernel's log; image builds.
    rf"(?:[^\t]{{1,80}}\t[^\t]{{1,80}}\t)?\[?(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ])?{_TIME}\]?"
    r"(?:[ \t]|$)|"
    r"[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} \S{1,80} \S{1,80}: |"
    r"\[ {0,9}[0-9]{1,9}\.[0-9]{1,9}\](?: |$)|"
    r"#[0-9]{1,4} [0-9]{1,6}\.[0-9]{1,4}(?: |$)"
)
_NAME = re.compile(
    r"(?:[A-Za-z][\w./@-]{0,80} {0,40}\||\[[A-Za-z][\w./@ -]{0,80}\]|[A-Za-z][\w./@-]{0,80}:)"
    r"(?: |$)"
)
_QUOTE = re.compile(">")
_PLUS = re.compile(r"\+")
_NUMBER = re.compile(r"[ \t]{0,12}([0-9]{1,7})(?: ?[:|.)]|(?=[ \t]|$))")
_ESCAPE = re.compile(r"=(?:[0-9A-F]{2}|$)")
# No line is longer there than 76 characters; one that goes on nearly fills them.
_GOES_ON = re.compile(r".{60,75}=$")
_BLANKS = str.maketrans(
    dict.fromkeys("\u00a0\u2007\u202f", " ") | dict.fromkeys("\ufeff\u200b", "")
)
_HAS_BLANKS = re.compile("[\u00a0\u2007\u202f\ufeff\u200b]")


def layers(lines: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """The lines without the outermost wrapping, then without the next, each with remarks."""
    plain, remarks = list(lines), list[str]()
    if not all(map(str.isascii, plain)) and any(map(_HAS_BLANKS.search, plain)):
        plain = [line.translate(_BLANKS) for line in plain]
        remarks.append("Blanks of other kinds were read as blanks.")
        yield plain, list(remarks)
    for _ in range(_MOST_LAYERS):
        kinds = (ends_of(plain) for ends_of in _KINDS)
        if (ends := next((ends for ends in kinds if ends is not None), None)) is None:
            return
        taken = next(line[:end] for line, end in zip(plain, ends, strict=True) if end)
        plain = [line[end:] for line, end in zip(plain, ends, strict=True)]
        if {line[:1] for line in plain if line.strip()} in ({" "}, {"\t"}):
            plain = [line[1:] for line in plain]
        remarks.append(f"{quoted(taken)} and the like were taken off the beginning of lines.")
        yield plain, list(remarks)


def _share(lines: Sequence[str], prefix: re.Pattern[str]) -> float:
    """The share of lines with the prefix, of some that stand all over the text."""
    words = lines[:: max(1, len(lines) // _LOOKED_AT)]
    counted = [line for line in words if line.strip()]
    if not counted:
        return 0.0
    return sum(prefix.match(line) is not None for line in counted) / len(counted)


def _shared(prefix: re.Pattern[str], least: float) -> Callable[[Sequence[str]], list[int] | None]:
    """Where the prefix of each line ends; None where fewer than ``least`` of the lines have it."""

    def ends_of(lines: Sequence[str]) -> list[int] | None:
        if _share(lines, prefix) < least:
            return None
        return [match.end() if (match := prefix.match(line)) else 0 for line in lines]

    return ends_of


def _name_ends(lines: Sequence[str]) -> list[int] | None:
    """The same of the name of a container or host, which must be one and the same."""
    if _share(lines, _NAME) < _NEARLY_ALL:
        return None
    names = [match[0] if (match := _NAME.match(line)) else "" for line in lines]
    counts = Counter(name.rstrip() for name in names)
    name, count = counts.most_common(1)[0]
    if not name or count < _NEARLY_ALL * sum(1 for line in lines if line.strip()):
        return None
    return [len(found) if found.rstrip() == name else 0 for found in names]


def _number_ends(lines: Sequence[str]) -> list[int] | None:
    """The same of numbers that count the lines."""
    if _share(lines, _NUMBER) < 1:
        return None
    ends = []
    last: int | None = None
    blank = 0
    for line in lines:
        match = _NUMBER.match(line)
        if match is None:
            if line.strip():
                return None
            blank += 1
            ends.append(0)
            continue
        number = int(match[1])
        if last is not None and number not in (last + 1, last + 1 + blank):
            return None
        last, blank = number, 0
        ends.append(match.end())
    return ends


_KINDS = (
    _number_ends,
    _shared(_STAMP, _NEARLY_ALL),
    _name_ends,
    _shared(_QUOTE, _HALF),
    _shared(_PLUS, 1.0),
)


def from_quoted_printable(lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines of a quoted-printable mail (RFC 2045, 6.7) decoded, with a remark; else as they
    are.
    """
    marked = [line for line in lines if "=" in line]
    escaped = [line for line in marked if line.count("=") == len(_ESCAPE.findall(line))]
    is_mail = any("=3D" in line or _GOES_ON.match(line) for line in escaped)
    if not is_mail or len(escaped) < _NEARLY_ALL * len(marked):
        return lines, []
    plain: list[str] = []
    begun: list[str] = []
    for line in lines:
        begun.append(line.removesuffix("="))
        plain.append("")
        if not line.endswith("="):
            # A line that goes on is read as the first of its lines.
            text = quopri.decodestring("".join(begun).encode()).decode("utf-8", "replace")
            plain[-len(begun)] = text.replace("\n", " ")
            begun.clear()
    plain[len(plain) - len(begun) :] = begun
    return plain, ["The mail is quoted-printable, and was decoded."]
