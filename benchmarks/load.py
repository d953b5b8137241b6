"""A site under load: browsers on compare pages and uploads at once, beside workers that run.

    .venv/bin/python -m tests.services .venv/bin/python -m benchmarks.load [--minutes 10]

As root (the workers attach loop devices). On a PostgreSQL and a Redis of its own: two web processes
on one port (``--processes``), an importer, and eight worker processes with a LUN each. ``--minutes
1`` is the same for a first look.

*A browser* is a person who looks at comparisons over one connection, compressed as browsers ask
for it: a compare page of some study, at once the charts of one of its tests if it has any, then 5
to 10 s of reading, then the next. It asks for no style sheets and scripts: these have names with a
hash, and a browser has them from its first page. 50 of them start within the first ten seconds,
not in step.

*The uploads* start together, all 20 at the same moment, and again every 15 s (``--every``): each a
table of 20 numbers that no other has, to a study of its own with five configurations.

*A worker* has the tests' fake executor: no disk is measured, but every claim, heartbeat, log line
and result is written as by real ones. Each run prints ten lines a second for 10 s (``--run-takes``)
and leaves 120 numbers; real runs take minutes. A series gets five repeats.

In the end every upload that was answered with 201 and every run that ended is looked up: each
number must be there once and be the one that was sent. Prints latencies as the clients saw them,
those of requests beside uploads and between them too, and what each part of the site took of the
processors; ends with 1 where something failed, was lost, or a 95th percentile of all requests of a
kind is not under 500 ms.
"""

import argparse
import gzip
import html
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

MANAGE = Path(__file__).resolve().parent.parent / "manage.py"
LIMIT_MS = 500
READS_S = (5.0, 10.0)
# A server closes a connection after 5 s without a request, and a browser then opens another.
KEEPS_CONNECTION_S = 4.0
UPLOAD = "upload"
REPEATS = 5
SETTLE_S = 8.0
CHARTS = re.compile(rb'hx-get="(/compare/charts/[^"]+)"')
CELLS = [(record, size) for size in (64, 128, 256, 512) for record in (4, 8, 16, 32, 64)]
SMALL = {
    "minimum_record_kb": 4,
    "maximum_record_kb": 64,
    "minimum_file_kb": 64,
    "maximum_file_kb": 512,
}


@dataclass
class Seen:
    """What the clients saw. Requests, (began at s, took ms), by kind; a sentence a failure."""

    requests: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    uploaded: dict[int, float] = field(default_factory=dict)  # run -> its first value
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, began: float, took_s: float) -> None:
        with self.lock:
            self.requests.setdefault(kind, []).append((began, took_s * 1000))

    def is_beside_uploads(self) -> Callable[[tuple[float, float]], bool]:
        """Which requests were under way at the same time as an upload."""
        spans: list[list[float]] = []
        for began, took_ms in sorted(self.requests.get(UPLOAD, [])):
            if spans and began <= spans[-1][1]:
                spans[-1][1] = max(spans[-1][1], began + took_ms / 1000)
            else:
                spans.append([began, began + took_ms / 1000])
        starts = [start for start, _ in spans]

        def is_beside(request: tuple[float, float]) -> bool:
            began, took_ms = request
            place = bisect_right(starts, began + took_ms / 1000) - 1
            return place >= 0 and spans[place][1] >= began

        return is_beside

    def fail(self, sentence: str) -> None:
        with self.lock:
            self.failures.append(sentence)


