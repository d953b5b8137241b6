"""Brings the published studies into the database: again and again, with the same result."""

from django.db import transaction

from fsbench_web.catalog.configurations.records import from_label, unknown_configuration
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile
from fsbench_web.core.units import SUM
from fsbench_web.studies.models import Score, Series, Study
from fsbench_web.studies.published.data import PublishedScore, PublishedStudy
from fsbench_web.studies.series import series_for

ORIGIN = "published"
_COMPARED = ("value", "unit", "summed_unit", "repeats", "published", "origin")

ScoreKey = tuple[int, str, str]
"""(series, test, category)"""


class SlugTaken(Exception):
    """Somebody's own study has the slug of a published one; it stays as it is."""


@transaction.atomic
def load(published: PublishedStudy) -> bool:
    """Bring the study in the database up to date; whether anything changed. Raises SlugTaken."""
    hardware, changed = _hardware(published)
    study = Study.objects.select_for_update().filter(slug=published.slug).first()
    if study is not None and not study.is_published:
        raise SlugTaken(
            f'A study of yours is named "{published.slug}", so the published one of that name was '
            "not loaded. Rename yours and start again."
        )
    columns = {
        "title": published.title,
        "authors": published.authors,
        "organisation": published.organisation,
        "published_on": published.published_on,
        "summary": published.summary,
        "sections": published.sections,
        "is_published": True,
    }
    if study is None:
        study, _ = Study.objects.get_or_create(slug=published.slug, defaults=columns)
        changed = True
    elif any(getattr(study, name) != value for name, value in columns.items()):
        for name, value in columns.items():
            setattr(study, name, value)
        study.save()
        changed = True
    systems = {profile.pk for profile in hardware}
    if set(study.systems.values_list("pk", flat=True)) != systems:
        study.systems.set(systems)
        changed = True
    return _scores(study, published, hardware) or changed


def _hardware(published: PublishedStudy) -> tuple[list[HardwareProfile], bool]:
    profiles, changed = [], False
    for entry in published.hardware:
        wanted = {"name": entry["name"], "facts": entry["facts"], "source": published.title[:200]}
        profile, created = HardwareProfile.objects.get_or_create(
            slug=entry["slug"], defaults=wanted
        )
        if any(getattr(profile, name) != value for name, value in wanted.items()):
            HardwareProfile.objects.filter(pk=profile.pk).update(**wanted)
            changed = True
        profiles.append(profile)
        changed = changed or created
    return profiles, changed


def _scores(study: Study, published: PublishedStudy, hardware: list[HardwareProfile]) -> bool:
    """Insert, update and delete what differs from the files."""
    by_circumstances: dict[tuple[str, str, str], Series] = {}
    wanted: dict[ScoreKey, Score] = {}
    units = {row.test: row.unit for row in published.scores if row.unit != SUM}
    for row in published.scores:
        circumstances = (row.filesystem, row.configuration, row.distribution)
        if circumstances not in by_circumstances:
            by_circumstances[circumstances] = _series(study, published, row, hardware)
        series = by_circumstances[circumstances]
        wanted[series.pk, row.test, row.category] = Score(
            series=series,
            test=row.test,
            category=row.category,
            value=float(row.score),
            unit=row.unit,
            summed_unit=units.get(row.test) if row.unit == SUM else None,
            repeats=row.repeats,
            published=row.printed,
            origin=ORIGIN,
        )
    is_changed = _write(study, wanted)
    keys = [series.pk for series in by_circumstances.values()]
    empty, _ = study.series.exclude(pk__in=keys).filter(runs=None).delete()
    return bool(is_changed or empty)


def _series(
    study: Study, published: PublishedStudy, row: PublishedScore, hardware: list[HardwareProfile]
) -> Series:
    return series_for(
        study,
        _configuration(published, row),
        # Which of several systems a score was measured on, no file says.
        hardware=hardware[0] if len(hardware) == 1 else None,
        kernel=published.kernel,
        distribution=row.distribution or published.distribution,
    )


def _write(study: Study, wanted: dict[ScoreKey, Score]) -> bool:
    """Make the scores of the study those that are wanted; whether any was another."""
    stored = {
        (score.series_id, score.test, score.category): score
        for score in Score.objects.filter(series__study=study)
    }
    missing = [score for key, score in wanted.items() if key not in stored]
    differing = []
    for key, score in wanted.items():
        stored_score = stored.get(key)
        if stored_score is not None and any(
            getattr(stored_score, n) != getattr(score, n) for n in _COMPARED
        ):
            score.pk = stored_score.pk
            differing.append(score)
    surplus = [score.pk for key, score in stored.items() if key not in wanted]
    Score.objects.bulk_create(missing)
    if differing:
        Score.objects.bulk_update(differing, _COMPARED)
    if surplus:
        Score.objects.filter(pk__in=surplus).delete()
    return bool(missing or differing or surplus)


def _configuration(published: PublishedStudy, row: PublishedScore) -> FilesystemConfiguration:
    if not row.configuration:
        # The paper gives the file system alone: the best of its configurations, whichever it was.
        return unknown_configuration(row.filesystem, row.filesystem)
    if published.configuration_labels == "complete":
        return from_label(row.configuration, row.filesystem)
    return unknown_configuration(row.filesystem, row.configuration)
