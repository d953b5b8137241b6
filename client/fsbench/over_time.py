"""``fsbench check --along``: whether lines over kernels or days got slower; ``list lines``."""

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from fsbench import deliveries, terminal
from fsbench.client import Client
from fsbench.exits import FELL, FINE, NOT_COMPARABLE
from fsbench.terminal import Cell, Column

# Two points, and enough runs to know the noise: with fewer the site looks for no change.
LEAST_POINTS, LEAST_RUNS = 2, 4
MOST_LINES = 10_000
"""Of the studies that are named; a check of more would ask the site for hours."""
_PAGE = 500
MOST_TESTS = 200
"""Of a line, that the site names; any other can be asked for by its name."""
FILTERS = ("configuration", "filesystem", "workload", "hardware", "lun")
TAKEN = ("study", "test", "category", *FILTERS)
_COLOURS = {"fell": "red", "rose": "green", "not known": "yellow"}


def lines(client: Client, options: SimpleNamespace) -> list[dict[str, Any]]:
    """All lines of the studies that the options ask for, taken together; page by page."""
    query = _studies(options)
    found, total = client.part("/history/lines", "lines", MOST_LINES, size=_PAGE, **query)
    if total > MOST_LINES:
        raise ValueError(
            f"The studies have {total:,} lines, more than the {MOST_LINES:,} that are looked "
            "at: name fewer with --study."
        )
    by_series = {line["series"]: line for line in found}
    if len(by_series) != total:
        raise ValueError(
            "The order of the lines changed while they were listed, as runs ended: try again."
        )
    return [line for line in by_series.values() if _is_wanted(line, options)]


def _studies(options: SimpleNamespace) -> dict[str, Any]:
    """As a query. What other studies measured under the same label is not theirs."""
    if not options.study:
        raise ValueError("Lines are those of a study: say which with --study.")
    return {"study": options.study}


def _is_wanted(line: dict[str, Any], options: SimpleNamespace) -> bool:
    for name in FILTERS:
        wanted = getattr(options, name, None)
        if wanted and line[name] not in ([wanted] if isinstance(wanted, str) else wanted):
            return False
    return True


def check(client: Client, options: SimpleNamespace, others: Iterable[str]) -> int:
    """Whether a line's last change of level was a fall; see docs/client.md.

    Where a level changes is the site's verdict, of each line and test alone; how sure that is
    among all that are looked at here is worked out here. ``others`` are the options that mean
    nothing here.
    """
    parts = [name for name in others if getattr(options, name, None)]
    if parts:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in parts)
        raise ValueError(f"{names}: not with --along, which sets a line against its own past.")
    chosen = lines(client, options)
    problems: list[str] = []
    level = options.level or terminal.LIMIT
    rows = with_correction(
        [row for line in chosen for row in _rows(client, line, options, problems)], level
    )
    for row in rows:
        del row["changes"]
    fell = [row for row in rows if row["result"] == "fell"]
    unknown = [row for row in rows if row["result"] == "not known"]
    if not rows:
        problems.append(
            "No such line or test: fsbench list lines --study STUDY shows what a study has."
        )
    # A line that cannot be judged hides no fall of another.
    code = FELL if fell else NOT_COMPARABLE if unknown or problems else FINE
    conclusion: list[str] = []
    if rows:
        verdict = _conclusion(code, fell, unknown, options.along)
        conclusion = [*(_sentence(row) for row in fell), verdict, *_of_all(rows, level)]
    return deliveries.report(
        options,
        client,
        code,
        deliveries.of_lines(rows),
        problems,
        answer={"problems": problems, "rows": rows},
        table=terminal.table(_COLUMNS, rows) if rows else "",
        conclusion=conclusion,
    )


def _rows(
    client: Client, line: dict[str, Any], options: SimpleNamespace, problems: list[str]
) -> Iterator[dict[str, Any]]:
    """One for each test and category of a line. ``problems`` takes why there may be more."""
    query = _studies(options)
    values = {"series": line["series"], "along": options.along, "margin": options.margin or 5}
    first = client.get("/history", query, **values)
    if not options.test and len(first["tests"]) >= MOST_TESTS:
        problems.append(
            f"Line {line['series']} may have more than the {MOST_TESTS} tests that the site names, "
            "and those are not looked at: say which are to be, with --test."
        )
    for test in options.test or list(first["tests"]):
        offered = first["tests"].get(test, [])
        default = first["category"] if first["category"] in offered else next(iter(offered), "")
        for category in options.category or [default]:
            if category in offered:
                history = client.get("/history", query, **values, test=test, category=category)
                yield _judged_row(line, history, options.since)


def _judged_row(line: dict[str, Any], history: dict[str, Any], since: str) -> dict[str, Any]:
    names = [point["name"] for point in history["points"]]
    runs = sum(len(point["values"]) for point in history["points"])
    changes = [
        change
        for change in history["changes"]
        if not since or _is_since(change["to"], since, names, history["along"])
    ]
    reason = str(history["problem"])
    if len(names) < LEAST_POINTS or runs < LEAST_RUNS:
        result = "not known"
        reason = reason or f"needs {LEAST_POINTS} points and {LEAST_RUNS} runs"
    else:
        result = _result(changes)
    return {
        **{name: line[name] for name in ("series", "configuration", "workload", "lun")},
        **{name: history[name] for name in ("test", "category", "unit")},
        "points": len(names),
        "runs": runs,
        "latest": names[-1] if names else None,
        "newest": history.get("latest"),
        "result": result,
        "reason": reason,
        "change": changes[-1] if changes else None,
        "changes": changes,
    }


