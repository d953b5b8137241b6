"""Previewed uploads: kept in the database until they are committed, discarded or a day old."""

import gzip
from collections.abc import Sequence
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from fsbench_web.imports import commit
from fsbench_web.imports.commit import ImportPreview, ImportResult
from fsbench_web.imports.models import Import, ImportFile, ImportState
from fsbench_web.imports.plan import Target, plan_files

KEPT_FOR = timedelta(days=1)


def stash(files: Sequence[tuple[str, bytes]], target: Target, user: User) -> Import:
    """Keep files whose preview has no problem. Raises ImportRefused, and keeps nothing then."""
    remove_expired()
    named = [(commit.safe_name(name), data) for name, data in files]
    commit.preview(plan_files(named, target), target, user)
    with transaction.atomic():
        row = Import.objects.create(target=target.__dict__, created_by=user)
        ImportFile.objects.bulk_create(
            ImportFile(import_of=row, name=name, content_gzip=gzip.compress(data, mtime=0))
            for name, data in named
        )
    return row


def preview_of(row: Import, user: User) -> ImportPreview:
    """What a commit would store now. Raises ImportRefused when that has changed since."""
    target = Target(**row.target)
    return commit.preview(plan_files(_files(row), target), target, user)


def commit_stashed(row_id: int, user: User) -> ImportResult | None:
    """Store the files that were previewed; None when that was done before.

    Raises Import.DoesNotExist when the upload is gone, and ImportRefused.
    """
    with transaction.atomic():
        row = Import.objects.select_for_update().get(pk=row_id, created_by=user)
        if row.state == ImportState.DONE:
            return None
        target = Target(**row.target)
        return commit.commit(row, plan_files(_files(row), target), target, user)


def remove_expired() -> None:
    """Delete uploads that nobody committed within a day."""
    Import.objects.filter(
        state=ImportState.PREVIEWED, created_at__lt=timezone.now() - KEPT_FOR
    ).delete()


def _files(row: Import) -> list[tuple[str, bytes]]:
    return [(file.name, gzip.decompress(file.content_gzip)) for file in row.files.all()]
