"""What an import stores into: its study, its hardware, its file; and what it answers."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.db import transaction

from fsbench_web.accounts import audit, rights
from fsbench_web.accounts.models import Visibility
from fsbench_web.catalog.models import Environment, HardwareProfile, Workload
from fsbench_web.core.comparison.imported import workload_name
from fsbench_web.core.formats import ParsedResult
from fsbench_web.core.measurement_columns import MeasuredTest
from fsbench_web.imports.problems import (
    ErrorRow,
    ImportProblem,
    ImportRefused,
    KnownRun,
    WarningRow,
)
from fsbench_web.imports.sources import SourceFile, Target
from fsbench_web.platform.names import is_called, slug_of
from fsbench_web.studies.jobs.new_study import new_study_columns
from fsbench_web.studies.models import Artefact, Study
from fsbench_web.studies.runs.environments import environment_for

ONCE = (
    "import each measurement once. If it was measured again and came out the same, say which "
    "repeat it is."
)
ALL_KNOWN = "known"
"""The state of an import that was none: all its runs are there already."""


@dataclass(frozen=True)
class ImportResult:
    """What an import stored. ``known`` runs were passed over; ``id`` None: there was no other."""

    id: int | None
    state: str
    runs: list[int]
    errors: list[ErrorRow] = field(default_factory=list)
    known: list[KnownRun] = field(default_factory=list)
    warnings: list[WarningRow] = field(default_factory=list)


def require_study(target: Target, user: User | None) -> None:
    """Raise ImportRefused where ``study_for`` would. Nothing is made."""
    with transaction.atomic():
        study_for(target, user)
        transaction.set_rollback(True)


def study_for(target: Target, user: User | None) -> tuple[Study, bool]:
    """The study, made when it is new. Raises ImportRefused for one that takes no runs."""
    slug = target.study_slug()
    study, is_new = Study._base_manager.get_or_create(
        slug=slug,
        defaults={"title": target.study, "created_by": user, **new_study_columns()},
    )
    if study.visibility != Visibility.PUBLIC and study.pk in rights.hidden_from(user):
        message = f'The address "{study.slug}" is taken: choose another name for the study.'
        raise ImportRefused([ImportProblem(message)])
    # Of a new study too: the importer stores a while after it was accepted, and whoever uploaded
    # it may not import any more.
    existing = None if is_new else study
    if user is not None and (reason := rights.decide(user, rights.Action.IMPORT, existing).why):
        raise ImportRefused([ImportProblem(reason)], is_forbidden=True)
    if is_new:
        audit.note(user, "study made", f"study {study.slug}", visibility=study.visibility)
    if not is_called(target.study, study.slug, study.title):
        message = (
            f'The study "{study.title}" already has the address "{study.slug}", which "'
            f'{target.study}" would get too: name that study, or choose another name.'
        )
        raise ImportRefused([ImportProblem(message)])
    if study.is_published:
        message = (
            f"{study.title} is published: published studies take no further runs. "
            "Import into a study of your own, and compare the two."
        )
        raise ImportRefused([ImportProblem(message)])
    return study, is_new


def hardware_for(name: str, file: str) -> HardwareProfile | None:
    """The hardware profile of a name, made when it is new; None for no name.

    ``file`` is who names it. Raises ImportRefused where the name's address is another profile's.
    """
    if not name:
        return None
    hardware, _ = HardwareProfile.objects.get_or_create(
        slug=slug_of(name), defaults={"name": name, "source": "Named by an import"}
    )
    if not is_called(name, hardware.slug, hardware.name):
        message = (
            f'The hardware "{hardware.name}" already has the address "{hardware.slug}", which '
            f'"{name}" would get too: name that hardware, or choose another name.'
        )
        raise ImportRefused([ImportProblem(message, file=file)])
    return hardware


def artefact_of(source: SourceFile) -> Artefact:
    """An uploaded file as it came; it is compressed already."""
    return Artefact(
        name=source.name[:200],
        sha256=source.sha256,
        size_bytes=source.size_bytes,
        content_gzip=source.content_gzip,
    )


def workload_of(parsed: ParsedResult, tests: Iterable[MeasuredTest]) -> Workload | None:
    """The workload of a tool's output by the modes it ran in; None for a table, which says none.

    The matrix is not part of it: an imported file may hold a part of one.
    """
    if parsed.tool == "table":
        return None
    slug, title = workload_name(parsed, tests)
    workload, _ = Workload.objects.get_or_create(
        slug=slug,
        defaults={
            "title": title,
            "tool": parsed.tool,
            "parameters": {"modes": list(parsed.modes)},
            "description": "Output that was imported; fsbench did not run it.",
        },
    )
    return workload


def environment_of(parsed: ParsedResult) -> Environment | None:
    """Version, build and command as the file gives them; None where it gives nothing."""
    rows = [
        (label, text)
        for label, text in (
            ("Tool", f"{parsed.tool} {parsed.tool_version}" if parsed.tool_version else ""),
            ("Command line", parsed.command),
            *parsed.facts,
            ("Settings", "; ".join(parsed.modes)),
        )
        if text
    ]
    return environment_for({"As the imported file says": rows}) if rows else None
