"""Who may do what: the one place that decides.

``decide`` answers for a person, an action and a thing, with a reason in words. ``RULES`` says which
action every address is; ``accounts.gate`` asks here before any view is called, so that an address
without a rule is closed to everybody. ``hidden_studies`` answers which studies whoever asks must
not see; the managers of ``studies`` leave these out everywhere.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet

from fsbench_web.accounts.models import LunGrant, Person, Role, Team, Visibility

AnyUser = AbstractBaseUser | AnonymousUser


class Action(StrEnum):
    """What an address does. A page that shows a form counts as what the form does."""

    OPEN = "open"  # no account needed, ever: sign-in, signs of life
    READ = "read"
    ACCOUNT = "account"  # one's own password, tokens, permalinks, watches
    WATCH = "watch"  # make and change one's own watches, which send messages
    SHARE = "share"  # permalinks
    WITHDRAW = "withdraw"  # a permalink, from others' sight or for good
    CALL = "call"  # make the server send to an address: a webhook
    IMPORT = "import"
    OWN = "own"  # say who sees a study
    RUN = "run"  # order runs, which erase a LUN
    STEER = "steer"  # cancel, pause, retry an order
    MAINTAIN = "maintain"  # take a worker out of service
    UPLOAD = "upload"  # workloads of one's own
    PROVIDE = "provide"  # withdraw these; what a device can deliver
    ADMINISTER = "administer"  # people, audit log


_NEEDS: dict[Action, Role] = {
    Action.READ: Role.VIEWER,
    Action.ACCOUNT: Role.VIEWER,
    Action.WATCH: Role.VIEWER,
    Action.SHARE: Role.CONTRIBUTOR,
    # Whoever shared something as a contributor and is a viewer now can still take it back.
    Action.WITHDRAW: Role.VIEWER,
    Action.CALL: Role.CONTRIBUTOR,
    Action.IMPORT: Role.CONTRIBUTOR,
    Action.OWN: Role.CONTRIBUTOR,
    Action.RUN: Role.OPERATOR,
    Action.STEER: Role.OPERATOR,
    Action.MAINTAIN: Role.ADMINISTRATOR,
    Action.UPLOAD: Role.OPERATOR,
    Action.PROVIDE: Role.ADMINISTRATOR,
    Action.ADMINISTER: Role.ADMINISTRATOR,
}
_WORDS: dict[Action, str] = {
    Action.READ: "Reading",
    Action.ACCOUNT: "This page",
    Action.WATCH: "Watching",
    Action.SHARE: "Keeping permalinks",
    Action.WITHDRAW: "Withdrawing a permalink",
    Action.CALL: "A webhook",
    Action.IMPORT: "Importing",
    Action.OWN: "Saying who sees a study",
    Action.RUN: "Ordering runs",
    Action.STEER: "Steering runs",
    Action.MAINTAIN: "Draining and resuming workers",
    Action.UPLOAD: "Uploading workloads",
    Action.PROVIDE: "Saying what workloads there are and what devices deliver",
    Action.ADMINISTER: "Administration",
}
_SCOPES: dict[Action, str] = {
    Action.WATCH: "import",
    Action.SHARE: "import",
    Action.WITHDRAW: "import",
    Action.IMPORT: "import",
    Action.OWN: "import",
    Action.RUN: "run",
    Action.STEER: "run",
    Action.MAINTAIN: "run",
    Action.UPLOAD: "run",
    Action.PROVIDE: "administer",
    Action.ADMINISTER: "administer",
}
_ORDER = [str(role) for role in Role]


@dataclass(frozen=True)
class Decision:
    """``why`` is empty where it is allowed, else a sentence for the person."""

    is_allowed: bool
    why: str = ""


ALLOWED = Decision(True)


def role_of(user: AnyUser) -> Role | None:
    """None for somebody without an account, or whose account is closed."""
    if not isinstance(user, User) or not user.is_active:
        return None
    if user.is_superuser or user.is_staff:
        return Role.ADMINISTRATOR
    # Django keeps the answer with the user, also that there is none.
    person: Person | None = getattr(user, "person", None)
    return Role(person.role if person is not None else settings.DEFAULT_ROLE)


def is_at_least(user: AnyUser, role: Role) -> bool:
    has = role_of(user)
    return has is not None and _ORDER.index(has) >= _ORDER.index(role)


def is_administrator(user: AnyUser) -> bool:
    return is_at_least(user, Role.ADMINISTRATOR)


def decide(user: AnyUser, action: Action, thing: object = None) -> Decision:
    """Whether this person may do this: to a Lun, a Submission, a Run, a Study if one is given."""
    if action is Action.OPEN:
        return ALLOWED
    role = role_of(user)
    if action is Action.READ and role is None and settings.ANONYMOUS_READING:
        return ALLOWED
    needed = _NEEDS[action]
    if role is None:
        return Decision(False, f"{_WORDS[action]} needs an account: sign in first.")
    if _ORDER.index(role) < _ORDER.index(needed):
        return Decision(
            False,
            f"{_WORDS[action]} needs the role {needed.label.lower()}; your account is "
            f"{_with_article(role)}. An administrator can change that.",
        )
    if thing is None or role is Role.ADMINISTRATOR:
        return ALLOWED
    assert isinstance(user, User)
    return _about(user, action, thing)


def may(user: AnyUser, action: Action, thing: object = None) -> bool:
    return decide(user, action, thing).is_allowed


def require(user: AnyUser, action: Action, thing: object = None) -> None:
    """Raises PermissionDenied with the reason, which pages and API show."""
    decision = decide(user, action, thing)
    if not decision.is_allowed:
        raise PermissionDenied(decision.why)


def _with_article(role: Role) -> str:
    return f"{'an' if role.label[0] in 'AO' else 'a'} {role.label.lower()}"


def _about(user: User, action: Action, thing: object) -> Decision:
    kind = type(thing).__name__
    if kind == "Lun":
        return _about_lun(user, thing)
    if kind in ("Submission", "Run"):
        return _about_order(user, thing)
    if kind == "Study":
        return _about_study(user, action, thing)
    raise TypeError(f"No rule says what {action} of a {kind} needs.")


def granted_luns(user: User) -> QuerySet[LunGrant]:
    """The grants of this person and of the teams it is in."""
    return LunGrant.objects.filter(Q(user=user) | Q(team__in=user.teams.all()))


def _about_lun(user: User, lun: Any) -> Decision:
    if granted_luns(user).filter(lun=lun).exists():
        return ALLOWED
    return Decision(False, not_granted(lun))


def not_granted(lun: Any) -> str:
    """Why somebody without a grant orders nothing on this LUN."""
    return (
        f"{lun.name} is not granted to you, and a run erases it. An administrator grants LUNs "
        "on the people page."
    )


def _about_order(user: User, thing: Any) -> Decision:
    author = thing.created_by_id
    if author == user.pk:
        return ALLOWED
    if author is not None and Team.objects.filter(members=user).filter(members=author).exists():
        return ALLOWED
    return Decision(
        False,
        f"This {'run' if type(thing).__name__ == 'Run' else 'order'} is neither yours nor of "
        "somebody in a team of yours. Its author or an administrator can do this.",
    )


def _about_study(user: User, action: Action, study: Any) -> Decision:
    if study.created_by_id == user.pk and action is Action.OWN:
        return ALLOWED
    if study.team_id is None:
        if action is not Action.OWN:
            return ALLOWED
        return Decision(False, "Only who made the study, its team or an administrator can do this.")
    if user.teams.filter(pk=study.team_id).exists():
        return ALLOWED
    return Decision(
        False, f"The study belongs to the team {study.team.name}, and you are not in it."
    )


def accepting(user: AnyUser, studies: Iterable[Any]) -> list[Any]:
    """Those of the studies that take what this person adds, as ``decide`` has it. One query."""
    if is_administrator(user) or not isinstance(user, User):
        return list(studies)
    teams = {None, *user.teams.values_list("pk", flat=True)}
    return [study for study in studies if study.team_id in teams]


def why_not_any_more(author: User, luns: Iterable[Any], study: Any) -> str:
    """Why a run that this person ordered earlier must not start now; empty where it may.

    What ``decide`` says of ordering it now, in words for whoever reads why it did not start.
    """
    name = author.get_username()
    role = role_of(author)
    if role is None:
        return f"The account of {name}, who ordered it, is closed."
    if not may(author, Action.RUN):
        needed = _NEEDS[Action.RUN].label.lower()
        return f"{name}, who ordered it, is {_with_article(role)} now, and a run needs an {needed}."
    for lun in luns:
        if not may(author, Action.RUN, lun):
            return f"{lun.name} is not granted any more to {name}, who ordered it."
    if not may(author, Action.RUN, study):
        return (
            f"The study belongs to the team {study.team.name}, and {name}, who ordered it, is not "
            "in it."
        )
    return ""


# --- Which studies are not there for whoever asks ---


class Viewer:
    """Who asks, for the time of one request. What is hidden is read once, when first wanted."""

    def __init__(self, user: AnyUser) -> None:
        self.user = user
        self._hidden: frozenset[int] | None = None
        self._is_personal = False

    def hidden(self) -> frozenset[int]:
        if self._hidden is None:
            kept = _not_public()
            self._is_personal = bool(kept)
            # Nobody is asked who they are where everything is public: no cookie, no further query.
            self._hidden = frozenset(_hidden_from(self.user, kept) if kept else ())
        return self._hidden

    def is_personal(self) -> bool:
        """Whether others may be shown something else, so that no cache may keep what is shown."""
        self.hidden()
        return self._is_personal or not settings.ANONYMOUS_READING


_viewer: ContextVar[Viewer | None] = ContextVar("fsbench_viewer", default=None)


def hidden_studies() -> frozenset[int]:
    """Keys of the studies that whoever asks must not see; none outside of a request."""
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
    """``hidden_studies`` of this person, whoever asks; none of a command's (None)."""
    if user is None:
        return set()
    kept = _not_public()
    return _hidden_from(user, kept) if kept else set()


