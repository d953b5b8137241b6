"""Imports step by step: preview, correct, columns, commit, discard; reading output again."""

import gzip
from dataclasses import asdict
from datetime import datetime
from typing import Any, BinaryIO, cast

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Schema, Status
from pydantic import Field, StrictBool, StrictInt

from fsbench_web.api.auth import WRITER, user_of
from fsbench_web.api.bodies import Strict, given
from fsbench_web.api.errors import Error, Refused
from fsbench_web.api.imports import (
    MULTIPART,
    FileProblem,
    ImportRefusal,
    fields_of,
    refusal,
    refuse_too_large,
    router,
)
from fsbench_web.api.pages import LARGEST_ID, Page, PageOut, page
from fsbench_web.formats import UnreadableFile
from fsbench_web.formats.mapping import Mapping
from fsbench_web.imports import (
    large,
    mapping_views,
    mappings,
    preview,
    queue,
    reread_large,
    uploads,
)
from fsbench_web.imports import reread as rereading
from fsbench_web.imports.models import Import, ImportFile, ImportState
from fsbench_web.imports.plan import Target, target_problems
from fsbench_web.imports.problems import ImportProblem, ImportRefused
from fsbench_web.imports.sources import unpack
from fsbench_web.imports.views import gone
from fsbench_web.studies.models import Artefact

# One address answers all of its methods from one router.
_WRITES = {401: Error, 403: Error, 404: Error, 422: ImportRefusal | Error}
MOST_LISTED = 500


class TargetOut(Schema):
    """As given beside the files."""

    study: str
    filesystem: str
    configuration: str
    hardware: str
    source: str
    licence: str


class ImportSummary(Schema):
    """``state``: received and accepted wait for the importer (large tables), previewed waits for

    you, done is stored, failed is not. ``progress`` is 0 to 1 of ``phase``.
    """

    id: int
    state: str
    study: str
    phase: str
    progress: float
    created_by: str | None
    created_at: datetime
    links: dict[str, str]


class ImportsOut(PageOut):
    imports: list[ImportSummary]


class TestOut(Schema):
    """What a file holds of one test, in ``unit``."""

    test: str
    cells: int
    unit: str
    smallest: float
    largest: float


class PlannedOut(Schema):
    """One run that a commit would make."""

    filesystem: str
    configuration: str
    hardware: str
    repeat: int | None
    tests: list[TestOut]


class FileOut(Schema):
    """``guesses`` say what of ``given`` was guessed; a table with ``needs_columns`` waits for

    PUT .../files/{id}/columns.
    """

    id: int
    path: str
    size_bytes: int
    sha256: str
    format: str | None
    given: dict[str, Any]
    guesses: list[str]
    left_out: bool
    needs_columns: bool
    columns: dict[str, Any] | None
    runs: list[PlannedOut]


class ImportDetail(ImportSummary):
    """While it is previewed: what a commit would store, and all that stands against it.

    ``report`` is what the importer found in a large table. Once done: ``runs``.
    """

    target: TargetOut
    is_large: bool
    files: list[FileOut]
    problems: list[FileProblem]
    report: dict[str, Any]
    runs: list[int]


class FileCorrection(Strict):
    """What is left out stays as it is."""

    id: StrictInt = Field(ge=1, le=LARGEST_ID)
    filesystem: str | None = Field(None, max_length=200)
    configuration: str | None = Field(None, max_length=200)
    hardware: str | None = Field(None, max_length=200)
    repeat: StrictInt | None = Field(None, ge=1, lt=10**6)
    left_out: StrictBool | None = None


class Correction(Strict):
    study: str | None = Field(None, max_length=400)
    source: str | None = Field(None, max_length=400)
    licence: str | None = Field(None, max_length=400)
    files: list[FileCorrection] = Field([], max_length=500)


class ColumnsIn(Strict):
    """Columns count from 0, ``header_line`` from 1. ``tests`` of the shape tests: [column, test,

    unit]. See docs/importing.md.
    """

    shape: str = "long"
    header_line: StrictInt = Field(1, ge=0, le=10**6)
    delimiter: str = Field(",", max_length=10)
    decimal: str = Field("", max_length=1)
    columns: dict[str, StrictInt] = {}
    constants: dict[str, str] = {}
    tests: list[tuple[StrictInt, str, str]] = Field([], max_length=500)
    rows_are: str = "file"
    record_unit: str = "KB"
    file_unit: str = "KB"
    sheet: str = Field("", max_length=200)
    name: str = Field("", max_length=100, description="keep it for tables with this header")


