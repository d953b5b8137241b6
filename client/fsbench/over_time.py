"""``fsbench check --along``: whether lines over kernels or days got slower; ``list lines``."""

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from fsbench import terminal
from fsbench.client import Client
from fsbench.exits import FELL, FINE, NOT_COMPARABLE
from fsbench.terminal import RIGHT, Cell, Column

# Two points, and enough runs to know the noise: with fewer the site looks for no change.
LEAST_POINTS, LEAST_RUNS = 2, 4
FILTERS = ("configuration", "filesystem", "workload", "hardware", "lun")
TAKEN = ("study", "test", "category", *FILTERS)
_COLOURS = {"fell": "red", "rose": "green", "not known": "yellow"}


def lines(client: Client, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The lines of the studies that the options ask for; a line may be in several of them."""
    if not options.study:
        raise ValueError("Lines are those of a study: say which with --study.")
    studies = [options.study] if isinstance(options.study, str) else options.study
    found = {
        one["series"]: one
        for study in studies
        for one in client.get("/history/lines", study=study)["lines"]
    }
    return [one for one in found.values() if _is_wanted(one, options)]


def _is_wanted(line: dict[str, Any], options: argparse.Namespace) -> bool:
    for name in FILTERS:
        wanted = getattr(options, name, None)
        if wanted and line[name] not in ([wanted] if isinstance(wanted, str) else wanted):
            return False
    return True


def check(client: Client, options: argparse.Namespace, others: Iterable[str]) -> int:
    """Whether a line's last change of level was a fall; see docs/client.md.

    Where a level changes is the site's verdict, of each line and test by itself. ``others`` are
    the options that mean nothing here.
    """
    said = [name for name in others if getattr(options, name, None)]
    if said:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in said)
        raise ValueError(f"{names}: not with --along, which sets a line against its own past.")
    found = lines(client, options)
    rows = [row for line in found for row in _rows(client, line, options)]
    fell = [row for row in rows if row["result"] == "fell"]
    unknown = [row for row in rows if row["result"] == "not known"]
    problems = []
    if not rows:
        problems.append(
            "No such line or test: fsbench list lines --study STUDY shows what a study has."
        )
    # A line that cannot be judged hides no fall of another.
    code = FELL if fell else NOT_COMPARABLE if unknown or not rows else FINE
    if options.json:
        terminal.print_json({"exit_code": code, "problems": problems, "rows": rows})
        return code
    if rows:
        terminal.say(_drawn(rows))
    terminal.complain(*problems)
    if rows:
        verdict = _in_words(code, fell, unknown, options.along)
        terminal.say(*(_sentence(row) for row in fell), verdict)
    return code


def _rows(
    client: Client, line: dict[str, Any], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """One for each test and category of a line."""
    query = {"series": line["series"], "along": options.along, "margin": options.margin or 10}
    first = client.get("/history", query)
    for test in options.test or list(first["tests"]):
        offered = first["tests"].get(test, [])
        usual = first["category"] if first["category"] in offered else next(iter(offered), "")
        for category in options.category or [usual]:
            if category in offered:
                one = client.get("/history", {**query, "test": test, "category": category})
                yield _judged(line, one, options.since)


def _judged(line: dict[str, Any], one: dict[str, Any], since: str) -> dict[str, Any]:
    names = [point["name"] for point in one["points"]]
    runs = sum(len(point["values"]) for point in one["points"])
    last = one["changes"][-1] if one["changes"] else None
    if last is not None and since and not _is_since(last["to"], since, names, one["along"]):
        last = None
    reason = str(one["problem"])
    if len(names) < LEAST_POINTS or runs < LEAST_RUNS:
        result = "not known"
        reason = reason or f"needs {LEAST_POINTS} points and {LEAST_RUNS} runs"
    else:
        result = "no change" if last is None else "fell" if last["is_slower"] else "rose"
    return {
        **{name: line[name] for name in ("series", "configuration", "workload", "lun")},
        **{name: one[name] for name in ("test", "category", "unit")},
        "points": len(names),
        "runs": runs,
        "latest": names[-1] if names else None,
        "result": result,
        "reason": reason,
        "change": last,
    }


def _is_since(point: str, since: str, names: list[str], along: str) -> bool:
    """Days are compared as they are written, kernels by their place in the line."""
    if along == "date":
        return point >= since
    if since not in names:
        there = ", ".join(map(terminal.clean, names))
        raise ValueError(f"--since {since}: this line has no such kernel; there is {there}.")
    return names.index(point) >= names.index(since)


def _drawn(rows: list[dict[str, Any]]) -> str:
    columns = [
        Column("series", RIGHT),
        Column("configuration", may_shrink=True),
        Column("workload", may_shrink=True),
        Column("LUN", may_shrink=True),
        Column("test", may_shrink=True),
        Column("category"),
        Column("points", RIGHT),
        Column("runs", RIGHT),
        Column("change", RIGHT),
        Column("since"),
        Column("result"),
    ]
    return terminal.table(columns, [list(_cells(row)) for row in rows])


def _cells(row: dict[str, Any]) -> Iterator[Any]:
    for name in ("series", "configuration", "workload", "lun", "test", "category"):
        yield row[name]
    yield row["points"]
    yield row["runs"]
    yield terminal.percent(row["change"]["change_percent"]) if row["change"] else "–"
    yield row["change"]["to"] if row["change"] else "–"
    said = f"{row['result']} ({row['reason']})" if row["reason"] else row["result"]
    yield Cell(said, _COLOURS.get(row["result"], ""))


def _sentence(row: dict[str, Any]) -> str:
    place = f"{row['configuration']}, {row['test']}, {row['category']}"
    return f"{terminal.clean(place)}: {terminal.clean(row['change']['sentence'])}"


def _in_words(code: int, fell: list[Any], unknown: list[Any], along: str) -> str:
    if code == FELL:
        return terminal.coloured(f"{len(fell)} got slower.", "red")
    if code == NOT_COMPARABLE:
        what = "kernels" if along == "kernel" else "days"
        return terminal.coloured(
            f"{len(unknown)} cannot be judged, for the reasons above: measure more {what} or "
            "repeats, or choose the lines that are to be checked.",
            "yellow",
        )
    return terminal.coloured("Nothing got slower.", "green")
