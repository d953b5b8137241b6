"""What a guest's kernel said when it crashed, for the page of the run."""

import gzip
import io
from dataclasses import dataclass

from fsbench_web.catalog.workers.machines import CONSOLE, OOPS
from fsbench_web.studies.models import Artefact, Run

MOST_LINES, MOST_BYTES = 80, 64 * 1024


@dataclass(frozen=True)
class Crash:
    """The first ``lines`` of a crash, how many follow, and the artefacts with all of it."""

    lines: list[str]
    further_lines: int
    oops: Artefact | None
    console: Artefact | None


def crash_of(run: Run) -> Crash | None:
    """The crash of a run in a guest; None where there was none, or no guest. One query, or two."""
    if not run.series.runs_on.is_guest:
        return None
    by_name = {
        artefact.name: artefact
        for artefact in run.artefacts.filter(name__in=(CONSOLE, OOPS))
        .defer("content_gzip")
        .order_by("-id")
    }
    oops, console = by_name.get(OOPS), by_name.get(CONSOLE)
    if oops is None:
        return Crash([], 0, None, console) if console and run.has_ended else None
    with gzip.GzipFile(fileobj=io.BytesIO(oops.content_gzip)) as file:
        text = file.read(MOST_BYTES).decode("utf-8", "replace")
    lines = text.splitlines()
    return Crash(lines[:MOST_LINES], max(0, len(lines) - MOST_LINES), oops, console)