class RereadOut(Schema):
    """What today's parsers make of stored output. ``digest`` is what POST must repeat; null where

    the numbers are too many to be replaced: then ``changed_runs`` differ.
    """

    artefact: int
    is_empty: bool
    changed: int
    added: int
    removed: int
    moved: int
    new_runs: int
    changed_runs: list[int]
    digest: str | None


class RereadIn(Strict):
    digest: str = Field(max_length=64)


@router.get(
    "/imports",
    response={200: ImportsOut, 401: Error, 422: Error},
    auth=WRITER,
    summary="Your imports",
    url_name="imports",
)
def list_imports(
    request: HttpRequest, response: HttpResponse, filters: Query[Page]
) -> dict[str, Any]:
    """What you uploaded, newest first; previews are kept for a day."""
    found = Import.objects.filter(created_by=user_of(request)).select_related("created_by", "study")
    rows, about = page(request, response, found.order_by("-id"), filters)
    return {**about, "imports": [_summary(row) for row in rows]}


@router.post(
    "/imports/previews",
    response={201: ImportDetail, 413: Error, **_WRITES},
    auth=WRITER,
    summary="Upload files and look before they are stored",
    url_name="preview_import",
    openapi_extra=MULTIPART,
)
def preview_import(request: HttpRequest) -> Status[dict[str, Any]]:
    """Nothing is stored until `POST /imports/{id}/commit`. A large table waits for the importer

    first: ask `GET /imports/{id}` until its state is previewed.
    """
    refuse_too_large(request)
    try:
        target = Target(**fields_of(request))
        if problems := target_problems(target):
            raise ImportRefused(problems)
        files = request.FILES.getlist("file")
        sources = unpack([(file.name or "", cast(BinaryIO, file)) for file in files])
        if large.is_large(sources):
            row = queue.receive(sources[0], target, user_of(request))
        else:
            row = uploads.stash(sources, target, user_of(request))
    except ImportRefused as refused:
        raise refusal(refused) from None
    return Status(201, _detail(request, row))


@router.get(
    "/imports/{int:import_id}",
    response={200: ImportDetail, 404: Error},
    summary="One import",
    url_name="import",
)
def get_import(request: HttpRequest, import_id: int) -> dict[str, Any]:
    """Its preview, for who uploaded it; its result, for who may see the study."""
    row = Import.objects.select_related("study", "created_by").filter(pk=import_id).first()
    if row is None or (row.state != ImportState.DONE and row.created_by != request.user):
        raise Http404(gone(import_id))
    return _detail(request, row)


@router.patch(
    "/imports/{int:import_id}",
    response={200: ImportDetail, **_WRITES},
    auth=WRITER,
    summary="Correct a preview",
    url_name="correct_import",
)
def correct_import(request: HttpRequest, import_id: int, correction: Correction) -> dict[str, Any]:
    """Say what files are of, leave files out, name the study anew. The answer is the preview."""
    user = user_of(request)
    row = _previewed(request, import_id)
    rows = {file.pk: file for file in row.files.defer("content_gzip")}
    form: dict[str, str] = {
        name: text for name, text in given(correction).items() if isinstance(text, str)
    }
    problems = []
    for said in correction.files:
        file = rows.get(said.id)
        if file is None:
            problems.append(ImportProblem(f"This import has no file {said.id}."))
        else:
            form |= _form_of(file, said)
    corrections, wrong = preview.corrections_of(form, rows.values())
    target = preview.corrected_target(Target(**row.target), form)
    problems += [*wrong, *target_problems(target)]
    if problems:
        raise refusal(ImportRefused(problems))
    try:
        uploads.correct(row.pk, target, corrections, user)
    except Import.DoesNotExist:
        raise Http404(gone(import_id)) from None
    return _detail(request, _previewed(request, import_id))


