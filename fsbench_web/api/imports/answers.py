"""Imports as the API answers them: in lists, and one with its preview."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.http import HttpRequest

from fsbench_web.api.protocol.objects import With
from fsbench_web.imports import preview, uploads
from fsbench_web.imports.models import Import, ImportFile, ImportState, SavedMapping
from fsbench_web.imports.problems import ImportProblem, WarningRow
from fsbench_web.imports.sources import Target
from fsbench_web.imports.storing import known_files
from fsbench_web.imports.storing.known_files import KnownFile


def detail(request: HttpRequest, row: Import) -> With:
    """An import as ``ImportDetail`` says it: its preview, or what became of it."""
    files: list[With] = []
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
    return With(
        row,
        full_target=Target(**row.target),
        is_large=is_large,
        files=files,
        problems=[problem.as_row() for problem in dict.fromkeys(problems)],
        warnings=warnings,
        runs=runs,
    )


def _preview(
    request: HttpRequest, row: Import
) -> tuple[list[With], list[ImportProblem], list[WarningRow], bool]:
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
) -> With:
    return With(
        file,
        known=known_file,
        format=format_name,
        needs_columns=needs_columns,
        proposed_names=proposed_names or {},
        unread_columns=unread_columns,
        kept_columns=saved_mappings,
        settings=settings,
        own_settings=own_settings,
        runs=runs or [],
    )
