"""A report as PDF, with ReportLab. No browser and no system library."""

import io
from collections.abc import Iterable
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Frame,
    KeepTogether,
    ListFlowable,
    ListItem,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus.tableofcontents import TableOfContents

from fsbench_web.compare.drawings.paper import put, register_fonts
from fsbench_web.compare.drawings.shapes import LIGHT, Drawing
from fsbench_web.compare.exports.document import one_line
from fsbench_web.compare.report.blocks import (
    Block,
    Bullets,
    Charts,
    Facts,
    FoldBegins,
    FoldEnds,
    Grid,
    Heading,
    Prose,
    Report,
)
from fsbench_web.compare.report.pdf_text import (
    BODY,
    CAPTION,
    CELL,
    CODE,
    CONTENTS,
    HEADINGS,
    LONGEST_LINE,
    NUMBER,
    REGULAR,
    SMALL,
    TITLE,
    anchor,
    plain,
    text_width,
    truncated,
    with_links,
)

MARGIN = 18 * mm
WIDTH = A4[0] - 2 * MARGIN
KEPT_TOGETHER = 20
"""Rows of a table with a title that is not broken over two pages."""


def pdf(report: Report) -> bytes:
    """The report as A4 pages with numbers, contents and bookmarks."""
    register_fonts()
    out = io.BytesIO()
    document = _Document(out, report)
    document.multiBuild(list(_story(report, document)))
    return out.getvalue()


class _Document(BaseDocTemplate):
    """Knows its headings, for contents and bookmarks, and writes the foot of each page."""

    def __init__(self, out: io.BytesIO, report: Report) -> None:
        super().__init__(
            out,
            pagesize=A4,
            title=one_line(report.title, 200),
            subject="fsbench report",
            creator="fsbench",
            leftMargin=MARGIN,
            rightMargin=MARGIN,
            topMargin=MARGIN,
            bottomMargin=MARGIN + 6 * mm,
        )
        frame = Frame(
            MARGIN,
            MARGIN + 6 * mm,
            WIDTH,
            A4[1] - 2 * MARGIN - 6 * mm,
            leftPadding=0,
            rightPadding=0,
            topPadding=0,
            bottomPadding=0,
        )
        self.addPageTemplates(PageTemplate(frames=[frame], onPage=self._foot))
        self._footer = truncated(one_line(report.title, 200), 80)
        self._last_page = self._said_last_page = 0

    def beforeDocument(self) -> None:
        self._said_last_page = self._last_page

    def afterPage(self) -> None:
        self._last_page = self.page

    @property
    def has_page_count(self) -> bool:
        """Whether the latest build knew from the one before how many pages there are."""
        return self._said_last_page == self._last_page

    def _foot(self, canvas: Canvas, document: BaseDocTemplate) -> None:
        canvas.saveState()
        canvas.setFont(REGULAR, 7.5)
        canvas.setFillColor(colors.HexColor(LIGHT["muted"]))
        canvas.drawString(MARGIN, MARGIN - 2 * mm, self._footer)
        words = f"Page {canvas.getPageNumber()} of {self._said_last_page}"
        canvas.drawRightString(A4[0] - MARGIN, MARGIN - 2 * mm, words)
        canvas.restoreState()

    def afterFlowable(self, flowable: Flowable) -> None:
        heading = getattr(flowable, "heading", None)
        if heading is None:
            return
        key = f"heading-{flowable.number}"
        self.canv.bookmarkPage(key)
        self.canv.addOutlineEntry(heading.text, key, heading.level - 1, closed=heading.level > 1)
        self.notify("TOCEntry", (heading.level - 1, escape(heading.text), self.page, key))


class _Contents(TableOfContents):
    """Has the document built again until page numbers and their count are those of its pages."""

    def __init__(self, document: _Document) -> None:
        super().__init__(dotsMinLevel=0)
        self._document = document

    def isSatisfied(self) -> bool:
        return bool(super().isSatisfied()) and self._document.has_page_count


class _DrawingFlowable(Flowable):
    """A drawing on the page, as wide as asked."""

    def __init__(self, drawing: Drawing, width: float) -> None:
        super().__init__()
        self.drawing = drawing
        self.scale = width / drawing.width
        self.width, self.height = width, drawing.height * self.scale

    def draw(self) -> None:
        self.canv.scale(self.scale, self.scale)
        put(self.canv, self.drawing)


def _story(report: Report, document: _Document) -> Iterable[Flowable]:
    yield Paragraph(plain(report.title), TITLE)
    yield _facts(Facts(report.facts))
    yield Spacer(0, 14)
    contents = _Contents(document)
    contents.levelStyles = CONTENTS
    yield contents
    yield PageBreak()
    # An address within the report that leads nowhere would end the whole of it with an error.
    anchors = {
        anchor
        for block in report.blocks
        if isinstance(block, Heading | Grid)
        for anchor in [block.anchor]
    }
    for number, block in enumerate(report.blocks):
        yield from _flowables(block, number, anchors)


