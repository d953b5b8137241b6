"""The site's own web processes beside other servers with the same application and the same load.

    .venv/bin/python -m pip install --target FOLDER gunicorn uvicorn-worker hypercorn granian
    .venv/bin/python -m benchmarks.servers --programs FOLDER              # SQLite
    .venv/bin/python -m tests.services .venv/bin/python -m benchmarks.servers --programs FOLDER

Two processes each, in turn, ``--rounds`` times, ``--seconds`` each. The load: browsers on compare
pages without a break, 20 uploads at the same moment again and again, and one who asks for
``/api/v1/health/ready`` and a static file every 50 ms. Prints the median and the 95th percentile of
each kind in ms over all rounds, and their ratio to the site's own.

Then what attacks and restarts make of each: half a head of a request (is it ended within 40 s?),
requests of two lengths (how many of nine are refused, with their connection), requests that fail
while SIGHUP renews the processes, and whether a page that is being made at SIGTERM is answered.

*django* is uvicorn with Django's own handler, without turns; *before* is the
site's own of another checkout (``--before``).
"""

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path

from benchmarks.load.clients import UPLOAD, Client, RequestLog, send_table, share, tokens_of

ROOT = Path(__file__).resolve().parent.parent
PROCESSES, UPLOADS, BROWSERS = 2, 20, 4
APPLICATION = "fsbench_web.serving.asgi:application"
SLOW_PAGE = "/compare/?study=unisys-2005"
STATIC_FILE = "/static/css/fsbench.css"
KINDS = ("compare page", UPLOAD, "health", "static file")
HIDDEN = b"GET /glossary/ HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
TWO_LENGTHS = (
    (CHUNKED + b"Content-Length: 4\r\n", b"0\r\n\r\n"),
    (b"Content-Length: 4\r\n" + CHUNKED, b"0\r\n\r\n"),
    (b"content-length: 5\r\ntransfer-encoding: Chunked\r\n", b"0\r\n\r\n"),
    (CHUNKED + b"Content-Length: %d\r\n" % (5 + len(HIDDEN)), b"0\r\n\r\n"),
    (CHUNKED + b"Content-Length: 3\r\nContent-Length: 4\r\n", b"0\r\n\r\n"),
    (CHUNKED + CHUNKED + b"Content-Length: 4\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding: identity\r\nContent-Length: 4\r\n", b"abcd"),
    (b"Transfer-Encoding : chunked\r\nContent-Length: 4\r\n", b"0\r\n\r\n"),
    (b"Content-Length: +4\r\n", b"abcd"),
)


def serve_as_supervisor(port: int) -> None:
    """As the supervisor does: a child for each process, started anew one after another."""
    from fsbench_web.serving.children import Child

    listening = socket.create_server(("127.0.0.1", port), backlog=512)
    descriptor = str(listening.fileno())
    argv = [sys.executable, "-m", "fsbench_web.serving.web", descriptor]
    webs = [
        Child("web", argv, pass_fds=[listening.fileno()], end_within_s=30) for _ in range(PROCESSES)
    ]
    signals: list[int] = []
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda number, frame: signals.append(number))
    for web in webs:
        web.start()
    while signal.SIGTERM not in signals:
        if signals:
            signals.clear()
            for web in webs:
                web.terminate()
                web.end()
                web.start()
        time.sleep(0.05)
    listening.shutdown(socket.SHUT_RDWR)
    for web in webs:
        web.terminate()
    for web in webs:
        web.end()


