"""``fsbench deltas``, ``export`` and ``check``: what a comparison says."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

from fsbench import deliveries, over_time, terminal
from fsbench.client import Client
from fsbench.exits import FELL, FINE, NOT_COMPARABLE
from fsbench.terminal import Cell, Column
from fsbench.transport import Problem

FILTERS = (
    *("study", "test", "category", "filesystem", "workload", "hardware", "configuration"),
    *("kernel", "distribution", "lun", "scheduler", "journal", "mkfs", "mount", "preparation"),
)
# Rows that measured something else, as the site flags them. Another kernel is what is often meant.
OTHER_THINGS = ("mixed_workloads", "mixed_hardware", "mixed_luns", "mixed_preparations")
BELOW = "below the margin"
_OF_COMPARISONS = ("baseline", "contender", "min_runs", "cells", "matched", "allow_mixed")
_VERDICTS = {
    "significant": Cell("significant", "green"),
    "equal": Cell("equivalent", "green"),
    "tie": Cell("inconclusive", "yellow"),
    "unknown": Cell("not known", "dim"),
}


def query_of(options: SimpleNamespace) -> list[tuple[str, str]]:
    """The comparison that the options ask for, in the words of the site's own address."""
    pairs = [(name, value) for name in FILTERS for value in getattr(options, name) or ()]
    for name in ("by", "baseline", "rule", "margin", "equivalence", "min_runs", "cells", "units"):
        value = getattr(options, name, None)
        if value not in (None, ""):
            pairs.append((name, str(value)))
    if getattr(options, "matched", False):
        pairs.append(("matched", "1"))
    return pairs


def segment(text: str) -> str:
    """A part of an address that somebody typed."""
    return quote(text, safe="")


def deltas(client: Client, options: SimpleNamespace) -> int:
    """Delta tables, worst first, with what is more than chance."""
    comparison = client.get("/comparison", query_of(options))
    if options.json:
        terminal.print_json(comparison)
        return FINE
    for place, table in enumerate(comparison["tables"]):
        terminal.print_line(
            *([""] if place else []),
            *table_lines(table, comparison["by"], bool(comparison["baseline"])),
        )
    if not comparison["tables"]:
        terminal.complain("No score matches this comparison.")
    if answer := comparison.get("answer"):  # on standard error: scripts read the tables
        terminal.complain(
            *(terminal.clean(text) for text in (answer["sentence"], *answer["details"]))
        )
    terminal.complain(*_of_emulated(comparison))
    return FINE


def _of_emulated(comparison: dict[str, Any]) -> Iterator[str]:
    """What was emulated in software, shown or left out: no speed, as the site's pages say."""
    count = comparison.get("emulated_left_out") or 0
    if count:
        verb = "is" if count == 1 else "are"
        yield (
            f"{count} emulated series {verb} left out: emulated results are for function, "
            "not for speed."
        )
    if any("emulated" in row["flags"] for table in comparison["tables"] for row in table["rows"]):
        yield "Results flagged emulated ran in software: they show function, not speed."


def table_lines(table: dict[str, Any], by: str, has_baseline: bool) -> Iterator[str]:
    """One delta table, its title first."""
    better = "lower is better" if table["lower_is_better"] else "higher is better"
    title = f"{terminal.clean(table['test'])}, {terminal.clean(table['category'])}"
    yield terminal.coloured(f"{title} [{terminal.clean(table['unit'])}, {better}]", "bold")
    is_alone = len(table["rows"]) == 1  # the best of one says nothing
    columns = [
        Column.name(by, lambda row: _contender(row, is_alone)),
        Column.name("configuration", "configuration"),
        Column.number("score", lambda row: _score(row, is_alone)),
        Column.number("delta 1", lambda row: terminal.delta(row["delta1_percent"])),
        Column.number("delta 2", lambda row: terminal.delta(row["delta2_percent"])),
        *(_OF_BASELINES if has_baseline else ()),
        Column.number("runs", "runs"),
        Column("against the best", lambda row: _against_the_best(row, is_alone)),
        Column.name("flags", lambda row: " ".join(row["flags"]) or " "),
    ]
    yield terminal.table(columns, table["rows"])


def _is_best(row: dict[str, Any], is_alone: bool) -> bool:
    return bool(row["best"]) and not is_alone


def _contender(row: dict[str, Any], is_alone: bool) -> Cell:
    best = _is_best(row, is_alone)
    return Cell(f"{row['contender']}{' *' if best else ''}", "green" if best else "")


def _score(row: dict[str, Any], is_alone: bool) -> Cell:
    return Cell(terminal.number(row["score"]), "green" if _is_best(row, is_alone) else "")


def _against_the_best(row: dict[str, Any], is_alone: bool) -> Cell:
    is_open = (row["verdict"] or {}).get("status") in ("tie", "unknown")
    return Cell("best") if _is_best(row, is_alone) and not is_open else _verdict(row["verdict"])