class Client:
    """One connection that is kept, as a browser keeps it."""

    def __init__(self, port: int, seen: Seen) -> None:
        self._port, self._seen = port, seen
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._used = 0.0

    def ask(
        self,
        kind: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        wanted: int = 200,
    ) -> bytes | None:
        """The body, or None when it was not what was wanted, which is noted."""
        if time.monotonic() - self._used > KEEPS_CONNECTION_S:
            self._connection.close()
        sent = {"Accept-Encoding": "gzip"} | (headers or {})
        method, began = ("GET" if body is None else "POST"), time.perf_counter()
        try:
            self._connection.request(method, path, body, sent)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self._seen.fail(f"{kind} {path}: {type(error).__name__} {error}")
            return None
        self._seen.note(kind, began, time.perf_counter() - began)
        self._used = time.monotonic()
        if answer.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        if answer.status != wanted:
            self._seen.fail(f"{kind} {path}: {answer.status} {content[:200]!r}")
            return None
        return content


def browse(port: int, studies: list[str], seen: Seen, end: threading.Event) -> None:
    client, chance = Client(port, seen), random.Random(threading.get_ident())
    end.wait(chance.uniform(0, READS_S[1]))
    while not end.is_set():
        page = client.ask("compare page", f"/compare/?study={chance.choice(studies)}")
        offered = CHARTS.findall(page or b"")
        if offered:
            client.ask("charts of a test", html.unescape(chance.choice(offered).decode()))
        end.wait(chance.uniform(*READS_S))


def upload(
    port: int, token: str, number: int, start: threading.Barrier, seen: Seen, end: threading.Event
) -> None:
    client, turn = Client(port, seen), 0
    while not end.is_set():
        try:
            start.wait()
        except threading.BrokenBarrierError:
            return
        if end.is_set():
            return
        turn += 1
        send_table(client, token, number, turn, seen)


def send_table(client: Client, token: str, number: int, turn: int, seen: Seen) -> None:
    """Twenty numbers that no other table has, to a study of ``number``."""
    first = 1_000_000.0 + number * 10_000 + turn
    rows = "".join(
        f"write,{record},{size},{first + place / 100:.2f},KB/s\n"
        for place, (record, size) in enumerate(CELLS)
    )
    table = "test,record_size_kb,file_size_kb,value,unit\n" + rows
    fields = {"study": f"Load {number}", "filesystem": "ext4", "configuration": f"c{turn % 5}"}
    body, content_type = _multipart(fields, f"{number}-{turn}.csv", table.encode())
    answer = client.ask(
        UPLOAD,
        "/api/v1/imports",
        body,
        {"Content-Type": content_type, "Authorization": f"Bearer {token}"},
        wanted=201,
    )
    if answer is not None:
        runs = json.loads(answer)["runs"]
        with seen.lock:
            seen.uploaded |= dict.fromkeys(runs, first)


def _multipart(fields: dict[str, str], name: str, data: bytes) -> tuple[bytes, str]:
    edge = "fsbench-load-boundary"
    parts = [
        f'--{edge}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in fields.items()
    ]
    head = (
        f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: text/csv\r\n\r\n"
    )
    parts += [head.encode(), data, f"\r\n--{edge}--\r\n".encode()]
    return b"".join(parts), f"multipart/form-data; boundary={edge}"


