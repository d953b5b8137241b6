"""Imports step by step, and reading stored output again with today's parsers."""

import gzip
import json
from dataclasses import replace
from typing import Any, BinaryIO, cast

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Schema, Status
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.imports.routes import (
    MULTIPART,
    REFUSALS,
    options_of,
    refuse_too_large,
    router,
)
from fsbench_web.api.imports.schemas import (
    ColumnsIn,
    Correction,
    FileCorrection,
    ImportDetail,
    ImportRefusal,
    ImportSummary,
    WarningOut,
)
from fsbench_web.api.protocol.errors import Error, Refused
from fsbench_web.api.protocol.router import user_of
from fsbench_web.api.protocol.schemas import Page, Strict, With, found, given_fields, page, page_of
from fsbench_web.core.formats.tables.mapping import Mapping
from fsbench_web.imports import mappings, preview, uploads
from fsbench_web.imports import rereads as rereading
from fsbench_web.imports.checks import target_problems
from fsbench_web.imports.models import Import, ImportFile, ImportState
from fsbench_web.imports.problems import ImportProblem, ImportRefused, WarningRow
from fsbench_web.imports.sources import Target, leave_out, unpack
from fsbench_web.imports.storing import known_files
from fsbench_web.imports.views import not_found_sentence, uploaded
from fsbench_web.studies.models import Artefact

_NOT_READ: dict[str, Any] = {
    "format": None,
    "needs_columns": False,
    "proposed_names": {},
    "unread_columns": (),
    "kept_columns": (),
    "settings": (),
    "own_settings": None,
    "runs": (),
}
"""What an import says of a file that nobody has read yet."""

# One address answers all of its methods from one router.


@router.get(
    "/imports", response=page_of("ImportsOut", imports=ImportSummary), summary="Your imports"
)
@requires(Action.ACCOUNT)
def list_imports(
    request: HttpRequest, response: HttpResponse, filters: Query[Page]
) -> dict[str, Any]:
    """What you uploaded, newest first; previews are kept for a day."""
    imports = Import.objects.filter(created_by=user_of(request)).select_related(
        "created_by", "study"
    )
    return page(request, response, imports.order_by("-id"), filters, "imports")


@router.post(
    "/imports/previews",
    response={201: ImportDetail, 413: Error, **REFUSALS},
    summary="Upload files and look before they are stored",
    openapi_extra=MULTIPART,
)
@requires(Action.IMPORT)
def preview_import(request: HttpRequest) -> Status[With]:
    """Nothing is stored until `POST /imports/{id}/commit`."""
    refuse_too_large(request)
    target, given_of_each, columns, left_out, _ = options_of(request)
    if problems := target_problems(target):
        raise ImportRefused(problems)
    files = request.FILES.getlist("file")
    unpacked = unpack([(file.name or "", cast(BinaryIO, file)) for file in files])
    sources = [replace(source, description=given_of_each, mapping=columns) for source in unpacked]
    sources = leave_out(sources, left_out)
    row = uploads.store_upload(sources, target, user_of(request))
    return Status(201, _detail(request, row))


@router.get("/imports/{int:import_id}", response=ImportDetail, summary="One import")
@requires(Action.READ)
def get_import(request: HttpRequest, import_id: int) -> With:
    """Its preview, for who uploaded it; its result, for who may see the study."""
    row = Import.objects.select_related("study", "created_by").filter(pk=import_id).first()
    if row is None or (row.state != ImportState.DONE and row.created_by != request.user):
        raise Http404(not_found_sentence(import_id))
    return _detail(request, row)


@router.patch(
    "/imports/{int:import_id}",
    response={200: ImportDetail, **REFUSALS},
    summary="Correct a preview",
)
@requires(Action.IMPORT)
def correct_import(request: HttpRequest, import_id: int, correction: Correction) -> With:
    """Say what files are of, leave files out, name another study. The answer is the preview."""
    user = user_of(request)
    row = uploaded(request, import_id)
    rows = {file.pk: file for file in row.files.defer("content_gzip")}
    form: dict[str, str] = {
        name: text for name, text in given_fields(correction).items() if isinstance(text, str)
    }
    if correction.strict is not None:
        form["strict"] = str(correction.strict).lower()
    problems = []
    for sentence in correction.files:
        file = rows.get(sentence.id)
        if file is None:
            problems.append(ImportProblem(f"This import has no file {sentence.id}."))
        else:
            form |= _form_of(file, sentence)
    corrections, correction_problems = preview.corrections_of(
        form, rows.values(), Target(**row.target)
    )
    target = preview.corrected_target(Target(**row.target), form)
    problems += [*correction_problems, *target_problems(target)]
    if problems:
        raise ImportRefused(problems)
    try:
        uploads.correct(row.pk, target, corrections, user)
    except Import.DoesNotExist:
        raise Http404(not_found_sentence(import_id)) from None
    return _detail(request, uploaded(request, import_id))


