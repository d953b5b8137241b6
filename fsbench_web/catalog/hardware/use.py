"""What was measured on a hardware profile."""

from typing import Any

from django.db.models import Count, F

from fsbench_web.accounts.rights import hidden_studies
from fsbench_web.catalog.models import HardwareProfile


def study_counts() -> dict[int, int]:
    """{profile's key: studies on it}. Two queries."""
    pairs = set(
        HardwareProfile.objects.filter(series__isnull=False)
        .order_by()
        .values_list("pk", "series__study")
        .distinct()
    ) | set(HardwareProfile.objects.filter(studies__isnull=False).values_list("pk", "studies"))
    hidden = hidden_studies()
    counts: dict[int, int] = {}
    for profile, study in pairs:
        if study not in hidden:
            counts[profile] = counts.get(profile, 0) + 1
    return counts


def studies_on(profile: HardwareProfile) -> list[dict[str, Any]]:
    """The studies that name it or have series on it: published ones, then by title. Two queries."""
    named = profile.studies.values("slug", "title", "is_published")
    measured = (
        profile.series_set.order_by()
        .values(
            slug=F("study__slug"),
            title=F("study__title"),
            is_published=F("study__is_published"),
        )
        .annotate(
            configuration_count=Count("configuration", distinct=True),
            run_count=Count("runs", distinct=True),
        )
    )
    none = {"configuration_count": 0, "run_count": 0}
    by_slug = {row["slug"]: none | row for row in (*named, *measured)}
    return sorted(by_slug.values(), key=lambda row: (not row["is_published"], row["title"]))
