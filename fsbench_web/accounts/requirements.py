"""What a view does, declared next to it: ``@requires(Action.READ)`` right above its ``def``.

A view that declares nothing is closed to everybody (``accounts.gate``). A decorator above it that
does not use ``functools.wraps`` closes it too.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

View = TypeVar("View", bound=Callable[..., Any])


class Action(StrEnum):
    """What a view does. A page that shows a form counts as what the form does."""

    OPEN = "open"  # no account needed, ever: sign-in, health checks
    READ = "read"
    ACCOUNT = "account"  # one's own password, tokens, permalinks, watches
    WATCH = "watch"  # make and change one's own watches, which send messages
    SHARE = "share"  # permalinks
    WITHDRAW = "withdraw"  # a permalink, from others' sight or for good
    CALL = "call"  # make the server send to an address: a webhook
    DEFINE = "define"  # work profiles
    IMPORT = "import"
    OWN = "own"  # say who sees a study
    RUN = "run"  # submit runs, which erase a LUN
    FIRE = "fire"  # fire a trigger, by its own token alone
    STEER = "steer"  # cancel, pause, retry a job
    MAINTAIN = "maintain"  # take a worker out of service
    UPLOAD = "upload"  # workloads of one's own
    PROVIDE = "provide"  # withdraw these; what a device can deliver
    ADMINISTER = "administer"  # people, audit log


Required = Action | Mapping[str, Action | None]


def requires(required: Required) -> Callable[[View], View]:
    """Decorator: what the view does, by whatever method it is called.

    Raises ValueError where the view says so already: two addresses with different actions are two
    functions.
    """

    def declare(view: View) -> View:
        if getattr(view, "required_action", None) is not None:
            raise ValueError(f"{view} says already what it requires.")
        view.required_action = required  # type: ignore[attr-defined]
        return view

    return declare


def requires_by_method(actions: Mapping[str, Action | None]) -> Callable[[View], View]:
    """What a view does that leads to one function for each method; None: that one is closed.

    A method that is not named is answered 405 by the view itself, which is reading; or open where
    every call of the address is.
    """
    return requires(Action.OPEN if set(actions.values()) == {Action.OPEN} else actions)


def action_of(view: Callable[..., Any], method: str | None) -> Action | None:
    """What a request to this view does; None where the view does not say, and then nobody may."""
    required: Required | None = getattr(view, "required_action", None)
    if required is None or isinstance(required, Action):
        return required
    verb = "GET" if method in ("HEAD", "OPTIONS") else method
    return required.get(verb or "", Action.READ)
