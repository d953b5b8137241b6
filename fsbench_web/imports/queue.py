"""What is more than a request does waits here for the importer, which stores it.

Large tables are checked by it first; files of many runs or scores (imports.plan) were checked
within the request, and are stored alone.

The row is the truth: whoever works on it claims it by conditional update, and shows the claim's
token with everything it writes. A claim that is not renewed runs out, and another importer takes
the row up again; what was half stored then is gone with its transaction.
"""

import logging
import secrets
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.models import Q

from fsbench_web.core.formats.tables.table import NeedsMapping
from fsbench_web.imports import quota, targets, uploads
from fsbench_web.imports.models import Import, ImportFile, ImportState
from fsbench_web.imports.plan import TooLargeForRequest, plan_files
from fsbench_web.imports.problems import ImportProblem, ImportRefused, KnownRun, WarningRow
from fsbench_web.imports.sources import SourceFile, Target
from fsbench_web.imports.storing import commit, large
from fsbench_web.platform import clock

logger = logging.getLogger("fsbench.importer")

CLAIM_LASTS = timedelta(seconds=60)
ATTEMPTS = 3
WAITING = (ImportState.RECEIVED, ImportState.ACCEPTED)


class ImporterStopped(Exception):
    """The importer was told to end: the row goes back to those that wait."""


class ClaimLost(Exception):
    """Another importer has the row, or it was discarded: nothing of this attempt may stay."""


def receive(source: SourceFile, target: Target, user: User) -> Import:
    """Keep a large table until the importer has checked it. Raises ImportRefused."""
    uploads.remove_expired()
    targets.require_study(target, user)
    with transaction.atomic():
        quota.lock(user)
        quota.refuse_beyond(user, [source])
        row = Import.objects.create(
            state=ImportState.RECEIVED,
            target=asdict(target),
            report={"large": True},
            created_by=user,
        )
        ImportFile.objects.create(
            import_of=row,
            path=source.path,
            content_gzip=source.content_gzip,
            size_bytes=source.size_bytes,
            sha256=source.sha256,
            given=asdict(source.description),
            mapping=source.mapping,
        )
    return row


def hand_over(
    too_large: TooLargeForRequest, target: Target, user: User, *, only_new: bool = False
) -> Import:
    """Let the importer store files that are more work than a request does. Raises ImportRefused."""
    sources = too_large.sources
    uploads.remove_expired()
    targets.require_study(target, user)
    with transaction.atomic():
        quota.lock(user)
        quota.refuse_beyond(user, sources)
        report: dict[str, Any] = {"only_new": True} if only_new else {}
        if large.is_large(sources):
            report["large"] = True
        if too_large.warnings:
            report["warnings"] = [warning.as_warning() for warning in too_large.warnings]
        row = Import.objects.create(
            state=ImportState.ACCEPTED, target=asdict(target), report=report, created_by=user
        )
        ImportFile.objects.bulk_create(
            ImportFile(
                import_of=row,
                path=source.path,
                content_gzip=source.content_gzip,
                size_bytes=source.size_bytes,
                sha256=source.sha256,
                problem=source.problem,
                given=asdict(source.description),
                mapping=source.mapping,
                is_left_out=source.is_left_out,
            )
            for source in sources
        )
    return row


def check_again(row: Import) -> None:
    """Let the importer read the table anew: somebody said otherwise which column is what."""
    Import.objects.filter(pk=row.pk, state=ImportState.PREVIEWED).update(
        state=ImportState.RECEIVED, report={"large": True}, phase="", progress=0
    )


def accept(row: Import, user: User, columns: str | None = None) -> None:
    """Let the importer store a checked table, which was shown with ``columns``
    (uploads.columns_digest). Raises ImportRefused with what stands against it.
    """
    with transaction.atomic():
        locked = Import.objects.select_for_update().filter(
            pk=row.pk, created_by=user, state=ImportState.PREVIEWED
        )
        for current in locked:
            uploads.refuse_other_columns(current, columns)
            if problems := problems_of(current):
                raise ImportRefused(problems)
            locked.update(state=ImportState.ACCEPTED, phase="", progress=0)


