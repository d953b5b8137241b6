"""``fsbench show`` and ``log``: one run or job in full, and what a run says."""

import json
import time
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from fsbench import terminal
from fsbench.client import Client
from fsbench.exits import ENDED_BADLY, FINE
from fsbench.listing import state
from fsbench.terminal import Column
from fsbench.watching import ENDS

SHOWN_FIRST = ("overall", "mean", "total_average")
"""The category that is shown of a test: the first of these that it has."""
LINES_A_CALL = 5000


def show(client: Client, options: SimpleNamespace) -> int:
    """All that is known of a run or a job; its scores once it is done."""
    kind = "sweeps" if options.job else "runs"
    answer = client.get(f"/{kind}/{options.number}")
    if options.json:
        terminal.print_json(answer)
    elif options.job:
        _show_job(answer, client.site.url)
    else:
        _show_run(answer, client.get(f"/runs/{options.number}/artefacts"), client.site.url)
    return FINE


def _show_run(run: Mapping[str, Any], output: Mapping[str, Any], url: str) -> None:
    configuration = run["configuration"]
    chosen = [f"{name}={value}" for name, value in configuration["options"].items()]
    artefacts = output["artefacts"]
    facts = [
        ("state", f"{run['state']}{', to be cancelled' if run['cancel_requested'] else ''}"),
        ("reason", run["reason"]),
        ("study", run["study"]),
        ("configuration", configuration["label"]),
        ("options", " ".join(chosen)),
        ("scheduler", configuration["scheduler"]),
        ("workload", run["workload"]),
        ("repeat", run["repeat"]),
        ("LUN", _lun_of(run)),
        ("journal", run["journal"]),
        ("stack with", " ".join(member["lun"] for member in run.get("stack", ()))),
        ("guest", _guest(run)),
        ("kernel", run["kernel"]),
        ("distribution", run["distribution"]),
        ("job", run["sweep"]),
        ("again for run", run["retry_of"]),
        ("submitted (UTC)", terminal.format_time(run["created_at"])),
        ("started (UTC)", run["started_at"] and terminal.format_time(run["started_at"])),
        ("ended (UTC)", run["ended_at"] and terminal.format_time(run["ended_at"])),
        ("measured (UTC)", _measurement_date(run)),
        ("raw output", ", ".join(artefact["name"] for artefact in artefacts)),
    ]
    _print_facts(f"Run {run['id']}", facts, f"{url}{run['links']['page']}")
    if run["scores"]:
        terminal.print_line("", terminal.table(_OF_SCORES, _one_per_test(run["scores"])))


