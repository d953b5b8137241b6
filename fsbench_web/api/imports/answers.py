"""Imports as the API answers them: in lists, and one with its preview."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest

from fsbench_web.api.imports.schemas import TestOut
from fsbench_web.imports import preview, uploads
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
    warnings: list[WarningRow] = row.report.get("warnings", [])
    is_large = row.state == ImportState.ACCEPTED
    if row.state == ImportState.PREVIEWED:
        files, problems, warnings, is_large = _preview(request, row)
    elif row.state != ImportState.DONE:
        waiting = list(row.files.defer("content_gzip"))
        known_by_digest = known_files.by_digest(file.sha256 for file in waiting)
        files = [_file(file, known_file=known_by_digest.get(file.sha256)) for file in waiting]
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
) -> tuple[list[dict[str, Any]], list[ImportProblem], list[WarningRow], bool]:
    """Files, problems, warnings, and whether the importer is to store it."""
    assert isinstance(request.user, User)  # its uploader
    import_preview = uploads.preview_of(row, request.user)
    page = preview.upload_preview(
        list(row.files.defer("content_gzip")), import_preview, request.user
    )
    files = [
        _file(
            file.row,
            known_file=file.stored_file,
            proposed_names=file.proposed_names,
            format_name=file.parsed.format if file.parsed else None,
            needs_columns=file.is_table and file.parsed is None,
            unread_columns=file.unread.names if file.unread else (),
            saved_mappings=file.saved_mappings,
            settings=file.parsed.modes if file.parsed else (),
            own_settings=file.own_settings,
            runs=file.runs,
        )
        for file in page.files
    ]
    return (
        files,
        import_preview.problems,
        [warning.as_warning() for warning in import_preview.warnings],
        import_preview.is_much,
    )


def _known_file(known_file: KnownFile) -> dict[str, Any]:
    return {
        "import_id": known_file.import_id,
        "run": known_file.run_id,
        "study": known_file.study.slug,
        "by": known_file.by or None,
        "at": known_file.at,
        "times": known_file.times,
        "page": known_file.address,
    }


def _file(
    file: ImportFile,
    *,
    known_file: KnownFile | None = None,
    format_name: str | None = None,
    proposed_names: dict[str, str] | None = None,
    needs_columns: bool = False,
    unread_columns: Sequence[str] = (),
    saved_mappings: Sequence[SavedMapping] = (),
    settings: Sequence[str] = (),
    own_settings: Sequence[str] | None = None,
    runs: list[preview.RunPreview] | None = None,
) -> dict[str, Any]:
    return {
        "id": file.pk,
        "path": file.path,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
        "known": _known_file(known_file) if known_file else None,
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
                "id": mapping.pk,
                "name": mapping.name,
                "kept_by": mapping.created_by.get_username(),
                "team": mapping.team.name if mapping.team else None,
            }
            for mapping in saved_mappings
        ],
        "settings": list(settings),
        "own_settings": own_settings,
        "runs": [
            {
                "filesystem": run.planned.filesystem,
                "configuration": run.planned.configuration,
                "hardware": run.planned.hardware,
                "kernel": run.planned.kernel,
                "repeat": run.planned.repeat,
                "numbered": run.run.repeat,
                "block": run.planned.block,
                "tests": [
                    {name: getattr(test, name) for name in TestOut.model_fields}
                    for test in run.tests
                ],
            }
            for run in runs or []
        ],
    }
