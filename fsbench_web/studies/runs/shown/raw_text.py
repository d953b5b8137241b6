"""Raw output as numbered lines, a page at a time: the lines that measurements point to."""

import codecs
import gzip
import io
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from fsbench_web.core.formats import UnreadableFile
from fsbench_web.core.formats.tables import spreadsheet
from fsbench_web.studies.models import Artefact

LINES_A_PAGE = 1000
MAX_SHOWN = 2000
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class TextPage:
    """Some numbered lines, cut at MAX_SHOWN, and how many there are."""

    lines: list[tuple[int, str]]
    total: int
    number: int
    is_text: bool = True

    @property
    def count(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.total // LINES_A_PAGE))


def page_of(artefact: Artefact, number: int) -> TextPage:
    """Page ``number``, from 1; the last one where there are fewer."""
    head = gzip.GzipFile(fileobj=io.BytesIO(artefact.content_gzip)).read(4096)
    if spreadsheet.recognises(head):
        try:
            text = spreadsheet.text_of(gzip.decompress(artefact.content_gzip))
        except UnreadableFile:
            return TextPage([], 0, 1, is_text=False)
        return _page(iter(text), iter(text), number)
    if b"\x00" in head and not head.startswith(_UTF_16):
        return TextPage([], 0, 1, is_text=False)
    return _page(_stream(artefact, head), _stream(artefact, head), number)


def _stream(artefact: Artefact, head: bytes) -> io.TextIOWrapper:
    """The lines as the parsers count them; what is no text is shown as U+FFFD."""
    encoding = "utf-16" if head.startswith(_UTF_16) else "utf-8-sig"
    unpacked = gzip.GzipFile(fileobj=io.BytesIO(artefact.content_gzip))
    return io.TextIOWrapper(unpacked, encoding=encoding, errors="replace")


def _page(counted_lines: Iterable[str], shown_lines: Iterable[str], number: int) -> TextPage:
    total = sum(1 for _ in counted_lines)
    number = min(max(number, 1), max(1, -(-total // LINES_A_PAGE)))
    first = (number - 1) * LINES_A_PAGE
    lines = [
        (line_number, _shortened(line.rstrip("\n")))
        for line_number, line in enumerate(
            islice(shown_lines, first, first + LINES_A_PAGE),
            start=first + 1,
        )
    ]
    return TextPage(lines, total, number)


def _shortened(line: str) -> str:
    return f"{line[:MAX_SHOWN]}… ({len(line)} characters)" if len(line) > MAX_SHOWN else line
