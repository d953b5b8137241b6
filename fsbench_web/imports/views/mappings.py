"""The mapping page: which column of an uploaded table is what."""

import gzip
import io

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.core.formats import UnreadableFile
from fsbench_web.core.formats.tables.cells import SIZE_UNITS
from fsbench_web.core.formats.tables.mapping import Mapping
from fsbench_web.imports import mappings, queue
from fsbench_web.imports.models import ImportFile, ImportState
from fsbench_web.imports.problems import ImportProblem
from fsbench_web.imports.views.uploads import gone, user_of
from fsbench_web.platform import plain_text

_HEAD_BYTES = 64 * 1024
SHAPES = (
    ("long", "Long: one number a row"),
    ("tests", "A column for each test"),
    ("matrix", "Matrix: record sizes by file sizes"),
)
DELIMITERS = ((",", "comma"), (";", "semicolon"), ("tab", "tab"), ("|", "vertical bar"))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.IMPORT)
def mapping(request: HttpRequest, import_id: int, file_id: int) -> HttpResponse:
    """Say which column is what; ``look`` shows the table anew without keeping anything."""
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
        raise Http404(gone(import_id))
    row = file.import_of
    is_large = bool(row.report.get("large"))
    data = head_of(file) if is_large else gzip.decompress(file.content_gzip)
    problems: list[ImportProblem] = []
    said = Mapping.from_json(file.mapping) if file.mapping else None
    name = file.mapping_name
    if request.method == "POST":
        said, name = mappings.mapping_of(request.POST), request.POST.get("name", "").strip()
        if "look" not in request.POST:
            problems = mappings.check(file, data, said)
            if len(name) > 100:
                problems.append(ImportProblem("The name of the mapping is too long."))
            if unseen := plain_text.problem(name):
                problems.append(ImportProblem(f"The name of the mapping cannot be so. {unseen}"))
            if not problems:
                keep(user_of(request), file, data, said, name)
                if is_large:
                    queue.check_again(row)
                return redirect("imports:show", import_id=import_id)
    try:
        table = mappings.shown(data, said)
    except UnreadableFile as error:
        problems += [ImportProblem(p.message, file.path, p.line, p.column) for p in error.problems]
        table = None
    context = {
        "file": file,
        "table": table,
        "problems": problems,
        "name": name,
        "shapes": SHAPES,
        "delimiters": DELIMITERS,
        "size_units": list(SIZE_UNITS),
    }
    status = 422 if problems else 200
    return render(request, "imports/mapping.html", context, status=status)


def head_of(file: ImportFile) -> bytes:
    """The first whole lines of a large table: enough to say which column is what."""
    with gzip.GzipFile(fileobj=io.BytesIO(file.content_gzip)) as stream:
        head = stream.read(_HEAD_BYTES)
    return head if len(head) < _HEAD_BYTES else head[: head.rfind(b"\n") + 1] or head


def keep(user: User, file: ImportFile, data: bytes, said: Mapping, name: str) -> None:
    """Read the file so from now on, and where it has a name other tables with its header too."""
    file.mapping, file.mapping_name = said.to_json(), name
    file.save(update_fields=["mapping", "mapping_name"])
    if name:
        mappings.keep(name, data, said, user)
