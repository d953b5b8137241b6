"""Upload, mapping, preview, commit, result; and stored output, read again."""

import gzip
import json
from dataclasses import asdict
from datetime import timedelta
from typing import Any, BinaryIO, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import Team
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile
from fsbench_web.core.formats import UnreadableFile
from fsbench_web.core.formats.tables.cells import SIZE_UNITS
from fsbench_web.core.formats.tables.mapping import Mapping
from fsbench_web.imports import mappings, preview, uploads
from fsbench_web.imports import rereads as rereading
from fsbench_web.imports.checks import KILOBYTES, target_problems
from fsbench_web.imports.models import Import, ImportFile, ImportState
from fsbench_web.imports.problems import ImportProblem, ImportRefused
from fsbench_web.imports.sources import Target, unpack
from fsbench_web.imports.storing.commit import safe_name
from fsbench_web.imports.upload_limit import limit_upload
from fsbench_web.studies.models import Artefact, Series, Study

RUNS_SHOWN = 500
CHANGES_SHOWN = 200
UNTAKEN_AFTER = timedelta(seconds=15)
SHAPES = (
    ("long", "Long: one number a row"),
    ("tests", "A column for each test"),
    ("matrix", "Matrix: block sizes by file sizes"),
)
DELIMITERS = ((",", "comma"), (";", "semicolon"), ("tab", "tab"), ("|", "vertical bar"))


def user_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


@limit_upload
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.IMPORT)
def new(request: HttpRequest) -> HttpResponse:
    """The upload form; a POST keeps the files and goes on to their preview."""
    query = request.POST if request.method == "POST" else request.GET
    values = {name: query.get(name, "").strip() for name in Target("").texts}
    target = Target(**values, strict=False)
    refused = None
    if request.method == "POST":
        try:
            row = _receive(request, target)
        except ImportRefused as error:
            refused = error
        else:
            return redirect("imports:show", import_id=row.pk)
    context = {
        "target": target,
        "problems": refused.problems if refused else [],
        "studies": rights.accepting(
            user_of(request), Study.objects.filter(is_published=False).order_by("title")
        ),
        "filesystems": _filesystems(),
        "hardware": HardwareProfile.objects.order_by("name"),
        "max_upload_bytes": settings.MAX_UPLOAD_BYTES,
        "max_upload_mb": settings.MAX_UPLOAD_BYTES // (1024 * 1024),
        "max_files": settings.DATA_UPLOAD_MAX_NUMBER_FILES,
        "pending": uploads.pending(user_of(request)),
        "discardable": uploads.DISCARDABLE,
    }
    return render(request, "imports/new.html", context, status=422 if refused else 200)


def _receive(request: HttpRequest, target: Target) -> Import:
    problems = target_problems(target)
    if problems:
        raise ImportRefused(problems)
    files = request.FILES.getlist("file")
    try:
        paths = json.loads(request.POST.get("paths") or "null")
    except (ValueError, RecursionError):
        paths = None
    names = uploads.with_paths([file.name or "" for file in files], paths)
    # A name without folders is what a browser sent; its "/" are not ours to trust.
    named: list[tuple[str, BinaryIO]] = [
        (name if name != file.name else safe_name(name), cast(BinaryIO, file))
        for name, file in zip(names, files, strict=True)
    ]
    return uploads.store_upload(unpack(named), target, user_of(request))


def _filesystems() -> list[str]:
    rows = FilesystemConfiguration.objects.order_by()
    if rights.hidden_studies():
        # A name that only a hidden study has is a part of that study.
        rows = rows.filter(Exists(Series.objects.filter(configuration=OuterRef("pk"))))
    names = rows.values_list("filesystem", flat=True).distinct()
    return sorted({*FILESYSTEMS, *names})


@require_GET
@requires(Action.READ)
def show(request: HttpRequest, import_id: int) -> HttpResponse:
    """The preview, for who uploaded the files; the result, for everybody."""
    row = Import.objects.select_related("study", "created_by").filter(pk=import_id).first()
    is_followed = "HX-Request" in request.headers
    if is_followed and (row is None or row.state != ImportState.ACCEPTED):
        return HttpResponse(headers={"HX-Refresh": "true"})  # another page is there now
    if row is None:
        raise Http404(not_found_sentence(import_id))
    if row.state == ImportState.DONE:
        return _result(request, row)
    if row.created_by != request.user:
        raise Http404("Only who uploaded these files sees them before they are imported.")
    if row.state != ImportState.PREVIEWED:
        return _waiting_page(request, row)
    return _preview(request, row)


