"""What pages, exports and API answers weigh when an upload holds far more than anybody reads:

    .venv/bin/python -m benchmarks.bounded [TESTS] [CONFIGURATIONS] [SECONDS]

Makes two valid files, one with so many tests (100,000: 2.7 MB), one with so many configurations
(20,000: 0.6 MB), and imports each into a database of its own. Every address that could show them
is then asked for once, in a process of its own, for SECONDS (60) at most. Prints seconds, bytes,
what the answer added to the peak of that process, and marks what is over the limits of
docs/performance.md.
"""

import contextlib
import os
import random
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

TESTS, CONFIGURATIONS, SECONDS = 100_000, 20_000, 60
MOST_SECONDS, MOST_BYTES, MOST_MEMORY = 3.0, 2_000_000, 300_000_000


def many_tests(count: int) -> str:
    values = random.Random(1)
    lines = [f"op{place:07d},{values.uniform(1e4, 9e5):.3f},KB/s" for place in range(count)]
    return "\n".join(["test,value,unit", *lines]) + "\n"


def many_configurations(count: int) -> str:
    values = random.Random(2)
    lines = [
        f"ext4,c{place:06d},write,{values.uniform(1e4, 9e5):.1f},KB/s" for place in range(count)
    ]
    return "\n".join(["filesystem,configuration,test,value,unit", *lines]) + "\n"


KINDS = {"tests": (many_tests, TESTS), "configurations": (many_configurations, CONFIGURATIONS)}


def addresses(kind: str, run: int, imported: int, preview: int | None) -> list[str]:
    """Every address that shows what the file of ``kind`` holds."""
    test = "op0000001" if kind == "tests" else "write"
    return [
        "/",
        "/studies/",
        "/studies/big/",
        "/studies/big/?by=configuration",
        f"/studies/big/matrix/?test={test}&contender=ext4",
        "/studies/big/report/",
        "/studies/big/report/?by=configuration",
        "/compare/",
        "/compare/?by=configuration",
        "/compare/?study=big",
        "/compare/?study=big&by=configuration",
        "/compare/?study=big&by=configuration&matched=1",
        "/compare/?study=big&by=study",
        "/compare/?study=big&by=hardware",
        "/compare/deltas.csv?study=big",
        "/compare/deltas.csv?study=big&by=configuration",
        *(
            f"/compare/deltas.{suffix}?study=big&by=configuration"
            for suffix in ("xlsx", "tex", "md")
        ),
        "/compare/export/?study=big&by=configuration",
        f"/compare/cells/{test}/?study=big&by=configuration",
        f"/compare/charts/{test}/?study=big&by=configuration",
        *(
            f"/compare/pictures/?study=big&picture={picture}&by=configuration"
            for picture in ("bars", "matrix", "ratio", "profile", "load", "phases", "repeats")
        ),
        "/compare/pictures/?study=big",
        "/compare/pictures.csv?study=big&picture=bars&by=configuration",
        "/history/",
        "/history/?study=big",
        "/history/?series=1",
        "/watches/",
        "/watches/new/?series=1",
        "/p/",
        "/runs/",
        "/runs/?study=big",
        f"/runs/{run}/",
        "/runs/new/",
        "/jobs/",
        "/hardware/",
        "/luns/",
        f"/search/?q={'op' if kind == 'tests' else 'c'}",
        "/search/?q=big",
        "/imports/new/",
        f"/imports/{imported}/",
        *([f"/imports/{preview}/"] if preview else []),
        "/operations/",
        "/api/v1/health",
        "/api/v1/studies",
        "/api/v1/studies/big",
        "/api/v1/series?study=big",
        "/api/v1/series/1",
        "/api/v1/deltas?study=big",
        "/api/v1/deltas?study=big&by=configuration",
        "/api/v1/deltas.csv?study=big",
        "/api/v1/deltas.csv?study=big&by=configuration",
        "/api/v1/comparison?study=big",
        "/api/v1/comparison?study=big&by=configuration",
        "/api/v1/findings?study=big&by=configuration",
        "/api/v1/exports/deltas.xlsx?study=big&by=configuration",
        "/api/v1/exports/pictures.csv?study=big&picture=bars&by=configuration",
        "/api/v1/history?series=1",
        "/api/v1/history/lines?study=big",
        "/api/v1/imports",
        f"/api/v1/imports/{imported}",
        *([f"/api/v1/imports/{preview}"] if preview else []),
        "/api/v1/runs?study=big",
        f"/api/v1/runs/{run}",
        f"/api/v1/runs/{run}/measurements",
        f"/api/v1/runs/{run}/artefacts",
        "/api/v1/search?q=big",
        "/api/v1/workloads",
        "/api/v1/hardware",
        "/api/v1/filesystems",
        "/api/v1/configurations",
    ]


