"""``fsbench watch`` and ``cancel``: follow a run or a job until it has ended."""

import shutil
import sys
from types import SimpleNamespace
from typing import Any

from rich.cells import cell_len

from fsbench import terminal
from fsbench.client import Client, looks
from fsbench.exits import ENDED_BADLY, FINE, OUT_OF_TIME

ENDS = ("done", "failed", "cancelled", "lost")
POLL_S = 2.0
BAR = 28


def watch(client: Client, options: SimpleNamespace) -> int:
    """The exit code says how it ended."""
    follow = follow_job if options.job else follow_run
    return follow(client, options.number, options.interval, as_json=options.json)


def cancel(client: Client, options: SimpleNamespace) -> int:
    """What waits ends at once, what runs as soon as its worker has tidied up."""
    kind = "sweeps" if options.job else "runs"
    answer = client.post(f"/{kind}/{options.number}/cancel", {})
    if options.job:
        cancelled = terminal.quantity(answer["cancelled_now"], "run")
        line = (
            f"Job {options.number}: {cancelled} cancelled, {answer['asked_to_stop']} asked to stop."
        )
    elif answer["state"] == "cancelled":
        line = f"Run {options.number} is cancelled."
    else:
        line = f"Run {options.number} is asked to stop."
    terminal.answer(options, answer, line)
    return FINE


def follow_run(client: Client, number: int, poll_s: float, *, as_json: bool) -> int:
    screen = _Screen(is_quiet=as_json)
    for run in looks(client, f"/runs/{number}", poll_s):
        has_ended = run["state"] in ENDS
        label = f"run {number} {terminal.clean(run['configuration']['label'])}"
        share = 1.0 if run["state"] == "done" else run["progress"]
        words = terminal.clean(run["phase"]) if run["phase"] and not has_ended else ""
        left = "" if has_ended else _time_left(run["remaining_s"])
        screen.draw(label, share, run["state"], words, left)
        if has_ended:
            break
    screen.end()
    if as_json:
        terminal.print_json(run)
    elif run["reason"]:
        terminal.print_line(terminal.clean(run["reason"]))
    if run["state"] != "done" and not as_json:
        print(f"Its log: {client.site.url}/runs/{number}/", file=sys.stderr)
    return FINE if run["state"] == "done" else ENDED_BADLY


def follow_job(client: Client, number: int, poll_s: float, *, as_json: bool) -> int:
    screen = _Screen(is_quiet=as_json)
    for job in looks(client, f"/sweeps/{number}", poll_s):
        counts = job["runs"]
        has_ended = counts["waiting"] == 0 and counts["running"] == 0
        left = "" if has_ended else _time_left(job["remaining_s"])
        screen.draw(f"job {number}", job["share_ended"], job["state"], _race_progress(job), left)
        if has_ended:
            break
    screen.end()
    not_begun = {entry["run"] for entry in job.get("not_begun") or ()}
    if as_json:
        terminal.print_json(job)
    else:
        for run in job["planned"]:
            if run["state"] in ENDS and run["state"] != "done":
                label = terminal.clean(run["configuration"])
                text = "not begun, for lack of time" if run["id"] in not_begun else run["state"]
                terminal.print_line(f"run {run['id']} ({label}): {text}")
    race = job.get("race")
    if race and race["conclusion"] and not as_json:
        terminal.print_line(terminal.clean(race["conclusion"]))
    # Who failed is out of a race, and it goes on to its end.
    is_over = race["phase"] == "ended" if race else counts["done"] == counts["total"]
    if is_over:
        return FINE
    if not not_begun or counts["done"] + len(not_begun) < counts["total"]:
        return ENDED_BADLY
    if not as_json:
        terminal.print_line(
            f"{counts['done']} of {counts['total']} runs are done, and none failed: the time of "
            "the job (--stop-before) left the others out. Submit what is missing with more time."
        )
    return OUT_OF_TIME


def _race_progress(job: dict[str, Any]) -> str:
    """``3 of 4 runs planned so far, ext4_none leads``: a race plans its next runs as it goes."""
    counts, race = job["runs"], job.get("race")
    ended = counts["done"] + counts["failed"] + counts["cancelled"]
    words = f"{ended} of {counts['total']} runs"
    if race and race["phase"] != "ended":
        words += " planned so far"
    if leader := (race or {}).get("leader"):
        words += f", {terminal.clean(leader)} leads"
    return words + (f", {counts['failed']} failed" if counts["failed"] else "")


def _time_left(seconds: float | None) -> str:
    return f"{terminal.duration(seconds)} left" if seconds is not None else ""


class _Screen:
    """One line that is redrawn on a terminal; in a pipe a line for every change of words."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_live = terminal.is_terminal() and not is_quiet
        self._is_quiet, self._last = is_quiet, ""

    def draw(self, label: str, share: float, state: str, words: str, left: str) -> None:
        share = min(1.0, max(0.0, share))
        text = "  ".join(part for part in (label, state, words) if part)
        if self._is_quiet:
            return
        if not self._is_live:
            if text != self._last:
                # Behind the words it would be taken for theirs: "ext4 leads  97%".
                parts = (label, state, f"{share:.0%}", words)
                print("  ".join(part for part in parts if part), flush=True)
            self._last = text
            return
        filled = round(share * BAR)
        bar = terminal.coloured("█" * filled, "cyan") + "░" * (BAR - filled)
        rest = "  ".join(part for part in (f"{share:4.0%}", state, words, left) if part)
        columns = shutil.get_terminal_size().columns
        name = terminal.shortened(label, max(8, columns - BAR - cell_len(rest) - 4))
        sys.stdout.write(f"\r\x1b[K{name} {bar} {rest}")
        sys.stdout.flush()

    def end(self) -> None:
        if self._is_live:
            sys.stdout.write("\n")
            sys.stdout.flush()