def work() -> None:
    """A worker process with the fake executor; its settings are in the environment."""
    import django

    django.setup()
    from runner.config import read_config
    from runner.executors.base import OnMessage, Outcome, ShouldStop
    from runner.executors.fake import FakeExecutor, message, succeed
    from runner.plan import RunPlan
    from runner.service import serve
    from runner.worker import Host

    takes_s = float(os.environ["FSBENCH_LOAD_RUN_TAKES_S"])

    def slowly(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        until = time.monotonic() + takes_s
        while time.monotonic() < until and not should_stop():
            on_message(message("log", stream="stderr", text="a fake at work"))
            time.sleep(0.1)
        return succeed(plan, on_message, should_stop)

    sys.exit(serve(Host(read_config(), FakeExecutor(slowly), "benchmarks.load")))


class Site:
    """The processes of the site, each with its log."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *argv: str, **more: Any) -> None:
        own = {"FSBENCH_TEST_DATA": str(self.folder / name)} | more.pop("env", {})
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *argv],
                env=self.environment | own,
                stdout=log,
                stderr=log,
                **more,
            )

    def start_worker(self, name: str, run_takes_s: float) -> None:
        folder = self.folder / name
        folder.mkdir()
        luns = folder / "luns.toml"
        luns.write_text(
            f'[[lun]]\nname = "disk"\nkind = "sparse-file"\npath = "{folder}/disk.img"\n'
            'size = "64 MiB"\n'
        )
        luns.chmod(0o600)
        env = {
            "FSBENCH_LUNS": str(luns),
            "FSBENCH_WORKER": name,
            "FSBENCH_LOAD_RUN_TAKES_S": str(run_takes_s),
        }
        self.start(name, "-m", "benchmarks.load", "--work", env=env)

    def stop(self, names: list[str] | None = None) -> None:
        """Ask all (or some) to end, and wait."""
        chosen = [self.processes[name] for name in names or self.processes]
        for process in chosen:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in chosen:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()

    def used_s(self) -> dict[str, float]:
        """Seconds of a processor since its start, by kind of process, with what clients do."""
        used = {"PostgreSQL": _used_by_postgres_s(), "clients": time.process_time()}
        for name, process in self.processes.items():
            kind = {"web": "web processes", "load": "workers"}.get(name.split("-")[0], name)
            used[kind] = used.get(kind, 0.0) + _used_s(process.pid)
        return used

    def errors(self) -> Iterator[str]:
        """Processes that ended, and lines of level ERROR or above, of the logs (JSON)."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                yield f"{name} ended with {process.returncode}"
            for line in (self.folder / f"{name}.log").read_text().splitlines():
                try:
                    said = json.loads(line)
                except ValueError:
                    yield f"{name}: {line[:300]}"
                    continue
                if said["level"] in ("ERROR", "CRITICAL"):
                    yield f"{name}: {said['message'][:200]} {said.get('error', '')[-200:]}"


def _used_s(pid: int) -> float:
    """Seconds of a processor that a process and its ended children took (proc(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def _used_by_postgres_s() -> float:
    """The server and its processes: those that ended are counted as the server's children."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        own = cursor.fetchone()[0]
    server = Path(f"/proc/{own}/stat").read_text().rpartition(")")[2].split()[1]
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    return sum(_used_s(int(pid)) for pid in [server, *children])


@contextmanager
def site(options: argparse.Namespace) -> Iterator[tuple[Site, int]]:
    """Everything started; gives it and the port of the web."""
    from fsbench_web.serving.supervisor import open_socket
    from tests.services.redis import redis

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fsbench-load-")))
        url = stack.enter_context(redis())
        listening = stack.enter_context(open_socket("127.0.0.1", 0))
        environment = os.environ | {"CELERY_BROKER_URL": url, "FSBENCH_LOG_FORMAT": "json"}
        if options.processes > 1:
            counters = folder / "counters"
            counters.mkdir()
            environment["PROMETHEUS_MULTIPROC_DIR"] = str(counters)
        made = Site(folder, environment)
        stack.callback(made.stop)
        web = str(listening.fileno())
        for number in range(options.processes):
            argv = ("-m", "fsbench_web.serving.web", web)
            made.start(f"web-{number}", *argv, pass_fds=[listening.fileno()])
        made.start("importer", str(MANAGE), "importer")
        for number in range(options.workers):
            made.start_worker(f"load-{number}", options.run_takes)
        yield made, listening.getsockname()[1]


def wait_for_workers(count: int) -> None:
    from fsbench_web.catalog.models import Worker

    deadline = time.monotonic() + 120
    while Worker.objects.filter(name__startswith="load-").count() < count:
        if time.monotonic() > deadline:
            sys.exit("Not all workers announced themselves within two minutes.")
        time.sleep(0.5)


def submit_runs(workers: int, each: int) -> None:
    """Queued runs for every worker, more than it can do."""
    from django.db import transaction

    from fsbench_web.catalog.configurations.records import configuration_for
    from fsbench_web.catalog.models import Lun, Workload
    from fsbench_web.studies.models import Study
    from fsbench_web.studies.runs import new_runs
    from fsbench_web.studies.series import series_for

    study = Study.objects.create(slug="under-load", title="Under load")
    workload = Workload.objects.create(
        slug="under-load", title="Under load", tool="iozone", parameters=SMALL
    )
    flags = [{}, {"atime": "noatime"}, {"atime": "nodiratime"}, {"atime": "strictatime"}]
    kinds = [(filesystem, options) for filesystem in ("ext4", "xfs", "btrfs") for options in flags]
    for lun in Lun.objects.filter(worker__name__startswith="load-").select_related("worker"):
        wanted = []
        for filesystem, options in kinds[: 1 + each // REPEATS]:
            series = series_for(
                study,
                configuration_for(filesystem, options, external_journal=False),
                workload=workload,
                hardware=lun.worker.hardware,
                lun=lun,
                journal_lun=None,
                kernel=lun.worker.capabilities["kernel"],
                distribution=lun.worker.capabilities["distribution"],
            )
            repeats = max(REPEATS, each // len(kinds) + 1)
            wanted += [new_runs.NewRun(series, repeat + 1) for repeat in range(repeats)]
        with transaction.atomic():
            new_runs.create_all_queued(wanted, by=None, job=None)


def tokens_of(count: int) -> list[str]:
    """A token of an account of its own for each who uploads."""
    from django.contrib.auth.models import User
    from django.core.management import call_command

    made = []
    for number in range(count):
        User.objects.create_superuser(f"load-{number}")
        printed = StringIO()
        call_command("create_token", f"load-{number}", stdout=printed)
        made.append(printed.getvalue().strip())
    return made


def lost_writes(seen: Seen) -> Iterator[str]:
    """What was confirmed, or ended as done, and is not there as it should be."""
    from fsbench_web.studies.models import Lease, MeasurementBlock, Run, RunState
    from fsbench_web.studies.scores import measurements

    for run_id, first in seen.uploaded.items():
        rows = MeasurementBlock.objects.filter(run=run_id, run__state=RunState.DONE)
        values = sorted(one.value for one in measurements.rows(rows))
        expected = [round(first + place / 100, 2) for place in range(len(CELLS))]
        if values != expected:
            yield f"upload of run {run_id}: {len(values)} of {len(expected)} numbers as sent"
    for run in Run.objects.filter(series__study__slug="under-load").exclude(state=RunState.QUEUED):
        rows = measurements.rows(measurements.of_run(run.pk))
        count = sum(one.file_size_kb is not None for one in rows)
        changes = list(run.changes.values_list("state", flat=True))
        if run.state == RunState.DONE and count != 6 * len(CELLS):
            yield f"run {run.pk} is done with {count} of {6 * len(CELLS)} numbers"
        # The end of the measurement stops the workers, and so the runs of that moment.
        elif run.state != RunState.DONE and "The worker was stopped" not in run.reason:
            yield f"run {run.pk} ended {run.state}: {run.reason}"
        if len(changes) != len(set(changes)):
            yield f"run {run.pk} was carried out twice: {changes}"
    for lease in Lease.objects.exclude(run=None):
        yield f"run {lease.run_id} still has its LUN"


def share(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def report(seen: Seen, seconds: float) -> bool:
    """Print latencies; whether all are within the limit."""
    head = f"{'requests':>9}{'errors':>8}{'a second':>9}{'p50':>7}{'p95':>7}{'p99':>7}{'worst':>7}"
    print(
        f"{'':18}{head}  ms   p95 under {LIMIT_MS} ms   p95 beside uploads / between (share beside)"
    )
    every = {**dict(sorted(seen.requests.items())), "all": [*chain(*seen.requests.values())]}
    is_beside = seen.is_beside_uploads()
    is_fast = True
    for kind, requests in every.items():
        took = [took_ms for _, took_ms in requests]
        errors = sum(kind == "all" or said.startswith(kind) for said in seen.failures)
        shown = "".join(f"{share(took, part):7.0f}" for part in (0.5, 0.95, 0.99, 1))
        verdict = "yes" if share(took, 0.95) < LIMIT_MS else "NO"
        is_fast &= share(took, 0.95) < LIMIT_MS
        beside = [one[1] for one in requests if is_beside(one)]
        between = [one[1] for one in requests if not is_beside(one)]
        parts = " / ".join(
            f"{share(part, 0.95):.0f}" if part else "–" for part in (beside, between)
        )
        print(
            f"{kind:18}{len(took):9}{errors:8}{len(took) / seconds:9.1f}{shown}       {verdict:16}"
            f"{parts} ({len(beside) / len(took):.0%})"
        )
    return is_fast


def report_use(before: dict[str, float], after: dict[str, float], seconds: float) -> None:
    used = {kind: after[kind] - before.get(kind, 0.0) for kind in after}
    shown = ", ".join(f"{kind} {took / seconds:.2f}" for kind, took in used.items())
    print(f"processors in use: {shown}; together {sum(used.values()) / seconds:.2f}")


def main(options: argparse.Namespace) -> int:
    subprocess.run(
        [sys.executable, "-m", "benchmarks.dataset", str(options.runs), "12"], check=True
    )
    import django

    django.setup()
    from fsbench_web.studies.models import Run, RunState, Study

    seconds, seen, end = options.minutes * 60, Seen(), threading.Event()
    studies = list(Study.objects.order_by("slug").values_list("slug", flat=True))
    tokens = tokens_of(options.uploads)
    with site(options) as (made, port):
        wait_for_workers(options.workers)
        time.sleep(SETTLE_S)  # workers and web are still loading programs
        for study in studies * options.processes:  # nobody waits for a process that has just begun
            Client(port, Seen()).ask("warm", f"/compare/?study={study}")
        submit_runs(options.workers, int(seconds / options.run_takes) + 20)
        barrier = threading.Barrier(options.uploads + 1)
        clients = [
            threading.Thread(target=browse, args=(port, studies, seen, end))
            for _ in range(options.browsers)
        ] + [
            threading.Thread(target=upload, args=(port, token, number, barrier, seen, end))
            for number, token in enumerate(tokens)
        ]
        before = made.used_s()
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
        after, took_s = made.used_s(), time.monotonic() - began
        errors = list(made.errors())
        made.stop([name for name in made.processes if name.startswith("load-")])
        lost = list(lost_writes(seen))
    done = Run.objects.filter(series__study__slug="under-load", state=RunState.DONE).count()
    is_fast = report(seen, took_s)
    report_use(before, after, took_s)
    print(
        f"{options.browsers} browsers, {options.uploads} uploads at once every "
        f"{options.every:g} s, {options.workers} workers with runs of {options.run_takes:g} s, "
        f"{options.processes} web processes, {options.minutes:g} minutes; "
        f"{len(seen.uploaded)} uploads stored, {done} runs done; load {min(load):.1f} to "
        f"{max(load):.1f} on {os.cpu_count()} processors"
    )
    for title, found in (
        ("failed requests", seen.failures),
        ("errors in logs", errors),
        ("lost or wrong writes", lost),
    ):
        print(f"{title}: {len(found)}")
        for sentence in found[:10]:
            print(f"  {sentence}")
    return 0 if is_fast and not (seen.failures or errors or lost) else 1


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
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        work()
    if not os.environ.get("DATABASE_URL", "").startswith("postgresql"):
        sys.exit("DATABASE_URL must name an empty PostgreSQL database: see this file's top.")
    sys.exit(main(chosen))
