"""The mapping page: which column of an uploaded table is what."""

import gzip

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from fsbench_web.accounts.models import Team
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.core.formats import UnreadableFile
from fsbench_web.core.formats.tables.cells import SIZE_UNITS
from fsbench_web.core.formats.tables.mapping import Mapping
from fsbench_web.imports import mappings
from fsbench_web.imports.models import Import, ImportFile, ImportState
from fsbench_web.imports.problems import ImportProblem
from fsbench_web.imports.views.uploads import not_found_sentence, user_of
from fsbench_web.platform import plain_text

SHAPES = (
    ("long", "Long: one number a row"),
    ("tests", "A column for each test"),
    ("matrix", "Matrix: block sizes by file sizes"),
)
DELIMITERS = ((",", "comma"), (";", "semicolon"), ("tab", "tab"), ("|", "vertical bar"))


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
        team = teams.filter(name=request.POST.get("team", "")).first()
        if not {"look", "go"} & {*request.POST}:
            problems = mappings.check(file, data, result)
            if len(name) > 100:
                problems.append(ImportProblem("The name of the mapping is too long."))
            if reason := plain_text.problem(name):
                problems.append(ImportProblem(f"The name of the mapping cannot be so. {reason}"))
            if team is None and request.POST.get("team"):
                problems.append(ImportProblem("You are not a member of this team."))
            if not problems:
                try:
                    keep(user_of(request), file, data, result, name, team)
                except Import.DoesNotExist:
                    raise Http404(not_found_sentence(import_id)) from None
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


def keep(
    user: User, file: ImportFile, data: bytes, values: Mapping, name: str, team: Team | None
) -> None:
    """Read the file so, and keep a named mapping. Raises Import.DoesNotExist as ``apply`` does."""
    mappings.apply(file, values, name)
    if name:
        mappings.save(name, data, values, user, team)


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
