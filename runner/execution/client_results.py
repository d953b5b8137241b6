"""What the clients of a run measured, together and alone."""

from dataclasses import dataclass, field

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers import same_host
from fsbench_web.core.clients import CombinedValues, combined_values, overlap
from fsbench_web.core.formats.result import ParsedResult, ParsedValue, UnreadableFile
from fsbench_web.core.formats.text import as_utf8
from fsbench_web.studies.models import Run, RunClient
from fsbench_web.studies.runs.clients import parts
from fsbench_web.studies.runs.clients.parts import ClientsCannotContinue
from runner.plan import RunPlan


@dataclass(frozen=True)
class CollectedResults:
    """``separate`` are the values of each worker, ``artefacts`` the outputs of the others."""

    combined: CombinedValues
    separate: dict[str, list[ParsedValue]]
    artefacts: dict[str, bytes] = field(default_factory=dict)


def collect_results(
    run_id: int, plan: RunPlan, leader_results: dict[str, ParsedResult]
) -> CollectedResults | None:
    """None of a run of one client. Raises ClientsCannotContinue where one client's part is not
    whole.
    """
    run = Run.objects.select_related("series").get(pk=run_id)
    count = len(run.series.runs_on.clients)
    if not count:
        return None
    outputs = parts.client_outputs(run_id)
    if len(outputs) < count:
        raise ClientsCannotContinue("The outputs of the other clients did not arrive.")
    leader = RunClient.objects.get(run=run_id, place=0).worker
    results = {leader: leader_results}
    for worker, of_worker in outputs.items():
        results[worker] = _parsed_results(worker, plan, of_worker)
    combined = combined_values([list(parsed.values()) for parsed in results.values()])
    if not combined.values:
        raise ClientsCannotContinue("No value can be combined over all clients.")
    separate = {worker: _values(parsed) for worker, parsed in results.items()}
    return CollectedResults(combined, separate, _artefacts(outputs))


def partial_results(run_id: int) -> dict[str, bytes]:
    """What the other clients of a run that did not end well have handed over."""
    return _artefacts(parts.client_outputs(run_id))


def _artefacts(outputs: dict[str, dict[str, bytes]]) -> dict[str, bytes]:
    return {
        f"{worker}/{name}": data
        for worker, of_worker in outputs.items()
        for name, data in of_worker.items()
        if data
    }


def _parsed_results(
    worker: str, plan: RunPlan, outputs: dict[str, bytes]
) -> dict[str, ParsedResult]:
    raw = {name: as_utf8(outputs[name]) for name in plan.outputs if name in outputs}
    if len(raw) < len(set(plan.outputs)):
        raise ClientsCannotContinue(f"The benchmark's output of {worker} did not arrive.")
    try:
        parsed = plan.workload.parse(raw)
    except UnreadableFile as error:
        raise ClientsCannotContinue(f"The output of {worker} cannot be read: {error}") from None
    if not all(result.complete for result in parsed.values()):
        raise ClientsCannotContinue(f"The output of {worker} ends early.")
    if not _values(parsed):
        raise ClientsCannotContinue(f"The output of {worker} holds no value.")
    return parsed


def _values(parsed: dict[str, ParsedResult]) -> list[ParsedValue]:
    return [value for result in parsed.values() for value in result.values]


def client_conditions(run_id: int) -> dict[str, object]:
    """For the conditions of the run: how many there were, which of them were one machine
    (the names, of each), and how far they worked at once.
    """
    rows = RunClient.objects.filter(run=run_id).values_list("began_at", "ended_at")
    times = [(a.timestamp(), b.timestamp()) for a, b in rows if a is not None and b is not None]
    names = RunClient.objects.filter(run=run_id).values("worker")
    together = same_host.on_one_machine(Worker.objects.filter(name__in=names).order_by("name"))
    conditions: dict[str, object] = {"count": len(rows), "one_machine": together}
    if len(times) == len(rows) and (share := overlap(times)) is not None:
        begins = [begin for begin, _ in times]
        conditions |= {"overlap": round(share, 6), "skew_s": round(max(begins) - min(begins), 6)}
    return conditions
