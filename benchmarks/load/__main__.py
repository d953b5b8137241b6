"""A site under load: browsers on compare pages and uploads at once, while workers run.

    .venv/bin/python -m tests.services .venv/bin/python -m benchmarks.load [--minutes 10]

Needs root, PostgreSQL and Redis. It starts two web processes, an importer and eight workers.

*A browser* opens a compare page and the charts of one test, reads for 5 to 10 s, and goes on. *The
uploads* start together, 20 tables every 15 s. *A worker* has the tests' fake executor: it measures
no disk, but writes all that a real one does.

At the end each confirmed upload and each ended run is looked up. It ends with 1 if a request
failed, a number is missing or wrong, a p95 is not under LIMIT_MS, or a web process held LIMIT_MB.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from itertools import chain

from benchmarks.load.clients import COMPARE, Client, RequestLog, browse, share, tokens_of, upload
from benchmarks.load.site import STUDY, WORKER, lost_writes, site, submit_runs, wait_for_workers

LIMIT_MS = 500
LIMIT_MB = 400
SETTLE_S = 8.0


def main(options: argparse.Namespace) -> int:
    subprocess.run(
        [sys.executable, "-m", "benchmarks.dataset", str(options.runs), "12"], check=True
    )
    import django

    django.setup()
    from fsbench_web.studies.models import Run, RunState, Study

    seconds, seen, end = options.minutes * 60, RequestLog(), threading.Event()
    studies = list(Study.objects.order_by("slug").values_list("slug", flat=True))
    tokens = tokens_of(options.uploads)
    with site(options) as (running_site, port):
        wait_for_workers(options.workers)
        time.sleep(SETTLE_S)  # workers and web are still loading programs
        # Nobody waits for a process that has just begun.
        for study in studies * options.processes:
            Client(port, RequestLog()).ask(COMPARE, f"/compare/?study={study}")
        submit_runs(options.workers, int(seconds / options.run_takes) + 20)
        barrier = threading.Barrier(options.uploads + 1)
        clients = [
            threading.Thread(target=browse, args=(port, studies, seen, end))
            for _ in range(options.browsers)
        ] + [
            threading.Thread(target=upload, args=(port, token, number, barrier, seen, end))
            for number, token in enumerate(tokens)
        ]
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
        took_s, most_mb = time.monotonic() - began, running_site.most_mb()
        errors = list(running_site.errors())
        running_site.stop(list(running_site.of_kind(WORKER)))
        lost = list(lost_writes(seen))
    done = Run.objects.filter(series__study__slug=STUDY, state=RunState.DONE).count()
    is_fast = report(seen, took_s)
    is_small = max(most_mb.values()) < LIMIT_MB
    print("memory at most: " + ", ".join(f"{name} {mb:.0f} MB" for name, mb in most_mb.items()))
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


def report(seen: RequestLog, seconds: float) -> bool:
    """Print latencies; whether all are within the limit."""
    head = f"{'requests':>9}{'a second':>9}{'p50':>7}{'p95':>7}{'p99':>7}{'worst':>7}"
    print(f"{'':18}{head}  ms   p95 under {LIMIT_MS} ms")
    by_kind = {**dict(sorted(seen.requests.items())), "all": [*chain(*seen.requests.values())]}
    is_fast = True
    for kind, took in by_kind.items():
        percentiles = "".join(f"{share(took, part):7.0f}" for part in (0.5, 0.95, 0.99, 1))
        verdict = "yes" if share(took, 0.95) < LIMIT_MS else "NO"
        is_fast &= verdict == "yes"
        print(f"{kind:18}{len(took):9}{len(took) / seconds:9.1f}{percentiles}       {verdict}")
    return is_fast


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
    chosen = parser.parse_args()
    if not os.environ.get("DATABASE_URL", "").startswith("postgresql"):
        sys.exit("DATABASE_URL must name an empty PostgreSQL database: see this file's top.")
    sys.exit(main(chosen))
