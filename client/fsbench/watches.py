"""``fsbench watches``: lines over time that the site tells you of when they get slower."""

import argparse
from typing import Any

from fsbench import terminal
from fsbench.client import Client
from fsbench.exits import FINE
from fsbench.terminal import RIGHT, Cell, Column


def show_all(client: Client, options: argparse.Namespace) -> int:
    """Those of yours, newest first."""
    found = client.get("/watches")["watches"]
    if options.json:
        terminal.print_json(found)
    elif found:
        columns = [
            Column("watch", RIGHT),
            Column("what", may_shrink=True),
            Column("test", may_shrink=True),
            Column("category"),
            Column("along"),
            Column("margin", RIGHT),
            Column("tells", may_shrink=True),
            Column("looked (UTC)"),
            Column("state", may_shrink=True),
        ]
        terminal.print_line(terminal.table(columns, [_row(one) for one in found]))
    else:
        terminal.complain(
            "You watch nothing: fsbench list lines --study STUDY shows lines, and fsbench watches "
            "add watches one."
        )
    return FINE


def _row(one: dict[str, Any]) -> tuple[Any, ...]:
    tells = " ".join(filter(None, (one["email"], one["webhook_url"])))
    return (
        one["id"],
        one["title"],
        one["test"],
        one["category"],
        one["along"],
        f"{one['margin_percent']}%",
        tells or "the site alone",
        terminal.format_time(one["checked_at"]),
        _state(one),
    )


def _state(one: dict[str, Any]) -> Cell:
    if not one["is_there"]:
        return Cell("its line is gone", "yellow")
    if not one["is_active"]:
        return Cell("paused", "yellow")
    return Cell(one["problem"], "yellow") if one["problem"] else Cell("watching", "green")


def add(client: Client, options: argparse.Namespace) -> int:
    """Watch a line from now on. The secret of a webhook is told this once."""
    body = {
        "series": options.series,
        "test": options.test,
        "category": options.category,
        "along": options.along,
        "margin": options.margin,
        "email": options.email,
        "webhook_url": options.webhook,
    }
    made = client.post("/watches", body)
    if options.json:
        terminal.print_json(made)
        return FINE
    title = terminal.clean(made["title"])
    terminal.print_line(f"Watch {made['id']}: {title}", f"{client.site.url}{made['links']['page']}")
    if made["secret"]:
        terminal.print_line(
            f"secret of the webhook, shown this once: {terminal.clean(made['secret'])}"
        )
    return FINE


def pause(client: Client, options: argparse.Namespace) -> int:
    """Look at nothing and send nothing, until it is resumed."""
    paused = client.post(f"/watches/{options.number}/pause", {})
    if options.json:
        terminal.print_json(paused)
    else:
        terminal.print_line(f"Watch {options.number} is paused: nothing is sent.")
    return FINE


def resume(client: Client, options: argparse.Namespace) -> int:
    """Look again from now on. What had waited since before the pause is not sent."""
    resumed = client.post(f"/watches/{options.number}/resume", {})
    if options.json:
        terminal.print_json(resumed)
        return FINE
    terminal.print_line(f"Watch {options.number} looks again from now on.")
    if not_sent := resumed.get("not_sent"):
        terminal.print_line(f"Not sent, as it had waited since before the pause: {not_sent}")
    return FINE


def remove(client: Client, options: argparse.Namespace) -> int:
    """For good, with its messages."""
    client.delete(f"/watches/{options.number}")
    terminal.print_line(f"Watch {options.number} is removed.")
    return FINE
