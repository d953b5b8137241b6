"""Decides who may do what; ``accounts.gate`` asks before it calls any view."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet

from fsbench_web.accounts.models import LunGrant, Person, Role, Team, Visibility
from fsbench_web.accounts.requirements import Action

AnyUser = AbstractBaseUser | AnonymousUser


class _Rule(NamedTuple):
    """The role that an action needs, its name in sentences, and the scope a token needs for it."""

    needs: Role
    words: str
    scope: str = "read"


_RULES: dict[Action, _Rule] = {
    Action.READ: _Rule(Role.VIEWER, "Reading"),
    Action.ACCOUNT: _Rule(Role.VIEWER, "This page"),
    Action.WATCH: _Rule(Role.VIEWER, "Watching", "import"),
    Action.SHARE: _Rule(Role.CONTRIBUTOR, "Keeping permalinks", "import"),
    # A contributor who is a viewer now can still take back what was shared.
    Action.WITHDRAW: _Rule(Role.VIEWER, "Withdrawing a permalink", "import"),
    Action.DEFINE: _Rule(Role.CONTRIBUTOR, "Making work profiles", "import"),
    Action.CALL: _Rule(Role.CONTRIBUTOR, "A webhook"),
    Action.IMPORT: _Rule(Role.CONTRIBUTOR, "Importing", "import"),
    Action.OWN: _Rule(Role.CONTRIBUTOR, "Saying who sees a study", "import"),
    Action.RUN: _Rule(Role.OPERATOR, "Submitting runs", "run"),
    # The rights of its owner decide what a trigger orders, when it orders.
    Action.FIRE: _Rule(Role.VIEWER, "Firing a trigger", "fire"),
    Action.STEER: _Rule(Role.OPERATOR, "Steering runs", "run"),
    Action.MAINTAIN: _Rule(Role.ADMINISTRATOR, "Draining and resuming workers", "run"),
    Action.UPLOAD: _Rule(Role.OPERATOR, "Uploading workloads", "run"),
    Action.PROVIDE: _Rule(
        Role.ADMINISTRATOR,
        "Saying what workloads there are and what devices deliver",
        "administer",
    ),
    Action.ADMINISTER: _Rule(Role.ADMINISTRATOR, "Administration", "administer"),
}
_ORDER = [str(role) for role in Role]


@dataclass(frozen=True)
class Decision:
    """``why`` is empty where it is allowed, else a sentence for the person."""

    is_allowed: bool
    why: str = ""


ALLOWED = Decision(True)


def role_of(user: AnyUser) -> Role | None:
    """None for somebody without an account, or with a closed account."""
    if not isinstance(user, User) or not user.is_active:
        return None
    if user.is_superuser or user.is_staff:
        return Role.ADMINISTRATOR
    # Django keeps the answer with the user, also that there is none.
    person: Person | None = getattr(user, "person", None)
    return Role(person.role if person is not None else settings.DEFAULT_ROLE)


def is_administrator(user: AnyUser) -> bool:
    return role_of(user) is Role.ADMINISTRATOR


def decide(user: AnyUser, action: Action, thing: object = None) -> Decision:
    """Whether this person may do this: to a Lun, a Job, a Run, a Study if one is given."""
    if action is Action.OPEN:
        return ALLOWED
    role = role_of(user)
    if action is Action.READ and role is None and settings.ANONYMOUS_READING:
        return ALLOWED
    rule = _RULES[action]
    if role is None:
        return Decision(False, f"{rule.words} needs an account: sign in first.")
    if _ORDER.index(role) < _ORDER.index(rule.needs):
        return Decision(
            False,
            f"{rule.words} needs the role {rule.needs.label.lower()}; your account is "
            f"{_with_article(role)}. An administrator can change that.",
        )
    if thing is None or role is Role.ADMINISTRATOR:
        return ALLOWED
    assert isinstance(user, User)
    return _decide_about(user, action, thing)


def may(user: AnyUser, action: Action, thing: object = None) -> bool:
    return decide(user, action, thing).is_allowed


def require(user: AnyUser, action: Action, thing: object = None) -> None:
    """Raises PermissionDenied with the reason, which pages and API show."""
    decision = decide(user, action, thing)
    if not decision.is_allowed:
        raise PermissionDenied(decision.why)


def _with_article(role: Role) -> str:
    return f"{'an' if role.label[0] in 'AO' else 'a'} {role.label.lower()}"


def _decide_about(user: User, action: Action, thing: Any) -> Decision:
    match type(thing).__name__:
        case "Lun":
            return ALLOWED if _is_granted(user, thing) else Decision(False, not_granted(thing))
        case "Job" | "Run" as kind:
            return _decide_about_job(user, thing, kind.lower())
        case "Study":
            return _decide_about_study(user, action, thing)
        case "WorkProfile":
            return _decide_about_profile(user, thing)
        case kind:
            raise TypeError(f"No rule says what {action} of a {kind} needs.")


def granted_luns(user: User) -> QuerySet[LunGrant]:
    """The grants of this person and of the teams it is in."""
    return LunGrant.objects.filter(Q(user=user) | Q(team__in=user.teams.all()))


def _is_granted(user: User, lun: Any) -> bool:
    return granted_luns(user).filter(lun=lun).exists()


def not_granted(lun: Any) -> str:
    """Why somebody without a grant submits nothing on this LUN."""
    return (
        f"{lun.name} is not granted to you, and a run erases it. An administrator grants LUNs "
        "on the people page."
    )


def _decide_about_job(user: User, thing: Any, kind: str) -> Decision:
    author = thing.created_by_id
    if author == user.pk:
        return ALLOWED
    if author is not None and Team.objects.filter(members=user).filter(members=author).exists():
        return ALLOWED
    return Decision(
        False,
        f"This {kind} is neither yours nor of "
        "somebody in a team of yours. Its author or an administrator can do this.",
    )


def _decide_about_study(user: User, action: Action, study: Any) -> Decision:
    if study.created_by_id == user.pk and action is Action.OWN:
        return ALLOWED
    if study.team_id is None:
        if action is not Action.OWN:
            return ALLOWED
        return Decision(
            False, "Only the author of the study, its team or an administrator can do this."
        )
    if user.teams.filter(pk=study.team_id).exists():
        return ALLOWED
    return Decision(
        False, f"The study belongs to the team {study.team.name}, and you are not in it."
    )


def _decide_about_profile(user: User, profile: Any) -> Decision:
    if profile.created_by_id == user.pk:
        return ALLOWED
    if profile.team_id is not None and user.teams.filter(pk=profile.team_id).exists():
        return ALLOWED
    return Decision(
        False, "Only the author of this work profile, its team or an administrator can change it."
    )


def accepting(user: AnyUser, studies: Iterable[Any]) -> list[Any]:
    """Those of the studies that take what this person adds, as ``decide`` has it. One query."""
    if is_administrator(user) or not isinstance(user, User):
        return list(studies)
    teams = {None, *user.teams.values_list("pk", flat=True)}
    return [study for study in studies if study.team_id in teams]


def why_not_any_more(author: User, luns: Iterable[Any], study: Any) -> str:
    """Why a run that this person submitted earlier must not start now; empty where it may."""
    name = author.get_username()
    role = role_of(author)
    if role is None:
        return f"The account of {name}, who submitted it, is closed."
    if not may(author, Action.RUN):
        needed = _RULES[Action.RUN].needs.label.lower()
        return (
            f"{name}, who submitted it, is {_with_article(role)} now, and a run needs an {needed}."
        )
    for lun in luns:
        if not may(author, Action.RUN, lun):
            return f"{lun.name} is not granted any more to {name}, who submitted it."
    if not may(author, Action.RUN, study):
        return (
            f"The study belongs to the team {study.team.name}, and {name}, who submitted it, is "
            "not in it."
        )
    return ""


# --- Which studies are not there for whoever asks ---


class Viewer:
    """Who asks, for the time of one request. What is hidden is read once, when first wanted."""

    def __init__(self, user: AnyUser) -> None:
        self.user = user
        self._hidden: frozenset[int] | None = None
        self._is_personal = False
        self._granted: frozenset[int] | None = None

    def hidden(self) -> frozenset[int]:
        if self._hidden is None:
            restricted = _not_public()
            self._is_personal = bool(restricted)
            # Nobody is asked who they are where everything is public: no cookie, no further query.
            self._hidden = frozenset(_hidden_from(self.user, restricted) if restricted else ())
        return self._hidden

    def may_run_on(self, lun_id: int) -> bool:
        if is_administrator(self.user) or not may(self.user, Action.RUN):
            return is_administrator(self.user)
        if self._granted is None:
            assert isinstance(self.user, User)
            self._granted = frozenset(granted_luns(self.user).values_list("lun_id", flat=True))
        return lun_id in self._granted

    def is_personal(self) -> bool:
        """Whether others may be shown something else, so that no cache may keep what is shown."""
        self.hidden()
        return self._is_personal or not settings.ANONYMOUS_READING


_viewer: ContextVar[Viewer | None] = ContextVar("fsbench_viewer", default=None)


def hidden_studies() -> frozenset[int]:
    """Keys of the studies that the caller must not see; none outside of a request."""
    viewer = _viewer.get()
    return viewer.hidden() if viewer is not None else frozenset()


def is_personal() -> bool:
    """Whether what is shown now may differ from what others are shown."""
    viewer = _viewer.get()
    return viewer is not None and viewer.is_personal()


def person() -> AnyUser | None:
    """Who asks; None outside of a request: a worker, a command."""
    viewer = _viewer.get()
    return viewer.user if viewer is not None else None


def may_run_here_on(lun_id: int) -> bool:
    """Whether the caller may submit runs on this LUN, in one query a request; a worker may."""
    viewer = _viewer.get()
    return viewer is None or viewer.may_run_on(lun_id)


def decide_here(action: Action, thing: object = None) -> Decision:
    """``decide`` for who asks; a worker or a command may."""
    user = person()
    return ALLOWED if user is None else decide(user, action, thing)


def require_here(action: Action, thing: object = None) -> None:
    """Raises PermissionDenied where who asks may not."""
    decision = decide_here(action, thing)
    if not decision.is_allowed:
        raise PermissionDenied(decision.why)


def hidden_from(user: AnyUser | None) -> set[int]:
    """``hidden_studies`` of this person, regardless of the caller; none of a command's (None)."""
    if user is None:
        return set()
    restricted = _not_public()
    return _hidden_from(user, restricted) if restricted else set()


def _studies() -> QuerySet[Any]:
    studies: QuerySet[Any] = apps.get_model("studies", "Study")._base_manager.order_by()
    return studies


def _not_public() -> list[int]:
    return list(_studies().exclude(visibility=Visibility.PUBLIC).values_list("pk", flat=True))


def _hidden_from(user: AnyUser, restricted: list[int]) -> set[int]:
    if is_administrator(user):
        return set()
    if role_of(user) is None:
        return set(restricted)
    visible = Q(created_by=user) | Q(visibility=Visibility.TEAM, team__members=user)
    return set(restricted) - set(
        _studies().filter(visible, pk__in=restricted).values_list("pk", flat=True)
    )


@contextmanager
def as_user(user: AnyUser | None) -> Iterator[None]:
    """What is read within is read for this person; for None, as a worker reads: everything."""
    token = _viewer.set(None if user is None else Viewer(user))
    try:
        yield
    finally:
        _viewer.reset(token)


def set_viewer(user: AnyUser) -> None:
    """From here on in this request (accounts.gate, which also ends it)."""
    _viewer.set(Viewer(user))


def scope_of(action: Action) -> str:
    """What a token must be made for to do this: read, import, run, fire or administer."""
    return _RULES[action].scope if action in _RULES else "read"