def _waiting_page(request: HttpRequest, row: Import) -> HttpResponse:
    """How far the importer is, or why it gave up."""
    file = row.files.defer("content_gzip").first()
    is_old = timezone.now() - row.created_at > UNTAKEN_AFTER
    context = {
        "import": row,
        "file": file,
        "is_known": row.phase != "Storing" or row.progress > 0,
        "is_untaken": is_old and not row.claimed_by,
    }
    return render(request, "imports/waiting.html", context)


def not_found_sentence(import_id: int) -> str:
    return (
        f"There is no import {import_id}. Uploads that nobody imported are deleted after a day; "
        "upload the files again."
    )


def _result(request: HttpRequest, row: Import) -> HttpResponse:
    runs = (
        row.runs.select_related("series__configuration", "series__hardware")
        .annotate(values_stored=Sum("measurement_blocks__count", default=0))
        .order_by("id")
    )
    context = {
        "import": row,
        "runs": runs[:RUNS_SHOWN],
        "run_count": row.runs.count(),
        "files": row.imported_files.select_related("artefact").defer("artefact__content_gzip")[
            :RUNS_SHOWN
        ],
    }
    return render(request, "imports/done.html", context)


def _preview(
    request: HttpRequest,
    row: Import,
    problems: list[ImportProblem] | None = None,
    status: int = 200,
) -> HttpResponse:
    columns = uploads.columns_digest(row)  # before they are read: an older one is refused
    upload_preview = uploads.preview_of(row, user_of(request))
    page = preview.upload_preview(
        list(row.files.defer("content_gzip")), upload_preview, user_of(request)
    )
    context = {
        "import": row,
        "target": row.target,
        "columns": columns,
        "kilobytes": KILOBYTES,
        "preview": upload_preview,
        "page": page,
        "problems": [*(problems or []), *page.problems],
        "filesystems": _filesystems(),
        "hardware": HardwareProfile.objects.order_by("name").values_list("name", flat=True),
    }
    return render(request, "imports/preview.html", context, status=status)


@login_required
@require_POST
@requires(Action.IMPORT)
def check(request: HttpRequest, import_id: int) -> HttpResponse:
    """Keep what was corrected, and show the preview again."""
    row = uploaded(request, import_id)
    problems = _correct(request, row)
    if problems:
        return _preview(request, row, problems, status=422)
    return redirect("imports:show", import_id=import_id)


def uploaded(request: HttpRequest, import_id: int) -> Import:
    """An upload of the user that was not imported yet. Raises Http404."""
    row = Import.objects.filter(
        pk=import_id, state=ImportState.PREVIEWED, created_by=user_of(request)
    ).first()
    if row is None:
        raise Http404(not_found_sentence(import_id))
    return row


def _correct(request: HttpRequest, row: Import) -> list[ImportProblem]:
    """Keep what the form says; what of it cannot be is returned, and nothing is kept then."""
    rows = list(row.files.defer("content_gzip"))
    corrections, problems = preview.corrections_of(request.POST, rows, Target(**row.target))
    target = preview.corrected_target(Target(**row.target), request.POST)
    problems += target_problems(target)
    if not problems:
        columns = request.POST.get("columns")
        try:
            uploads.correct(row.pk, target, corrections, user_of(request), columns)
        except ImportRefused as error:
            return list(error.problems)
        row.target = asdict(target)
    return problems


@login_required
@require_POST
@requires(Action.IMPORT)
def commit(request: HttpRequest, import_id: int) -> HttpResponse:
    """Store the previewed files as they were corrected. Sent twice, it stores them once."""
    row = get_object_or_404(Import, pk=import_id)
    columns = request.POST.get("columns")
    try:
        if row.state == ImportState.PREVIEWED and row.created_by == request.user:
            problems = _correct(request, row)
            if problems:
                return _preview(request, row, problems, status=422)
        uploads.commit_stashed(import_id, user_of(request), columns)
    except Import.DoesNotExist:
        raise Http404(not_found_sentence(import_id)) from None
    except ImportRefused as error:
        # Something came in between, or a problem is left; the preview says what.
        general = [problem for problem in error.problems if problem.file is None]
        return _preview(request, get_object_or_404(Import, pk=import_id), general, status=422)
    return redirect("imports:show", import_id=import_id)


@login_required
@require_POST
@requires(Action.IMPORT)
def discard(request: HttpRequest, import_id: int) -> HttpResponse:
    """Delete an upload that was not imported."""
    try:
        target = uploads.discard(import_id, user_of(request))
    except Import.DoesNotExist:
        raise Http404(not_found_sentence(import_id)) from None
    query = urlencode({name: text for name, text in target.texts.items() if text})
    messages.info(request, "The upload was discarded. Nothing of it was stored.")
    return redirect(f"{reverse('imports:new')}?{query}")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.IMPORT)