def problems_of(row: Import) -> list[ImportProblem]:
    """Everything that stands against storing a checked table as it is said now."""
    refused = [ImportProblem.from_json(problem) for problem in row.report.get("refused", [])]
    if not row.report.get("keys"):
        return [
            *(ImportProblem.from_json(problem) for problem in row.report.get("problems", [])),
            *refused,
        ]
    source = uploads.sources_of(row, with_content=False)[0]
    return [*large.problems_and_notes(row.report, source, Target(**row.target))[0], *refused]


def warnings_of(row: Import) -> list[WarningRow]:
    """What an import left out or would leave out, where the importer read it or it is stored."""
    if row.state == ImportState.PREVIEWED and row.report.get("large"):
        source, target = uploads.sources_of(row, with_content=False)[0], Target(**row.target)
        return [
            warning.as_warning()
            for warning in large.problems_and_notes(row.report, source, target)[1]
        ]
    warnings: list[WarningRow] = row.report.get("warnings", [])
    return warnings


def claim(now: datetime | None = None) -> Import | None:
    """Take the oldest import that waits and nobody works on."""
    now = now or clock.now()
    free = Q(claimed_until=None) | Q(claimed_until__lt=now)
    for row in Import.objects.filter(free, state__in=WAITING).order_by("id"):
        attempts = row.report.get("attempts", 0) + 1
        token = secrets.token_hex(16)
        claimed = Import.objects.filter(free, pk=row.pk, state=row.state).update(
            claimed_by=token,
            claimed_until=now + CLAIM_LASTS,
            phase="Reading",
            progress=0,
            report=row.report | {"attempts": attempts},
        )
        if claimed != 1:
            continue
        row.refresh_from_db()
        if attempts > ATTEMPTS:
            reason = (
                f"The importer ended {ATTEMPTS} times while it worked on this table. Nothing of it "
                "is stored. Split it, or ask whoever runs this site to look at the importer's log."
            )
            kind = {"large": True} if row.report.get("large") else {}
            _leave(row, ImportState.FAILED, {**kind, "reason": reason})
            continue
        return row
    return None


def work_on(row: Import, stopping: threading.Event) -> None:
    """Check or store a claimed table."""
    kind = {"large": True} if row.report.get("large") else {}
    with _heartbeats(row, stopping) as on_progress:
        try:
            sources = uploads.sources_of(row)
            if not kind:
                _store_files(row, sources, on_progress)
            elif row.state == ImportState.RECEIVED:
                _check(row, sources[0], on_progress)
            else:
                _store(row, sources[0], on_progress)
        except ImporterStopped:
            report = row.report | {"attempts": row.report["attempts"] - 1}
            _leave(row, ImportState(row.state), report)
        except ClaimLost:
            logger.warning("%s went to another importer or was discarded", row)
        except ImportRefused as refused:
            rows = [vars(problem) for problem in refused.problems]
            report = {key: row.report[key] for key in _CHECKED if key in row.report}
            if row.state == ImportState.ACCEPTED:
                # What was said of the table, or what is there already: a correction tries anew.
                report |= {"problems": row.report.get("problems", []), "refused": rows}
            else:
                needs_mapping = isinstance(refused.__cause__, NeedsMapping)
                report |= {"problems": rows, "needs_mapping": needs_mapping}
            _leave(row, ImportState.PREVIEWED, report | kind)
        except Exception:
            logger.exception("%s failed", row)
            reason = (
                "The importer failed: "
                f"{traceback.format_exc(limit=0).strip().splitlines()[-1][:300]}. Nothing of the "
                "table is stored; its log says more."
            )
            _leave(row, ImportState.FAILED, {**kind, "reason": reason})


_CHECKED = (
    *("values", "rows", "runs", "zeros", "first_zero", "not_measured", "unused", "header_line"),
    *("keys", "tests"),
)


def _check(row: Import, source: SourceFile, on_progress: large.OnProgress) -> None:
    table = large.read(source, on_progress)
    report = {"large": True} | large.report(table, source)
    report["problems"] += [
        vars(problem) for problem in large.cells_given_twice(table, source, on_progress)
    ]
    _leave(row, ImportState.PREVIEWED, report)


