"""Imports as the API answers them: in lists, and one with its preview."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest

from fsbench_web.api.imports.schemas import TestOut
from fsbench_web.imports import preview, queue, uploads
from fsbench_web.imports.models import Import, ImportFile, ImportState, SavedMapping
from fsbench_web.imports.problems import ImportProblem, WarningRow
from fsbench_web.imports.sources import Target
from fsbench_web.imports.storing import known_files
from fsbench_web.imports.storing.known_files import KnownFile


def summary(row: Import) -> dict[str, Any]:
    """An import as ``ImportSummary`` says it."""
    address = f"/api/v1/imports/{row.pk}"
    return {
        "id": row.pk,
        "state": row.state,
        "study": row.study.slug if row.study else row.target.get("study", ""),
        "phase": row.phase,
        "progress": row.progress,
        "created_by": row.created_by.get_username() if row.created_by else None,
        "created_at": row.created_at,
        "links": {
            "self": address,
            "commit": f"{address}/commit",
            "page": f"/imports/{row.pk}/",
        },
    }


def detail(request: HttpRequest, row: Import) -> dict[str, Any]:
    """An import as ``ImportDetail`` says it: its preview, or what became of it."""
    files: list[dict[str, Any]] = []
    problems: list[ImportProblem] = []
    warnings = queue.warnings_of(row)
    is_large = bool(row.report.get("large"))
    if row.state == ImportState.PREVIEWED and not is_large:
        files, problems, warnings = _preview(request, row)
    elif row.state != ImportState.DONE:
        unread = row.report.get("unused", [])
        waiting = list(row.files.defer("content_gzip"))
        known = known_files.by_digest(file.sha256 for file in waiting)
        files = [
            _file(file, unread_columns=unread, known=known.get(file.sha256)) for file in waiting
        ]
        if row.state == ImportState.PREVIEWED:
            problems = queue.problems_of(row)
    runs = list(row.runs.order_by("id").values_list("id", flat=True))
    return {
        **summary(row),
        "target": asdict(Target(**row.target)),
        "is_large": is_large,
        "files": files,
        "problems": [problem.as_row() for problem in dict.fromkeys(problems)],
        "warnings": warnings,
        "report": row.report,
        "runs": runs,
    }


def _preview(
    request: HttpRequest, row: Import
) -> tuple[list[dict[str, Any]], list[ImportProblem], list[WarningRow]]:
    assert isinstance(request.user, User)  # its uploader
    found = uploads.preview_of(row, request.user)
    shown = preview.shown(list(row.files.defer("content_gzip")), found, request.user)
    files = [
        _file(
            one.row,
            known=one.known,
            proposed_names=one.proposed_names,
            format_name=one.parsed.format if one.parsed else None,
            needs_columns=one.is_table and one.parsed is None,
            unread_columns=one.unread.names if one.unread else (),
            kept=one.kept,
            settings=one.parsed.modes if one.parsed else (),
            own_settings=one.own_settings,
            runs=one.runs,
        )
        for one in shown.files
    ]
    return files, found.problems, [one.as_warning() for one in found.warnings]


def _known(known: KnownFile) -> dict[str, Any]:
    return {
        "import_id": known.import_id,
        "run": known.run_id,
        "study": known.study.slug,
        "by": known.by or None,
        "at": known.at,
        "times": known.times,
        "page": known.address,
    }


def _file(
    file: ImportFile,
    *,
    known: KnownFile | None = None,
    format_name: str | None = None,
    proposed_names: dict[str, str] | None = None,
    needs_columns: bool = False,
    unread_columns: Sequence[str] = (),
    kept: Sequence[SavedMapping] = (),
    settings: Sequence[str] = (),
    own_settings: Sequence[str] | None = None,
    runs: list[preview.RunShown] | None = None,
) -> dict[str, Any]:
    return {
        "id": file.pk,
        "path": file.path,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
        "known": _known(known) if known else None,
        "format": format_name,
        "given": file.given,
        "guesses": file.guesses,
        "left_out": file.is_left_out,
        "needs_columns": needs_columns,
        "columns": file.mapping,
        "proposed_names": proposed_names or {},
        "unread_columns": list(unread_columns),
        "kept_columns": [
            {
                "id": one.pk,
                "name": one.name,
                "kept_by": one.created_by.get_username(),
                "team": one.team.name if one.team else None,
            }
            for one in kept
        ],
        "settings": list(settings),
        "own_settings": own_settings,
        "runs": [
            {
                "filesystem": one.stored.planned.filesystem,
                "configuration": one.stored.planned.configuration,
                "hardware": one.stored.planned.hardware,
                "repeat": one.stored.planned.repeat,
                "numbered": one.stored.run.repeat,
                "block": one.stored.planned.block,
                "tests": [
                    {name: getattr(test, name) for name in TestOut.model_fields}
                    for test in one.tests
                ],
            }
            for one in runs or []
        ],
    }