@router.put(
    "/imports/{int:import_id}/files/{int:file_id}/columns",
    response={200: ImportDetail, **REFUSALS},
    summary="Say which column of a table is what",
)
@requires(Action.IMPORT)
def set_columns(request: HttpRequest, import_id: int, file_id: int, columns: ColumnsIn) -> With:
    """For tables that do not say it themselves. What is kept by a name is yours, and your team's
    where you name one; nobody else sees it.
    """
    row = uploaded(request, import_id)
    file = found(row.files.filter(pk=file_id), f"Import {import_id} has no file {file_id}.")
    user = user_of(request)
    data = gzip.decompress(file.content_gzip)
    saved = mappings.of(user).filter(pk=columns.kept or 0).first()
    if saved is None and columns.kept is not None:
        raise Http404(f"You have no kept columns {columns.kept}.")
    given_columns = columns.model_dump(exclude={"name", "team", "kept"})
    mapping = Mapping.from_json(saved.mapping if saved else given_columns)
    name = saved.name if saved else columns.name.strip()
    try:
        mappings.keep(file, data, mapping, user, name, columns.team, is_new=saved is None)
    except Import.DoesNotExist:
        raise Http404(not_found_sentence(import_id)) from None
    return _detail(request, Import.objects.get(pk=row.pk))


@router.post(
    "/imports/{int:import_id}/commit",
    response={200: ImportDetail, **REFUSALS},
    summary="Store what was previewed",
)
@requires(Action.IMPORT)
def commit_import(request: HttpRequest, import_id: int) -> With:
    """All of it or nothing. Asked twice, it stores once. What is more than a request stores is
    stored by the importer, and its state is accepted until then.
    """
    user = user_of(request)
    rows = Import.objects.filter(pk=import_id, created_by=user)
    row = found(rows, not_found_sentence(import_id))
    try:
        if row.state in (ImportState.PREVIEWED, ImportState.DONE):
            uploads.commit_stashed(import_id, user)
        elif row.state != ImportState.ACCEPTED:
            raise Refused(409, [(None, f"Import {import_id} is {row.state}: it cannot be stored.")])
        row = Import.objects.select_related("study").get(pk=import_id)
    except Import.DoesNotExist:
        raise Http404(not_found_sentence(import_id)) from None
    return _detail(request, row)


@router.delete("/imports/{int:import_id}", response={204: None}, summary="Discard an upload")
@requires(Action.IMPORT)
def discard_import(request: HttpRequest, import_id: int) -> Status[None]:
    """One that was not stored. What is stored stays."""
    try:
        uploads.discard(import_id, user_of(request))
    except Import.DoesNotExist:
        raise Http404(not_found_sentence(import_id)) from None
    return Status(204, None)


def _form_of(file: ImportFile, file_correction: FileCorrection) -> dict[str, str]:
    """The preview form's fields for one file: what is left out stays."""
    now = file.given
    form = {
        f"{name}-{file.pk}": str(getattr(file_correction, name) or "")
        if name in file_correction.model_fields_set
        else str(now.get(name) or "")
        for name in ("filesystem", "configuration", "hardware", "kernel", "repeat")
    }
    if file_correction.ignore_columns is not None:
        form |= {
            f"unread-{file.pk}": json.dumps(file_correction.ignore_columns),
            f"ignore-{file.pk}": "on",
        }
    is_left_out = file.is_left_out if file_correction.left_out is None else file_correction.left_out
    return form if is_left_out else form | {f"take-{file.pk}": "on"}


def _detail(request: HttpRequest, row: Import) -> With:
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
        files = [
            With(file, known=known_by_digest.get(file.sha256), **_NOT_READ) for file in waiting
        ]
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
        With(
            file.row,
            known=file.stored_file,
            proposed_names=file.proposed_names,
            format=file.parsed.format if file.parsed else None,
            needs_columns=file.is_table and file.parsed is None,
            unread_columns=file.unread.names if file.unread else (),
            kept_columns=file.saved_mappings,
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


MOST_LISTED = 500


class RereadOut(Schema):
    """What today's parsers make of stored output. ``digest`` is what POST must repeat."""

    artefact: int
    is_empty: bool
    changed: int
    added: int
    removed: int
    moved: int
    dated: int = Field(description="runs that get another date of measuring")
    new_runs: int
    changed_runs: list[int]
    digest: str | None
    warnings: list[WarningOut] | None = Field(
        description="of the import as they would be; null: they stay"
    )


class RereadIn(Strict):
    digest: str = Field(max_length=64)


@router.get(
    "/artefacts/{int:artefact_id}/reread",
    response={200: RereadOut, 422: ImportRefusal | Error},
    summary="What reading raw output again would change",
)
@requires(Action.IMPORT)
def preview_reread(request: HttpRequest, artefact_id: int) -> With:
    """Compares what is stored with what today's parsers read. Changes nothing."""
    artefact = _artefact(artefact_id)
    return _difference(artefact, rereading.difference(artefact))


@router.post(
    "/artefacts/{int:artefact_id}/reread",
    response={200: RereadOut, **REFUSALS},
    summary="Read raw output again",
)
@requires(Action.IMPORT)
def apply_reread(request: HttpRequest, artefact_id: int, wanted: RereadIn) -> With:
    """Stores what GET showed, if it is still that, and makes new scores."""
    artefact = _artefact(artefact_id)
    return _difference(artefact, rereading.apply(artefact_id, wanted.digest, user_of(request)))


def _artefact(artefact_id: int) -> Artefact:
    rows = Artefact.objects.select_related("run__series").filter(pk=artefact_id)
    return found(rows, f"There is no raw output {artefact_id}.")


def _difference(artefact: Artefact, difference: rereading.Difference) -> With:
    kinds = (rereading.CHANGED, rereading.ADDED, rereading.REMOVED)
    runs = {run for kind in kinds for run, count in difference.counts[kind].items() if count}
    return With(
        difference,
        artefact=artefact.pk,
        **{kind: difference.total(kind) for kind in (*kinds, rereading.MOVED)},
        dated=len(difference.dated),
        changed_runs=sorted(runs)[:MOST_LISTED],
    )
