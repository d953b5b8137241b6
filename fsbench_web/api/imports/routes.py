"""Imports: results of other people and other tools, all of a call's files or none."""

from typing import Any, BinaryIO, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import TooManyFilesSent
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from ninja import Schema, Status

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.imports.columns import columns_of
from fsbench_web.api.protocol import text
from fsbench_web.api.protocol.auth import user_of
from fsbench_web.api.protocol.errors import Error, ProblemDocument, Refused, RefusedAt
from fsbench_web.api.protocol.router import Router
from fsbench_web.imports import queue
from fsbench_web.imports.plan import TooLargeForRequest
from fsbench_web.imports.problems import ImportProblem, ImportRefused, ProblemGroup, grouped
from fsbench_web.imports.sources import FileDescription, Target, read_repeat
from fsbench_web.imports.storing.commit import import_uploads
from fsbench_web.imports.targets import ImportResult
from fsbench_web.imports.upload_limit import too_many_sentence

router = Router()

FIELDS = (
    *("study", "filesystem", "configuration", "hardware", "kernel"),
    *("source", "licence", "blocks", "kilobyte", "repeats_differ"),
)
ONLY_NEW = "if_new"
IGNORED = "ignore_columns"
LEFT_OUT = "leave_out"
STRICT = "strict"
REPEAT = "repeat"
COLUMNS = "columns"
_FROM_BROWSERS = "csrfmiddlewaretoken"
MULTIPART = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "study"],
                    "properties": {
                        "file": {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                            "description": "one or more; recognised by what they hold: output of "
                            "benchmark tools, tables, spreadsheets, or an archive (zip, tar.gz) of "
                            "them with a folder for each configuration",
                        },
                        "study": {
                            "type": "string",
                            "description": "slug of a study, or the title of one to be made",
                        },
                        "filesystem": {
                            "type": "string",
                            "description": "such as ext4; needed unless the file says so",
                        },
                        "configuration": {
                            "type": "string",
                            "description": "label such as ext4_noatime; needed unless the file "
                            "says so",
                        },
                        "hardware": {
                            "type": "string",
                            "description": "slug or name of a hardware profile",
                        },
                        "kernel": {
                            "type": "string",
                            "description": "release of the kernel, as `uname -r` prints it; runs "
                            "of another kernel are no repeats, and trends go by it",
                        },
                        "source": {
                            "type": "string",
                            "description": "who measured it, or where it was published",
                        },
                        "licence": {
                            "type": "string",
                            "description": "what others may do with it",
                        },
                        "blocks": {
                            "type": "string",
                            "enum": ["", "folders"],
                            "description": "folders: files in folders of the same name, such as "
                            "repeat-1, were measured beside each other (a block), and the name of "
                            "that folder says no configuration",
                        },
                        "kilobyte": {
                            "type": "string",
                            "enum": ["", "1000", "1024"],
                            "description": "bytes of a KB (and KB of an MB, MB of a GB) where "
                            "neither the unit nor the tool says it, as in tables; without it such "
                            "numbers are kept as printed and converted to no other unit",
                        },
                        "repeats_differ": {
                            "type": "string",
                            "enum": ["", "yes"],
                            "description": "yes: these are repeats although they are far apart, "
                            "other headings stand above them, or their files are called otherwise; "
                            "without it such files are refused with the code `repeats_differ`",
                        },
                        "ignore_columns": {
                            "type": "string",
                            "description": "names of columns of tables that are not to be read, "
                            "separated by commas; with it any other column that nothing reads is "
                            "refused, without it the answer's `warnings` name them",
                        },
                        "columns": {
                            "type": "string",
                            "description": "which column is what, as JSON (the body of `PUT "
                            "/imports/{id}/files/{id}/columns`): holds for every file of the call",
                        },
                        "leave_out": {
                            "type": "string",
                            "description": "files that are not to be read, separated by commas: "
                            "paths or names, with * and ? for any signs and any one sign",
                        },
                        "repeat": {
                            "type": "string",
                            "description": "the number of the repeat that all files are of, from "
                            "1; without it the next, or the one that they are a part of",
                        },
                        "strict": {
                            "type": "string",
                            "enum": ["true", "false"],
                            "description": "true: nothing is stored where anything of the files is "
                            "left out or a tool says that it failed (a warning that is `lost`)",
                        },
                        "if_new": {
                            "type": "string",
                            "enum": ["true", "false"],
                            "description": "true: runs whose very numbers the study has already "
                            "are passed over instead of refused (not for previews)",
                        },
                    },
                }
            }
        },
    }
}


class FileProblem(Schema):
    """One problem at its place; ``file`` is null for what was given beside the files, ``line`` and
    ``column`` count from 1 and are null where the problem has none. ``code`` says which kind it
    is, and ``parameters`` what the message names; programs go by these ("" of kinds without).
    """

    file: str | None
    line: int | None
    column: int | None
    message: str
    code: str = ""
    parameters: dict[str, str] = {}


class WarningOut(FileProblem):
    """What was left out, or is worth knowing: ``count`` places are told by the first of them.

    ``lost``: something of the file was not read, or its tool says that it failed; `strict` refuses
    it.
    """

    count: int
    lost: bool


