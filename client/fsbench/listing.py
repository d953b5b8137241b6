"""``fsbench list``: studies, runs, LUNs, workers, workloads and what else has a list."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from fsbench import over_time, terminal
from fsbench.client import Client
from fsbench.comparing import segment
from fsbench.terminal import Cell, Column

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
    nothing: str
    filters: tuple[str, ...] = ()


FILTERS = ("study", "filesystem", "workload", "worker", "lun", "state", "job")


def _runs(client: Client, options: SimpleNamespace) -> Part:
    filters = {name: getattr(options, name) for name in FILTERS if name != "job"}
    return client.part("/runs", "runs", options.limit, sweep=options.job, **filters)


def _cut(entries: Iterable[Any], options: SimpleNamespace) -> Part:
    rows = list(entries)
    return rows[: options.limit], len(rows)


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


def _state(entry: Any) -> Cell:
    return state(entry["state"])


def _place(entry: Any) -> str | None:
    return f"{entry['worker']}/{entry['lun']}" if entry["lun"] else None


def _bad(job: Any) -> Cell:
    count = job["runs"]["failed"]
    return Cell(count, "red" if count else "")


def made(entry: Any) -> str:
    return terminal.format_time(entry["created_at"])


name, number = Column.name, Column.number
LISTS: dict[str, Listing] = {
    "studies": Listing(
        lambda client, options: _cut(client.get("/studies"), options),
        (
            name("study", "slug"),
            name("title", "title"),
            number("configurations", "counts.configurations"),
            number("runs", "counts.runs"),
            Column("published", "published_on"),
        ),
        "There is no study yet: import results, or submit a run.",
    ),
    "runs": Listing(
        _runs,
        (
            number("run", "id"),
            Column("state", _state),
            name("study", "study"),
            name("configuration", "configuration.label"),
            name("workload", "workload"),
            number("repeat", "repeat"),
            name("LUN", _place),
            Column("made (UTC)", made),
        ),
        "There is no such run.",
        FILTERS,
    ),
    "jobs": Listing(
        lambda client, options: client.part(
            "/sweeps", "sweeps", options.limit, study=options.study
        ),
        (
            number("job", "id"),
            Column("state", _state),
            name("study", "study"),
            name("LUN", _place),
            number("runs", "runs.total"),
            number("done", "runs.done"),
            number("bad", _bad),
            Column("made (UTC)", made),
        ),
        "There is no such job.",
        ("study",),
    ),
    "luns": Listing(
        _luns,
        (
            name("LUN", "name"),
            name("worker", "worker"),
            Column("state", lambda lun: state(lun["worker_state"])),
            Column("role", "role"),
            number("size", lambda lun: terminal.size(lun["size_bytes"])),
            name("schedulers", lambda lun: " ".join(lun["schedulers"])),
            number("run", "run"),
            number("waiting", "waiting"),
            Column("yours", lambda lun: "yes" if lun["granted"] else "no"),
            name("problem", lambda lun: Cell(lun["problem"], "red")),
        ),
        "No worker has announced such a LUN.",
        ("worker",),
    ),
    "workers": Listing(
        lambda client, options: _cut(client.get("/workers")["workers"], options),
        (
            name("worker", "name"),
            Column("state", _state),
            Column("executor", "executor"),
            name("kernel", "kernel"),
            number("LUNs", lambda worker: len(worker["luns"])),
            number("running", lambda worker: len(worker["running"])),
            number("waiting", "waiting"),
            number("seen", lambda worker: f"{worker['silent_for_s']} s ago"),
        ),
        "No worker has announced itself.",
    ),
    "workloads": Listing(
        _presets,
        (
            name("workload", "name"),
            Column("tool", "tool"),
            name("title", "title"),
            number("space", lambda workload: terminal.size(workload["space_needed_bytes"])),
            number("lasts at least", lambda workload: terminal.duration(workload["asked_s"])),
        ),
        "There is no workload.",
    ),
    "hardware": Listing(
        _hardware,
        (
            name("hardware", "slug"),
            name("name", "name"),
            number("delivers", lambda one: terminal.number(one["deliverable_kb_s"], "KB/s")),
            number("studies", "studies"),
        ),
        "There is no such hardware profile.",
        ("study",),
    ),
    "lines": Listing(
        lambda client, options: _cut(over_time.lines(client, options), options),
        (
            number("series", "series"),
            name("configuration", "configuration"),
            name("workload", "workload"),
            name("hardware", "hardware"),
            name("LUN", "lun"),
            number("kernels", "kernels"),
            number("runs", "runs"),
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
    terminal.show_list(options, listing.columns, entries, listing.nothing)
    note_truncation(len(entries), total)
    return 0


def note_truncation(count: int, total: int) -> None:
    """To standard error, so that a pipe gets entries alone."""
    if count < total:
        terminal.note(f"{count:,} of {total:,} are shown: --limit all shows every one.")
