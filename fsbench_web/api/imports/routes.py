"""Imports: results of other people and other tools, all of a call's files or none."""

from dataclasses import fields
from typing import Any, BinaryIO, cast

from django.conf import settings
from django.core.exceptions import TooManyFilesSent
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from ninja import Status

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.imports.schemas import ImportOut, ImportRefusal, NothingNew, columns_of
from fsbench_web.api.protocol.errors import Error, Refused
from fsbench_web.api.protocol.router import Router, user_of
from fsbench_web.api.protocol.schemas import UNSTORABLE, is_storable
from fsbench_web.imports import queue
from fsbench_web.imports.plan import TooLargeForRequest
from fsbench_web.imports.problems import ImportProblem, ImportRefused
from fsbench_web.imports.sources import FileDescription, Target, read_repeat
from fsbench_web.imports.storing.commit import import_uploads
from fsbench_web.imports.targets import ImportResult
from fsbench_web.imports.upload_limit import too_many_sentence

router = Router()

_FROM_BROWSERS = "csrfmiddlewaretoken"
FIELDS = tuple(field.name for field in fields(Target) if field.name != "strict")
OF_FILES = ("ignore_columns", "leave_out", "strict", "repeat", "columns")
ONLY_NEW = "if_new"


def _text(description: str, *values: str) -> dict[str, Any]:
    choice = {"enum": list(values)} if values else {}
    return {"type": "string", **choice, "description": description}


_FORM = {
    "file": {
        "type": "array",
        "items": {"type": "string", "format": "binary"},
        "description": "one or more; recognised by what they hold: output of benchmark tools, "
        "tables, spreadsheets, or an archive (zip, tar.gz) of them with a folder for each "
        "configuration",
    },
    "study": _text("slug of a study, or the title of one to be made"),
    "filesystem": _text("such as ext4; needed unless the file says so"),
    "configuration": _text("label such as ext4_noatime; needed unless the file says so"),
    "hardware": _text("slug or name of a hardware profile"),
    "kernel": _text(
        "release of the kernel, as `uname -r` prints it; runs of another kernel are no repeats, "
        "and trends go by it"
    ),
    "source": _text("who measured it, or where it was published"),
    "licence": _text("what others may do with it"),
    "blocks": _text(
        "folders: files in folders of the same name, such as repeat-1, are one round (a block); "
        "the name of that folder says no configuration",
        *("", "folders"),
    ),
    "kilobyte": _text(
        "bytes of a KB (and KB of an MB, MB of a GB) where neither the unit nor the tool says it, "
        "as in tables; without it such numbers are kept as printed and converted to no other unit",
        *("", "1000", "1024"),
    ),
    "repeats_differ": _text(
        "yes: these are repeats although they are far apart, other headings stand above them, or "
        "their files are called otherwise; without it such files are refused with the code "
        "`repeats_differ`",
        *("", "yes"),
    ),
    "ignore_columns": _text(
        "names of columns of tables that are not to be read, separated by commas; with it any "
        "other column that nothing reads is refused, without it the answer's `warnings` name them"
    ),
    "columns": _text(
        "which column is what, as JSON (the body of `PUT /imports/{id}/files/{id}/columns`): holds "
        "for every file of the call"
    ),
    "leave_out": _text(
        "files that are not to be read, separated by commas: paths or names, with * and ? for any "
        "signs and any one sign"
    ),
    "repeat": _text(
        "the number of the repeat that all files are of, from 1; without it the next, or the one "
        "that they are a part of"
    ),
    "strict": _text(
        "true: nothing is stored where anything of the files is left out or a tool says that it "
        "failed (a warning that is `lost`)",
        *("true", "false"),
    ),
    "if_new": _text(
        "true: skip runs that the study has already instead of refusing them (not for previews)",
        *("true", "false"),
    ),
}
_FORM_SCHEMA = {"type": "object", "required": ["file", "study"], "properties": _FORM}
MULTIPART = {
    "requestBody": {
        "required": True,
        "content": {"multipart/form-data": {"schema": _FORM_SCHEMA}},
    }
}
REFUSALS = dict.fromkeys((403, 422), ImportRefusal | Error)


