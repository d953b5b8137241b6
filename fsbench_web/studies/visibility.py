"""The manager that leaves out what belongs to studies that the user must not see.

It is the default manager of everything that belongs to a study. So no page, count, relation, file
or call of the API shows such a thing by forgetting to ask. Outside of a request (a worker, a
command) nothing is hidden. ``Model._base_manager`` has all rows, for what must not meet twice.
"""

from typing import TypeVar

from django.db import models

from fsbench_web.accounts.rights import hidden_studies

_Row = TypeVar("_Row", bound=models.Model)


def visible(rows: models.QuerySet[_Row]) -> models.QuerySet[_Row]:
    """``rows`` without those of hidden studies; their model's ``study_path`` leads to the study.

    By subquery and not by join: what is locked or updated is then these rows alone.
    """
    hidden = hidden_studies()
    if not hidden:
        return rows
    path: str = rows.model.study_path  # type: ignore[attr-defined]
    if path in ("pk", "study"):
        return rows.exclude(**{f"{path}__in": hidden})
    first, _, rest = path.partition("__")
    between = rows.model._meta.get_field(first).related_model
    assert isinstance(between, type)
    inside = between._base_manager.filter(**{f"{rest}__in": hidden})
    return rows.exclude(**{f"{first}__in": inside.values("pk")})


class Visible(models.Manager[_Row]):
    """What the user may see."""

    def get_queryset(self) -> models.QuerySet[_Row]:
        return visible(super().get_queryset())