def weigh(address: str, seconds: int, user: int) -> tuple[float, int, int, str]:
    """Seconds, bytes, bytes of memory and status of one answer, from a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(seconds)
        from django.contrib.auth.models import User
        from django.test import Client

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        client = Client(headers={"host": "localhost"}, raise_request_exception=False)
        client.force_login(User.objects.get(pk=user))
        client.get("/glossary/")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begin = time.perf_counter()
        response = client.get(address)
        # Streamed answers hold a part at a time: so does this.
        parts = response if response.streaming else [response.content]
        length = sum(len(part) for part in parts)
        took = time.perf_counter() - begin
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        os.write(writer, f"{took} {length} {grown} {response.status_code}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        words = pipe.read().decode().split()
    _, _, usage = os.wait4(child, 0)
    if not words:
        return float(seconds), 0, usage.ru_maxrss * 1024, "none"
    return float(words[0]), int(words[1]), int(words[2]), words[3]


def main(kind: str, count: int, seconds: int) -> None:
    import logging

    import django
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    django.setup()
    logging.disable(logging.ERROR)
    call_command("migrate", verbosity=0)
    from django.contrib.auth.models import User
    from django.core.files.uploadedfile import SimpleUploadedFile

    from fsbench_web.imports.models import Import, ImportState
    from fsbench_web.studies.models import Run

    user = User.objects.create_superuser("admin")
    text = KINDS[kind][0](count)
    print(f"\n{kind}: {count} rows, {len(text) / 1e6:.1f} MB")
    values = {"study": "big", "filesystem": "ext4", "configuration": "ext4"}
    client = Client(headers={"host": "localhost"})
    client.force_login(user)

    def upload(address: str, **more: str) -> float:
        begin = time.perf_counter()
        file = SimpleUploadedFile("big.csv", text.encode())
        answer = client.post(address, {**values, **more, "file": file})
        took = time.perf_counter() - begin
        print(f"{'POST ' + address:75} {took:7.1f} s  {answer.status_code}", flush=True)
        return took

    upload("/api/v1/imports")
    work()
    imported = Import.objects.filter(state=ImportState.DONE).latest("pk").pk
    upload("/imports/new/", study="another")
    work()
    preview = Import.objects.filter(state=ImportState.PREVIEWED).order_by("-pk").first()
    run = Run.objects.order_by("pk").first()
    assert run is not None
    connection.close()
    for address in addresses(kind, run.pk, imported, preview.pk if preview else None):
        took, length, memory, status = weigh(address, seconds, user.pk)
        exceeded = [
            word
            for word, is_over in (
                ("slow", took > MOST_SECONDS),
                ("long", length > MOST_BYTES),
                ("memory", memory > MOST_MEMORY),
                ("failed", status not in {"200", "302", "422"}),
            )
            if is_over
        ]
        print(
            f"{address:75} {took:7.1f} s {length / 1e6:8.2f} MB {memory / 1e6:7.0f} MB "
            f"{status:>5} {' '.join(exceeded)}",
            flush=True,
        )


def work() -> None:
    """What the importer does with what waits for it."""
    import threading

    from fsbench_web.imports import queue

    while (row := queue.claim()) is not None:
        begin = time.perf_counter()
        queue.work_on(row, threading.Event())
        row.refresh_from_db()
        took = time.perf_counter() - begin
        print(f"{'importer':75} {took:7.1f} s  {row.state} {row.report.get('reason', '')}")


if __name__ == "__main__":
    arguments = [int(word) for word in sys.argv[1:]]
    sizes = arguments[:2] + [TESTS, CONFIGURATIONS][len(arguments[:2]) :]
    limit = arguments[2] if len(arguments) > 2 else SECONDS
    for name, size in zip(KINDS, sizes, strict=True):
        child = os.fork() if size else 0
        if not size:
            continue
        if child:
            os.waitpid(child, 0)
            continue
        with tempfile.TemporaryDirectory(prefix="fsbench-benchmark-") as folder:
            # The tests' settings: plain static names, and a folder of their own.
            os.environ["FSBENCH_TEST_DATA"] = folder
            os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
            Path(folder).chmod(0o700)
            with contextlib.suppress(BrokenPipeError):
                main(name, size, limit)
        break
