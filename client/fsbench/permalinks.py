"""``fsbench permalinks``: comparisons whose numbers are kept under a short address."""

import argparse
from typing import Any
from urllib.parse import parse_qs, urlencode

from fsbench import comparing, listing, terminal
from fsbench.client import Client
from fsbench.exits import FINE, REFUSED
from fsbench.terminal import Cell, Column

VISIBILITIES = ("public", "team", "private")


def show_all(client: Client, options: argparse.Namespace) -> int:
    """Those that you made, newest first."""
    found, total = client.part("/permalinks", "permalinks", options.limit)
    if options.json:
        terminal.print_json(found)
    elif found:
        columns = [
            Column("key"),
            Column("title", may_shrink=True),
            Column("seen by"),
            Column("until"),
            Column("made (UTC)"),
        ]
        terminal.print_line(terminal.table(columns, [_row(one) for one in found]))
    else:
        terminal.complain("You have made no permalink: fsbench permalinks create keeps one.")
    listing.note_truncation(len(found), total)
    return FINE


def _row(one: dict[str, Any]) -> tuple[Any, ...]:
    until = Cell(f"{one['expires_on']} (over)", "yellow") if one["is_over"] else one["expires_on"]
    return (
        one["key"],
        one["heading"],
        one["visibility"],
        until,
        terminal.format_time(one["created_at"]),
    )


def create(client: Client, options: argparse.Namespace) -> int:
    """Keep a comparison as it is now, and print its address."""
    body = {
        "query": urlencode(comparing.query_of(options)),
        "title": options.title,
        "note": options.note,
        "visibility": options.visibility,
        "expires_on": options.expires or None,
    }
    made = client.post("/permalinks", body)
    if options.json:
        terminal.print_json(made)
    else:
        terminal.print_line(_address(client, made))
    return FINE


def show(client: Client, options: argparse.Namespace) -> int:
    """The kept numbers, and whether there are newer ones. REFUSED where they were changed."""
    found = client.get(f"/permalinks/{comparing.segment(options.key)}")
    if options.json:
        terminal.print_json(found)
        return FINE if found["is_intact"] else REFUSED
    made_by = terminal.clean(found["created_by"])
    terminal.print_line(
        terminal.coloured(terminal.clean(found["heading"]), "bold"),
        _address(client, found),
        f"made {terminal.format_time(found['created_at'])} UTC by {made_by}; "
        f"SHA-256 {found['sha256']}",
    )
    if found["note"]:
        terminal.print_line(terminal.clean(found["note"]))
    by = (parse_qs(found["query"]).get("by") or ["filesystem"])[0]
    for one in found["tables"]:
        has_baseline = any(row["is_baseline"] for row in one["rows"])
        terminal.print_line("", *comparing.table_lines(one, by, has_baseline))
    changes = found["changes"] or {}
    if changes.get("problem"):
        terminal.complain(terminal.clean(changes["problem"]))
    elif changes.get("newer_runs") or changes.get("gone_runs"):
        terminal.print_line(
            "",
            f"Since then: {changes['newer_runs']} newer runs, {changes['gone_runs']} gone, "
            f"{changes['changed_rows']} rows would differ.",
        )
    if not found["is_intact"]:
        terminal.complain("These numbers are NOT those that were kept: their checksum differs.")
        return REFUSED
    return FINE


def delete(client: Client, options: argparse.Namespace) -> int:
    """For good: its address opens nothing any more."""
    client.delete(f"/permalinks/{comparing.segment(options.key)}")
    terminal.print_line(f"Permalink {terminal.clean(options.key)} is deleted.")
    return FINE


def _address(client: Client, one: dict[str, Any]) -> str:
    return f"{client.site.url}{one['links']['page']}"