def _change(row: dict[str, Any]) -> str:
    return "baseline" if row["is_baseline"] else terminal.percent(row["change_percent"])


def _change_verdict(row: dict[str, Any]) -> Cell:
    return Cell("") if row["is_baseline"] else _verdict(row["change_verdict"])


_OF_BASELINES = (Column.number("change", _change), Column("verdict", _change_verdict))


def _verdict(verdict: dict[str, Any] | None) -> Cell:
    if verdict is None:
        return Cell("–")
    ratio = verdict.get("ratio")
    if verdict["status"] == "significant" and isinstance(ratio, int | float):
        word = "faster" if ratio > 1 else "slower"
        method = terminal.clean(str(verdict.get("method", "")))
        return Cell(f"{terminal.percent_size(100 * (ratio - 1))} {word}, {method}", "green")
    return _VERDICTS.get(verdict["status"], Cell("–"))


def export(client: Client, options: SimpleNamespace) -> int:
    """A comparison as a file, or on standard output; a workbook is not put on a terminal."""
    suffix = {"latex": "tex", "markdown": "md"}.get(options.format, options.format)
    content = client.download(f"/exports/deltas.{suffix}", query_of(options))
    if options.output and options.output != "-":
        Path(options.output).write_bytes(content)
        if not options.quiet:
            print(f"{options.output}: {len(content):,} bytes", file=sys.stderr)
        return FINE
    if suffix == "xlsx" and terminal.is_terminal():
        raise ValueError("A workbook is binary: name a file with -o FILE.")
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
    return FINE


def check(client: Client, options: SimpleNamespace) -> int:
    """Whether anything fell significantly against the baseline; see docs/client.md.

    What is significant is the site's verdict; what falls by less than the margin does not fail.
    """
    if options.along:
        others = [name for name in FILTERS if name not in over_time.TAKEN]
        return over_time.check(client, options, [*others, *_OF_COMPARISONS])
    if not options.baseline:
        raise ValueError(
            "Give what to check against: --baseline NAME, or --along date (or kernel) for a "
            "line's own past."
        )
    if options.since:
        raise ValueError("--since needs --along date or --along kernel.")
    if options.level is not None:
        raise ValueError("--level needs --along.")
    comparison, missing = _comparison(client, options)
    return judge(comparison, missing, options, client)


def judge(
    comparison: dict[str, Any], missing: str, options: SimpleNamespace, client: Client | None = None
) -> int:
    """Print what fell against the baseline, or why that is not known; returns the exit code.

    ``client``: None for files on this machine.
    """
    judged = _judged_rows(comparison, options)
    problems = [missing] if missing else list(_not_comparable(comparison, options))
    fell = [row for row in judged if row["result"] == "fell"]
    unknown = [row for row in judged if row["result"] == "not known"]
    code = NOT_COMPARABLE if problems else FELL if fell else NOT_COMPARABLE if unknown else FINE
    rows = [
        {**{name: row[name] for name in _PRINTED}, "verdict": row["change_verdict"]}
        for row in judged
    ]
    return deliveries.report(
        options,
        client,
        code,
        deliveries.of_comparison(judged),
        problems,
        answer={"baseline": options.baseline, "problems": problems, "rows": rows},
        table=terminal.table(_check_columns(comparison["by"]), judged) if judged else "",
        remarks=[*_of_emulated(comparison), *_remarks(comparison, options)],
        conclusion=[] if problems else [_conclusion(code, judged, options)],
    )


def _remarks(comparison: dict[str, Any], options: SimpleNamespace) -> Iterator[str]:
    """What is known of the numbers that were compared, which may be all that differs."""
    by_contender: dict[str, dict[str, None]] = {}
    for table in comparison["tables"]:
        for row in table["rows"]:
            if row["is_baseline"] or row["contender"] in (options.contender or [row["contender"]]):
                row_flags = dict.fromkeys(flag for flag in row["flags"] if flag != "emulated")
                by_contender.setdefault(row["contender"], {}).update(row_flags)
    for name, flags in by_contender.items():
        if flags:
            yield f"{terminal.clean(name)} is flagged: {', '.join(map(terminal.clean, flags))}."


_PRINTED = ("test", "category", "unit", "contender", "score", "change_percent", "result", "flags")


def _judged_rows(comparison: dict[str, Any], options: SimpleNamespace) -> list[dict[str, Any]]:
    """The rows that are asked about, each with its table and its result."""
    rows = [
        {"test": table["test"], "category": table["category"], "unit": table["unit"], **row}
        for table in comparison["tables"]
        for row in table["rows"]
        if not row["is_baseline"]
    ]
    contenders, margin = options.contender, _margin(options)
    return [
        {**row, "result": _result(row, margin)}
        for row in rows
        if not contenders or row["contender"] in contenders
    ]