def command(server: str, port: int) -> list[str]:
    address, python = f"127.0.0.1:{port}", [sys.executable, "-m"]
    return {
        "own": [sys.executable, __file__, "--own", str(port)],
        "before": [sys.executable, __file__, "--own", str(port)],
        "uvicorn": [
            *(*python, "uvicorn", APPLICATION, "--port", str(port), "--workers", str(PROCESSES)),
            *("--no-access-log", "--log-level", "warning", "--lifespan", "off"),
        ],
        "django": [
            *(*python, "uvicorn", "django.core.asgi:get_asgi_application", "--factory"),
            *("--port", str(port), "--workers", str(PROCESSES), "--no-access-log"),
            *("--log-level", "warning", "--lifespan", "off"),
        ],
        "gunicorn": [
            *(*python, "gunicorn", "-k", "uvicorn_worker.UvicornWorker", "-w", str(PROCESSES)),
            *("-b", address, "--graceful-timeout", "20", "--log-level", "warning", APPLICATION),
        ],
        "hypercorn": [
            *(*python, "hypercorn", "-w", str(PROCESSES), "-b", address, "--log-level", "WARNING"),
            *("--graceful-timeout", "20", APPLICATION),
        ],
        "granian": [
            *(*python, "granian", "--interface", "asginl", "--workers", str(PROCESSES)),
            *("--host", "127.0.0.1", "--port", str(port), "--no-ws", "--log-level", "warning"),
            APPLICATION,
        ],
    }[server]


