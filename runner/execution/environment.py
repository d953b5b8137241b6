"""What a run runs on, the same from run to run: facts of agent, executor, host and LUN."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import transaction

from fsbench_web.core.numbers import size
from fsbench_web.studies.models import Run
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.runs.environments import environment_for
from fsbench_web.studies.scores import ingest
from runner.execution import conditions, places
from runner.execution.places import UsedLun
from runner.execution.record import Recorder
from runner.executors.base import Executor, Message
from runner.worker import Host

Facts = dict[str, list[list[str]]]


def environment_facts(
    message: Message,
    executor: Executor,
    lun: list[list[str]],
    scheduler: str,
    mounted: Mapping[str, Any] | None,
    served: Mapping[str, Any] | None = None,
) -> Facts:
    """{section: [[label, value], ...]} of a run, from the agent's ``message``, Host.lun_facts and
    the ``scheduler`` as read back.
    """
    facts: Facts = conditions.system_facts()
    # A guest says these of itself.
    facts |= {section: list(rows) for section, rows in message["facts"].items()}
    facts["Execution"] = [["Executor", executor.name], *executor.facts()]
    if "guest" in message:
        facts["LUN"] = [
            *lun,
            ["I/O scheduler", str(message.get("scheduler") or "not known")],
            ["I/O scheduler of the host below", scheduler or "not known"],
        ]
    else:
        facts["LUN"] = [*lun, ["I/O scheduler", scheduler or "not known"]]
    if mounted is not None:
        facts["File system"] = [
            ["Mounted as", mounted["filesystem"]],
            ["Mount options in effect", mounted["options"]],
        ]
        # Other runs may have loaded ZFS on a host: what counts is what was mounted.
        if mounted["filesystem"] == "zfs" and mounted.get("arc_max_bytes"):
            facts["File system"].append(
                ["Most memory of the cache (ARC)", size(int(mounted["arc_max_bytes"]))]
            )
    if served is not None:
        threads = served["threads"]
        facts[f"{served['network']} over loop-back"] = [
            ["Server", served["server"]],
            ["Exported", served["export"] or "not known"],
            # smbd has none, but a process for each client.
            *([["Threads of the server", threads]] if threads else []),
            ["Mounted as", served["filesystem"]],
            ["Mount options in effect", served["options"]],
        ]
    return facts


class AgentMismatch(Exception):
    """The agent says something else than this worker understands; the text says what to do."""


def environment_writer(
    run: Run, luns: Sequence[UsedLun], scheduler: str, host: Host, executor: Executor
) -> Callable[[Recorder], None]:
    """Writes the agent's environment for the run. It looks at the LUNs before the benchmark."""
    data, *others = [host.lun_facts(lun.entry, lun.device) for lun in luns]
    names = [
        "Journal LUN" if lun.use == places.JOURNAL else f"LUN of the stack {lun.name}"
        for lun in luns[1:]
    ]

    def write(recorder: Recorder) -> None:
        message = recorder.environment
        if message is None:
            return
        try:
            facts = environment_facts(message, executor, data, scheduler, *recorder.mounts)
            kernel, distribution = str(message["kernel"]), str(message["distribution"])
            accelerator = str(message["guest"]["accelerator"]) if "guest" in message else None
            if "guest" in message:
                recorder.conditions["guest"] = {"boot_s": message["guest"]["boot_s"]}
        except (KeyError, TypeError, ValueError) as error:
            raise AgentMismatch(
                f"The agent does not say {error} of where it runs: its image is of another version "
                "of fsbench than the worker. Build it again (make image)."
            ) from None
        facts |= dict(zip(names, others, strict=True))
        environment = environment_for(facts, kernel=kernel, distribution=distribution)
        with transaction.atomic():
            lifecycle.record_environment(recorder.handle, environment, recorder.conditions)
            ingest.move_to_kernel(
                Run.objects.select_related("series").get(pk=run.pk),
                environment.kernel,
                environment.distribution,
                accelerator=accelerator,
            )

    return write
