"""``fsbench login``, ``logout``, ``whoami``, and ``import``."""

import getpass
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from fsbench import credentials, terminal
from fsbench.client import Client, looks
from fsbench.exits import FINE, REFUSED
from fsbench.terminal import Column
from fsbench.transport import Problem

SHOWN_RUNS = 10
ACCEPTED = "accepted"
POLL_S = 1.0
FIELDS = (
    *("study", "filesystem", "configuration", "hardware", "kernel", "repeat"),
    *("source", "licence", "blocks", "kilobyte", "repeats_differ", "leave_out"),
)


def login(url: str, options: SimpleNamespace) -> int:
    """Ask for a token, try it, keep it. A token is never an argument: every user could see it."""
    if options.token_stdin or not sys.stdin.isatty():
        token = sys.stdin.readline().strip()
    else:
        print(f"Make a token on {url}/account/ and paste it here.", file=sys.stderr)
        token = getpass.getpass("Token: ").strip()
    if not token:
        raise ValueError("No token was given: make one on the account page.")
    client = Client(url, token, options.timeout, options.ca_file)
    me = client.get("/me")
    path = credentials.keep(url, token)
    if client.site.is_plain:
        terminal.complain("The address is plain http: others on the network can read the token.")
    _print_account(me, url, options.json)
    print(f"Kept in {path}, for you alone.", file=sys.stderr)
    return FINE


def logout(client: Client, options: SimpleNamespace) -> int:
    """Revoke the token, and forget it."""
    me = client.get("/me")
    if me["token"] is not None and not options.keep_token:
        client.delete(f"/me/tokens/{me['token']['id']}")
    credentials.forget(client.site.url)
    terminal.print_line(f"Signed out of {client.site.url}.")
    return FINE


def whoami(client: Client, options: SimpleNamespace) -> int:
    _print_account(client.get("/me"), client.site.url, options.json)
    return FINE


def _print_account(me: dict[str, Any], url: str, as_json: bool) -> None:
    if as_json:
        terminal.print_json(me)
        return
    luns = "every LUN" if me["luns"] is None else ", ".join(me["luns"]) or "no LUN"
    token = me["token"] or {"name": "a session", "scopes": [], "expires_at": None}
    name = terminal.clean(me["username"])
    terminal.print_line(
        f"{name} on {url}: {terminal.clean(me['role'])}; may erase {terminal.clean(luns)}",
        f"token {terminal.clean(token['name'])}: {terminal.clean(', '.join(token['scopes']))}; "
        f"expires {terminal.format_time(token['expires_at']) if token['expires_at'] else 'never'}",
    )


def import_files(client: Client, options: SimpleNamespace) -> int:
    """Store result files, or with ``--preview`` look at what would be stored."""
    if options.preview and options.if_new:
        raise ValueError("--preview stores nothing: leave --if-new out.")
    missing = [str(path) for path in options.paths if not path.exists()]
    if missing:
        raise ValueError(f"There is no {', '.join(missing)}.")
    endpoint = "/imports/previews" if options.preview else "/imports"
    try:
        answer = client.upload(endpoint, _fields(options), options.paths)
    except Problem as problem:
        if problem.status not in (413, 422):
            raise
        terminal.complain("Nothing was stored.", *[line_of(error) for error in problem.errors])
        return REFUSED
    if answer["state"] == ACCEPTED and not options.preview:
        answer = _wait_until_stored(client, answer)
        if answer["state"] != "done":
            terminal.complain("Nothing was stored.", *_problems_of(answer))
            return REFUSED
    for warning in answer.get("warnings", []):
        terminal.note(line_of(warning) + times(warning))
    if options.json:
        terminal.print_json(answer)
    elif options.preview:
        _show_preview(answer, client.site.url)
    else:
        _show_stored(answer, client.site.url)
    return FINE


def _fields(options: SimpleNamespace) -> dict[str, str]:
    fields = {name: getattr(options, name) for name in FIELDS if getattr(options, name)}
    if options.ignore_columns is not None:
        fields["ignore_columns"] = options.ignore_columns
    flags = {name: "true" for name in ("if_new", "strict") if getattr(options, name)}
    return {**fields, **flags}


def _show_stored(imported: Mapping[str, Any], url: str) -> None:
    runs, known_files = imported["runs"], imported.get("known", [])
    if known_files:
        numbers = ", ".join(f"run {file['run']}" for file in known_files[:SHOWN_RUNS])
        more = (
            f" and {len(known_files) - SHOWN_RUNS:,} more" if len(known_files) > SHOWN_RUNS else ""
        )
        terminal.note(f"Already stored, skipped: {numbers}{more}.")
    if imported["id"] is None:
        terminal.print_line("No new results: nothing was stored.")
        return
    terminal.print_line(f"Import {imported['id']}: {terminal.quantity(len(runs), 'run')} stored.")
    terminal.print_line(*[f"{url}/runs/{run}/" for run in runs[:SHOWN_RUNS]])
    if len(runs) > SHOWN_RUNS:
        terminal.print_line(
            f"… and {len(runs) - SHOWN_RUNS:,} more: {url}/imports/{imported['id']}/"
        )


def _wait_until_stored(client: Client, accepted: Mapping[str, Any]) -> Any:
    """A large import, once the site's importer has stored it, or said why it cannot."""
    number = accepted["id"]
    terminal.note(f"Import {number} is large: the site stores it in the background.")
    answers = looks(client, f"/imports/{number}", POLL_S)
    return next(answer for answer in answers if answer["state"] != ACCEPTED)


def _problems_of(answer: Mapping[str, Any]) -> list[str]:
    """What stands against storing it, or how the importer failed."""
    reason = answer["report"].get("reason")
    problems = [line_of(problem) for problem in answer["problems"]]
    return [*problems, terminal.clean(reason)] if reason else problems


def _show_preview(preview: dict[str, Any], url: str) -> None:
    rows = [{"file": file, **run} for file in preview["files"] for run in file["runs"]]
    columns = [
        Column.name("file", "file.path"),
        Column("format", "file.format"),
        Column("file system", "filesystem"),
        Column.name("configuration", "configuration"),
        Column.number("numbers", lambda run: sum(test["cells"] for test in run["tests"])),
    ]
    if rows:
        terminal.print_line(terminal.table(columns, rows))
    terminal.complain(*[line_of(problem) for problem in preview["problems"]])
    terminal.print_line(f"Nothing is stored yet: {url}/imports/{preview['id']}/ has the rest.")


def times(warning: Mapping[str, Any]) -> str:
    """How often there is what a warning tells of the first place."""
    count = warning.get("count", 1)
    return f" ({count:,} times)" if isinstance(count, int) and count > 1 else ""


def line_of(problem: Mapping[str, Any]) -> str:
    """A problem as compilers write theirs."""
    places = [problem.get(name) for name in ("file", "line", "column", "field")]
    place = ":".join(str(part) for part in places if part is not None)
    message = terminal.clean(problem.get("message", ""))
    if not place or message.startswith(f"{place}:"):
        return message
    return f"{terminal.clean(place)}: {message}"
