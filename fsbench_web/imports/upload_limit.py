"""Uploads that are too large are refused while they arrive, not when they have filled a disk."""

import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.exceptions import TooManyFilesSent
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from fsbench_web.platform.database_problems import is_disk_full
from fsbench_web.platform.http import error_pages, problems

logger = logging.getLogger("fsbench.imports")
# Room for the other fields of a form and the boundaries between its parts.
FORM_BYTES = 256 * 1024
View = Callable[..., HttpResponse]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]


def too_large_sentence() -> str:
    limit = settings.MAX_UPLOAD_BYTES // (1024 * 1024)
    return (
        f"The upload is larger than {limit} MiB, all files together, and was refused; nothing was "
        "stored. Import fewer files at once, or ask the site's administrator to raise "
        "FSBENCH_MAX_UPLOAD_MB."
    )


def too_many_sentence() -> str:
    return (
        f"These are more than {settings.DATA_UPLOAD_MAX_NUMBER_FILES} files, and nothing was "
        "stored. Pack them into a zip or tar.gz, which may hold more."
    )


class UploadLimit(FileUploadHandler):
    """Stops reading once the files of a request are larger than MAX_UPLOAD_BYTES together."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.seen_bytes = 0
        self.exceeded = False

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        self.seen_bytes += len(raw_data)
        if self.seen_bytes > settings.MAX_UPLOAD_BYTES:
            self.exceeded = True
            raise StopUpload(connection_reset=True)
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """The handlers behind this one keep the file."""


def limit_upload(view: View) -> View:
    """Refuse a POST with too large files with 413. Replaces csrf_protect for its view.

    The check of the token reads the files, so the limit must be in place before.
    """
    protected = csrf_protect(view)

    @csrf_exempt
    @wraps(view)
    def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST":
            limit = UploadLimit(request)
            request.upload_handlers.insert(0, limit)
            if _declared_bytes(request) <= settings.MAX_UPLOAD_BYTES + FORM_BYTES:
                try:
                    _ = request.POST  # reads the files
                except TooManyFilesSent:
                    context = {"sentence": too_many_sentence()}
                    return render(request, "imports/too_large.html", context, status=413)
            else:
                limit.exceeded = True
            if limit.exceeded:
                context = {"sentence": too_large_sentence()}
                return render(request, "imports/too_large.html", context, status=413)
        return protected(request, *args, **kwargs)

    return limited


def _declared_bytes(request: HttpRequest) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


class BodyLimit:
    """ASGI middleware: Django reads a whole body to disk before it looks at the request."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        limit_bytes = settings.MAX_UPLOAD_BYTES + FORM_BYTES
        if _content_length(scope) > limit_bytes:
            await _refuse(scope, send, 413, too_large_sentence())
            return
        seen, answered = 0, False

        async def receive_counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit_bytes:
                raise _TooLarge
            return message

        async def note_answer(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self.application(scope, receive_counted, note_answer)
        except _TooLarge:
            if not answered:
                await _refuse(scope, send, 413, too_large_sentence())
        except OSError as error:
            if answered or not is_disk_full(error):
                raise
            logger.error("%s: the folder of temporary files: %s", scope["path"], error)
            sentence = error_pages.DISK_FULL.format(where="the folder of temporary files")
            await _refuse(scope, send, 503, sentence)


class _TooLarge(Exception):
    pass


def _content_length(scope: Message) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0


async def _refuse(scope: Message, send: Send, status: int, sentence: str) -> None:
    """JSON under /api/, else a plain sentence. The connection goes: its body is unread."""
    media_type, body = "text/plain; charset=utf-8", sentence
    if scope["path"].startswith("/api/"):
        media_type = problems.MEDIA_TYPE
        error = {"file": None, "line": None, "column": None, "message": sentence}
        body = json.dumps(problems.document(status, sentence, [error]))
    headers = [(b"content-type", media_type.encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})
