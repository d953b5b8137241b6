"""Pin a comparison, read it back unchanged, and say what is newer."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone
from pydantic import TypeAdapter

from fsbench_web.accounts import audit
from fsbench_web.compare.models import LinkVisibility, Permalink
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.selection.table_view import TableView, joined
from fsbench_web.compare.selection.wording import describe
from fsbench_web.compare.tables import findings
from fsbench_web.compare.tables.bounds import bounded_answer
from fsbench_web.compare.tables.delta_tables import Comparison, comparison, default_tables
from fsbench_web.compare.tables.differences import Differences, differences
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.scoring.profiles.coverage import WorkAnswer
from fsbench_web.platform import limits
from fsbench_web.studies.models import Run, Score
from fsbench_web.studies.scores.renamed import names_today
from fsbench_web.studies.scores.source_runs import environments_of

VERSION = 1
_DIFFERENCES = TypeAdapter(Differences)
"""Reads what ``asdict`` wrote; what another version wrote besides is left out."""


class EmptyComparison(ValueError):
    """The comparison shows no number."""


@dataclass(frozen=True)
class PinnedComparison:
    """What a permalink shows. ``is_intact``: the numbers match the checksum.

    ``differences``: what else the entries differed in; None if not kept.
    """

    tables: list[DeltaTable]
    run_ids: frozenset[int]
    description: str
    is_intact: bool
    by: str = ""
    sort: str = ""
    baseline: str = ""
    differences: Differences | None = None

    @property
    def work(self) -> list[WorkAnswer]:
        """What was measured of the work profiles that its tables are ranked by."""
        return [table.work for table in self.tables if table.work is not None]

    def tables_of(self, query: QueryDict) -> list[DeltaTable]:
        """Its tables of one test and category, where ``query`` names them."""
        test, category = query.get("test"), query.get("category")
        return [
            table
            for table in self.tables
            if test in (None, table.test) and category in (None, table.category)
        ]

    @property
    def sorted_run_ids(self) -> list[int]:
        return sorted(self.run_ids)


@dataclass(frozen=True)
class Changes:
    """How the live comparison differs; ``problem`` says why there is none any more."""

    newer_runs: int = 0
    gone_runs: int = 0
    changed_rows: int = 0
    problem: str = ""

    @property
    def has_any(self) -> bool:
        return bool(self.newer_runs or self.gone_runs or self.changed_rows or self.problem)


def pin(
    spec: ComparisonSpec,
    user: AbstractBaseUser,
    *,
    view: str = "",
    title: str = "",
    note: str = "",
    visibility: str = LinkVisibility.PUBLIC,
    expires_on: date | None = None,
) -> Permalink:
    """Keep what ``spec`` shows now under a key. Raises SpecError and EmptyComparison."""
    limited = bounded_answer(profiles.with_version(spec), limits.PINNED)
    live = comparison(limited.spec).by_default
    # What is shown now of emulated results stays so, whatever is measured later.
    spec = findings.with_emulation_choice(live.spec, live.tables, len(live.left_out))
    live = replace(live, spec=spec)
    if not live.tables:
        raise EmptyComparison("No score matches this comparison: there is nothing to pin.")
    snapshot = _snapshot(live)
    values = {
        "query": spec.to_query(),
        "view": view,
        "sha256": _digest(snapshot),
        "title": title,
        "note": note,
        "visibility": visibility,
        "expires_on": expires_on,
        "created_by_id": user.pk,
    }
    existing = Permalink.objects.filter(**values).first()
    if existing is not None:
        return existing
    with transaction.atomic():
        permalink = Permalink.objects.create(snapshot=snapshot, **values)
        audit.note(user, "permalink made", f"permalink {permalink.key}", visibility=visibility)
    return permalink


@transaction.atomic
def withdraw(key: str, by: AbstractBaseUser) -> bool:
    """Only its author and administrators see it from now on. False where that was so already."""
    rows = Permalink.objects.filter(key=key).exclude(visibility=LinkVisibility.PRIVATE)
    before = rows.select_for_update().values_list("visibility", flat=True).first()
    if before is None:
        return False
    rows.update(visibility=LinkVisibility.PRIVATE)
    audit.note(by, "permalink withdrawn", f"permalink {key}", before=before)
    return True


@transaction.atomic
def delete(link: Permalink, by: AbstractBaseUser) -> None:
    author = link.created_by.get_username() if link.created_by else None
    link.delete()
    audit.note(by, "permalink deleted", f"permalink {link.key}", title=link.title, author=author)


def read(permalink: Permalink) -> PinnedComparison:
    """The numbers as they were when the permalink was made; the database is not asked."""
    content: dict[str, Any] = json.loads(permalink.snapshot)
    kept = content.get("differences")
    return PinnedComparison(
        tables=[DeltaTable.from_dict(table) for table in content["tables"]],
        run_ids=frozenset(content["run_ids"]),
        description=content["description"],
        is_intact=_digest(permalink.snapshot) == permalink.sha256,
        by=content.get("by", ""),
        sort=content.get("sort", ""),
        baseline=QueryDict(permalink.query).get("baseline", ""),
        differences=kept and _DIFFERENCES.validate_python(kept),
    )


def view_of(permalink: Permalink, pinned: PinnedComparison, query: QueryDict) -> TableView:
    """How its tables are shown: as the address says, else as they were when it was shared."""
    sort_query = TableView(sort=pinned.sort).with_sort
    return TableView.chosen(query, joined(sort_query, permalink.view))


def title_of(permalink: Permalink) -> str:
    """Its title, or where it has none the day of its numbers."""
    created_at = timezone.localtime(permalink.created_at)
    return permalink.title or f"Comparison of {created_at.day} {created_at:%B %Y}"


def latest_query(permalink: Permalink) -> str:
    """The page that shows the same with the latest numbers, as old links meant it."""
    try:
        spec = ComparisonSpec.of_address(permalink.query)
    except SpecError:
        return joined(permalink.query, permalink.view)
    categories = "" if _is_by_default(read(permalink), spec) else "categories=on"
    return joined(categories, spec.on_page.to_query(), permalink.view)


def _is_by_default(pinned: PinnedComparison, spec: ComparisonSpec) -> bool:
    """Whether it keeps no more categories than are meant where none is named."""
    return len(default_tables(pinned.tables, spec)) == len(pinned.tables)


def changes_since(permalink: Permalink, pinned: PinnedComparison) -> Changes:
    """Compare the pinned numbers with those of the same query now. Four to six queries."""
    try:
        spec = ComparisonSpec.of_address(permalink.query)
        tables = {(table.test, table.category) for table in pinned.tables}
        if len(tables) < len(pinned.tables):  # of before units were brought together
            spec = spec.for_programs
        live = comparison(bounded_answer(spec, limits.PINNED).spec)
        live = live.by_default if _is_by_default(pinned, spec) else live
    except SpecError as error:
        return Changes(problem=str(error))
    before, now = _shown_values(_named_today(pinned.tables)), _shown_values(live.tables)
    return Changes(
        newer_runs=_count_of_shown(live.run_ids - pinned.run_ids, live.considered),
        gone_runs=len(pinned.run_ids - live.run_ids),
        changed_rows=sum(
            1 for key in before.keys() | now.keys() if before.get(key) != now.get(key)
        ),
    )


def _count_of_shown(runs: frozenset[int], considered: QuerySet[Score]) -> int:
    """How many of the runs gave a number to these scores, or may have."""
    if not runs:
        return 0
    named_runs: set[int] = set()
    without_runs: set[int] = set()
    for series, of_score in considered.order_by().values_list("series_id", "run_ids"):
        if of_score is None:
            without_runs.add(series)
        else:
            named_runs.update(of_score)
    others = (
        Run.objects.filter(pk__in=runs - named_runs, series__in=without_runs).count()
        if without_runs
        else 0
    )
    return len(runs & named_runs) + others


def _named_today(tables: Sequence[DeltaTable]) -> list[DeltaTable]:
    """The tables with their tests as they are called now: a new name alone changes nothing."""
    renamed = names_today({table.test for table in tables})
    names = {old: found[0] for old, found in renamed.items() if len(found) == 1}
    return [replace(table, test=names.get(table.test, table.test)) for table in tables]


def _shown_values(tables: Iterable[DeltaTable]) -> dict[tuple[str, str, str, str], object]:
    return {
        (table.test, table.category, table.unit, row.contender): (
            row.score,
            row.best,
            frozenset(row.flags),
        )
        for table in tables
        for row in table.rows
    }


def _snapshot(live: Comparison) -> str:
    return json.dumps(
        {
            "version": VERSION,
            "description": _description(live),
            "by": live.spec.by,
            "sort": live.spec.sort,
            "differences": asdict(
                differences(live.shown_contenders, live.spec.by, environments_of(live.shown_series))
            ),
            "tables": [table.as_dict() for table in live.tables],
            "run_ids": sorted(live.run_ids),
        },
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
    )


def _description(live: Comparison) -> str:
    work = (sentence for work_answer in live.work for sentence in work_answer.sentences)
    text = " ".join([describe(live.spec, live.choices), *work])
    return f"{text} {live.emulated.sentence}" if live.emulated else text


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