def _studies() -> QuerySet[Any]:
    every: QuerySet[Any] = apps.get_model("studies", "Study")._base_manager.order_by()
    return every


def _not_public() -> list[int]:
    return list(_studies().exclude(visibility=Visibility.PUBLIC).values_list("pk", flat=True))


def _hidden_from(user: AnyUser, kept: list[int]) -> set[int]:
    if is_administrator(user):
        return set()
    if role_of(user) is None:
        return set(kept)
    mine = Q(created_by=user) | Q(visibility=Visibility.TEAM, team__members=user)
    return set(kept) - set(_studies().filter(mine, pk__in=kept).values_list("pk", flat=True))


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


# --- Which action an address is ---

Rule = Action | Mapping[str, Action]
_LIST_AND_ORDER = {"GET": Action.READ, "POST": Action.RUN}

RULES: dict[str, Rule] = {
    "": Action.READ,
    "glossary/": Action.READ,
    "words/": Action.READ,
    "guide/": Action.READ,
    "guide/<slug:name>/": Action.READ,
    "guide/images/<str:name>": Action.READ,
    "studies/": Action.READ,
    "studies/<slug:slug>/": Action.READ,
    "studies/<slug:slug>/report/": Action.READ,
    "studies/<slug:slug>/report.pdf": Action.READ,
    "studies/<slug:slug>/matrix/": Action.READ,
    "studies/<slug:slug>/beside/<slug:paper>/": Action.READ,
    "studies/<slug:slug>/beside/<slug:paper>/tables.<str:suffix>": Action.READ,
    "studies/<slug:slug>/reproduce/": Action.RUN,
    "runs/": Action.READ,
    "runs/new/": Action.RUN,
    "runs/new/possible/": Action.RUN,
    "runs/new/review/": Action.RUN,
    "runs/new/document/": Action.RUN,
    "runs/<int:run_id>/": Action.READ,
    "runs/<int:run_id>/artefacts/<int:artefact_id>/": Action.READ,
    "runs/<int:run_id>/artefacts/<int:artefact_id>/lines/": Action.READ,
    "runs/<int:run_id>/events/": Action.READ,
    "runs/<int:run_id>/cancel/": Action.STEER,
    "runs/<int:run_id>/retry/": Action.STEER,
    "sweeps/": Action.READ,
    "sweeps/<int:order_id>/": Action.READ,
    "sweeps/<int:order_id>/document.yaml": Action.READ,
    "sweeps/<int:order_id>/cancel/": Action.STEER,
    "sweeps/<int:order_id>/pause/": Action.STEER,
    "sweeps/<int:order_id>/resume/": Action.STEER,
    "sweeps/<int:order_id>/priority/": Action.STEER,
    "sweeps/<int:order_id>/retry/": Action.STEER,
    "search/": Action.READ,
    "history/": Action.READ,
    "workers/": Action.READ,
    "workers/<slug:name>/": Action.READ,
    "workers/<slug:name>/drain/": Action.MAINTAIN,
    "workers/<slug:name>/resume/": Action.MAINTAIN,
    "workers/<slug:name>/guest-kernel/": Action.ADMINISTER,
    "luns/": Action.READ,
    "hardware/": Action.READ,
    "hardware/<slug:slug>/": Action.READ,
    "hardware/<slug:slug>/device-rate/": Action.PROVIDE,
    "workloads/": Action.READ,
    "workloads/new/": Action.UPLOAD,
    "workloads/<int:workload_id>/": Action.READ,
    "workloads/<int:workload_id>/withdraw/": Action.PROVIDE,
    "watches/": Action.ACCOUNT,
    "watches/new/": Action.ACCOUNT,
    "watches/<int:watch_id>/": Action.ACCOUNT,
    "watches/<int:watch_id>/test/": Action.ACCOUNT,
    "watches/<int:watch_id>/pause/": Action.ACCOUNT,
    "watches/<int:watch_id>/resume/": Action.ACCOUNT,
    "watches/<int:watch_id>/delete/": Action.ACCOUNT,
    "compare/": Action.READ,
    "compare/deltas.csv": Action.READ,
    "compare/deltas.<str:suffix>": Action.READ,
    "compare/export/": Action.READ,
    "compare/pictures/": Action.READ,
    "compare/pictures.csv": Action.READ,
    "compare/cells/<str:test>/": Action.READ,
    "compare/charts/<str:test>/": Action.READ,
    "compare/pin/": Action.SHARE,
    "p/": Action.ACCOUNT,
    "p/<slug:key>/": Action.READ,
    "p/<slug:key>/deltas.<str:suffix>": Action.READ,
    "p/<slug:key>/export/": Action.READ,
    "p/<slug:key>/charts/<str:test>/": Action.READ,
    "p/<slug:key>/snapshot.json": Action.READ,
    "p/<slug:key>/picture.png": Action.READ,
    "p/<slug:key>/embed/": Action.READ,
    "p/<slug:key>/edit/": Action.SHARE,
    "p/<slug:key>/withdraw/": Action.WITHDRAW,
    "p/<slug:key>/delete/": Action.WITHDRAW,
    "imports/new/": Action.IMPORT,
    "imports/reread/<int:artefact_id>/": Action.IMPORT,
    "imports/<int:import_id>/": Action.READ,
    "imports/<int:import_id>/progress/": Action.READ,
    "imports/<int:import_id>/check/": Action.IMPORT,
    "imports/<int:import_id>/commit/": Action.IMPORT,
    "imports/<int:import_id>/discard/": Action.IMPORT,
    "imports/<int:import_id>/files/<int:file_id>/columns/": Action.IMPORT,
    "account/": Action.ACCOUNT,
    "account/sign-in/": Action.OPEN,
    "account/sign-in/service/": Action.OPEN,
    "account/sign-in/service/callback/": Action.OPEN,
    "account/sign-out/": Action.OPEN,
    "account/password/": Action.ACCOUNT,
    "account/email/": Action.ACCOUNT,
    "account/email/<str:signed>/": Action.ACCOUNT,
    "account/tokens/": Action.ACCOUNT,
    "account/tokens/<int:token_id>/revoke/": Action.ACCOUNT,
    "studies/<slug:slug>/access/": Action.OWN,
    "people/": Action.ADMINISTER,
    "people/<int:user_id>/": Action.ADMINISTER,
    "people/<int:user_id>/password/": Action.ADMINISTER,
    "people/<int:user_id>/identities/": Action.ADMINISTER,
    "people/<int:user_id>/identities/<int:identity_id>/unlink/": Action.ADMINISTER,
    "people/teams/": Action.ADMINISTER,
    "people/teams/<int:team_id>/": Action.ADMINISTER,
    "audit/": Action.ADMINISTER,
    # The operations area also takes the token of the metrics, which it checks itself.
    "metrics": Action.OPEN,
    "operations/": Action.ADMINISTER,
    "api/v1/": Action.OPEN,
    "api/v1/openapi.json": Action.READ,
    "api/v1/docs": Action.READ,
    "api/v1/health": Action.OPEN,
    "api/v1/health/live": Action.OPEN,
    "api/v1/health/ready": Action.OPEN,
    "api/v1/me": {"GET": Action.ACCOUNT},
    "api/v1/me/tokens": {"GET": Action.ACCOUNT, "POST": Action.ACCOUNT},
    "api/v1/me/tokens/<int:token_id>": {"DELETE": Action.ACCOUNT},
    "api/v1/studies": {"GET": Action.READ, "POST": Action.IMPORT},
    "api/v1/studies/<str:slug>": Action.READ,
    "api/v1/studies/<slug:slug>/access": {"GET": Action.OWN, "PATCH": Action.OWN},
    "api/v1/studies/<slug:slug>/report.pdf": Action.READ,
    "api/v1/series": Action.READ,
    "api/v1/series/<int:series_id>": Action.READ,
    "api/v1/comparison": Action.READ,
    "api/v1/findings": Action.READ,
    "api/v1/exports/deltas.<str:suffix>": Action.READ,
    "api/v1/exports/pictures.csv": Action.READ,
    "api/v1/history": Action.READ,
    "api/v1/history/lines": Action.READ,
    "api/v1/permalinks": {"GET": Action.ACCOUNT, "POST": Action.SHARE},
    "api/v1/permalinks/<slug:key>": {
        "GET": Action.READ,
        "PATCH": Action.SHARE,
        "DELETE": Action.WITHDRAW,
    },
    "api/v1/permalinks/<slug:key>/withdraw": {"POST": Action.WITHDRAW},
    "api/v1/permalinks/<slug:key>/snapshot": Action.READ,
    "api/v1/permalinks/<slug:key>/deltas.<str:suffix>": Action.READ,
    "api/v1/watches": {"GET": Action.ACCOUNT, "POST": Action.WATCH},
    "api/v1/watches/<int:watch_id>": {"GET": Action.ACCOUNT, "DELETE": Action.WATCH},
    "api/v1/watches/<int:watch_id>/pause": {"POST": Action.WATCH},
    "api/v1/watches/<int:watch_id>/resume": {"POST": Action.WATCH},
    "api/v1/watches/<int:watch_id>/test": {"POST": Action.WATCH},
    "api/v1/luns": Action.READ,
    "api/v1/hardware": Action.READ,
    "api/v1/hardware/<slug:slug>": Action.READ,
    "api/v1/hardware/<slug:slug>/device-rate": {"PUT": Action.PROVIDE},
    "api/v1/filesystems": Action.READ,
    "api/v1/configurations": Action.READ,
    "api/v1/own-workloads": {"GET": Action.READ, "POST": Action.UPLOAD},
    "api/v1/own-workloads/<int:workload_id>": Action.READ,
    "api/v1/own-workloads/<int:workload_id>/withdraw": {"POST": Action.PROVIDE},
    "api/v1/people": {"GET": Action.ADMINISTER, "POST": Action.ADMINISTER},
    "api/v1/people/<int:user_id>": {"GET": Action.ADMINISTER, "PATCH": Action.ADMINISTER},
    "api/v1/people/<int:user_id>/password": {"POST": Action.ADMINISTER},
    "api/v1/teams": {"GET": Action.ADMINISTER, "POST": Action.ADMINISTER},
    "api/v1/teams/<int:team_id>": {"GET": Action.ADMINISTER, "PATCH": Action.ADMINISTER},
    "api/v1/audit": {"GET": Action.ADMINISTER},
    "api/v1/deltas": Action.READ,
    "api/v1/deltas.csv": Action.READ,
    "api/v1/search": Action.READ,
    "api/v1/workloads": Action.READ,
    "api/v1/imports": {"GET": Action.ACCOUNT, "POST": Action.IMPORT},
    "api/v1/imports/previews": {"POST": Action.IMPORT},
    "api/v1/imports/<int:import_id>": {
        "GET": Action.READ,
        "PATCH": Action.IMPORT,
        "DELETE": Action.IMPORT,
    },
    "api/v1/imports/<int:import_id>/commit": {"POST": Action.IMPORT},
    "api/v1/imports/<int:import_id>/files/<int:file_id>/columns": {"PUT": Action.IMPORT},
    "api/v1/artefacts/<int:artefact_id>/reread": {"GET": Action.IMPORT, "POST": Action.IMPORT},
    "api/v1/runs": _LIST_AND_ORDER,
    "api/v1/runs/<int:run_id>": Action.READ,
    "api/v1/runs/<int:run_id>/log": Action.READ,
    "api/v1/runs/<int:run_id>/artefacts": Action.READ,
    "api/v1/runs/<int:run_id>/artefacts/<int:artefact_id>": Action.READ,
    "api/v1/runs/<int:run_id>/measurements": Action.READ,
    "api/v1/runs/<int:run_id>/environment": Action.READ,
    "api/v1/runs/<int:run_id>/retry": {"POST": Action.STEER},
    "api/v1/runs/<int:run_id>/cancel": {"POST": Action.STEER},
    "api/v1/sweeps": _LIST_AND_ORDER,
    "api/v1/sweeps/preview": {"POST": Action.RUN},
    "api/v1/sweeps/<int:sweep_id>": Action.READ,
    "api/v1/sweeps/<int:sweep_id>/cancel": {"POST": Action.STEER},
    "api/v1/sweeps/<int:sweep_id>/pause": {"POST": Action.STEER},
    "api/v1/sweeps/<int:sweep_id>/resume": {"POST": Action.STEER},
    "api/v1/sweeps/<int:sweep_id>/priority": {"POST": Action.STEER},
    "api/v1/sweeps/<int:sweep_id>/retry": {"POST": Action.STEER},
    "api/v1/workers": Action.READ,
    "api/v1/workers/<slug:name>": Action.READ,
    "api/v1/workers/<name>/drain": {"POST": Action.MAINTAIN},
    "api/v1/workers/<name>/resume": {"POST": Action.MAINTAIN},
}


def action_of(route: str, method: str | None) -> Action | None:
    """The action of a request; None where no rule names it, and then nobody may."""
    rule = RULES.get(route)
    if rule is None or isinstance(rule, Action):
        return rule
    known = "GET" if method in ("HEAD", "OPTIONS") else method
    # A method that the address does not take is answered 405 by the address itself.
    return rule.get(known or "", Action.READ)


def scope_of(action: Action) -> str:
    """What a token must be made for to do this: read, import, run or administer."""
    return _SCOPES.get(action, "read")