def reread(request: HttpRequest, artefact_id: int) -> HttpResponse:
    """The difference; a POST with its digest applies it."""
    artefact = Artefact.objects.select_related("run__series").filter(pk=artefact_id).first()
    if artefact is None:
        raise Http404(f"There is no raw output {artefact_id}; it may have gone with its run.")
    problems: list[ImportProblem] = []
    comparison = None
    if request.method == "POST":
        try:
            rereading.apply(artefact_id, request.POST.get("digest", ""), user_of(request))
        except ImportRefused as error:
            problems = error.problems
        else:
            messages.success(
                request, f"{artefact.name} was read again; its measurements and scores are new."
            )
            return redirect("studies:run", run_id=artefact.run_id)
    try:
        comparison = rereading.difference(artefact)
    except ImportRefused as error:
        problems = problems or error.problems
    context: dict[str, Any] = {"artefact": artefact, "found": comparison, "problems": problems}
    if comparison is not None:
        kinds = (rereading.CHANGED, rereading.ADDED, rereading.REMOVED)
        context["counts"] = {kind: comparison.total(kind) for kind in (*kinds, rereading.MOVED)}
        context["groups"] = [
            (
                kind.capitalize(),
                comparison.total(kind),
                comparison.changes[kind][:CHANGES_SHOWN],
                comparison.total(kind) - CHANGES_SHOWN,
            )
            for kind in kinds
            if comparison.total(kind)
        ]
    return render(request, "imports/reread.html", context, status=422 if problems else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.IMPORT)
def mapping(request: HttpRequest, import_id: int, file_id: int) -> HttpResponse:
    """Say which column is what. ``look`` only shows the table so; ``go`` shows other columns."""
    file = (
        ImportFile.objects.select_related("import_of")
        .filter(
            pk=file_id,
            import_of=import_id,
            import_of__state=ImportState.PREVIEWED,
            import_of__created_by=user_of(request),
        )
        .first()
    )
    if file is None:
        raise Http404(not_found_sentence(import_id))
    if request.method == "POST" and (current := _use_or_forget(request, file)) is not None:
        return current
    data = gzip.decompress(file.content_gzip)
    problems: list[ImportProblem] = []
    teams = Team.objects.filter(members=user_of(request))
    result = Mapping.from_json(file.mapping) if file.mapping else None
    offered = mappings.saved_for_header(mappings.head_of(file), user_of(request))
    name = file.mapping_name
    team = next(
        (
            saved.team
            for saved in offered
            if saved.name == name and saved.created_by == request.user
        ),
        None,
    )
    if request.method == "POST":
        result, name = mappings.mapping_of(request.POST), request.POST.get("name", "").strip()
        team_name = request.POST.get("team", "")
        team = teams.filter(name=team_name).first()
        if not {"look", "go"} & {*request.POST}:
            try:
                mappings.keep(file, data, result, user_of(request), name, team_name)
            except Import.DoesNotExist:
                raise Http404(not_found_sentence(import_id)) from None
            except ImportRefused as error:
                problems = error.problems
            else:
                return redirect("imports:show", import_id=import_id)
    try:
        first = request.POST.get("go", request.POST.get("first", request.GET.get("first", "")))
        table = mappings.table_preview(data, result, mappings.first_of(first))
    except UnreadableFile as error:
        problems += [ImportProblem.of(problem, file.path) for problem in error.problems]
        table = None
    questions: list[ImportProblem] = []
    if table is not None and request.method != "POST":
        questions = mappings.check(file, mappings.head_of(file), table.mapping)
    context = {
        "file": file,
        "table": table,
        "asked": questions,
        "problems": problems,
        "name": name,
        "teams": teams,
        "team": team,
        "kept": offered,
        "shapes": SHAPES,
        "delimiters": DELIMITERS,
        "size_units": list(SIZE_UNITS),
    }
    status = 422 if problems else 200
    return render(request, "imports/mapping.html", context, status=status)


def _use_or_forget(request: HttpRequest, file: ImportFile) -> HttpResponse | None:
    """Use or forget a kept mapping, where the form asks for that."""
    user = user_of(request)
    for action in ("use", "forget"):
        text = request.POST.get(action, "")
        if not text.isdecimal():
            continue
        saved = mappings.of(user).filter(pk=int(text[:18])).first()
        if saved is None or (action == "forget" and saved.created_by != user):
            raise Http404("There is no such mapping of yours.")
        if action == "forget":
            saved.delete()
            messages.info(request, f"The mapping {saved.name} is forgotten.")
            return redirect("imports:mapping", import_id=file.import_of_id, file_id=file.pk)
        try:
            mappings.apply(file, Mapping.from_json(saved.mapping), saved.name)
        except Import.DoesNotExist:
            raise Http404(not_found_sentence(file.import_of_id)) from None
        return redirect("imports:show", import_id=file.import_of_id)
    return None
