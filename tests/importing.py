"""Importing the content of files, as the API does with uploads."""

import io
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User

from fsbench_web.imports.sources import Target
from fsbench_web.imports.storing.commit import import_uploads
from fsbench_web.imports.targets import ImportResult


def import_files(
    files: Sequence[tuple[str, bytes]], *, user: User | None, **fields: Any
) -> ImportResult:
    """Store all files, (name, content); ``fields`` are those of Target."""
    return import_uploads(
        [(name, io.BytesIO(data)) for name, data in files], Target(**fields), user
    )