def _result(changes: list[dict[str, Any]]) -> str:
    return "no change" if not changes else "fell" if changes[-1]["is_slower"] else "rose"


def with_correction(
    rows: list[dict[str, Any]], level: float = terminal.LIMIT
) -> list[dict[str, Any]]:
    """The rows with ``q_value``, the false discovery rate among all ``tested`` rows.

    A change is sure if its rate is below ``level``. Each row is tested by its last change; a row
    without a change counts with a p-value of 1. Unsure changes are left out, the least sure first,
    and the change before becomes the last: a recovery by chance hides no fall.
    """
    from fsbench_web.core.stats.verdicts import Family

    judged = [row for row in rows if row["result"] != "not known"]
    dropped: dict[int, tuple[dict[str, Any], float]] = {}
    while True:
        last = [row["changes"][-1]["p_value"] if row["changes"] else 1.0 for row in judged]
        adjusted = list(map(Family(last).q_value, last))
        unsure = [
            place for place, row in enumerate(judged) if row["changes"] and adjusted[place] >= level
        ]
        if not unsure:
            break
        place = max(unsure, key=lambda place: last[place])
        dropped.setdefault(place, (judged[place]["changes"].pop(), adjusted[place]))
    by_id = {
        id(row): _corrected_row(row, q_value, len(judged), dropped.get(place))
        for place, (row, q_value) in enumerate(zip(judged, adjusted, strict=True))
    }
    return [by_id.get(id(row), {**row, "q_value": None, "tested": None}) for row in rows]


def _corrected_row(
    row: dict[str, Any], q_value: float, tested: int, dropped: tuple[dict[str, Any], float] | None
) -> dict[str, Any]:
    """``dropped``: the last change that is not sure, and its false discovery rate."""
    reason, changes = row["reason"], row["changes"]
    rate: float | None = q_value if changes else None
    if dropped is not None:
        change, rate_of_dropped = dropped
        rate = q_value if changes else rate_of_dropped
        words = (
            f"a change to {'slower' if change['is_slower'] else 'faster'} at {change['to']} is "
            f"not sure among {tested}: the false discovery rate is "
            f"{terminal.probability(rate_of_dropped)}, and p is "
            f"{terminal.probability(change['p_value'])}"
        )
        reason = f"{reason} {words}" if reason else words
    return {
        **row,
        "result": _result(changes),
        "reason": reason,
        "change": changes[-1] if changes else None,
        "q_value": rate,
        "tested": tested,
    }


def _is_since(point: str, since: str, names: list[str], along: str) -> bool:
    """Days are compared as they are written, kernels by their place in the line."""
    if along == "date":
        return point >= since
    if since not in names:
        kernels = ", ".join(map(terminal.clean, names))
        raise ValueError(f"--since {since}: this line has no such kernel; there is {kernels}.")
    return names.index(point) >= names.index(since)


def _result_cell(row: dict[str, Any]) -> Cell:
    text = f"{row['result']} ({row['reason']})" if row["reason"] else row["result"]
    return Cell(text, _COLOURS.get(row["result"], ""))


_COLUMNS = (
    Column.number("series", "series"),
    Column.name("configuration", "configuration"),
    Column.name("workload", "workload"),
    Column.name("LUN", "lun"),
    Column.name("test", "test"),
    Column("category", "category"),
    Column.number("points", "points"),
    Column.number("runs", "runs"),
    Column("newest against the one before", lambda row: _newest(row["newest"])),
    Column.number(
        "change", lambda row: row["change"] and terminal.percent(row["change"]["change_percent"])
    ),
    Column("since", lambda row: row["change"] and row["change"]["to"]),
    Column.number("q", lambda row: terminal.probability(row["q_value"])),
    Column("result", _result_cell),
)


def _newest(latest: dict[str, Any] | None) -> str:
    """The newest point against the one before; "" where it has no repeats."""
    if latest is None:
        return ""
    ratios = (latest["ratio"], latest["ratio_low"], latest["ratio_high"])
    ratio, low, high = (terminal.percent(100 * (value - 1)) for value in ratios)
    return f"{latest['verdict']}: {ratio} ({low} to {high})"


def _sentence(row: dict[str, Any]) -> str:
    place = f"{row['configuration']}, {row['test']}, {row['category']}"
    return f"{terminal.clean(place)}: {terminal.clean(row['change']['sentence'])}"


def _of_all(rows: list[dict[str, Any]], level: float) -> Iterator[str]:
    tested = max((row["tested"] or 0 for row in rows), default=0)
    if tested > 1:
        yield (
            f"{tested} lines and tests were checked at once. A change counts if its false "
            f"discovery rate among them (q) is below {level:g}."
        )


def _conclusion(code: int, fell: list[Any], unknown: list[Any], along: str) -> str:
    if code == FELL:
        return terminal.coloured(f"{len(fell)} got slower.", "red")
    if code == NOT_COMPARABLE and not unknown:
        return terminal.coloured("None of the checked lines got slower.", "yellow")
    if code == NOT_COMPARABLE:
        points = "kernels" if along == "kernel" else "days"
        return terminal.coloured(
            f"{len(unknown)} cannot be judged, for the reasons above: measure more {points} or "
            "repeats, or choose the lines that are to be checked.",
            "yellow",
        )
    return terminal.coloured("Nothing got slower.", "green")