def _margin(options: SimpleNamespace) -> float:
    """The percent by which something must fall, 10 where nobody says another."""
    try:
        return float(options.margin or 10)
    except ValueError:
        raise ValueError(f'--margin is a number of percent, not "{options.margin}".') from None


def _comparison(client: Client, options: SimpleNamespace) -> tuple[dict[str, Any], str]:
    """What the site answers, and why there is nothing to compare with where it says so."""
    try:
        # To the site a margin is one of the rule of FREENIX 2002.
        is_freenix = options.rule == "freenix"
        query = [(name, text) for name, text in query_of(options) if is_freenix or name != "margin"]
        return client.get("/comparison", query), ""
    except Problem as refused:
        if all(problem.get("field") != "baseline" for problem in refused.errors):
            raise
        return {"tables": []}, f"the baseline {options.baseline} has no score. {refused}"


def _result(row: dict[str, Any], least: float) -> str:
    """fell, rose, equivalent, inconclusive or not known: as the site's verdict has it."""
    verdict, change = row["change_verdict"], row["change_percent"]
    if verdict is None or verdict["status"] == "unknown" or change is None:
        return "not known"
    if verdict["status"] != "significant":
        return "equivalent" if verdict["status"] == "equal" else "inconclusive"
    if abs(change) < least:
        return BELOW
    return "fell" if change < 0 else "rose"


def _not_comparable(comparison: dict[str, Any], options: SimpleNamespace) -> Iterator[str]:
    """Why the comparison cannot be judged at all, in sentences."""
    if not comparison["tables"]:
        yield "No score matches: is there a finished run of everything that is compared?"
        return
    for table in comparison["tables"]:
        place = f"{terminal.clean(table['test'])}, {terminal.clean(table['category'])}"
        names = {row["contender"] for row in table["rows"]}
        if options.baseline not in names:
            offered = ", ".join(sorted(map(terminal.clean, names)))
            yield f"{place}: the baseline {options.baseline} has no score; there is {offered}."
        for name in options.contender or ():
            if name not in names:
                yield f"{place}: {name} has no score."
        if not options.contender and len(names - {options.baseline}) == 0:
            yield f"{place}: there is nothing but the baseline."
        flags = {flag for row in table["rows"] for flag in row["flags"]}
        if "not_comparable" in flags:
            yield f"{place}: it is not known whether more or less {table['unit']} is better."
        if not options.allow_mixed and (mixed := sorted(flags & set(OTHER_THINGS))):
            yield (
                f"{place}: the rows measured different things ({', '.join(mixed)}). Choose one, "
                "or accept that with --allow-mixed."
            )


def _check_columns(by: str) -> tuple[Column, ...]:
    return (
        Column.name("test", "test"),
        Column("category", "category"),
        Column.name(by, "contender"),
        Column.number("score", lambda row: terminal.number(row["score"], row["unit"])),
        Column.number("change", lambda row: terminal.percent(row["change_percent"])),
        Column.number("FDR", lambda row: terminal.probability(_verdict_of(row).get("q_value"))),
        Column("result", _result_cell),
    )


def _verdict_of(row: dict[str, Any]) -> dict[str, Any]:
    return row["change_verdict"] or {}


def _result_cell(row: dict[str, Any]) -> Cell:
    colours = {"fell": "red", "rose": "green", "not known": "yellow"}
    reasons = _verdict_of(row).get("reasons")
    text = f"{row['result']} ({', '.join(reasons)})" if reasons else row["result"]
    return Cell(text, colours.get(row["result"], ""))


def _conclusion(code: int, judged: list[dict[str, Any]], options: SimpleNamespace) -> str:
    by_result = Counter(row["result"] for row in judged)
    below = sum(row["result"] == BELOW and row["change_percent"] < 0 for row in judged)
    margin = f"{_margin(options):g}%"
    baseline = terminal.clean(options.baseline)
    if code == FELL:
        more = f", and {below} more by less than {margin}" if below else ""
        text = f"{by_result['fell']} fell significantly against {baseline}{more}."
        return terminal.coloured(text, "red")
    if code == NOT_COMPARABLE:
        reasons = {
            reason
            for row in judged
            if row["result"] == "not known"
            for reason in (row["change_verdict"] or {}).get("reasons", ["one_run"])
        }
        # More runs are no help to what a paper printed, or a guest in software measured.
        is_of_runs = bool(reasons & {"one_run", "samples"})
        needs = ": each side needs two finished runs at least" if is_of_runs else ""
        return terminal.coloured(
            f"{by_result['not known']} cannot be judged against {baseline}, for the reasons above"
            f"{needs}.",
            "yellow",
        )
    if below:
        text = (
            f"Nothing fell significantly by {margin} or more against {baseline}; {below} by less."
        )
        return terminal.coloured(text, "green")
    return terminal.coloured(f"Nothing fell significantly against {baseline}.", "green")
