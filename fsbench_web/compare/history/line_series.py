"""Which series are on one line over time, and who owns it: a team, or a study without one."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Q

from fsbench_web.catalog.workers.machines import GUEST
from fsbench_web.compare.models import Watch
from fsbench_web.studies.models import Series

LINE = ("configuration", "workload", "hardware", "lun", "journal_lun", "stack_luns", "preparation")
LINE_VALUES = ("stack_luns", "preparation")
"""Those of ``LINE`` that are no rows."""
"""The columns that series of one line share; a watch has them too."""
MACHINE = tuple(f"machine__{key}" for key in ("executor", "accelerator", "memory_bytes", "cpus"))
"""What they share of the machine: of guests all but the kernel, which lines go along."""


def owner_of(line: Series | Watch) -> tuple[int | None, int | None]:
    """The owner of a line: (study, None) or (None, team), by key.

    A watch keeps it. Of a series its team, or its study without a team or known hardware.
    """
    if isinstance(line, Watch):
        return line.study_id, line.team_id
    team = line.study.team_id
    if team is None or (line.hardware_id is None and line.lun_id is None):
        return line.study_id, None
    return None, team


def same_line(
    line: Series | Watch, studies: Collection[int] = (), *, any_workload: bool = False
) -> Q:
    """The series that measure the same as this one, but for the system's software.

    Of one owner, or of ``studies``, by key (known hardware only). ``any_workload``: the same
    configuration in the same place, whatever work was measured.
    """
    # By key: a watch is looked at every minute, and its rows need not be fetched for that.
    values = {name: getattr(line, name if name in LINE_VALUES else f"{name}_id") for name in LINE}
    if any_workload:
        del values["workload"]
    study, team = owner_of(line)
    if studies and (line.hardware_id or line.lun_id):
        of_owner = Q(study__in=studies)
    else:
        of_owner = Q(study=study) if team is None else Q(study__team=team)
    return (
        of_owner
        & Q(**{name: value for name, value in values.items() if value is not None})
        & Q(**{f"{name}__isnull": True for name, value in values.items() if value is None})
        & _same_machine(line.machine)
    )


def _same_machine(machine: Mapping[str, Any]) -> Q:
    """Series of the same kind of machine: a guest is never on a line with the host itself."""
    if machine.get("executor") != GUEST:
        return Q(machine=dict(machine))
    return Q(**{name: machine.get(name.removeprefix("machine__")) for name in MACHINE})