@router.put(
    "/imports/{int:import_id}/files/{int:file_id}/columns",
    response={200: ImportDetail, **_WRITES},
    auth=WRITER,
    summary="Say which column of a table is what",
    url_name="import_columns",
)
def set_columns(
    request: HttpRequest, import_id: int, file_id: int, columns: ColumnsIn
) -> dict[str, Any]:
    """For tables that do not say it themselves. A large one is then checked again."""
    row = _previewed(request, import_id)
    file = row.files.filter(pk=file_id).first()
    if file is None:
        raise Http404(f"Import {import_id} has no file {file_id}.")
    is_large = bool(row.report.get("large"))
    data = mapping_views.head_of(file) if is_large else gzip.decompress(file.content_gzip)
    said = Mapping.from_json(columns.model_dump(exclude={"name"}))
    try:
        problems = mappings.check(file, data, said)
    except UnreadableFile as error:
        problems = [
            ImportProblem(one.message, file.path, one.line, one.column) for one in error.problems
        ]
    if not columns.name.isprintable():
        problems.append(ImportProblem("The name of the mapping cannot be shown."))
    if problems:
        raise refusal(ImportRefused(problems))
    mapping_views.keep(user_of(request), file, data, said, columns.name.strip())
    if is_large:
        queue.check_again(row)
    return _detail(request, Import.objects.get(pk=row.pk))


@router.post(
    "/imports/{int:import_id}/commit",
    response={200: ImportDetail, **_WRITES},
    auth=WRITER,
    summary="Store what was previewed",
    url_name="commit_import",
)
def commit_import(request: HttpRequest, import_id: int) -> dict[str, Any]:
    """All of it or nothing. Asked twice, it stores once; a large table is stored by the importer,

    and its state is accepted until then.
    """
    user = user_of(request)
    row = Import.objects.filter(pk=import_id, created_by=user).first()
    if row is None:
        raise Http404(gone(import_id))
    try:
        if row.state == ImportState.PREVIEWED and row.report.get("large"):
            queue.accept(row, user)
        elif row.state in (ImportState.PREVIEWED, ImportState.DONE):
            uploads.commit_stashed(import_id, user)
        elif row.state != ImportState.ACCEPTED:
            raise Refused(409, [(None, f"Import {import_id} is {row.state}: it cannot be stored.")])
    except Import.DoesNotExist:
        raise Http404(gone(import_id)) from None
    except ImportRefused as refused:
        raise refusal(refused) from None
    return _detail(request, Import.objects.select_related("study").get(pk=import_id))


@router.delete(
    "/imports/{int:import_id}",
    response={204: None, 401: Error, 403: Error, 404: Error},
    auth=WRITER,
    summary="Discard an upload",
    url_name="discard_import",
)
def discard_import(request: HttpRequest, import_id: int) -> Status[None]:
    """One that was not stored. What is stored stays."""
    discardable = (ImportState.RECEIVED, ImportState.PREVIEWED, ImportState.FAILED)
    row = Import.objects.filter(
        pk=import_id, state__in=discardable, created_by=user_of(request)
    ).first()
    if row is None:
        raise Http404(gone(import_id))
    row.delete()
    return Status(204, None)


@router.get(
    "/artefacts/{int:artefact_id}/reread",
    response={200: RereadOut, 401: Error, 403: Error, 404: Error, 422: ImportRefusal | Error},
    auth=WRITER,
    summary="What reading raw output again would change",
    url_name="reread",
)
def preview_reread(request: HttpRequest, artefact_id: int) -> dict[str, Any]:
    """Compares what is stored with what today's parsers read. Changes nothing."""
    artefact = _artefact(artefact_id)
    try:
        if rereading.is_large(artefact):
            runs = reread_large.difference(artefact)
            return _reread(artefact, runs.is_empty, new_runs=runs.new_runs, runs=runs.changed)
        found = rereading.difference(artefact)
    except ImportRefused as refused:
        raise refusal(refused) from None
    return _difference(artefact, found)


@router.post(
    "/artefacts/{int:artefact_id}/reread",
    response={200: RereadOut, **_WRITES},
    auth=WRITER,
    summary="Read raw output again",
    url_name="apply_reread",
)
def apply_reread(request: HttpRequest, artefact_id: int, wanted: RereadIn) -> dict[str, Any]:
    """Stores what GET showed, if it is still that, and makes the scores anew."""
    artefact = _artefact(artefact_id)
    try:
        found = rereading.apply(artefact_id, wanted.digest, user_of(request))
    except ImportRefused as refused:
        raise refusal(refused) from None
    return _difference(artefact, found)