def _one_per_test(scores: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One score of each test, in their order."""
    by_test: dict[str, Mapping[str, Any]] = {}
    for score in scores:
        earlier = by_test.get(score["test"])
        if earlier is None or _rank(score) < _rank(earlier):
            by_test[score["test"]] = score
    return list(by_test.values())


def _rank(score: Mapping[str, Any]) -> int:
    category = score["category"]
    return SHOWN_FIRST.index(category) if category in SHOWN_FIRST else len(SHOWN_FIRST)


def _half_width(score: Mapping[str, Any]) -> str | None:
    """Of the interval that the run's page shows, in percent of its mean; None without one."""
    half, interval, of_what = score["half_width_percent"], score.get("interval"), ""
    if half is None and interval and interval["mean"]:
        half = 100 * interval["half_width"] / abs(interval["mean"])
        of_what = f" of {interval['of']}"
    if half is None:
        return None
    # A little is not none, as on the page of the run.
    return f"{'< 0.1' if 0 < half < 0.05 else f'{half:.1f}'}%{of_what}"


_OF_SCORES = (
    Column.name("test", "test"),
    Column("category", "category"),
    Column.number("score", lambda score: terminal.number(score["value"], score["unit"])),
    Column.number("repeats", "repeats"),
    Column.number("± 95%", _half_width),
    Column.name("flags", lambda score: " ".join(score["flags"])),
)


def _guest(run: Mapping[str, Any]) -> str:
    """How the run's guest was run; "" without one."""
    if run.get("emulated"):
        return "emulated in software: for function, not for speed"
    return "with KVM" if (run.get("machine") or {}).get("executor") == "guest" else ""


def _show_job(job: Mapping[str, Any], url: str) -> None:
    counts = job["runs"]
    left = job["remaining_s"]
    facts = [
        ("state", job["state"]),
        ("study", job["study"]),
        ("LUN", _lun_of(job)),
        (
            "runs",
            f"{counts['total']}: {counts['done']} done, {counts['failed']} failed or lost, "
            f"{counts['cancelled']} cancelled, {counts['running']} running, "
            f"{counts['waiting']} waiting",
        ),
        ("priority", job["priority"]),
        ("starts at (UTC)", _time_of(job, "start_at")),
        ("stops before (UTC)", _time_of(job, "stop_before")),
        ("then", job.get("outlook")),
        ("left", None if left is None else terminal.duration(left)),
        ("submitted by", job["created_by"]),
        ("submitted (UTC)", terminal.format_time(job["created_at"])),
    ]
    _print_facts(f"Job {job['id']}", facts, f"{url}{job['links']['page']}")
    if job.get("race"):
        _show_race(job["race"])
    columns = [
        Column.number("run", "id"),
        Column("state", lambda run: state(run["state"])),
        Column.name(
            "configuration",
            lambda run: f"{run['configuration']}{' (reference)' if run['reference'] else ''}",
        ),
        Column.number("repeat", "repeat"),
        Column.number("again for", "retry_of"),
    ]
    if job["planned"]:
        terminal.print_line("", terminal.table(columns, job["planned"]))
    for entry in job.get("not_begun") or ():
        block = "" if entry["block"] is None else f", block {entry['block']}"
        text = f"{terminal.clean(entry['configuration'])}{block}: run {entry['run']}"
        terminal.print_line(f"not begun, for lack of time: {text}")
    for entry in job["left_out"]:
        label, reason = terminal.clean(entry["configuration"]), terminal.clean(entry["reason"])
        terminal.print_line(f"left out: {label}: {reason}")


def _measurement_date(run: Mapping[str, Any]) -> str:
    """Of an imported run: when it was measured, where its file says so."""
    if run.get("date_is_of") == "file":
        return terminal.format_time(run["date"])
    return "not stated: its date is that of the import" if run.get("date_is_of") == "import" else ""


def _show_race(race: Mapping[str, Any]) -> None:
    """Who leads, who is out and why, and how it ended."""
    hours = race["budget_s"] is not None
    spent = terminal.duration(race["spent_s"]) if hours else str(race["spent_runs"])
    budget = terminal.duration(race["budget_s"]) if hours else f"{race['budget_runs']} runs"
    decides = f"{race['test']}, {race['category']}"
    words = f"{race['phase']} after {terminal.quantity(race['blocks'], 'round')}"
    is_change = race.get("find") == "change"
    name = "Bisection" if is_change else "Race"
    terminal.print_line(
        "", f"{name} by {terminal.clean(decides)}: {words}, {spent} of {budget} spent."
    )
    if race["leader"] and not race["conclusion"]:
        terminal.print_line(f"{terminal.clean(race['leader'])} is ahead so far.")
    if race["conclusion"]:
        terminal.print_line(terminal.clean(race["conclusion"]))
    columns = [
        Column.name("configuration", "configuration"),
        Column("state", "state"),
        Column.number("rounds", "blocks"),
        Column.number("to oldest" if is_change else "to leader", lambda one: _gain(one["ratio"])),
        Column.number("95%", _gains),
        Column.name("why", lambda one: one["why"].replace("_", " ")),
    ]
    if race["contenders"]:
        terminal.print_line(terminal.table(columns, race["contenders"]))


def _gains(contender: Mapping[str, Any]) -> str | None:
    if contender["ratio_low"] is None:
        return None
    return f"{_gain(contender['ratio_low'])} to {_gain(contender['ratio_high'])}"


def _gain(ratio: float | None) -> str | None:
    return None if ratio is None else f"{ratio - 1:+.1%}"


def _lun_of(entry: Mapping[str, Any]) -> str:
    return f"{entry['worker']}/{entry['lun']}" if entry["lun"] else ""


def _time_of(job: Mapping[str, Any], name: str) -> str | None:
    """To the minute; None where the job has none, or its site knows none."""
    return terminal.format_time(job[name]) if job.get(name) else None


def _print_facts(title: str, facts: Iterable[tuple[str, Any]], address: str) -> None:
    """What is known, a line each; the rest is left out."""
    known_facts = [(name, value) for name, value in facts if value not in (None, "")]
    room = max(len(name) for name, _ in known_facts)
    terminal.print_line(terminal.coloured(title, "bold"), terminal.clean(address))
    terminal.print_line(
        *[f"{name:<{room}}  {terminal.clean(value)}" for name, value in known_facts]
    )


def log(client: Client, options: SimpleNamespace) -> int:
    """The run's log; with ``--follow`` until it has ended, and the exit code says how."""
    after = 0
    while True:
        page = client.get(f"/runs/{options.number}/log", after=after, limit=LINES_A_CALL)
        for line in page["lines"]:
            print(json.dumps(line) if options.json else _line(line))
        if page["lines"]:
            print(end="", flush=True)
        has_more, after = page["more"], page["after"]
        if has_more:
            continue
        if not options.follow:
            return FINE
        if page["state"] in ENDS:
            return FINE if page["state"] == "done" else ENDED_BADLY
        time.sleep(options.interval)


def _line(line: Mapping[str, Any]) -> str:
    """``2026-11-20 10:20:30 stdout  the text``."""
    moment = terminal.clean(str(line["at"])[:19].replace("T", " "))
    text = terminal.clean(line["text"]) if line["text"] else ""
    return f"{moment} {terminal.clean(line['stream']):<7} {text}".rstrip()
