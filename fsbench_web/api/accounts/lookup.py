"""Accounts, teams and LUNs as the calls name them."""

from typing import Any

from django.contrib.auth.models import User

from fsbench_web.accounts.models import Team
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.catalog.models import Lun


def granted_luns(row: Any) -> list[str]:
    """The LUNs granted to an account or a team, as worker/LUN."""
    return sorted(f"{grant.lun.worker.name}/{grant.lun.name}" for grant in row.lun_grants.all())


def teams(names: list[str]) -> list[Team]:
    """Those teams. Raises Refused, as the two below do."""
    by_name = {team.name: team for team in Team.objects.filter(name__in=names)}
    _refuse_unknown("teams", "team", set(names) - by_name.keys())
    return list(by_name.values())


def users(names: list[str], field: str = "members") -> list[User]:
    """Those accounts; ``field`` is what of the call names them."""
    by_name = {user.get_username(): user for user in User.objects.filter(username__in=names)}
    _refuse_unknown(field, "account", set(names) - by_name.keys())
    return list(by_name.values())


def luns(names: list[str]) -> list[int]:
    """The numbers of those LUNs, each once."""
    rows = Lun.objects.select_related("worker").filter(
        name__in={name.partition("/")[2] for name in names}
    )
    numbers = {f"{row.worker.name}/{row.name}": row.pk for row in rows}
    _refuse_unknown("luns", "LUN", set(names) - numbers.keys())
    return [numbers[name] for name in dict.fromkeys(names)]


def _refuse_unknown(field: str, word: str, names: set[str]) -> None:
    if names:
        raise Refused(
            422, [(field, f'There is no {word} "{name[:100]}".') for name in sorted(names)[:20]]
        )
