"""What is more than a request stores (imports.plan) waits here for the importer.

The row is the truth: an importer claims it by conditional update, and shows the claim's
token with everything it writes. A claim that is not renewed runs out, and another importer takes
the row up again; what was half stored then is gone with its transaction.
"""

import logging
import secrets
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.models import Q

from fsbench_web.imports import targets, uploads
from fsbench_web.imports.models import Import, ImportFile, ImportState
from fsbench_web.imports.plan import TooLargeForRequest, plan_files
from fsbench_web.imports.problems import ImportProblem, ImportRefused, KnownRun
from fsbench_web.imports.sources import Target
from fsbench_web.imports.storing import commit
from fsbench_web.imports.storing.numbering import OnProgress
from fsbench_web.platform import clock

logger = logging.getLogger("fsbench.importer")

CLAIM_LASTS = timedelta(seconds=60)
ATTEMPTS = 3
_UNCLAIMED: dict[str, Any] = {"phase": "", "claimed_by": "", "claimed_until": None}
MOST_KEPT = 100
"""Problems of a refused import that are kept."""


class ImporterStopped(Exception):
    """The importer has to end: the row goes back to those that wait."""


class ClaimLost(Exception):
    """Another importer has the row, or it was discarded: nothing of this attempt may stay."""


def hand_over(
    too_large: TooLargeForRequest, target: Target, user: User, *, only_new: bool = False
) -> Import:
    """Let the importer store files that are more work than a request does. Raises ImportRefused."""
    sources = too_large.sources
    uploads.remove_expired()
    targets.require_study(target, user)
    with transaction.atomic():
        uploads.lock(user)
        uploads.refuse_beyond(user, sources)
        report: dict[str, Any] = {"only_new": True} if only_new else {}
        if too_large.warnings:
            report["warnings"] = [warning.as_warning() for warning in too_large.warnings]
        row = Import.objects.create(
            state=ImportState.ACCEPTED, target=asdict(target), report=report, created_by=user
        )
        ImportFile.objects.bulk_create(
            uploads.row_of(row, source, source.description) for source in sources
        )
    return row


def claim(now: datetime | None = None) -> Import | None:
    """Take the oldest import that waits and nobody works on."""
    now = now or clock.now()
    free = Q(claimed_until=None) | Q(claimed_until__lt=now)
    for row in Import.objects.filter(free, state=ImportState.ACCEPTED).order_by("id"):
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
                f"The importer ended {ATTEMPTS} times while it worked on this import. Nothing of "
                "it is stored. Split it, or ask an administrator to read the importer's log."
            )
            _leave(row, ImportState.FAILED, {"reason": reason})
            continue
        return row
    return None


def work_on(row: Import, stopping: threading.Event) -> None:
    """Store a claimed import."""
    with _heartbeats(row, stopping) as on_progress:
        try:
            on_progress("Reading", 0.0)
            _store(row, on_progress)
        except ImporterStopped:
            report = row.report | {"attempts": row.report["attempts"] - 1}
            _leave(row, ImportState(row.state), report)
        except ClaimLost:
            logger.warning("%s went to another importer or was discarded", row)
        except ImportRefused as refused:
            # What is there already, or what was said of it: a correction tries again.
            rows = [vars(problem) for problem in refused.problems[:MOST_KEPT]]
            _leave(row, ImportState.PREVIEWED, {"refused": rows})
        except Exception:
            logger.exception("%s failed", row)
            reason = (
                "The importer failed: "
                f"{traceback.format_exc(limit=0).strip().splitlines()[-1][:300]}. Nothing of the "
                "import is stored; its log says more."
            )
            _leave(row, ImportState.FAILED, {"reason": reason})


def _store(row: Import, on_progress: OnProgress) -> None:
    target = Target(**row.target)
    plan = plan_files(uploads.sources_of(row), target)
    if row.created_by is None:  # the account was deleted; nobody's imports are those of commands
        raise ImportRefused([ImportProblem("The account that uploaded this is gone.")])
    on_progress("Storing", 0.0)
    passed_over: list[KnownRun] | None = [] if row.report.get("only_new") else None
    claim = (row.state, row.claimed_by)
    with transaction.atomic():
        claimed = Import.objects.filter(pk=row.pk, claimed_by=row.claimed_by, state=row.state)
        if claimed.update(phase="Storing", progress=0) != 1:  # and nobody takes it until the end
            raise ClaimLost
        try:
            commit.commit(row, plan, target, row.created_by, passed_over, on_progress=on_progress)
        finally:
            # It is this state that the claim is asked for, and that a refusal goes back from.
            row.state, row.claimed_by = claim
        Import.objects.filter(pk=row.pk).update(state=row.state)
        _finish(row, row.report | ({"known": len(passed_over)} if passed_over else {}))


def _finish(row: Import, report: dict[str, Any]) -> None:
    """Stored: in the transaction that did it. Raises ClaimLost."""
    claimed = Import.objects.filter(
        pk=row.pk, claimed_by=row.claimed_by, state=ImportState.ACCEPTED
    )
    done = {"state": ImportState.DONE, "study": row.study, "report": report, "progress": 1}
    if claimed.update(**done, **_UNCLAIMED) != 1:
        raise ClaimLost


def _leave(row: Import, state: ImportState, report: dict[str, Any]) -> None:
    """Give up the claim and say where the import is now."""
    Import.objects.filter(pk=row.pk, claimed_by=row.claimed_by).update(
        state=state, report=report, progress=0, **_UNCLAIMED
    )


@contextmanager
def _heartbeats(row: Import, stopping: threading.Event) -> Iterator[OnProgress]:
    """Renew the claim and tell the progress from another thread.

    On SQLite nothing can be written while the table is stored, and nobody can claim the row.
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
