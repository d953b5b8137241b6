"""What pages cost while ten clients fetch what is drawn up, in a loop each, without an account.

    .venv/bin/python -m benchmarks.renderings [--seconds 6] [--loops 10]

Starts the site's web process (SQLite, the published studies) three times, one after the other, and
asks for ``/glossary/`` and ``/studies/`` as one client does, first alone and then beside the loops,
on a workbook and a report on the screen:

before      as if nothing were done: all with the pages, drawn up in threads, nothing kept
unlimited   as it is, but for the number of calls that one client has (FSBENCH_RENDERED_CALLS=0)
as it is

Prints medians and 95th percentiles in milliseconds, what they are of those alone (the ratio is of
one run, so that another machine gives much the same), and what the loops were answered.
"""

import argparse
import http.client
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

PAGES = ("/glossary/", "/studies/")
LOOPS = (
    "/compare/deltas.xlsx?study=unisys-2005",
    "/studies/unisys-2005/report/",
)
KINDS = {"before": "--before", "unlimited": "--unlimited", "as it is": ""}


def serve(descriptor: int, *, is_before: bool) -> None:
    """The web process, as the supervisor starts it."""
    from fsbench_web.renderings import answers
    from fsbench_web.renderings.cache import RenderingCache
    from fsbench_web.serving import thread_pools, web

    if is_before:
        thread_pools.is_rendered = lambda path: False
        answers.cache = RenderingCache(0, 0)
        answers.start_renderer = lambda: None  # type: ignore[assignment,return-value]
        # Those who waited for the same had it made each for themselves.
        answers.cache.once = lambda key, make: make()  # type: ignore[method-assign]
    web.main(descriptor)


@contextmanager
def site(kind: str) -> Iterator[int]:
    """Its port."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        limits = {"FSBENCH_RENDERED_CALLS": "0"} if kind != "as it is" else {}
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.renderings", "--serve"),
                *(str(listening.fileno()), *filter(None, [KINDS[kind]])),
            ],
            pass_fds=[listening.fileno()],
            env=os.environ | limits,
        )
        port = listening.getsockname()[1]
        try:
            for address in (*PAGES, *LOOPS):
                ask(port, address)
            yield port
        finally:
            process.terminate()
            process.wait(60)


def ask(port: int, address: str) -> tuple[int, float]:
    """(status, milliseconds) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    began = time.perf_counter()
    connection.request("GET", address)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, (time.perf_counter() - began) * 1000


def measure(port: int, seconds: float, loops: int, address: str | None) -> tuple[list[float], str]:
    """Times of the pages, and the statuses that the loops on ``address`` had."""
    looping = None
    if address:
        # In a process of its own: here they would keep the clock waiting.
        looping = subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.renderings", "--loop", str(port), address),
                *("--loops", str(loops)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        time.sleep(1)
    times: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until or len(times) < 5:
        for page in PAGES:
            times.append(ask(port, page)[1])
            time.sleep(0.02)  # one who reads, not a loop
    text = looping.communicate()[0].strip() if looping else ""
    return sorted(times), text


def loop(port: int, address: str, loops: int) -> None:
    """Ask again and again, until the input ends; print what was answered how often."""
    end, statuses = threading.Event(), Counter[int]()

    def ask_on() -> None:
        while not end.is_set():
            statuses[ask(port, address)[0]] += 1

    threads = [threading.Thread(target=ask_on) for _ in range(loops)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    end.set()
    for thread in threads:
        thread.join()
    print(", ".join(f"{count} × {status}" for status, count in sorted(statuses.items())))


def main(seconds: float, loops: int) -> None:
    with tempfile.TemporaryDirectory(prefix="fsbench-renderings-") as folder:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{folder}/site.sqlite3")
        os.environ |= {"FSBENCH_DATA": folder, "DJANGO_SETTINGS_MODULE": "fsbench_web.settings"}
        for command in ("migrate", "load_published", "collectstatic --no-input"):
            subprocess.run(
                [sys.executable, "manage.py", *command.split(), "--verbosity", "0"], check=True
            )
        beside = f"beside {loops} loops on"
        print(f"{'':10}{beside:42}{'median':>8}{'p95':>8}{'ratio':>7}{'p95':>7}")
        for kind in KINDS:
            with site(kind) as port:
                alone, _ = measure(port, seconds, loops, None)
                for address in (None, *LOOPS):
                    times, statuses = (
                        measure(port, seconds, loops, address) if address else (alone, "")
                    )
                    median, p95 = statistics.median(times), times[int(0.95 * len(times))]
                    ratio = median / statistics.median(alone)
                    of_p95 = p95 / alone[int(0.95 * len(alone))]
                    print(
                        f"{kind:10}{address or '(alone)':42}{median:8.1f}{p95:8.1f}"
                        f"{ratio:7.1f}{of_p95:7.1f}  {statuses}",
                        flush=True,
                    )
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Pages beside what is drawn up.")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--loops", type=int, default=10)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--loop", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--before", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--unlimited", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.loop is not None:
        loop(int(chosen.loop[0]), chosen.loop[1], chosen.loops)
    elif chosen.serve is not None:
        serve(chosen.serve, is_before=chosen.before)
    else:
        main(chosen.seconds, chosen.loops)