@router.post(
    "/imports",
    response={201: ImportOut, 202: ImportOut, 200: NothingNew, 413: Error, **REFUSALS},
    summary="Import result files",
    openapi_extra=MULTIPART,
)
@requires(Action.IMPORT)
def create_import(request: HttpRequest, response: HttpResponse) -> Status[dict[str, Any]]:
    """Stores tool output or CSV as runs. Several files in one call are repeats of one
    configuration unless they say otherwise. A study that does not exist is made. When one file is
    bad nothing is stored, and the answer names file, line and column of every problem. With
    `if_new=true` what is there already is passed over; 200 where that is all. What is left out is
    in `warnings`, with `strict=true` it refuses the import.

    More than 1,000 runs, 20,000 scores or 500,000 numbers are stored by the importer: 202 with the
    state accepted and no runs yet. Ask `GET /imports/{id}`, where `Location` leads, until it is
    done, or previewed with the problems that were found.
    """
    # Read by hand rather than declared: the size is refused before anything is parsed, and every
    # problem has the shape of the contract.
    refuse_too_large(request)
    target, description, columns, left_out, only_new = options_of(request, ONLY_NEW)
    files = [(file.name or "", cast(BinaryIO, file)) for file in request.FILES.getlist("file")]
    user = user_of(request)
    try:
        result = import_uploads(
            *(files, target, user),
            only_new=only_new,
            within_request=True,
            given=description,
            columns=columns,
            left_out=left_out,
        )
    except TooLargeForRequest as too_large:
        row = queue.hand_over(too_large, target, user, only_new=only_new)
        response["Location"] = f"/api/v1/imports/{row.pk}"
        warnings = [warning.as_warning() for warning in too_large.warnings]
        return Status(202, vars(ImportResult(row.pk, str(row.state), [], warnings=warnings)))
    return Status(200 if result.id is None else 201, vars(result))


def options_of(
    request: HttpRequest, *more: str
) -> tuple[Target, FileDescription, dict[str, Any] | None, list[str], bool]:
    """What the form says of all files, of each of them, of its columns, which files are left out,
    and of ``more`` (ONLY_NEW), where that may be said. Raises ImportRefused.
    """
    texts = fields_of(request, *OF_FILES, *more)
    columns = columns_of(texts["columns"])
    try:
        repeat = read_repeat(texts["repeat"].strip())
    except ValueError as error:
        raise ImportRefused([ImportProblem(str(error))]) from None
    ignored, left_out = (
        [name.strip() for name in texts[option].split(",")]
        for option in ("ignore_columns", "leave_out")
    )
    strict, *rest = (_is_true(name, texts[name]) for name in ("strict", *more))
    description = FileDescription(
        repeat=repeat, ignored=tuple(ignored) if "ignore_columns" in request.POST else None
    )
    target = Target(**{name: texts[name] for name in FIELDS}, strict=strict)
    return target, description, columns, left_out, any(rest)


def _is_true(name: str, text: str) -> bool:
    """Raises ImportRefused."""
    if text not in ("", "true", "false"):
        raise ImportRefused([ImportProblem(f'{name} is true or false, not "{text[:60]}".')])
    return text == "true"


def refuse_too_large(request: HttpRequest) -> None:
    limit = settings.MAX_UPLOAD_BYTES
    length = request.META.get("CONTENT_LENGTH") or "0"
    if length.isdigit() and int(length) > limit:
        sentence = (
            f"The upload is larger than {limit // 1024 // 1024} MiB: send it in parts, or raise "
            "FSBENCH_MAX_UPLOAD_MB."
        )
        raise Refused(413, [("file", sentence)])


def fields_of(request: HttpRequest, *more: str) -> dict[str, str]:
    """The form's fields, ``more`` among them. Raises ImportRefused."""
    names = (*FIELDS, *more)
    if request.content_type != "multipart/form-data":
        sentence = "Send multipart/form-data with the fields file and study, as `curl -F` does."
        raise ImportRefused([ImportProblem(sentence)])
    try:
        posted = request.POST
        files = request.FILES
    except TooManyFilesSent:
        raise ImportRefused([ImportProblem(too_many_sentence())]) from None
    except MultiPartParserError as error:
        raise ImportRefused([ImportProblem(f"The form cannot be read: {error}")]) from None
    problems = [
        ImportProblem(f'There is no field "{name[:60]}"; there is file, {", ".join(names)}.')
        for name in [*posted, *files]
        if name not in (*names, "file", _FROM_BROWSERS)
    ]
    problems += [
        ImportProblem(f"{name} {UNSTORABLE}.")
        for name in names
        if not is_storable(posted.get(name, ""))
    ]
    problems += [
        ImportProblem(f"{name} is given {len(posted.getlist(name))} times: give it once.")
        for name in names
        if len(posted.getlist(name)) > 1
    ]
    if "file" in posted:
        problems.append(ImportProblem("file is a text here: send it as a file (`-F file=@PATH`)."))
    if problems:
        raise ImportRefused(problems)
    return {name: posted.get(name, "") for name in names}
