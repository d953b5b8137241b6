"""How text looks in a report's PDF: its fonts and styles, and how it is marked up."""

from typing import Any
from xml.sax.saxutils import escape, quoteattr

from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics

from fsbench_web.compare.drawings.paper import BOLD, MONO, REGULAR
from fsbench_web.compare.drawings.shapes import LIGHT
from fsbench_web.compare.exports.document import one_line
from fsbench_web.compare.tables.findings import Part

LONGEST_CELL = 400
LONGEST_LINE = 4000


def _style(name: str, size: float, **more: Any) -> ParagraphStyle:
    settings = {"fontName": REGULAR, "leading": size * 1.35, "textColor": LIGHT["fg"]}
    return ParagraphStyle(name, fontSize=size, **(settings | more))


BODY = _style("body", 9.5, spaceAfter=5)
SMALL = _style("small", 7.5, textColor=LIGHT["muted"])
CELL = _style("cell", 7.5)
NUMBER = _style("number", 7.5, alignment=TA_RIGHT)
CODE = _style("code", 7.5, fontName=MONO, leftIndent=10, firstLineIndent=-10, spaceAfter=2)
TITLE = _style("title", 22, fontName=BOLD, spaceAfter=10)
HEADINGS = {
    1: _style("h1", 16, fontName=BOLD, spaceAfter=8),
    2: _style("h2", 12, fontName=BOLD, spaceBefore=10, spaceAfter=5, keepWithNext=1),
    3: _style("h3", 9.5, fontName=BOLD, spaceBefore=6, spaceAfter=3, keepWithNext=1),
}
CAPTION = _style("caption", 9, fontName=BOLD, spaceBefore=8, spaceAfter=3, keepWithNext=1)
CONTENTS = [
    _style("toc1", 10, fontName=BOLD, spaceBefore=4),
    _style("toc2", 9, leftIndent=12),
]


def text_width(text: str) -> float:
    """Of one line of a table's cell, in points."""
    return float(pdfmetrics.stringWidth(truncated(one_line(text), LONGEST_CELL), BOLD, 7.5))


def plain(text: str, limit: int = LONGEST_CELL) -> str:
    """Text for a paragraph, which reads XML: nothing of it is markup."""
    return escape(truncated(one_line(text, LONGEST_LINE), limit))


def truncated(text: str, limit: int) -> str:
    """So many characters of it."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def anchor(name: str) -> str:
    """Where links within the report lead."""
    return f"<a name={quoteattr(name)}/>" if name else ""


def with_links(parts: tuple[Part, ...], anchors: set[str]) -> str:
    """A sentence with its links; ``anchors`` are those that there are in the report."""
    texts = []
    for part in parts:
        text = escape(_one_line_keeping_blanks(part.text))
        if part.is_name:
            text = f"<b>{text}</b>"
        is_link = part.href[1:] in anchors if part.href.startswith("#") else part.href != ""
        if is_link:
            text = f'<a href={quoteattr(part.href)} color="{LIGHT["accent"]}">{text}</a>'
        texts.append(text)
    return "".join(texts)


def _one_line_keeping_blanks(text: str) -> str:
    """Parts of a sentence begin and end with blanks, which hold them apart."""
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() and text.strip() else ""
    return f"{before}{one_line(text, LONGEST_LINE)}{after}"
