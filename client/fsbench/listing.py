"""``fsbench list``: studies, runs, LUNs, workers, workloads and what else has a list."""

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fsbench import over_time, terminal
from fsbench.client import Client
from fsbench.terminal import RIGHT, Cell, Column

STATE_COLOURS = {
    **dict.fromkeys(("done", "idle"), "green"),
    **dict.fromkeys(("failed", "lost", "silent", "not usable"), "red"),
    **dict.fromkeys(("cancelled", "draining", "drained", "paused"), "yellow"),
    **dict.fromkeys(("running", "preparing", "collecting", "leased", "busy"), "cyan"),
}


def state(text: str) -> Cell:
    return Cell(text, STATE_COLOURS.get(text, ""))


@dataclass(frozen=True)
class Listing:
    """What can be listed: how it is asked for, and its columns."""

    ask: Callable[[Client, argparse.Namespace], list[Any]]
    columns: tuple[Column, ...]
    row: Callable[[Any], tuple[Any, ...]]
    nothing: str


def _runs(client: Client, options: argparse.Namespace) -> list[Any]:
    filters = {
        name: getattr(options, name)
        for name in ("study", "state", "filesystem", "workload", "worker", "lun", "sweep")
    }
    return list(client.pages("/runs", "runs", most=options.limit, **filters))


def _sweeps(client: Client, options: argparse.Namespace) -> list[Any]:
    return list(client.pages("/sweeps", "sweeps", most=options.limit, study=options.study))


def _studies(client: Client, options: argparse.Namespace) -> list[Any]:
    found: list[Any] = client.get("/studies", limit=options.limit)
    return found


def _whole(path: str, key: str) -> Callable[[Client, argparse.Namespace], list[Any]]:
    return lambda client, options: list(client.get(path)[key])[: options.limit]


def _presets(client: Client, options: argparse.Namespace) -> list[Any]:
    tools: Iterable[Any] = client.get("/workloads")["workloads"]
    return [{"tool": tool["name"], **preset} for tool in tools for preset in tool["presets"]][
        : options.limit
    ]


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
        lambda one: (
            one["slug"],
            one["title"],
            one["counts"]["configurations"],
            one["counts"]["runs"],
            one["published_on"],
        ),
        "There is no study yet: import results, or order a run.",
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
        lambda one: (
            one["id"],
            state(one["state"]),
            one["study"],
            one["configuration"]["label"],
            one["workload"],
            one["repeat"],
            f"{one['worker']}/{one['lun']}" if one["lun"] else None,
            terminal.when(one["created_at"]),
        ),
        "There is no such run.",
    ),
    "sweeps": Listing(
        _sweeps,
        (
            Column("sweep", RIGHT),
            Column("state"),
            Column("study", may_shrink=True),
            Column("LUN", may_shrink=True),
            Column("runs", RIGHT),
            Column("done", RIGHT),
            Column("bad", RIGHT),
            Column("made (UTC)"),
        ),
        lambda one: (
            one["id"],
            state(one["state"]),
            one["study"],
            f"{one['worker']}/{one['lun']}" if one["lun"] else None,
            one["runs"]["total"],
            one["runs"]["done"],
            Cell(one["runs"]["failed"], "red" if one["runs"]["failed"] else ""),
            terminal.when(one["created_at"]),
        ),
        "There is no such order.",
    ),
    "luns": Listing(
        _whole("/luns", "luns"),
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
        lambda one: (
            one["name"],
            one["worker"],
            state(one["worker_state"]),
            one["role"],
            terminal.size(one["size_bytes"]),
            " ".join(one["schedulers"]),
            one["run"],
            one["waiting"],
            "yes" if one["granted"] else "no",
            Cell(one["problem"], "red"),
        ),
        "No worker has announced a LUN.",
    ),
    "workers": Listing(
        _whole("/workers", "workers"),
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
        lambda one: (
            one["name"],
            state(one["state"]),
            one["executor"],
            one["kernel"],
            len(one["luns"]),
            len(one["running"]),
            one["waiting"],
            f"{one['silent_for_s']} s ago",
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
        lambda one: (
            one["name"],
            one["tool"],
            one["title"],
            terminal.size(one["space_needed_bytes"]),
            terminal.duration(one["asked_s"]),
        ),
        "There is no workload.",
    ),
    "hardware": Listing(
        _whole("/hardware", "hardware"),
        (
            Column("hardware", may_shrink=True),
            Column("name", may_shrink=True),
            Column("delivers", RIGHT),
            Column("studies", RIGHT),
        ),
        lambda one: (
            one["slug"],
            one["name"],
            terminal.number(one["deliverable_kb_s"], "KB/s"),
            one["studies"],
        ),
        "There is no hardware profile.",
    ),
    "lines": Listing(
        lambda client, options: over_time.lines(client, options)[: options.limit],
        (
            Column("series", RIGHT),
            Column("configuration", may_shrink=True),
            Column("workload", may_shrink=True),
            Column("hardware", may_shrink=True),
            Column("LUN", may_shrink=True),
            Column("kernels", RIGHT),
            Column("runs", RIGHT),
        ),
        lambda one: (
            *(one[name] for name in ("series", "configuration", "workload", "hardware", "lun")),
            one["kernels"],
            one["runs"],
        ),
        "This study has no such line: a line needs finished runs.",
    ),
}


def show(client: Client, options: argparse.Namespace) -> int:
    """Print the list; as JSON it is the API's own entries."""
    listing = LISTS[options.what]
    found = listing.ask(client, options)
    if options.json:
        terminal.print_json(found)
    elif found:
        terminal.say(terminal.table(listing.columns, [listing.row(one) for one in found]))
    else:
        terminal.complain(listing.nothing)
    return 0
