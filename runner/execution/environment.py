"""What a run runs on, written down: the facts of agent, executor, host and LUN in one place.

Everything here stays the same from run to run; what does not is in ``runner.execution.conditions``.
"""

from collections.abc import Mapping
from typing import Any

from runner.execution import conditions
from runner.executors.base import Executor, Message

Facts = dict[str, list[list[str]]]


def environment_facts(
    said: Message,
    executor: Executor,
    lun: list[list[str]],
    scheduler: str,
    mounted: Mapping[str, Any] | None,
) -> Facts:
    """{section: [[label, value], ...]} of a run.

    ``said`` is what the agent says of its place of work, ``lun`` how a person recognises the LUN
    (Host.lun_facts), ``scheduler`` the one read back from the kernel after it was set.
    """
    facts: Facts = conditions.system_facts()
    # A guest says these of itself.
    facts |= {section: list(rows) for section, rows in said["facts"].items()}
    facts["Execution"] = [["Executor", executor.name], *executor.facts()]
    if "guest" in said:
        facts["LUN"] = [
            *lun,
            ["I/O scheduler", str(said.get("scheduler") or "not known")],
            ["I/O scheduler of the host below", scheduler or "not known"],
        ]
    else:
        facts["LUN"] = [*lun, ["I/O scheduler", scheduler or "not known"]]
    if mounted is not None:
        facts["File system"] = [
            ["Mounted as", mounted["filesystem"]],
            ["Mount options in effect", mounted["options"]],
        ]
    return facts
