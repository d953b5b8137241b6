"""Uploading a workload of one's own: what the page takes, as a multipart form."""

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import TooManyFilesSent
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError

from fsbench_web.api import text
from fsbench_web.api.errors import Refused
from fsbench_web.catalog.own_workload_form import UploadForm
from fsbench_web.catalog.own_workloads import add_version, as_preset
from fsbench_web.workloads import ParameterError
from fsbench_web.workloads.fio_jobs import MOST_BYTES

FIELDS = ("title", "kind", "text", "parser", "space_mb")
_FROM_BROWSERS = "csrfmiddlewaretoken"
# The text with what a form has around it, and the text once more where a file is given too.
_MOST_OF_ALL = 4 * MOST_BYTES
MULTIPART = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["title", "kind"],
                    "properties": {
                        "title": {"type": "string", "maxLength": 100},
                        "kind": {"type": "string", "enum": ["fio", "command"]},
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "description": "the job file, or the command; instead of text",
                        },
                        "text": {"type": "string"},
                        "parser": {
                            "type": "string",
                            "description": "of a command: the format of its output",
                        },
                        "space_mb": {
                            "type": "integer",
                            "minimum": 1,
                            "description": "room that it needs on the file system; 1024",
                        },
                    },
                }
            }
        },
    }
}


def add(request: HttpRequest, user: User) -> dict[str, Any]:
    """Keep what the form holds. Raises Refused with every problem."""
    posted, files = _parts(request)
    form = UploadForm(
        {"space_mb": "1024", **{name: posted[name] for name in FIELDS if name in posted}}, files
    )
    if not form.is_valid():
        raise Refused(
            422,
            [
                (None if name == "__all__" else name, str(sentence))
                for name, sentences in form.errors.items()
                for sentence in sentences
            ],
        )
    data = form.cleaned_data
    try:
        row = add_version(
            data["title"],
            data["kind"],
            data["text"],
            parser=data["parser"],
            space_mb=data["space_mb"],
            by=user,
        )
    except ParameterError as error:
        raise Refused(422, [("text", str(error))]) from None
    return {
        "name": as_preset(row).slug,
        "title": row.title,
        "version": row.version,
        "kind": row.kind,
        "parser": row.parser,
        "space_mb": row.space_mb,
    }


def _parts(request: HttpRequest) -> tuple[Any, Any]:
    """The form's fields and files. Raises Refused."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if length.isdigit() and int(length) > _MOST_OF_ALL:
        raise Refused(413, [("file", f"The file has more than {MOST_BYTES // 1024} KB.")])
    if request.content_type != "multipart/form-data":
        sentence = "Send multipart/form-data with title, kind and file, as `curl -F` does."
        raise Refused(422, [(None, sentence)])
    try:
        posted, files = request.POST, request.FILES
    except (TooManyFilesSent, MultiPartParserError) as error:
        raise Refused(422, [(None, f"The form cannot be read: {error}.")]) from None
    problems: list[tuple[str | None, str]] = [
        (name[:60], f"There is no such field; there is file, {', '.join(FIELDS)}.")
        for name in [*posted, *files]
        if name not in (*FIELDS, "file", _FROM_BROWSERS)
    ]
    for name in (*FIELDS, "file"):
        given = [*posted.getlist(name), *files.getlist(name)]
        if len(given) > 1:
            problems.append((name, f"{name} is given {len(given)} times: give it once."))
        if not all(text.is_storable(one) for one in posted.getlist(name)):
            problems.append((name, f"{name} {text.UNSTORABLE}."))
    if "file" in posted:
        problems.append(("file", "file is a text here: send it as a file (`-F file=@PATH`)."))
    if any(name in files for name in FIELDS):
        problems.append((None, "Only file is sent as a file."))
    if problems:
        raise Refused(422, problems)
    return posted, files
