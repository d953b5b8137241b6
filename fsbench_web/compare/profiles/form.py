"""The form of a work profile: what it says of itself, and a row for each part."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import QueryDict

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import Team, Visibility
from fsbench_web.compare.models import WorkProfile
from fsbench_web.compare.profiles.records import problems_of
from fsbench_web.compare.selection.fields import sizes_of, text_of
from fsbench_web.core.scoring.profiles.definition import (
    MOST_PARTS,
    RATIO,
    Part,
    Profile,
    ProfileError,
    from_dict,
)

EMPTY_ROWS = 3
_ANSWERS = {"": None, "yes": True, "no": False}
_COLUMNS = ("operation", "weight", "block", "file", "load", "cached", "flushed")


@dataclass(frozen=True)
class PartRow:
    """The fields of one part as they were typed."""

    operation: str = ""
    weight: str = ""
    block: str = ""
    file: str = ""
    load: str = ""
    cached: str = ""
    flushed: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.operation or self.weight or self.block or self.file)


@dataclass(frozen=True)
class ProfileForm:
    """What was typed; ``problems`` are sentences, empty where ``profile`` is there."""

    title: str = ""
    summary: str = ""
    source: str = ""
    together: str = RATIO
    visibility: str = Visibility.PUBLIC
    team: str = ""
    rows: tuple[PartRow, ...] = ()
    problems: tuple[str, ...] = ()
    profile: Profile | None = None
    chosen_team: Team | None = None

    @property
    def shown_rows(self) -> list[PartRow]:
        """Those that are filled in, and a few to fill in."""
        rows = list(self.rows)
        return (rows + [PartRow()] * EMPTY_ROWS)[:MOST_PARTS]


def of_profile(profile: Profile, row: WorkProfile | None = None) -> ProfileForm:
    """The form that says this profile."""
    return ProfileForm(
        profile.title,
        profile.summary,
        profile.source,
        profile.together,
        row.visibility if row else Visibility.PUBLIC,
        str(row.team_id or "") if row else "",
        tuple(map(_row, profile.parts)),
    )


def _row(part: Part) -> PartRow:
    values = {None: "", True: "yes", False: "no"}
    return PartRow(
        part.operation,
        f"{part.weight:.6g}",
        text_of(part.blocks) if part.blocks else "",
        text_of(part.files) if part.files else "",
        part.load,
        values[part.cached],
        values[part.flushed],
    )


def read(query: QueryDict, user: User) -> ProfileForm:
    """What somebody sent; never raises."""
    columns = (query.getlist(f"part_{name}")[: MOST_PARTS + 1] for name in _COLUMNS)
    typed = (
        PartRow(*(text.strip()[:200] for text in texts))
        for texts in zip_longest(*columns, fillvalue="")
    )
    rows = tuple(row for row in typed if not row.is_empty)
    form = ProfileForm(
        query.get("title", "").strip()[:1200],
        query.get("summary", "").strip()[:1200],
        query.get("source", "").strip()[:1200],
        query.get("together", RATIO),
        query.get("visibility", Visibility.PUBLIC),
        query.get("team", ""),
        rows,
    )
    problems: list[str] = []
    parts = []
    for number, row in enumerate(rows, start=1):
        part, part_problems = _document(row)
        parts.append(part)
        problems += [f"Part {number}: {problem}" for problem in part_problems]
    team = (
        teams_of(user).filter(pk=int(form.team)).first()
        if form.team.isdecimal() and len(form.team) < 10
        else None
    )
    if form.visibility not in Visibility.values:
        problems.append("Access is one of those offered.")
    if form.visibility == Visibility.TEAM and team is None:
        problems.append("Choose the team that is to see it: one that you are in.")
    profile = None
    document = {name: getattr(form, name) for name in ("title", "summary", "source", "together")}
    try:
        candidate = from_dict(document | {"parts": parts})
        problems += problems_of(candidate)
        profile = None if problems else candidate
    except ProfileError as error:
        problems += [problem for problem in error.problems if problem not in problems]
    return replace(form, problems=tuple(problems), profile=profile, chosen_team=team)


def _document(row: PartRow) -> tuple[Mapping[str, Any], list[str]]:
    """A part as a document says it, and what of it cannot be read."""
    problems = []
    data: dict[str, Any] = {"operation": row.operation, "load": row.load}
    try:
        data["weight"] = float(row.weight or "1")
    except ValueError:
        problems.append("weight is a number above 0.")
    for name, text in (("block", row.block), ("file", row.file)):
        if not text:
            continue
        try:
            sizes = sizes_of(text)
        except ValueError as error:
            problems.append(f"{name} sizes are {error}.")
        else:
            data[f"{name}_sizes_kb"] = [sizes.least, sizes.most]
    for name, answer in (("cached", row.cached), ("flushed", row.flushed)):
        data[name] = _ANSWERS.get(answer)
    return data, problems


def teams_of(user: User) -> Any:
    """The teams that this person may give a profile to."""
    teams = Team.objects.order_by("name")
    return teams if rights.is_administrator(user) else teams.filter(Q(members=user)).distinct()
