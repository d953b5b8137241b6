"""A site under load: browsers on compare pages and uploads at once, beside workers that run.

    .venv/bin/python -m tests.services .venv/bin/python -m benchmarks.load [--minutes 10] [--mixed]

As root (the workers attach loop devices). On a PostgreSQL and a Redis of its own: two web processes
on one port (``--processes``), an importer, and eight worker processes with a LUN each. ``--minutes
1`` is the same for a first look.

*A browser* is a person who looks at comparisons over one connection, compressed as browsers ask
for it: a compare page of some study, at once the charts of one of its tests if it has any, then 5
to 10 s of reading, then the next. It asks for no style sheets and scripts: these have names with a
hash, and a browser has them from its first page. 50 of them start within the first ten seconds,
not in step.

With ``--mixed`` it looks at another page of the site after each comparison: studies, runs, search,
history, CSV and API.

*The uploads* start together, all 20 at the same moment, and again every 15 s (``--every``): each a
table of 20 numbers that no other has, to a study of its own with five configurations.

*A worker* has the tests' fake executor: no disk is measured, but every claim, heartbeat, log line
and result is written as by real ones. Each run prints ten lines a second for 10 s (``--run-takes``)
and leaves 120 numbers; real runs take minutes. A series gets five repeats.

In the end every upload that was answered with 201 and every run that ended is looked up: each
number must be there once and be the one that was sent. Prints latencies as the clients saw them,
those of requests beside uploads and between them too, and what each part of the site took of the
processors and the web processes held in memory (``benchmarks.load.memory``); ends with 1 where
something failed, was lost, a 95th percentile of all requests of a kind is not under 500 ms, or a
web process held 400 MB or grew.
"""

import argparse
import os
import subprocess
import sys
import threading
import time

from benchmarks.load.clients import COMPARE, Client, RequestLog, Shelf, browse, upload
from benchmarks.load.memory import MemoryWatch, report_memory
from benchmarks.load.report import report, report_use
from benchmarks.load.runs import STUDY, lost_writes, submit_runs, tokens_of, wait_for_workers
from benchmarks.load.site import WEB, WORKER, site

SETTLE_S = 8.0


def main(options: argparse.Namespace) -> int:
    subprocess.run(
        [sys.executable, "-m", "benchmarks.dataset", str(options.runs), "12"], check=True
    )
    import django

    django.setup()
    from fsbench_web.studies.models import Run, RunState, Study

    seconds, seen, end = options.minutes * 60, RequestLog(), threading.Event()
    shelf = Shelf(
        list(Study.objects.order_by("slug").values_list("slug", flat=True)),
        list(Study.objects.filter(is_published=False).values_list("slug", flat=True)),
        list(Run.objects.filter(state=RunState.DONE).values_list("pk", flat=True)),
    )
    tokens = tokens_of(options.uploads)
    with site(options) as (running_site, port):
        wait_for_workers(options.workers)
        time.sleep(SETTLE_S)  # workers and web are still loading programs
        for study in (
            shelf.studies * options.processes
        ):  # nobody waits for a process that has just begun
            Client(port, RequestLog()).ask(COMPARE, f"/compare/?study={study}")
        submit_runs(options.workers, int(seconds / options.run_takes) + 20)
        barrier = threading.Barrier(options.uploads + 1)
        clients = [
            threading.Thread(target=browse, args=(port, shelf, options.mixed, seen, end))
            for _ in range(options.browsers)
        ] + [
            threading.Thread(target=upload, args=(port, token, number, barrier, seen, end))
            for number, token in enumerate(tokens)
        ]
        memory = MemoryWatch(running_site.of_kind(WEB), end)
        before = running_site.used_s()
        memory.start()
        for client in clients:
            client.start()
        began, load = time.monotonic(), []
        while time.monotonic() - began < seconds:
            barrier.wait(120)
            load.append(os.getloadavg()[0])
            time.sleep(max(0.0, min(options.every, seconds - (time.monotonic() - began))))
        end.set()
        barrier.abort()
        for client in clients:
            client.join(60)
        after, took_s = running_site.used_s(), time.monotonic() - began
        errors = list(running_site.errors())
        running_site.stop(list(running_site.of_kind(WORKER)))
        lost = list(lost_writes(seen))
    done = Run.objects.filter(series__study__slug=STUDY, state=RunState.DONE).count()
    is_fast = report(seen, took_s)
    report_use(before, after, took_s)
    is_small = report_memory(memory.samples)
    print(
        f"{options.browsers} browsers, {options.uploads} uploads at once every "
        f"{options.every:g} s, {options.workers} workers with runs of {options.run_takes:g} s, "
        f"{options.processes} web processes, {options.minutes:g} minutes; "
        f"{len(seen.uploaded)} uploads stored, {done} runs done; load {min(load):.1f} to "
        f"{max(load):.1f} on {os.cpu_count()} processors"
    )
    for title, sentences in (
        ("failed requests", seen.failures),
        ("errors in logs", errors),
        ("lost or wrong writes", lost),
    ):
        print(f"{title}: {len(sentences)}")
        for sentence in sentences[:10]:
            print(f"  {sentence}")
    return 0 if is_fast and is_small and not (seen.failures or errors or lost) else 1


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    parser = argparse.ArgumentParser(description="A site under load; see this file's top.")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--browsers", type=int, default=50)
    parser.add_argument("--uploads", type=int, default=20)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--every", type=float, default=15, help="seconds between the uploads")
    parser.add_argument("--run-takes", type=float, default=10, help="seconds of a worker's run")
    parser.add_argument("--processes", type=int, default=2, help="web processes")
    parser.add_argument("--runs", type=int, default=1000, help="runs that are there before")
    parser.add_argument("--mixed", action="store_true", help="other pages than comparisons too")
    chosen = parser.parse_args()
    if not os.environ.get("DATABASE_URL", "").startswith("postgresql"):
        sys.exit("DATABASE_URL must name an empty PostgreSQL database: see this file's top.")
    sys.exit(main(chosen))
