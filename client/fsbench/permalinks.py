"""``fsbench permalinks``: comparisons with numbers saved under a short address."""

from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlencode

from fsbench import comparing, listing, terminal
from fsbench.client import Client
from fsbench.exits import FINE, REFUSED
from fsbench.terminal import Cell, Column


def show_all(client: Client, options: SimpleNamespace) -> int:
    """Those that you made, newest first."""
    permalinks, total = client.part("/permalinks", "permalinks", options.limit)
    nothing = "No permalinks yet: fsbench permalinks create makes one."
    terminal.show_list(options, _COLUMNS, permalinks, nothing)
    listing.note_truncation(len(permalinks), total)
    return FINE


def _until(permalink: dict[str, Any]) -> Cell:
    text = permalink["expires_on"]
    return Cell(f"{text} (over)", "yellow") if permalink["is_over"] else Cell(text)


_COLUMNS = (
    Column("key", "key"),
    Column.name("title", "heading"),
    Column("seen by", "visibility"),
    Column("until", _until),
    Column("made (UTC)", listing.made),
)


def create(client: Client, options: SimpleNamespace) -> int:
    """Keep a comparison as it is now, and print its address."""
    body = {
        "query": urlencode(comparing.query_of(options)),
        "title": options.title,
        "note": options.note,
        "visibility": options.visibility,
        "expires_on": options.expires or None,
    }
    permalink = client.post("/permalinks", body)
    terminal.answer(options, permalink, _address(client, permalink))
    return FINE


def show(client: Client, options: SimpleNamespace) -> int:
    """The kept numbers, and whether there are newer ones. REFUSED where they were changed."""
    permalink = client.get(f"/permalinks/{comparing.segment(options.key)}")
    if options.json:
        terminal.print_json(permalink)
        return FINE if permalink["is_intact"] else REFUSED
    made_by = terminal.clean(permalink["created_by"])
    terminal.print_line(
        terminal.coloured(terminal.clean(permalink["heading"]), "bold"),
        _address(client, permalink),
        f"made {terminal.format_time(permalink['created_at'])} UTC by {made_by}; "
        f"SHA-256 {permalink['sha256']}",
    )
    if permalink["note"]:
        terminal.print_line(terminal.clean(permalink["note"]))
    by = (parse_qs(permalink["query"]).get("by") or ["filesystem"])[0]
    for table in permalink["tables"]:
        has_baseline = any(row["is_baseline"] for row in table["rows"])
        terminal.print_line("", *comparing.table_lines(table, by, has_baseline))
    changes = permalink["changes"] or {}
    if changes.get("problem"):
        terminal.complain(terminal.clean(changes["problem"]))
    elif changes.get("newer_runs") or changes.get("gone_runs"):
        terminal.print_line(
            "",
            f"Since then: {changes['newer_runs']} newer runs, {changes['gone_runs']} gone, "
            f"{changes['changed_rows']} rows would differ.",
        )
    if not permalink["is_intact"]:
        terminal.complain("These numbers are NOT those that were kept: their checksum differs.")
        return REFUSED
    return FINE


def delete(client: Client, options: SimpleNamespace) -> int:
    """For good: its address no longer works."""
    client.delete(f"/permalinks/{comparing.segment(options.key)}")
    terminal.print_line(f"Permalink {terminal.clean(options.key)} is deleted.")
    return FINE


def _address(client: Client, permalink: dict[str, Any]) -> str:
    return f"{client.site.url}{permalink['links']['page']}"
