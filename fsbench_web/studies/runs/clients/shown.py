"""What pages and the API show of the clients of a run."""

from collections.abc import Mapping
from typing import Any

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers import same_host
from fsbench_web.studies.models import Run, RunClient

MOST_ROWS = 100


def clients_of(run: Run) -> list[RunClient]:
    """Those of a run without their outputs, its leader first. No query of a run of one."""
    if not run.series.runs_on.clients:
        return []
    return list(run.clients.defer("content").order_by("place"))


def of_run(run: Run) -> dict[str, Any] | None:
    """None of a run of one client, and of one that nobody has claimed yet.

    ``rows`` are at most MOST_ROWS of ``row_count``, a test each: ``values`` are in the order of the
    clients, None where one has none. ``overlap_percent`` is the share of the time in which all
    worked, ``skew_s`` by how much their begins differ; None: not known.
    """
    clients = clients_of(run)
    if not clients:
        return None
    by_test: dict[tuple[Any, ...], list[float | None]] = {}
    for place, client in enumerate(clients):
        for *key, value, unit in client.results:
            values = by_test.setdefault((*key, unit), [None] * len(clients))
            values[place] = value
    keys = ("test", "load", "record_size_kb", "file_size_kb", "unit")
    rows = [dict(zip(keys, key, strict=True), values=values) for key, values in by_test.items()]
    noted = run.conditions.get("clients") or {}
    share = noted.get("overlap")
    return {
        "clients": clients,
        "rows": rows[:MOST_ROWS],
        "row_count": len(rows),
        "overlap_percent": None if share is None else 100 * float(share),
        "skew_s": noted.get("skew_s"),
        "warnings": same_host.in_words(_on_one_machine(clients, noted)),
    }


def _on_one_machine(clients: list[RunClient], noted: Mapping[str, Any]) -> list[list[str]]:
    """As it was noted with the result; before, as the workers say it now."""
    if "one_machine" in noted:
        return [[str(name) for name in names] for names in noted["one_machine"]]
    return same_host.on_one_machine(
        Worker.objects.filter(name__in=[client.worker for client in clients]).order_by("name")
    )


def as_json(run: Run) -> list[dict[str, Any]]:
    """As the API says them; empty of a run of one client."""
    keys = ("test", "load", "record_size_kb", "file_size_kb", "value", "unit")
    return [
        {
            "worker": client.worker,
            "lun": client.lun_name,
            "leads": client.place == 0,
            "state": client.state,
            "reason": client.reason,
            "began_at": client.began_at,
            "ended_at": client.ended_at,
            "facts": client.facts,
            "results": [dict(zip(keys, row, strict=True)) for row in client.results],
        }
        for client in clients_of(run)
    ]
