"""Workloads that users upload, version by version; ``own-SLUG-vN`` names one for ever."""

import logging
import re
from collections.abc import Container
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from fsbench_web.accounts import audit
from fsbench_web.catalog.models import OwnWorkload, Worker
from fsbench_web.core.workloads import ParameterError, Preset, presets, workload_of, workload_types
from fsbench_web.core.workloads.own import ALLOWED_PREFIX, OwnCommand, OwnFio, checked_words
from fsbench_web.platform import plain_text
from fsbench_web.platform.names import slug_of

logger = logging.getLogger("fsbench.workloads")
TOOLS = {OwnWorkload.Kind.FIO: OwnFio.tool, OwnWorkload.Kind.COMMAND: OwnCommand.tool}
_PRESET = re.compile(r"own-([a-z0-9-]{1,60})-v([1-9][0-9]{0,5})")
_TRIES = 5


def preset_of(slug: str) -> Preset | None:
    """The preset of this name, fsbench's own or an uploaded one; None where there is none."""
    if match := _PRESET.fullmatch(slug):
        row = OwnWorkload.objects.filter(slug=match[1], version=int(match[2])).first()
        return as_preset(row) if row else None
    return presets().get(slug)


def is_uploaded(slug: str) -> bool:
    """Whether the name is that of an uploaded workload, be it there or not."""
    return _PRESET.fullmatch(slug) is not None


def offered_presets(chosen: Container[str] = ()) -> list[Preset]:
    """All presets, the newest version of each upload, and the uploads that are ``chosen``."""
    newest: dict[str, OwnWorkload] = {}
    named: list[OwnWorkload] = []
    for row in OwnWorkload.objects.select_related("created_by").order_by("slug", "version"):
        newest[row.slug] = row
        if f"own-{row.slug}-v{row.version}" in chosen:
            named.append(row)
    current = [row for row in newest.values() if not row.is_withdrawn and row not in named]
    uploaded = [as_preset(row) for row in (*named, *current) if is_runnable(row)]
    # Those of one tool stand together.
    return [*presets().values(), *sorted(uploaded, key=lambda preset: preset.tool)]


def is_runnable(row: OwnWorkload) -> bool:
    """Whether it may be run. A later release may refuse what an earlier one let through."""
    try:
        as_preset(row).workload()
    except ParameterError:
        logger.exception("the uploaded workload %s is not offered any more", row)
        return False
    return True


def as_preset(row: OwnWorkload) -> Preset:
    by = row.created_by.get_username() if row.created_by else "an account that is gone"
    return Preset(
        f"own-{row.slug}-v{row.version}",
        f"{row.title}, version {row.version}",
        f"Uploaded by {by} on {row.created_at:%-d %B %Y}.",
        parameters_of(row),
        workload_types()[TOOLS[OwnWorkload.Kind(row.kind)]],
    )


def parameters_of(row: OwnWorkload) -> dict[str, Any]:
    """What the run of this version is made of."""
    parameters: dict[str, Any] = {
        "name": row.title,
        "version": row.version,
        "space_mb": row.space_mb,
        "text": row.text,
    }
    if row.kind == OwnWorkload.Kind.COMMAND:
        parameters["parser"] = row.parser
    return parameters


def callable_programs() -> set[str]:
    """What uploaded commands may call somewhere: each worker tells it of its own host."""
    return {
        name.removeprefix(ALLOWED_PREFIX)
        for capabilities in Worker.objects.values_list("capabilities", flat=True)
        for name, ability in capabilities.get("tools", {}).items()
        if name.startswith(ALLOWED_PREFIX) and ability.get("usable")
    }


def warning(row: OwnWorkload, programs: Container[str]) -> str:
    """Why no worker could run it now, in sentences; ``programs`` are the callable ones."""
    if row.kind != OwnWorkload.Kind.COMMAND:
        return ""
    try:
        program = checked_words(row.text)[0]
    except ParameterError:
        return ""  # it is not offered any more, which is said elsewhere
    if program in programs:
        return ""
    return (
        f"No worker lets uploaded commands call {program} now, and fsbench refuses jobs with it. "
        "The administrator of a host with that program can add it to FSBENCH_OWN_PROGRAMS there "
        "and restart the worker."
    )


def add_version(
    title: str, kind: str, text: str, *, parser: str = "", space_mb: int, by: User
) -> OwnWorkload:
    """Keep an upload: version 1 of a new title, else the next one. Raises ParameterError."""
    for field, value, is_multiline in (("title", title.strip(), False), ("text", text, True)):
        if problem := plain_text.problem(value, is_multiline=is_multiline):
            raise ParameterError(f"The {field} cannot be so. {problem}")
    title = " ".join(title.split())
    slug = slug_of(title)[:60].strip("-")
    if not slug:
        raise ParameterError("Give it a title with letters or digits.")
    if kind not in OwnWorkload.Kind.values:
        raise ParameterError("Choose what it is: a job file of fio, or a command.")
    if kind == OwnWorkload.Kind.FIO:
        parser = "fio-json"
    for attempt in range(_TRIES):
        newest = OwnWorkload.objects.filter(slug=slug).order_by("-version").first()
        if newest is not None and newest.title != title:
            raise ParameterError(
                f"The title is too much like “{newest.title}”: choose another one."
            )
        row = OwnWorkload(
            slug=slug,
            version=newest.version + 1 if newest else 1,
            title=title,
            kind=kind,
            text=text.replace("\r\n", "\n"),
            parser=parser,
            space_mb=space_mb,
            created_by=by,
        )
        workload_of(TOOLS[OwnWorkload.Kind(kind)], parameters_of(row))
        if (
            newest is not None
            and not newest.is_withdrawn
            and _definition_of(newest) == _definition_of(row)
        ):
            raise ParameterError(f"Version {newest.version} says the same: nothing was stored.")
        try:
            with transaction.atomic():
                row.save(force_insert=True)
                audit.note(by, "workload uploaded", str(row), kind=kind)
        except IntegrityError:
            # Somebody else made this version at the same moment.
            if attempt == _TRIES - 1:
                raise
            continue
        return row
    raise AssertionError("unreachable")


def _definition_of(row: OwnWorkload) -> tuple[str, str, str, int]:
    return row.kind, row.text, row.parser, row.space_mb