def _flowables(block: Block, number: int, anchors: set[str]) -> Iterable[Flowable]:
    if isinstance(block, Heading):
        if block.level == 1 and number:
            yield PageBreak()
        elif block.level == 2:
            yield CondPageBreak(35 * mm)
        heading = Paragraph(anchor(block.anchor) + plain(block.text), HEADINGS[min(block.level, 3)])
        if block.level < 3:
            heading.heading, heading.number = block, number
        yield heading
    elif isinstance(block, FoldBegins | FoldEnds):
        return  # nothing is folded on paper
    elif isinstance(block, Prose):
        yield Paragraph(with_links(block.parts, anchors), BODY)
    elif isinstance(block, Bullets):
        yield ListFlowable(
            [ListItem(Paragraph(with_links(parts, anchors), BODY)) for parts in block.items],
            bulletType="bullet",
            start="•",
            bulletFontName=REGULAR,
            bulletFontSize=8,
            leftIndent=12,
        )
    elif isinstance(block, Facts):
        yield _facts(block)
        yield Spacer(0, 6)
    elif isinstance(block, Charts):
        yield from _charts(block)
    elif isinstance(block, Grid):
        yield from _grid(block)
    else:
        yield Paragraph(plain(block.title), CAPTION)
        for line in block.lines:
            yield Paragraph(plain(line, LONGEST_LINE), CODE)
        yield Spacer(0, 6)


def _facts(block: Facts) -> Flowable:
    if not block.items:
        return Spacer(0, 0)
    rows = [[Paragraph(plain(a), SMALL), Paragraph(plain(b), CELL)] for a, b in block.items]
    style = TableStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (0, -1), 0)])
    return Table(rows, colWidths=[WIDTH * 0.26, WIDTH * 0.74], style=style, hAlign="LEFT")


def _charts(block: Charts) -> Iterable[Flowable]:
    gap = 16.0
    width = (WIDTH - gap) / 2
    drawn = [_DrawingFlowable(drawing, width) for drawing in block.drawings]
    for place in range(0, len(drawn), 2):
        pair: list[Any] = [*drawn[place : place + 2], ""][:2]
        style = TableStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("LEFTPADDING", (0, 0), (-1, -1), 0),
                ("RIGHTPADDING", (0, 0), (-1, -1), 0),
            ]
        )
        yield Table([pair], colWidths=[width + gap, width], style=style)


def _grid(block: Grid) -> Iterable[Flowable]:
    caption = [
        Paragraph(anchor(block.anchor) + plain(block.title), CAPTION),
    ]
    notes = [Paragraph(plain(note, LONGEST_LINE), SMALL) for note in block.notes]
    head = [
        Paragraph(f"<b>{plain(name)}</b>", NUMBER if is_numeric else CELL)
        for name, is_numeric in block.columns
    ]
    body = [
        [
            Paragraph(
                f"<b>{plain(cell)}</b>" if place in block.strong else plain(cell),
                NUMBER if is_numeric else CELL,
            )
            for cell, (_, is_numeric) in zip(row, block.columns, strict=True)
        ]
        for place, row in enumerate(block.rows)
    ]
    table = Table(
        [head, *body],
        colWidths=_widths(block),
        repeatRows=1,
        style=TableStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("LINEABOVE", (0, 0), (-1, 0), 0.8, colors.HexColor(LIGHT["fg"])),
                ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.HexColor(LIGHT["fg"])),
                ("LINEBELOW", (0, 1), (-1, -2), 0.25, colors.HexColor(LIGHT["grid"])),
                ("LINEBELOW", (0, -1), (-1, -1), 0.8, colors.HexColor(LIGHT["fg"])),
                ("TOPPADDING", (0, 0), (-1, -1), 1.5),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 2),
                ("LEFTPADDING", (0, 0), (-1, -1), 3),
                ("RIGHTPADDING", (0, 0), (-1, -1), 3),
            ]
        ),
        hAlign="LEFT",
    )
    parts = [*(caption if block.title else []), table, *notes, Spacer(0, 6)]
    if block.title and len(block.rows) <= KEPT_TOGETHER:
        yield KeepTogether(parts)
    else:
        yield from parts


def _widths(block: Grid) -> list[float]:
    """Widths by the longest text of each column, none so narrow that a number would break."""
    columns = []
    for place, (name, is_numeric) in enumerate(block.columns):
        cells = [row[place] for row in block.rows]
        longest = max((text_width(cell) for cell in cells), default=0)
        words = max((text_width(word) for word in name.split()), default=0)
        in_two_lines = text_width(name) / 2 + 4 if " " in name else 0
        columns.append((max(longest, words, in_two_lines) + 8, is_numeric))
    total = sum(width for width, _ in columns)
    if total <= WIDTH:
        return [width for width, _ in columns]
    # Numbers keep their width; the texts share the rest, no column more than it wants.
    fixed = sum(width for width, is_numeric in columns if is_numeric)
    if fixed > WIDTH * 0.8:
        return [width * WIDTH / total for width, _ in columns]
    texts = [width for width, is_numeric in columns if not is_numeric]
    share = _shares(texts, WIDTH - fixed)
    return [width if is_numeric else share.pop(0) for width, is_numeric in columns]


def _shares(wanted_widths: list[float], room: float) -> list[float]:
    """Narrow columns get what they want, the wide ones an equal part of what is left."""
    widths = [0.0] * len(wanted_widths)
    order = sorted(range(len(wanted_widths)), key=wanted_widths.__getitem__)
    for number, place in enumerate(order):
        widths[place] = min(wanted_widths[place], room / (len(order) - number))
        room -= widths[place]
    return widths
