"""``fsbench pause``, ``resume``, ``retry`` and ``drain``: steer what was submitted, and workers."""

from enum import StrEnum
from types import SimpleNamespace
from typing import Any

from fsbench import submitting, terminal, watching
from fsbench.client import Client, looks
from fsbench.comparing import segment
from fsbench.exits import ENDED_BADLY, FINE, NOT_CONFIRMED


class RetriedState(StrEnum):
    """How a run ended that can be submitted again."""

    FAILED = "failed"
    LOST = "lost"
    CANCELLED = "cancelled"


RETRIED = (RetriedState.FAILED, RetriedState.LOST)
FOLDERS = {"directory", "mount"}  # kinds of LUNs on which nothing is erased


def pause(client: Client, options: SimpleNamespace) -> int:
    """No further run of the job starts; the one on its way goes on."""
    if not options.job:
        raise ValueError(
            "A run cannot be paused, its job can: fsbench pause --job N "
            "(fsbench show names the job of a run)."
        )
    job = client.post(f"/sweeps/{options.number}/pause", {})
    runs = job["runs"]
    terminal.answer(
        options,
        job,
        f"Job {options.number} is paused: {terminal.quantity(runs['waiting'], 'run')} not to "
        f"start, {runs['running']} on the way to the end.",
    )
    return FINE


def resume(client: Client, options: SimpleNamespace) -> int:
    """Let a job, or a drained worker, go on."""
    if options.job == options.worker:
        raise ValueError("Say what to resume: --job N or --worker NAME.")
    if options.worker:
        return _set_drained(client, options, "resume")
    if not options.name.isdecimal():
        raise ValueError(f"{options.name} is not a job number; for a worker use --worker.")
    job = client.post(f"/sweeps/{int(options.name)}/resume", {})
    waiting = terminal.quantity(job["runs"]["waiting"], "run")
    terminal.answer(options, job, f"Job {job['id']} goes on: {waiting} waiting.")
    return FINE


def drain(client: Client, options: SimpleNamespace) -> int:
    """The worker takes no further runs; with ``--wait`` until it has none."""
    if not options.wait:
        return _set_drained(client, options, "drain")
    path = f"/workers/{segment(options.name)}"
    client.post(f"{path}/drain", {})
    text = ""
    for worker in looks(client, path, options.interval):
        if worker["state"] != "draining":
            break
        if text != (text := _worker_state(worker)) and not options.json:
            terminal.note(text)
    _print_worker(worker, options)
    # A silent worker may be running something that nobody hears of; a resumed one takes runs again.
    return FINE if worker["state"] == "drained" else ENDED_BADLY


def _set_drained(client: Client, options: SimpleNamespace, action: str) -> int:
    _print_worker(client.post(f"/workers/{segment(options.name)}/{action}", {}), options)
    return FINE


def _print_worker(worker: dict[str, Any], options: SimpleNamespace) -> None:
    terminal.answer(options, worker, _worker_state(worker))


def _worker_state(worker: dict[str, Any]) -> str:
    parts = [f"Worker {terminal.clean(worker['name'])} is {terminal.clean(worker['state'])}"]
    if worker["running"]:
        parts.append("running " + ", ".join(f"run {number}" for number in worker["running"]))
    parts.append(f"{terminal.quantity(worker['waiting'], 'run')} waiting")
    return "; ".join(parts) + "."


def retry(client: Client, options: SimpleNamespace) -> int:
    """Submit again what did not end well. What it is on is erased again, and confirmed again."""
    if options.job:
        return _retry_job(client, options)
    if options.state:
        raise ValueError("--state says which runs of a job: it goes with --job.")
    run = client.get(f"/runs/{options.number}")
    if run["state"] not in list(RetriedState):
        terminal.complain(
            f"Run {options.number} is {terminal.clean(run['state'])}: only failed, lost or "
            f"cancelled runs can be rerun. Nothing was submitted."
        )
        return NOT_CONFIRMED
    names = (run["lun"], run["journal"], *(member["lun"] for member in run.get("stack", ())))
    confirmation = " ".join(name for name in names if name)
    label = terminal.clean(run["configuration"]["label"])
    _note(options, f"Run {options.number} ({label}, {terminal.clean(run['state'])}) once more.")
    if not _is_confirmed(client, options, confirmation, run["worker"]):
        return NOT_CONFIRMED
    answer = client.post(f"/runs/{options.number}/retry", {"confirm": confirmation})
    new = answer["run"]
    if options.json and not (options.watch and new):
        terminal.print_json(answer)
    elif new is None:
        terminal.print_line(
            f"Run {options.number} was submitted again before: nothing was submitted now."
        )
    elif not options.json:
        terminal.print_line(
            f"Run {new['id']} is submitted.", f"{client.site.url}/runs/{new['id']}/"
        )
    if new is not None and options.watch:
        return watching.follow_run(client, new["id"], options.interval, as_json=options.json)
    return FINE


def _retry_job(client: Client, options: SimpleNamespace) -> int:
    job = client.get(f"/sweeps/{options.number}")
    states = options.state or list(RETRIED)
    retried = {run["retry_of"] for run in job["planned"]}
    runs = [run for run in job["planned"] if run["state"] in states and run["id"] not in retried]
    if not runs:
        terminal.complain(
            f"Job {options.number} has no run that is {' or '.join(states)} and was not submitted "
            "again since. Nothing was submitted."
        )
        return FINE
    _note(options, f"Of job {options.number}, {terminal.quantity(len(runs), 'run')} again:")
    for run in runs:
        label = terminal.clean(run["configuration"])
        _note(options, f"  run {run['id']} ({label}): {terminal.clean(run['state'])}")
    if not _is_confirmed(client, options, job["confirm"], job["worker"]):
        return NOT_CONFIRMED
    body = {"confirm": job["confirm"], "states": states}
    answer = client.post(f"/sweeps/{options.number}/retry", body)
    if options.json and not options.watch:
        terminal.print_json(answer)
    elif not options.json:
        terminal.print_line(
            f"Job {options.number}: {terminal.quantity(len(answer['runs']), 'run')} submitted "
            "again.",
            f"{client.site.url}{job['links']['page']}",
        )
    if options.watch:
        # Its old failures stay among its runs: what counts are the new ones.
        codes = [
            watching.follow_run(client, run["id"], options.interval, as_json=options.json)
            for run in answer["runs"]
        ]
        return max(codes, default=FINE)
    return FINE


def _note(options: SimpleNamespace, line: str) -> None:
    if not options.json:
        terminal.note(line)


def _is_confirmed(
    client: Client, options: SimpleNamespace, confirmation: str, worker: str | None
) -> bool:
    kinds = {
        lun["kind"]
        for lun in client.get("/luns")["luns"]
        if lun["worker"] == worker and lun["name"] in confirmation.split()
    }
    if not options.json:
        submitting.warn_of_erasure(confirmation, erases=not kinds or bool(kinds - FOLDERS))
    return submitting.confirmed(confirmation, options.yes_erase)