def _artefact(artefact_id: int) -> Artefact:
    found = Artefact.objects.select_related("run__series").filter(pk=artefact_id).first()
    if found is None:
        raise Http404(f"There is no raw output {artefact_id}.")
    return found


def _difference(artefact: Artefact, found: rereading.Difference) -> dict[str, Any]:
    changed = {change.run_id for change in (*found.changed, *found.added, *found.removed)}
    return _reread(artefact, found.is_empty, new_runs=found.new_runs, runs=sorted(changed)) | {
        "changed": len(found.changed),
        "added": len(found.added),
        "removed": len(found.removed),
        "moved": len(found.moved),
        "digest": found.digest,
    }


def _reread(
    artefact: Artefact, is_empty: bool, *, new_runs: int, runs: list[int]
) -> dict[str, Any]:
    return {
        "artefact": artefact.pk,
        "is_empty": is_empty,
        **dict.fromkeys(("changed", "added", "removed", "moved"), 0),
        "new_runs": new_runs,
        "changed_runs": runs[:MOST_LISTED],
        "digest": None,
    }


def _previewed(request: HttpRequest, import_id: int) -> Import:
    row = Import.objects.filter(
        pk=import_id, state=ImportState.PREVIEWED, created_by=user_of(request)
    ).first()
    if row is None:
        raise Http404(gone(import_id))
    return row


def _form_of(file: ImportFile, said: FileCorrection) -> dict[str, str]:
    """The preview form's fields for one file: what is not said stays as it is."""
    now = file.given
    form = {
        f"{name}-{file.pk}": str(getattr(said, name) or "")
        if name in said.model_fields_set
        else str(now.get(name) or "")
        for name in ("filesystem", "configuration", "hardware", "repeat")
    }
    is_left_out = file.is_left_out if said.left_out is None else said.left_out
    return form if is_left_out else form | {f"take-{file.pk}": "on"}


def _summary(row: Import) -> dict[str, Any]:
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


def _detail(request: HttpRequest, row: Import) -> dict[str, Any]:
    files: list[dict[str, Any]] = []
    problems: list[ImportProblem] = []
    is_large = bool(row.report.get("large"))
    if row.state == ImportState.PREVIEWED and not is_large:
        files, problems = _preview(request, row)
    elif row.state != ImportState.DONE:
        files = [_file(file) for file in row.files.defer("content_gzip")]
        if row.state == ImportState.PREVIEWED:
            problems = queue.problems_of(row)
    runs = list(row.runs.order_by("id").values_list("id", flat=True))
    return {
        **_summary(row),
        "target": asdict(Target(**row.target)),
        "is_large": is_large,
        "files": files,
        "problems": [problem.as_row() for problem in dict.fromkeys(problems)],
        "report": row.report,
        "runs": runs,
    }


def _preview(request: HttpRequest, row: Import) -> tuple[list[dict[str, Any]], list[ImportProblem]]:
    assert isinstance(request.user, User)  # its uploader
    found = uploads.preview_of(row, request.user)
    shown = preview.shown(list(row.files.defer("content_gzip")), found)
    return [
        _file(
            one.row,
            format_name=one.parsed.format if one.parsed else None,
            needs_columns=one.is_table and one.parsed is None,
            runs=one.runs,
        )
        for one in shown.files
    ], found.problems


def _file(
    file: ImportFile,
    *,
    format_name: str | None = None,
    needs_columns: bool = False,
    runs: list[preview.RunShown] | None = None,
) -> dict[str, Any]:
    return {
        "id": file.pk,
        "path": file.path,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
        "format": format_name,
        "given": file.given,
        "guesses": file.guesses,
        "left_out": file.is_left_out,
        "needs_columns": needs_columns,
        "columns": file.mapping,
        "runs": [
            {
                "filesystem": one.stored.planned.filesystem,
                "configuration": one.stored.planned.configuration,
                "hardware": one.stored.planned.hardware,
                "repeat": one.stored.planned.repeat,
                "tests": [
                    {name: getattr(test, name) for name in TestOut.model_fields}
                    for test in one.tests
                ],
            }
            for one in runs or []
        ],
    }
