"""What was done by whom, kept for ever. The caller holds the transaction that does it."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import AuditEntry
from fsbench_web.platform import clock

WORDS = (
    *("signed in", "password changed", "password set", "token made", "token revoked"),
    *("identity linked", "identity unlinked", "e-mail address changed"),
    *("account made", "account changed", "team made", "team changed", "team deleted"),
    *("LUN granted", "LUN grant withdrawn"),
    *("study made", "study access changed", "imported", "read again"),
    *("permalink made", "permalink changed", "permalink deleted"),
    *("permalink withdrawn", "permalink handed over"),
    *("work profile made", "work profile changed"),
    *("watch made", "watch paused", "watch resumed", "watch deleted", "columns kept"),
    *("watch budget set", "change triaged", "event added", "event deleted"),
    *("trigger made", "trigger changed", "trigger paused", "trigger resumed"),
    *("trigger deleted", "trigger ordered"),
    *("job submitted", "job paused", "job resumed", "job cancelled", "job priority"),
    *("runs retried", "run cancelled", "run retried", "run refused"),
    *("worker drained", "worker resumed", "guest kernel asked for"),
    *("LUN erased", "leftover removed"),
    *("workload uploaded", "workload withdrawn", "device rate stated"),
    *("hardware price stated", "signing key made", "signing key retired", "signing key revoked"),
)
FORMER_WORDS = (
    "runs ordered",
    "order paused",
    "order resumed",
    "order cancelled",
    "order priority",
)
"""What entries of before say; they are kept as they were written."""


def note_here(what: str, thing: str, **detail: object) -> None:
    """Write an entry of the caller (accounts.rights.person), or of fsbench itself."""
    note(rights.person(), what, thing, **detail)


def note(
    who: AbstractBaseUser | AnonymousUser | str | None, what: str, thing: str, **detail: object
) -> None:
    """Write an entry of an account, of ``worker:NAME``, or of fsbench itself (None)."""
    if what not in WORDS:
        raise ValueError(f"{what!r} is not a word of the audit log.")
    name = who if isinstance(who, str) else who.get_username() if who else "fsbench"
    AuditEntry.objects.create(
        at=clock.now(), who=name[:150], what=what, thing=thing[:200], detail=detail
    )
