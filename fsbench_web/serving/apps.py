from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core import checks


class ServeConfig(AppConfig):
    name = "fsbench_web.serving"


@checks.register(checks.Tags.database)
def check_tables(databases: Sequence[str] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """An error before ``manage.py migrate`` touches tables that this version cannot upgrade."""
    from fsbench_web.platform import table_version

    reason = table_version.unsuited() if databases else ""
    return [checks.Error(reason, id="fsbench.E001")] if reason else []
