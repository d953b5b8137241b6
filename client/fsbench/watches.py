"""``fsbench watches``: lines over time that the site tells you of when they get slower."""

from types import SimpleNamespace
from typing import Any

from fsbench import terminal
from fsbench.client import Client
from fsbench.exits import FINE
from fsbench.terminal import RIGHT, Cell, Column


def show_all(client: Client, options: SimpleNamespace) -> int:
    """Those of yours, newest first."""
    entries = client.get("/watches")["watches"]
    if options.json:
        terminal.print_json(entries)
    elif entries:
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
        terminal.print_line(terminal.table(columns, [_row(watch) for watch in entries]))
    else:
        terminal.complain(
            "You watch nothing: fsbench list lines --study STUDY shows lines, and fsbench watches "
            "add watches one."
        )
    return FINE


def _row(watch: dict[str, Any]) -> tuple[Any, ...]:
    channels = " ".join(filter(None, (watch["email"], watch["webhook_url"])))
    return (
        watch["id"],
        watch["title"],
        watch["test"],
        watch["category"],
        watch["along"],
        f"{watch['margin_percent']}%",
        channels or "the site alone",
        terminal.format_time(watch["checked_at"]),
        _state(watch),
    )


def _state(watch: dict[str, Any]) -> Cell:
    if not watch["is_there"]:
        return Cell("its line is gone", "yellow")
    if not watch["is_active"]:
        return Cell("paused", "yellow")
    return Cell(watch["problem"], "yellow") if watch["problem"] else Cell("watching", "green")


def add(client: Client, options: SimpleNamespace) -> int:
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
    watch = client.post("/watches", body)
    if options.json:
        terminal.print_json(watch)
        return FINE
    title = terminal.clean(watch["title"])
    terminal.print_line(
        f"Watch {watch['id']}: {title}", f"{client.site.url}{watch['links']['page']}"
    )
    if watch["secret"]:
        terminal.print_line(
            f"secret of the webhook, shown this once: {terminal.clean(watch['secret'])}"
        )
    return FINE


def pause(client: Client, options: SimpleNamespace) -> int:
    """Look at nothing and send nothing, until it is resumed."""
    paused = client.post(f"/watches/{options.number}/pause", {})
    if options.json:
        terminal.print_json(paused)
    else:
        terminal.print_line(f"Watch {options.number} is paused: nothing is sent.")
    return FINE


def resume(client: Client, options: SimpleNamespace) -> int:
    """Look again from now on. What had waited since before the pause is not sent."""
    resumed = client.post(f"/watches/{options.number}/resume", {})
    if options.json:
        terminal.print_json(resumed)
        return FINE
    terminal.print_line(f"Watch {options.number} looks again from now on.")
    if not_sent := resumed.get("not_sent"):
        terminal.print_line(f"Not sent, as it had waited since before the pause: {not_sent}")
    return FINE


def remove(client: Client, options: SimpleNamespace) -> int:
    """For good, with its messages."""
    client.delete(f"/watches/{options.number}")
    terminal.print_line(f"Watch {options.number} is removed.")
    return FINE