def _store(row: Import, source: SourceFile, on_progress: large.OnProgress) -> None:
    target = Target(**row.target)
    table = large.read(source, on_progress)
    if "keys" not in row.report:  # nobody looked at it before: it came in one call
        row.report |= large.report(table, source)
    if problems := problems_of(row):
        raise ImportRefused(problems)
    passed_over: list[KnownRun] | None = [] if row.report.get("only_new") else None
    # SQLite's one writer is this transaction from here on: said before it begins.
    Import.objects.filter(pk=row.pk, claimed_by=row.claimed_by).update(phase="Storing", progress=0)
    if row.created_by is None:  # the account was deleted; nobody's imports are those of commands
        raise ImportRefused([ImportProblem("The account that uploaded this is gone.")])
    with transaction.atomic():
        large.store(row, source, table, target, row.created_by, on_progress, passed_over)
        row.files.all().delete()
        report: dict[str, Any] = {"large": True, "values": len(table), "rows": table.rows}
        if warnings := large.problems_and_notes(row.report, source, target)[1]:
            report["warnings"] = [warning.as_warning() for warning in warnings]
        _finish(row, report | ({"known": len(passed_over)} if passed_over else {}))


def _store_files(row: Import, sources: Sequence[SourceFile], on_progress: large.OnProgress) -> None:
    """Store files that were checked within a request.

    One transaction, on SQLite too, whose only writer it is: nobody can see half of an import, and
    what was half stored is gone with it. It lasts a few milliseconds a run.
    """
    target = Target(**row.target)
    on_progress("Reading", 0.0)
    plan = plan_files(sources, target)
    if row.created_by is None:
        raise ImportRefused([ImportProblem("The account that uploaded this is gone.")])
    on_progress("Storing", 0.0)
    passed_over: list[KnownRun] | None = [] if row.report.get("only_new") else None
    claim = (row.state, row.claimed_by)
    with transaction.atomic():
        claimed = Import.objects.filter(pk=row.pk, claimed_by=row.claimed_by, state=row.state)
        if claimed.update(phase="Storing", progress=0) != 1:  # and nobody takes it until the end
            raise ClaimLost
        try:
            commit.commit(row, plan, target, row.created_by, passed_over)
        finally:
            # It is this state that the claim is asked for, and that a refusal goes back from.
            row.state, row.claimed_by = claim
        Import.objects.filter(pk=row.pk).update(state=row.state)
        _finish(row, row.report | ({"known": len(passed_over)} if passed_over else {}))


def _finish(row: Import, report: dict[str, Any]) -> None:
    """Stored: in the transaction that did it. Raises ClaimLost."""
    stored = Import.objects.filter(
        pk=row.pk, claimed_by=row.claimed_by, state=ImportState.ACCEPTED
    ).update(
        state=ImportState.DONE,
        study=row.study,
        report=report,
        phase="",
        progress=1,
        claimed_by="",
        claimed_until=None,
    )
    if stored != 1:
        raise ClaimLost


def _leave(row: Import, state: ImportState, report: dict[str, Any]) -> None:
    """Give up the claim and say where the import is now."""
    Import.objects.filter(pk=row.pk, claimed_by=row.claimed_by).update(
        state=state, report=report, phase="", progress=0, claimed_by="", claimed_until=None
    )


@contextmanager
def _heartbeats(row: Import, stopping: threading.Event) -> Iterator[large.OnProgress]:
    """Renew the claim and tell the progress from another thread, so that the work does not wait.

    SQLite has one writer: while the table is stored nothing can be told, and nobody else can
    claim the row either.
    """
    data: dict[str, Any] = {"phase": "Reading", "progress": 0.0}
    ended = threading.Event()
    is_quiet = connection.vendor == "sqlite"

    def on_progress(phase: str, share: float) -> None:
        data["phase"], data["progress"] = phase, share
        if stopping.is_set():
            raise ImporterStopped

    def beat() -> None:
        while not ended.wait(1.0):
            if is_quiet and data["phase"] != "Reading":
                continue
            try:
                Import.objects.filter(pk=row.pk, claimed_by=row.claimed_by).update(
                    **data, claimed_until=clock.now() + CLAIM_LASTS
                )
            except DatabaseError as error:
                logger.warning("the progress of %s cannot be told: %s", row, error)
        connection.close()

    thread = threading.Thread(target=beat, name="progress", daemon=True)
    thread.start()
    try:
        yield on_progress
    finally:
        ended.set()
        thread.join()
