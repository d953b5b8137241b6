"""How many uploads an account may have that are not imported yet, and how large they may be.

Until they are imported or discarded, or a day old, the database holds them whole.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, Min, QuerySet, Sum
from django.db.models.functions import Coalesce

from fsbench_web.imports.models import Import, ImportState
from fsbench_web.imports.problems import ImportProblem, ImportRefused
from fsbench_web.imports.sources import SourceFile

DISCARDABLE = (ImportState.RECEIVED, ImportState.PREVIEWED, ImportState.FAILED)
NAMED = 3
_MIB = 1024 * 1024


def pending(user: User) -> QuerySet[Any]:
    """What is kept for this person, oldest first, with file_count, size_bytes and first_path."""
    return (
        Import.objects.filter(created_by=user)
        .exclude(state=ImportState.DONE)
        .annotate(
            file_count=Count("files"),
            size_bytes=Coalesce(Sum("files__size_bytes"), 0),
            first_path=Min("files__path"),
        )
        .order_by("pk")
    )


def refuse_beyond(user: User, sources: Sequence[SourceFile]) -> None:
    """Raises ImportRefused where there is no room for these files."""
    rows = list(pending(user))
    kept_bytes = sum(row.size_bytes for row in rows)
    more_bytes = sum(source.size_bytes for source in sources)
    is_too_large = bool(rows) and kept_bytes + more_bytes > settings.MOST_PREVIEW_BYTES
    if len(rows) < settings.MOST_PREVIEWS and not is_too_large:
        return
    raise ImportRefused([ImportProblem(_sentence(rows, kept_bytes, more_bytes, is_too_large))])


def lock(user: User) -> None:
    """Until the transaction ends nobody else keeps an upload of this person."""
    # Rows that refer to the account go on being written: its key stays.
    User.objects.select_for_update(no_key=True).get(pk=user.pk)


def _sentence(rows: list[Any], kept_bytes: int, more_bytes: int, is_too_large: bool) -> str:
    if is_too_large:
        rows = sorted(rows, key=lambda row: -row.size_bytes)
    named = ", ".join(
        f"import {row.pk} ({row.first_path}, {_size(row.size_bytes)})"
        for row in [row for row in rows if row.state in DISCARDABLE][:NAMED]
    )
    first = next((row.pk for row in rows if row.state in DISCARDABLE), None)
    return (
        f"This upload of {_size(more_bytes)} was not kept: {len(rows)} uploads of yours, "
        f"{_size(kept_bytes)} together, are not imported yet, and of one account "
        f"{settings.MOST_PREVIEWS} and {_size(settings.MOST_PREVIEW_BYTES)} are kept. "
    ) + (
        f"Import or discard one first, such as {named}: each has a button for it on its page, "
        f"/imports/{first}/, and programs send DELETE /api/v1/imports/{first}. "
        "What nobody imports goes a day after it came."
        if first is not None
        else "They wait to be stored: try again when the importer is done."
    )


def _size(size_bytes: int) -> str:
    return f"{size_bytes / _MIB:.0f} MiB" if size_bytes >= _MIB else f"{size_bytes:,} bytes"
