"""Reads the published studies from their files. Pure: no database."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
SECTION_KINDS = {"facts", "table", "list", "missing", "chart", "combined", "tables", "statements"}


@dataclass(frozen=True)
class PublishedScore:
    """One score as printed. No ``configuration``: the paper names the file system alone.
    ``repeats`` None: the paper does not say.
    """

    test: str
    category: str
    filesystem: str
    configuration: str
    distribution: str
    score: str
    unit: str
    repeats: int | None
    printed_best: str
    printed_delta1_percent: str
    printed_delta2_percent: str

    @property
    def printed(self) -> dict[str, Any] | None:
        """What is printed with the score, for ``Score.published``; None where nothing is."""
        if not self.printed_delta1_percent and not self.printed_delta2_percent:
            return None
        return {
            "best": bool(self.printed_best),
            "delta1_percent": self.printed_delta1_percent or None,
            "delta2_percent": self.printed_delta2_percent or None,
        }


@dataclass(frozen=True)
class PublishedStudy:
    """One study from its files. ``configuration_labels``: "complete" if a label names every option
    that is not a default, else "partial".
    """

    slug: str
    title: str
    authors: str
    organisation: str
    published_on: str
    summary: str
    hardware: list[dict[str, Any]]
    kernel: str
    distribution: str
    configuration_labels: str
    sections: list[dict[str, Any]]
    scores: list[PublishedScore] = field(default_factory=list)


def published_studies() -> Iterator[PublishedStudy]:
    """Every study that ships with fsbench, by slug. Raises ValueError for a file that is wrong."""
    for path in sorted(FOLDER.glob("*/study.json")):
        yield _study(path)


def _study(path: Path) -> PublishedStudy:
    study = PublishedStudy(**json.loads(path.read_text(encoding="utf-8")))
    if study.slug != path.parent.name:
        raise ValueError(f"{path} is of {study.slug}")
    unknown = {section["kind"] for section in study.sections} - SECTION_KINDS
    if unknown:
        raise ValueError(f"{path} has sections of unknown kind: {', '.join(sorted(unknown))}")
    scores = path.with_name("scores.csv")
    if scores.exists():
        with scores.open(encoding="utf-8", newline="") as file:
            study.scores.extend(_score(row) for row in csv.DictReader(file))
    return study


def _score(row: dict[str, str]) -> PublishedScore:
    repeats = row.pop("repeats")
    return PublishedScore(**row, repeats=int(repeats) if repeats else None)
