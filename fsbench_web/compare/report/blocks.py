"""What a report is made of: blocks that the template draws. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fsbench_web.compare.drawings.shapes import Drawing
from fsbench_web.compare.tables.findings import Finding, Part


@dataclass(frozen=True)
class Heading:
    """``level`` 1 begins a chapter; ``anchor`` is unique in the report, empty for none."""

    text: str
    level: int
    anchor: str = ""
    kind: str = "heading"


@dataclass(frozen=True)
class FoldBegins:
    """What comes up to the next FoldEnds is behind a fold on the screen; on paper it stands there.

    ``of`` says in words what it is more of, empty where the place says it.
    """

    title: str
    of: str = ""
    kind: str = "fold begins"


@dataclass(frozen=True)
class FoldEnds:
    """The end of what FoldBegins begins."""

    kind: str = "fold ends"


@dataclass(frozen=True)
class Prose:
    """A paragraph; its parts may lead somewhere."""

    parts: tuple[Part, ...]
    kind: str = "prose"


@dataclass(frozen=True)
class Bullets:
    """Sentences."""

    items: tuple[tuple[Part, ...], ...]
    kind: str = "bullets"


@dataclass(frozen=True)
class Facts:
    """Labels with their values."""

    items: tuple[tuple[str, str], ...]
    kind: str = "facts"


@dataclass(frozen=True)
class Grid:
    """A table. ``columns`` are (heading, is it numeric); ``strong`` are the places of best rows."""

    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    anchor: str = ""
    strong: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    kind: str = "grid"

    @property
    def lines(self) -> list[dict[str, object]]:
        """The rows for a template: cells with whether they are numeric."""
        return [
            {
                "is_strong": place in self.strong,
                "cells": [
                    (cell, is_numeric)
                    for cell, (_, is_numeric) in zip(row, self.columns, strict=True)
                ],
            }
            for place, row in enumerate(self.rows)
        ]


@dataclass(frozen=True)
class Charts:
    """Drawings, two beside each other."""

    drawings: tuple[Drawing, ...]
    kind: str = "charts"


@dataclass(frozen=True)
class Commands:
    """Command lines, in order, as they are typed."""

    title: str
    lines: tuple[str, ...]
    kind: str = "commands"


Block = Heading | FoldBegins | FoldEnds | Prose | Bullets | Facts | Grid | Charts | Commands


@dataclass(frozen=True)
class Report:
    """``facts`` stand under the title: who, when, from where. ``address`` is of the HTML."""

    title: str
    facts: tuple[tuple[str, str], ...]
    address: str
    blocks: tuple[Block, ...]

    @property
    def chapters(self) -> list[Heading]:
        return [block for block in self.blocks if isinstance(block, Heading) and block.level == 1]


def paragraph(text: str) -> Prose:
    """A paragraph of plain text."""
    return Prose((Part(text),))


def sentences(texts: Sequence[str]) -> Bullets:
    """Plain sentences."""
    return Bullets(tuple((Part(text),) for text in texts))


def bullets(entries: Iterable[Finding], site: str) -> Bullets:
    """Findings, with addresses that lead somewhere on paper too."""
    return Bullets(
        tuple(
            tuple(
                Part(part.text, _absolute(part.href, site), part.is_name) for part in finding.parts
            )
            for finding in entries
        )
    )


def _absolute(href: str, site: str) -> str:
    """On paper an address needs its host."""
    return site + href[1:] if href.startswith("/") else href
