"""Server time of pages over a large data set, and how it grows with the runs.

    .venv/bin/python -m tests.services .venv/bin/python -m benchmarks.pages [RUNS]

It makes databases with RUNS (100,000) and a tenth of them, and requests each page through Django
without the network. Each request has another study, run or words, so that no cache helps. It prints
p95, median, queries and size, and whether p95 is below LIMIT_MS and the median at most MOST_GROWTH
times that with a tenth of the runs.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

REPEATS = 40
WARM_UP = 3
FEWEST = 5
LONGEST_S = 5.0  # of one page: what is far over the limit need not be measured 40 times
LIMIT_MS = 100
MOST_GROWTH = 1.5
RUNS = 100_000


def addresses() -> dict[str, Callable[[], str]]:
    """The pages by what to call them; each call gives an address."""
    from fsbench_web.studies.models import Run, Study

    chance = random.Random(11)
    runs = list(Run.objects.filter(state="done").values_list("pk", flat=True))
    slugs = list(Study.objects.filter(slug__startswith="campaign-").values_list("slug", flat=True))
    small = [slug for slug in slugs if slug != "campaign-0"] or slugs

    def study() -> str:
        return chance.choice(small)

    def two() -> str:
        return "&".join(f"study={slug}" for slug in chance.sample(small, min(2, len(small))))

    return {
        "home": lambda: "/",
        "studies": lambda: "/studies/",
        "study of 200 runs": lambda: f"/studies/{study()}/",
        "study, by configuration": lambda: f"/studies/{study()}/?by=configuration",
        "study with a tenth of all runs": lambda: "/studies/campaign-0/",
        "published study": lambda: "/studies/unisys-2005/",
        "matrix of a study": lambda: f"/studies/{study()}/matrix/?test=write",
        "compare, no filter": lambda: "/compare/",
        "compare one study": lambda: f"/compare/?study={study()}",
        "compare two studies": lambda: f"/compare/?{two()}",
        "compare one test of all": lambda: "/compare/?test=write&category=overall",
        "charts of one test": lambda: f"/compare/charts/write/?study={study()}",
        "runs": lambda: "/runs/",
        "runs of a study": lambda: f"/runs/?study={study()}&page=2",
        "runs, filtered": lambda: f"/runs/?filesystem={chance.choice(('ext4', 'xfs'))}&state=done",
        "run": lambda: f"/runs/{chance.choice(runs)}/",
        "search": lambda: f"/search/?q={chance.choice(('ext4 noatime', 'campaign', '6.6', 'bfq'))}",
        "compare, by configuration": lambda: f"/compare/?study={study()}&by=configuration",
        "history": lambda: f"/history/?study={study()}",
    }


def measure() -> dict[str, dict[str, Any]]:
    """p95 and median in ms, queries and KB of HTML, by page."""
    import django
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    django.setup()
    client = Client(headers={"host": "localhost"})
    rows = {}
    for name, address in addresses().items():
        with CaptureQueriesContext(connection) as queries:
            response = client.get(address())
        if response.status_code != 200:
            sys.exit(f"{name}: {address()} answers {response.status_code}")
        for _ in range(WARM_UP):
            client.get(address())
        times: list[float] = []
        end = time.monotonic() + LONGEST_S
        while len(times) < REPEATS and (time.monotonic() < end or len(times) < FEWEST):
            url = address()
            begin = time.perf_counter()
            response = client.get(url)
            times.append((time.perf_counter() - begin) * 1000)
        times.sort()
        rows[name] = {
            "p95": times[int(0.95 * (len(times) - 1) + 0.5)],
            "median": times[len(times) // 2],
            "queries": len(queries),
            "kb": len(response.content) / 1024,
        }
    return rows


def _in_a_process(url: str, module: str, argument: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, argument],
        env=os.environ | {"DATABASE_URL": url},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def _print_page(name: str, few: dict[str, Any], many: dict[str, Any]) -> None:
    growth = many["median"] / few["median"]
    missed = [
        *([f"p95 over {LIMIT_MS} ms"] if many["p95"] >= LIMIT_MS else []),
        *([f"more than {MOST_GROWTH:g} times"] if growth > MOST_GROWTH else []),
    ]
    numbers = "".join(
        f"{row['p95']:8.0f}{row['median']:7.0f}{row['queries']:8}{row['kb']:6.0f}"
        for row in (few, many)
    )
    verdict = f"MISSED: {', '.join(missed)}" if missed else "ok"
    print(f"{name:32}{numbers}{growth:7.2f}  {verdict}")


def main(runs: int) -> None:
    import psycopg

    server = os.environ["DATABASE_URL"]
    urls = {
        count: urlsplit(server)._replace(path=f"/pages_{count}").geturl()
        for count in (runs // 10, runs)
    }
    with psycopg.connect(server, autocommit=True) as connection:
        for count, url in urls.items():
            connection.execute(f"DROP DATABASE IF EXISTS pages_{count}")
            connection.execute(f"CREATE DATABASE pages_{count}")
            print(_in_a_process(url, "benchmarks.dataset", str(count)), end="", flush=True)
        # What the data sets left to be written would be written while pages are measured.
        connection.execute("CHECKPOINT")
    print(f"Load {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors", flush=True)
    few, many = (
        json.loads(_in_a_process(url, "benchmarks.pages", "--json")) for url in urls.values()
    )
    print(f"{'':32}" + "".join(f"{count:>24,} runs" for count in urls))
    print(f"{'page':32}" + f"{'p95':>8}{'median':>7}{'queries':>8}{'KB':>6}" * 2 + f"{'times':>7}")
    for name in many:
        _print_page(name, few[name], many[name])


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    if not os.environ.get("DATABASE_URL", "").startswith("postgresql"):
        sys.exit("DATABASE_URL must name a PostgreSQL database: see this file's top.")
    if "--json" in sys.argv:
        print(json.dumps(measure()))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
