"""What was measured on a hardware profile."""

from dataclasses import dataclass

from django.db.models import Count

from fsbench_web.accounts.rights import hidden_studies
from fsbench_web.catalog.models import HardwareProfile


@dataclass
class StudyOnHardware:
    """A study that names this hardware, or has series on it."""

    slug: str
    title: str
    is_published: bool
    configuration_count: int = 0
    run_count: int = 0


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


def studies_on(profile: HardwareProfile) -> list[StudyOnHardware]:
    """Published ones first, then by title. Two queries."""
    by_slug = {
        row["slug"]: StudyOnHardware(**row)
        for row in profile.studies.values("slug", "title", "is_published")
    }
    measured = (
        profile.series_set.order_by()
        .values("study__slug", "study__title", "study__is_published")
        .annotate(
            configuration_count=Count("configuration", distinct=True),
            run_count=Count("runs", distinct=True),
        )
    )
    for row in measured:
        slug = row["study__slug"]
        by_slug[slug] = StudyOnHardware(
            slug,
            row["study__title"],
            row["study__is_published"],
            row["configuration_count"],
            row["run_count"],
        )
    return sorted(by_slug.values(), key=lambda study: (not study.is_published, study.title))
