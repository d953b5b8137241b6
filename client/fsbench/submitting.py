"""``fsbench submit``: a job from a document or from options. It says first what is erased."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fsbench import terminal, watching
from fsbench.client import Client
from fsbench.exits import FINE, NOT_CONFIRMED
from fsbench.terminal import Column

SHOWN_RUNS = 12


def submit(client: Client, options: SimpleNamespace) -> int:
    """Show what would be done, have it confirmed, submit it."""
    document = document_of(options)
    preview = client.post("/sweeps/preview", {"document": document})
    if options.dry_run:
        if options.json:
            terminal.print_json(preview)
        else:
            _show(preview, sys.stdout)
        return FINE
    if not options.json:
        _show(preview, sys.stderr)
    if not confirmed(preview["confirm"], options.yes_erase):
        return NOT_CONFIRMED
    # The preview's document has the seed: what was shown is what is submitted.
    job = client.submit(preview["document"], preview["confirm"])
    if options.json and not options.watch:
        terminal.print_json(job)
    elif not options.json:
        numbers = [run["id"] for run in job["planned"]]
        span = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        terminal.print_line(
            f"Job {job['id']}: {terminal.quantity(len(numbers), 'run')} submitted, {span}.",
            f"{client.site.url}{job['links']['page']}",
        )
        if not options.watch:
            print(f"To follow it: fsbench watch --job {job['id']}", file=sys.stderr)
    if options.watch:
        return watching.follow_job(client, job["id"], options.interval, as_json=options.json)
    return FINE


def document_of(options: SimpleNamespace) -> str | dict[str, Any]:
    """The job: the text of the file, which the site reads, or a document of the options.

    Raises ValueError, and OSError where the file cannot be read.
    """
    parts = [
        name
        for name in (
            *("study", "lun", "worker", "filesystem", "scheduler", "workload", "parameter"),
            *("repeats", "best_within", "start_at", "stop_before"),
        )
        if getattr(options, name)
    ]
    if options.document:
        if parts:
            named = ", ".join(f"--{name.replace('_', '-')}" for name in parts)
            raise ValueError(f"The document sets everything: leave {named} out.")
        return sys.stdin.read() if options.document == "-" else _text_of(options.document)
    lacking = [name for name in ("study", "lun", "filesystem", "workload") if name not in parts]
    if lacking:
        named = ", ".join(f"--{name}" for name in lacking)
        raise ValueError(f"Say what to run: a document, or {named} too.")
    workload: str | dict[str, Any] = options.workload
    if options.parameter:
        workload = {
            "name": options.workload,
            "parameters": dict(_pair(text) for text in options.parameter),
        }
    return {
        "study": options.study,
        "lun": options.lun,
        **({"worker": options.worker} if options.worker else {}),
        "configurations": [_configuration(text) for text in options.filesystem],
        **({"schedulers": options.scheduler} if options.scheduler else {}),
        "workloads": [workload],
        **_repeat_options(options),
        **({"start_at": options.start_at} if options.start_at else {}),
        **({"stop_before": options.stop_before} if options.stop_before else {}),
    }


def _repeat_options(options: SimpleNamespace) -> dict[str, Any]:
    if options.best_within is None:
        return {"repeats": options.repeats or 2}
    if options.repeats:
        raise ValueError("A race sets its own repeats: leave --repeats out.")
    return {"race": {"hours": options.best_within}}


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text.") from None


def _configuration(text: str) -> str | dict[str, Any]:
    """``ext4`` or ``ext4:atime=noatime,journal_mode=writeback``."""
    name, _, rest = text.partition(":")
    if not rest:
        return name
    return {"filesystem": name, "options": dict(_pair(part) for part in rest.split(","))}


def _pair(text: str) -> tuple[str, Any]:
    """``key=value``; what is JSON (a number, true, a list) is meant as such."""
    key, is_pair, value = text.partition("=")
    if not is_pair or not key:
        raise ValueError(f'"{text}" is not KEY=VALUE.')
    try:
        return key.strip(), json.loads(value)
    except ValueError:
        return key.strip(), value


def _show(preview: dict[str, Any], stream: Any) -> None:
    runs = preview["runs"]
    columns = [
        Column.number("", "position"),
        Column.name("configuration", "configuration"),
        Column("scheduler", "scheduler"),
        Column.name("workload", "workload"),
        Column.number("repeat", "repeat"),
        Column.number("about", lambda run: terminal.duration(run["estimated_s"])),
    ]
    print(terminal.table(columns, runs[:SHOWN_RUNS]), file=stream)
    if len(runs) > SHOWN_RUNS:
        print(f"… and {len(runs) - SHOWN_RUNS} more", file=stream)
    for entry in preview["left_out"]:
        print(
            f"left out: {terminal.clean(entry['configuration'])}: "
            f"{terminal.clean(entry['reason'])}",
            file=stream,
        )
    estimated_s, erasures = preview["estimated_s"], preview["erasures"]
    duration = (
        "duration not known" if estimated_s is None else f"about {terminal.duration(estimated_s)}"
    )
    print(
        f"{terminal.quantity(len(runs), 'run')}, {duration}; "
        f"{terminal.quantity(erasures, 'erasure')}.",
        file=stream,
    )
    if preview.get("start_at"):
        print(f"No run begins before {terminal.clean(preview['start_at'])}.", file=stream)
    if preview.get("outlook"):
        print(terminal.clean(preview["outlook"]), file=stream)
    warn_of_erasure(preview["confirm"], erases=bool(erasures), stream=stream)


def warn_of_erasure(confirmation: str, *, erases: bool, stream: Any = None) -> None:
    """Before anybody confirms; to standard error where nothing else is said."""
    stream = stream or sys.stderr
    names = terminal.clean(confirmation)
    if erases:
        text = terminal.coloured(f"ALL DATA WILL BE LOST on: {names}", "red", stream)
    else:
        text = f"Nothing is erased: {names} is a directory or mount, and other files in it stay."
    print(text, file=stream)


def confirmed(confirmation: str, sentences: list[str]) -> bool:
    """The names of all LUNs, typed by a person, or given one by one by a script."""
    if sentences:
        if sorted(sentences) == sorted(confirmation.split()):
            return True
        terminal.complain(
            f'--yes-erase says "{" ".join(sentences)}", and the job erases '
            f'"{terminal.clean(confirmation)}". Nothing was submitted.'
        )
        return False
    if not sys.stdin.isatty():
        terminal.complain(
            "No terminal to confirm on: scripts pass --yes-erase LUN, once for each LUN. "
            "Nothing was submitted."
        )
        return False
    print(f'Type "{terminal.clean(confirmation)}" to go on: ', end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() == confirmation:
        return True
    terminal.complain("That is something else. Nothing was submitted.")
    return False
