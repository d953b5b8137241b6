"""Files -> runs with measurements and scores, all of them or none."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, BinaryIO

from django.contrib.auth.models import User
from django.db import transaction

from fsbench_web.imports.models import Import, ImportState
from fsbench_web.imports.plan import Plan, TooLargeForRequest, plan_files
from fsbench_web.imports.problems import ImportProblem, ImportRefused, KnownRun
from fsbench_web.imports.sources import (
    NOTHING_SAID,
    FileDescription,
    SourceFile,
    Target,
    leave_out,
    safe_path,
    unpack,
)
from fsbench_web.imports.storing import known_files
from fsbench_web.imports.storing.numbering import OnProgress
from fsbench_web.imports.storing.runs import Stored, keys_of, store_runs
from fsbench_web.imports.targets import ALL_KNOWN, ImportResult


def import_uploads(
    uploads: Sequence[tuple[str, BinaryIO]],
    target: Target,
    user: User | None,
    *,
    only_new: bool = False,
    within_request: bool = False,
    given: FileDescription = NOTHING_SAID,
    columns: dict[str, Any] | None = None,
    left_out: Sequence[str] = (),
) -> ImportResult:
    """Store all files, (name, open file), as runs of a study, in one transaction.

    Raises ImportRefused with all problems. ``only_new``: runs that are known are passed over.
    ``within_request``: raises TooLargeForRequest for more than a request stores. ``given`` and
    ``columns`` hold for each file. ``left_out``: names of files that are not read.
    """
    target = target.stripped()
    files = leave_out(unpack([(safe_name(name), file) for name, file in uploads]), left_out)
    sources = [replace(source, description=given, mapping=columns) for source in files]
    return import_sources(sources, target, user, only_new=only_new, within_request=within_request)


def import_sources(
    sources: Sequence[SourceFile],
    target: Target,
    user: User | None,
    *,
    only_new: bool = False,
    within_request: bool = False,
) -> ImportResult:
    """Store unpacked files: all of them or none. Raises ImportRefused, and TooLargeForRequest.

    Nobody looked at a preview: what is stored already by its bytes is said in the warnings.
    """
    # Who wants only what is new is told by run what is known.
    notes = [] if only_new else known_files.notes_on(sources)
    plan = plan_files(sources, target)
    if within_request and not plan.all_problems and plan.work.is_much:
        raise TooLargeForRequest(plan, notes)
    passed_over: list[KnownRun] | None = [] if only_new else None
    with transaction.atomic():
        row = Import(target=target.__dict__, created_by=user)
        done = commit(row, plan, target, user, passed_over, notes)
        if passed_over and not done.runs:
            transaction.set_rollback(True)
            return replace(done, id=None, state=ALL_KNOWN)
    return done


def commit(
    row: Import,
    plan: Plan,
    target: Target,
    user: User | None,
    passed_over: list[KnownRun] | None = None,
    notes: Sequence[ImportProblem] = (),
    on_progress: OnProgress = lambda phase, share: None,
) -> ImportResult:
    """Store what was planned, and note it in ``row``. The caller holds the transaction.

    ``passed_over`` takes known runs; None: they are refused. ``notes`` are added to the warnings.
    Raises ImportRefused; the transaction must not commit then.
    """
    plan.check()
    was_kept, row.state = row.pk is not None, ImportState.DONE
    warnings = row.report.get("warnings") or [warning.as_warning() for warning in plan.warnings]
    row.report = {"warnings": warnings} if warnings else {}
    runs = [run for file in plan.files for run in file.runs]
    stored = store_runs(row, target, runs, user, passed_over, on_progress)
    if stored.problems:
        raise ImportRefused(stored.problems)
    if notes or stored.remarks:
        remarks = [remark.as_warning() for remark in (*notes, *stored.remarks)]
        warnings += remarks
        # Apart too: reading a file again says nothing of them (rereads.renewed_warnings).
        row.report = {"warnings": warnings, "remarks": remarks}
    if was_kept:
        row.save()
        row.files.all().delete()
    elif row.pk is not None and (notes or stored.remarks):
        row.save(update_fields=["report"])
    return ImportResult(
        row.pk, str(row.state), keys_of(stored.runs), known=passed_over or [], warnings=warnings
    )


def preview(plan: Plan, target: Target, user: User | None) -> Stored:
    """What ``commit`` would do with the good files, taken back. Raises ImportRefused."""
    with transaction.atomic():
        row = Import.objects.create(target=target.__dict__, created_by=user)
        good_files = (file for file in plan.files if not file.problems)
        runs = [run for file in good_files for run in file.runs]
        stored = store_runs(row, target, runs, user)
        transaction.set_rollback(True)
    return stored


def safe_name(name: str) -> str:
    """The last part of a file's name, without signs that nobody sees."""
    return safe_path(re.split(r"[/\\]", name)[-1])
