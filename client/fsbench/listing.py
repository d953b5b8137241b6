"""``fsbench list``: studies, runs, LUNs, workers, workloads and what else has a list."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from fsbench import over_time, terminal
from fsbench.client import Client
from fsbench.comparing import segment
from fsbench.terminal import RIGHT, Cell, Column

STATE_COLOURS = {
    **dict.fromkeys(("done", "idle"), "green"),
    **dict.fromkeys(("failed", "lost", "silent", "not usable"), "red"),
    **dict.fromkeys(("cancelled", "draining", "drained", "paused"), "yellow"),
    **dict.fromkeys(("running", "preparing", "collecting", "leased", "busy"), "cyan"),
}


def state(text: str) -> Cell:
    return Cell(text, STATE_COLOURS.get(text, ""))


Part = tuple[list[Any], int]


@dataclass(frozen=True)
class Listing:
    """What can be listed: how it is asked for, its columns, and what it can be narrowed to.

    ``ask`` gives the entries, ``options.limit`` at most (None: all), and how many there are.
    """

    ask: Callable[[Client, SimpleNamespace], Part]
    columns: tuple[Column, ...]
    row: Callable[[Any], tuple[Any, ...]]
    nothing: str
    filters: tuple[str, ...] = ()


FILTERS = ("study", "filesystem", "workload", "worker", "lun", "state", "job")


def _runs(client: Client, options: SimpleNamespace) -> Part:
    filters = {name: getattr(options, name) for name in FILTERS if name != "job"}
    return client.part("/runs", "runs", options.limit, sweep=options.job, **filters)


def _jobs(client: Client, options: SimpleNamespace) -> Part:
    return client.part("/sweeps", "sweeps", options.limit, study=options.study)


def _studies(client: Client, options: SimpleNamespace) -> Part:
    return _cut(client.get("/studies"), options)


def _cut(entries: Iterable[Any], options: SimpleNamespace) -> Part:
    rows = list(entries)
    return rows[: options.limit], len(rows)


def _workers(client: Client, options: SimpleNamespace) -> Part:
    return _cut(client.get("/workers")["workers"], options)


def _luns(client: Client, options: SimpleNamespace) -> Part:
    luns = client.get("/luns")["luns"]
    return _cut((lun for lun in luns if options.worker in ("", lun["worker"])), options)


def _hardware(client: Client, options: SimpleNamespace) -> Part:
    """The API lists all profiles, and a study names its own."""
    profiles = client.get("/hardware")["hardware"]
    if options.study:
        study = client.get(f"/studies/{segment(options.study)}")
        slugs = {profile["slug"] for profile in study["hardware"]}
        profiles = [profile for profile in profiles if profile["slug"] in slugs]
    return _cut(profiles, options)


def _presets(client: Client, options: SimpleNamespace) -> Part:
    tools: Iterable[Any] = client.get("/workloads")["workloads"]
    presets = ({"tool": tool["name"], **preset} for tool in tools for preset in tool["presets"])
    return _cut(presets, options)


LISTS: dict[str, Listing] = {
    "studies": Listing(
        _studies,
        (
            Column("study", may_shrink=True),
            Column("title", may_shrink=True),
            Column("configurations", RIGHT),
            Column("runs", RIGHT),
            Column("published"),
        ),
        lambda study: (
            study["slug"],
            study["title"],
            study["counts"]["configurations"],
            study["counts"]["runs"],
            study["published_on"],
        ),
        "There is no study yet: import results, or submit a run.",
    ),
    "runs": Listing(
        _runs,
        (
            Column("run", RIGHT),
            Column("state"),
            Column("study", may_shrink=True),
            Column("configuration", may_shrink=True),
            Column("workload", may_shrink=True),
            Column("repeat", RIGHT),
            Column("LUN", may_shrink=True),
            Column("made (UTC)"),
        ),
        lambda run: (
            run["id"],
            state(run["state"]),
            run["study"],
            run["configuration"]["label"],
            run["workload"],
            run["repeat"],
            f"{run['worker']}/{run['lun']}" if run["lun"] else None,
            terminal.format_time(run["created_at"]),
        ),
        "There is no such run.",
        FILTERS,
    ),
    "jobs": Listing(
        _jobs,
        (
            Column("job", RIGHT),
            Column("state"),
            Column("study", may_shrink=True),
            Column("LUN", may_shrink=True),
            Column("runs", RIGHT),
            Column("done", RIGHT),
            Column("bad", RIGHT),
            Column("made (UTC)"),
        ),
        lambda job: (
            job["id"],
            state(job["state"]),
            job["study"],
            f"{job['worker']}/{job['lun']}" if job["lun"] else None,
            job["runs"]["total"],
            job["runs"]["done"],
            Cell(job["runs"]["failed"], "red" if job["runs"]["failed"] else ""),
            terminal.format_time(job["created_at"]),
        ),
        "There is no such job.",
        ("study",),
    ),
    "luns": Listing(
        _luns,
        (
            Column("LUN", may_shrink=True),
            Column("worker", may_shrink=True),
            Column("state"),
            Column("role"),
            Column("size", RIGHT),
            Column("schedulers", may_shrink=True),
            Column("run", RIGHT),
            Column("waiting", RIGHT),
            Column("yours"),
            Column("problem", may_shrink=True),
        ),
        lambda lun: (
            lun["name"],
            lun["worker"],
            state(lun["worker_state"]),
            lun["role"],
            terminal.size(lun["size_bytes"]),
            " ".join(lun["schedulers"]),
            lun["run"],
            lun["waiting"],
            "yes" if lun["granted"] else "no",
            Cell(lun["problem"], "red"),
        ),
        "No worker has announced such a LUN.",
        ("worker",),
    ),
    "workers": Listing(
        _workers,
        (
            Column("worker", may_shrink=True),
            Column("state"),
            Column("executor"),
            Column("kernel", may_shrink=True),
            Column("LUNs", RIGHT),
            Column("running", RIGHT),
            Column("waiting", RIGHT),
            Column("seen", RIGHT),
        ),
        lambda worker: (
            worker["name"],
            state(worker["state"]),
            worker["executor"],
            worker["kernel"],
            len(worker["luns"]),
            len(worker["running"]),
            worker["waiting"],
            f"{worker['silent_for_s']} s ago",
        ),
        "No worker has announced itself.",
    ),
    "workloads": Listing(
        _presets,
        (
            Column("workload", may_shrink=True),
            Column("tool"),
            Column("title", may_shrink=True),
            Column("space", RIGHT),
            Column("lasts at least", RIGHT),
        ),
        lambda workload: (
            workload["name"],
            workload["tool"],
            workload["title"],
            terminal.size(workload["space_needed_bytes"]),
            terminal.duration(workload["asked_s"]),
        ),
        "There is no workload.",
    ),
    "hardware": Listing(
        _hardware,
        (
            Column("hardware", may_shrink=True),
            Column("name", may_shrink=True),
            Column("delivers", RIGHT),
            Column("studies", RIGHT),
        ),
        lambda profile: (
            profile["slug"],
            profile["name"],
            terminal.number(profile["deliverable_kb_s"], "KB/s"),
            profile["studies"],
        ),
        "There is no such hardware profile.",
        ("study",),
    ),
    "lines": Listing(
        lambda client, options: _cut(over_time.lines(client, options), options),
        (
            Column("series", RIGHT),
            Column("configuration", may_shrink=True),
            Column("workload", may_shrink=True),
            Column("hardware", may_shrink=True),
            Column("LUN", may_shrink=True),
            Column("kernels", RIGHT),
            Column("runs", RIGHT),
        ),
        lambda line: (
            *(line[name] for name in ("series", "configuration", "workload", "hardware", "lun")),
            line["kernels"],
            line["runs"],
        ),
        "This study has no such line: a line needs finished runs.",
        ("study", "filesystem", "workload", "lun"),
    ),
}


def show(client: Client, options: SimpleNamespace) -> int:
    """Print the list; as JSON it is the API's own entries. A list that is cut says so."""
    listing = LISTS[options.what]
    idle = [f"--{name}" for name in FILTERS if getattr(options, name)]
    idle = [name for name in idle if name[2:] not in listing.filters]
    if idle:
        taken = ", ".join(f"--{name}" for name in listing.filters)
        raise ValueError(
            f"{', '.join(idle)}: a list of {options.what} is not narrowed by that"
            f"{f'; it takes {taken}' if taken else ''}."
        )
    entries, total = listing.ask(client, options)
    if options.json:
        terminal.print_json(entries)
    elif entries:
        terminal.print_line(
            terminal.table(listing.columns, [listing.row(entry) for entry in entries])
        )
    else:
        terminal.complain(listing.nothing)
    note_truncation(len(entries), total)
    return 0


def note_truncation(count: int, total: int) -> None:
    """Beside the list, so that a pipe gets entries alone."""
    if count < total:
        terminal.note(f"{count:,} of {total:,} are shown: --limit all shows every one.")
