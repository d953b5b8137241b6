"""``fsbench watches``: lines over time that the site tells you of when they get slower."""

from types import SimpleNamespace
from typing import Any

from fsbench import terminal
from fsbench.client import Client
from fsbench.exits import FINE
from fsbench.terminal import Cell, Column


def show_all(client: Client, options: SimpleNamespace) -> int:
    """Those of yours, newest first."""
    nothing = (
        "No watches: fsbench list lines --study STUDY shows lines, and fsbench watches add "
        "watches one."
    )
    terminal.show_list(options, _COLUMNS, client.get("/watches")["watches"], nothing)
    return FINE


def _channels(watch: dict[str, Any]) -> str:
    return " ".join(filter(None, (watch["email"], watch["webhook_url"]))) or "the site alone"


def _state(watch: dict[str, Any]) -> Cell:
    if not watch["is_there"]:
        return Cell("its line is gone", "yellow")
    if not watch["is_active"]:
        return Cell("paused", "yellow")
    return Cell(watch["problem"], "yellow") if watch["problem"] else Cell("watching", "green")


_COLUMNS = (
    Column.number("watch", "id"),
    Column.name("what", "title"),
    Column.name("test", "test"),
    Column("category", "category"),
    Column("along", "along"),
    Column.number("margin", lambda watch: f"{watch['margin_percent']}%"),
    Column.name("tells", _channels),
    Column("looked (UTC)", lambda watch: terminal.format_time(watch["checked_at"])),
    Column.name("state", _state),
)


def add(client: Client, options: SimpleNamespace) -> int:
    """Watch a line from now on. The secret of a webhook is shown only now."""
    names = ("series", "test", "category", "along", "margin", "email")
    body = {name: getattr(options, name) for name in names} | {"webhook_url": options.webhook}
    watch = client.post("/watches", body)
    lines = [f"Watch {watch['id']}: {watch['title']}", f"{client.site.url}{watch['links']['page']}"]
    if watch["secret"]:
        lines.append(f"secret of the webhook, shown this once: {watch['secret']}")
    terminal.answer(options, watch, *map(terminal.clean, lines))
    return FINE


def pause(client: Client, options: SimpleNamespace) -> int:
    """Look at nothing and send nothing, until it is resumed."""
    paused = client.post(f"/watches/{options.number}/pause", {})
    terminal.answer(options, paused, f"Watch {options.number} is paused: nothing is sent.")
    return FINE


def resume(client: Client, options: SimpleNamespace) -> int:
    """Look again from now on. What had waited since before the pause is not sent."""
    resumed = client.post(f"/watches/{options.number}/resume", {})
    lines = [f"Watch {options.number} looks again from now on."]
    if not_sent := resumed.get("not_sent"):
        lines.append(f"Not sent, as it had waited since before the pause: {not_sent}")
    terminal.answer(options, resumed, *lines)
    return FINE


def confirm(client: Client, options: SimpleNamespace) -> int:
    """Let it measure old and new again before it tells; 0 rounds: never."""
    body = {
        "rounds": options.rounds,
        "hours": options.hours,
        "confirm": " ".join(options.yes_erase or ()),
    }
    watch = client.send("PUT", f"/watches/{options.number}/confirmation", body)
    line = f"Watch {options.number} tells at once."
    if watch["confirm_rounds"]:
        line = (
            f"Watch {options.number} measures {watch['confirm_rounds']} rounds within "
            f"{watch['confirm_hours']} hours before it tells."
        )
    terminal.answer(options, watch, line)
    return FINE


def mark(client: Client, options: SimpleNamespace) -> int:
    """Say of a change that it is expected or fixed."""
    body = {"state": options.state, "note": options.note}
    change = client.send("PATCH", f"/watches/{options.number}/changes/{options.change}", body)
    line = f"Change {options.change} is {terminal.clean(change['state'])}."
    terminal.answer(options, change, line)
    return FINE


def remove(client: Client, options: SimpleNamespace) -> int:
    """For good, with its messages."""
    client.delete(f"/watches/{options.number}")
    terminal.print_line(f"Watch {options.number} is removed.")
    return FINE