class KnownRunOut(Schema):
    """A run of ``file`` that was passed over: ``run`` has the very same numbers."""

    file: str
    run: int


class ImportOut(Schema):
    """What was stored: the numbers of the runs that were made. ``errors`` is empty.

    ``known`` was there already, and is empty unless `if_new` was asked for. ``warnings`` name what
    was not read (a readme of an archive, a column of a table) and what else a reader should know;
    the import keeps them.
    """

    id: int
    state: str
    runs: list[int]
    errors: list[FileProblem]
    known: list[KnownRunOut]
    warnings: list[WarningOut]


class NothingNew(Schema):
    """All was there already, and nothing was stored: ``state`` is known, ``id`` null."""

    id: None
    state: str
    runs: list[int]
    errors: list[FileProblem]
    known: list[KnownRunOut]
    warnings: list[WarningOut]


class ImportRefusal(ProblemDocument):
    """Nothing was stored; ``errors`` holds every problem of every file."""

    errors: list[FileProblem]


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
    try:
        target, description, columns, left_out, only_new = options_of(request, ONLY_NEW)
        files = [(file.name or "", cast(BinaryIO, file)) for file in request.FILES.getlist("file")]
        user = user_of(request)
        result = import_uploads(
            *(files, target, user),
            only_new=only_new,
            within_request=True,
            given=description,
            columns=columns,
            left_out=left_out,
        )
    except TooLargeForRequest as too_large:
        return _import_accepted(response, too_large, target, user, only_new)
    except ImportRefused as refused:
        raise refusal(refused) from None
    return Status(200 if result.id is None else 201, vars(result))


def _import_accepted(
    response: HttpResponse,
    too_large: TooLargeForRequest,
    target: Target,
    user: User,
    only_new: bool,
) -> Status[dict[str, Any]]:
    """202: the importer stores it."""
    try:
        row = queue.hand_over(too_large, target, user, only_new=only_new)
    except ImportRefused as refused:
        raise refusal(refused) from None
    response["Location"] = f"/api/v1/imports/{row.pk}"
    warnings = [warning.as_warning() for warning in too_large.warnings]
    return Status(202, vars(ImportResult(row.pk, str(row.state), [], warnings=warnings)))


def options_of(
    request: HttpRequest, *more: str
) -> tuple[Target, FileDescription, dict[str, Any] | None, list[str], bool]:
    """What the form says of all files, of each of them, of its columns, which files are left out,
    and of ``more`` (ONLY_NEW), where that may be said. Raises ImportRefused.
    """
    fields = fields_of(request, IGNORED, LEFT_OUT, STRICT, REPEAT, COLUMNS, *more)
    columns = columns_of(fields.pop(COLUMNS))
    try:
        repeat = read_repeat(fields.pop(REPEAT).strip())
    except ValueError as error:
        raise ImportRefused([ImportProblem(str(error))]) from None
    ignored = tuple(name.strip() for name in fields.pop(IGNORED).split(","))
    left_out = [name.strip() for name in fields.pop(LEFT_OUT).split(",")]
    strict, *rest = (_is_true(name, fields.pop(name)) for name in (STRICT, *more))
    description = FileDescription(
        repeat=repeat, ignored=ignored if IGNORED in request.POST else None
    )
    return Target(**fields, strict=strict), description, columns, left_out, any(rest)


def _is_true(name: str, text: str) -> bool:
    """Raises ImportRefused."""
    if text not in ("", "true", "false"):
        raise ImportRefused([ImportProblem(f'{name} is true or false, not "{text[:60]}".')])
    return text == "true"


def refusal(refused: ImportRefused) -> RefusedAt:
    """422 with every problem at its place; 403 where it is that whoever asks may not."""
    detail = " ".join(map(_with_place, grouped(refused.problems)))
    status = 403 if refused.is_forbidden else 422
    return RefusedAt(status, f"Nothing was stored. {detail}", refused.errors)


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
    fields = (*FIELDS, *more)
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
        ImportProblem(f'There is no field "{name[:60]}"; there is file, {", ".join(fields)}.')
        for name in [*posted, *files]
        if name not in (*fields, "file", _FROM_BROWSERS)
    ]
    problems += [
        ImportProblem(f"{name} {text.UNSTORABLE}.")
        for name in fields
        if not text.is_storable(posted.get(name, ""))
    ]
    problems += [
        ImportProblem(f"{name} is given {len(posted.getlist(name))} times: give it once.")
        for name in fields
        if len(posted.getlist(name)) > 1
    ]
    if "file" in posted:
        problems.append(ImportProblem("file is a text here: send it as a file (`-F file=@PATH`)."))
    if problems:
        raise ImportRefused(problems)
    return {name: posted.get(name, "") for name in fields}


def _with_place(group: ProblemGroup) -> str:
    problem = group.first
    place = f"line {problem.line}" if problem.line else ""
    if group.count > 1:
        place = f"{group.count:,} lines, the first is {place}"
    places = [problem.file, place]
    place = ", ".join(str(part) for part in places if part)
    return f"{place}: {problem.message}" if place else problem.message