@contextmanager
def running_server(
    server: str, options: argparse.Namespace
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The server, warm: its port and its process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    checkout = options.before if server == "before" else ROOT
    # The folder that a process starts in comes before these.
    paths = [str(ROOT), options.programs]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with Path(options.folder, f"{server}.log").open("ab") as log:
        process = subprocess.Popen(
            command(server, port), env=env, cwd=checkout, stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        else:
            sys.exit(f"{server}: " + Path(options.folder, f"{server}.log").read_text()[-2000:])
        for _ in range(4 * PROCESSES):
            Client(port, RequestLog()).ask("warm", SLOW_PAGE)
        yield port, process
    finally:
        process.terminate()
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()


def ask_again_and_again(
    port: int, kind: str, path: str, every_s: float, seen: RequestLog, end: threading.Event
) -> None:
    # A connection for each, as somebody has who reads for longer than a server keeps one.
    while not end.wait(every_s):
        Client(port, seen).ask(kind, path)


def load(port: int, tokens: list[str], seconds: float, first: int, seen: RequestLog) -> None:
    """``first``: of tables that have not been sent yet."""
    end = threading.Event()
    requests = [("health", "/api/v1/health/ready", 0.05), ("static file", STATIC_FILE, 0.05)]
    requests += [("compare page", SLOW_PAGE, 0.0)] * BROWSERS
    askers = [
        threading.Thread(target=ask_again_and_again, args=(port, *request, seen, end))
        for request in requests
    ]
    for asker in askers:
        asker.start()
    until, turn = time.monotonic() + seconds, first
    while time.monotonic() < until:
        turn += 1
        barrier = threading.Barrier(len(tokens))
        senders = [
            threading.Thread(target=send_at_once, args=(port, token, number, turn, barrier, seen))
            for number, token in enumerate(tokens)
        ]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join(60)
        time.sleep(0.5)
    end.set()
    for asker in askers:
        asker.join(60)


def send_at_once(
    port: int, token: str, number: int, turn: int, barrier: threading.Barrier, seen: RequestLog
) -> None:
    barrier.wait(60)
    send_table(Client(port, seen), token, number, turn, seen)


def response_to(port: int, request: bytes) -> bytes:
    answer = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.settimeout(5)
        connection.sendall(request)
        while part := connection.recv(65536):
            answer += part
    return answer


def count_refused(port: int) -> int:
    """How many of the requests with two lengths are refused, and nothing behind them answered."""
    count = 0
    for headers, body in TWO_LENGTHS:
        head = b"POST /account/sign-in/ HTTP/1.1\r\nHost: localhost\r\n"
        answer = response_to(port, head + headers + b"\r\n" + body + HIDDEN)
        is_closed = answer.count(b"HTTP/1.1 ") == 1
        count += answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 ")) and is_closed
    return count


def ends_half_a_head(port: int) -> float | None:
    """After how many seconds a connection ends that says half of what it wants; None after 40."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.settimeout(1)
        try:
            while time.monotonic() - began < 40:
                slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" if began else b"")
                with suppress(TimeoutError):
                    if not slow.recv(100):
                        return time.monotonic() - began
        except OSError:
            return time.monotonic() - began
    return None


def count_while_renewed(port: int, process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Requests of eight seconds in which SIGHUP comes twice: (failed, all)."""
    seen, end = RequestLog(), threading.Event()
    askers = [threading.Thread(target=asks_anew, args=(port, seen, end)) for _ in range(4)]
    for asker in askers:
        asker.start()
    for _ in range(2):
        time.sleep(1)
        process.send_signal(signal.SIGHUP)
        time.sleep(options.renew)
    end.set()
    for asker in askers:
        asker.join(60)
    return len(seen.failures), len(seen.failures) + sum(map(len, seen.requests.values()))


def asks_anew(port: int, seen: RequestLog, end: threading.Event) -> None:
    """A new connection for each request, as many clients are."""
    while not end.is_set():
        Client(port, seen).ask("page", "/glossary/")


def ends_well(port: int, process: subprocess.Popen[bytes]) -> int:
    """How many of four pages that are being made when SIGTERM comes are answered."""
    seen = RequestLog()
    askers = [
        threading.Thread(target=lambda: Client(port, seen).ask("page", SLOW_PAGE)) for _ in range(4)
    ]
    for asker in askers:
        asker.start()
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    for asker in askers:
        asker.join(60)
    return len(seen.requests.get("page", []))


def report(seen: dict[str, RequestLog]) -> None:
    print(f"{'':11}" + "".join(f"{kind + ' p50 · p95 (ratio)':>32}" for kind in KINDS) + "  failed")
    first = next(iter(seen.values()))
    for server, answers in seen.items():
        line = f"{server:11}"
        for kind in KINDS:
            took = answers.requests.get(kind) or [float("nan")]
            ours = first.requests.get(kind) or [float("nan")]
            p50, p95 = statistics.median(took), share(took, 0.95)
            ratios = f"{p50 / statistics.median(ours):.2f} · {p95 / share(ours, 0.95):.2f}"
            line += f"{f'{p50:.0f} · {p95:.0f} ({ratios})':>32}"
        print(f"{line}  {len(answers.failures)}")
        for failure in answers.failures[:2]:
            print(f"    {failure[:150]}")


def main() -> None:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    call_command("load_published", verbosity=0, stdout=StringIO())
    tokens = tokens_of(UPLOADS)
    print(f"{connection.vendor}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    seen = {server: RequestLog() for server in options.servers}
    for number in range(options.rounds):
        order = options.servers if number % 2 == 0 else options.servers[::-1]
        for place, server in enumerate(order):
            with running_server(server, options) as (port, _):
                first = 100 * (number * len(order) + place)
                load(port, tokens, options.seconds, first, seen[server])
    report(seen)
    if not options.hostile:
        return
    print(f"{'':11}{'half a head':>14}{'two lengths':>14}{'SIGHUP':>16}{'SIGTERM':>10}")
    for server in options.servers:
        with running_server(server, options) as (port, process):
            ended = ends_half_a_head(port)
            row = f"{'no end' if ended is None else f'{ended:.0f} s':>14}"
            row += f"{count_refused(port):>9} of 9"
            failed, total = count_while_renewed(port, process)
            row += f"{f'{failed} of {total}':>16}"
            print(f"{server:11}{row}{ends_well(port, process):>5} of 4", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    parser = argparse.ArgumentParser(description="The site's own server beside others.")
    parser.add_argument("--programs", default="", help="where the other servers are installed")
    parser.add_argument("--before", default="", help="another checkout, for the server 'before'")
    parser.add_argument("--servers", nargs="+", default=["own", "uvicorn", "gunicorn", "granian"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--renew", type=float, default=6, help="seconds after each SIGHUP")
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--own", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.own is not None:
        serve_as_supervisor(options.own)
    else:
        with tempfile.TemporaryDirectory(prefix="fsbench-servers-") as options.folder:
            if not os.environ.get("DATABASE_URL"):
                os.environ["DATABASE_URL"] = f"sqlite:///{options.folder}/servers.sqlite3"
            os.environ.setdefault("FSBENCH_TEST_DATA", options.folder)
            main()
