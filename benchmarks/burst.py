"""What others wait for while many connections of one address come at one moment.

    .venv/bin/python -m benchmarks.burst                       # this checkout
    .venv/bin/python -m benchmarks.burst --before FOLDER       # and another one, in turn

``--connections`` are opened at once from 127.0.0.1, each with one request for ``--path``; meanwhile
127.0.0.2 asks for a page again and again, on a new connection each time. Prints the longest it
waited, in ms, as a multiple of the same page at rest, and as a share of the time in which all were
answered: the machine's other work is in all three, least in the last. Two web processes, SQLite.
"""

import argparse
import os
import selectors
import socket
import statistics
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from io import StringIO

from benchmarks.servers import running_server

PAGE = "/glossary/"
MANY, OTHER = "127.0.0.1", "127.0.0.2"
LONGEST_S = 300.0


def request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()


def page_ms(port: int) -> float:
    began = time.perf_counter()
    with socket.create_connection((MANY, port), LONGEST_S, source_address=(OTHER, 0)) as connection:
        connection.sendall(request(PAGE))
        first = connection.recv(65536)
        while connection.recv(65536):
            pass
    if not first.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"{PAGE}: {first[:100]!r}")
    return (time.perf_counter() - began) * 1000


def burst(
    port: int, count: int, path: str, are_there: threading.Event
) -> tuple[Counter[str], float]:
    """How many were answered with which status, and in how many ms all of them."""
    selector, answers = selectors.DefaultSelector(), Counter[str]()
    began = time.perf_counter()
    for _ in range(count):
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex((MANY, port))
        selector.register(connection, selectors.EVENT_WRITE, (connection, bytearray()))
    are_there.set()
    while selector.get_map() and time.perf_counter() - began < LONGEST_S:
        for key, event in selector.select(1):
            connection, response = key.data
            try:
                if event & selectors.EVENT_WRITE:
                    connection.sendall(request(path))
                    selector.modify(connection, selectors.EVENT_READ, key.data)
                    continue
                if part := connection.recv(65536):
                    response += part[:12]
                    continue
                answers[response[9:12].decode() or "nothing"] += 1
            except OSError as error:
                answers[type(error).__name__] += 1
            selector.unregister(connection)
            connection.close()
    return answers, (time.perf_counter() - began) * 1000


def measure(port: int, count: int, path: str) -> None:
    at_rest = statistics.median(page_ms(port) for _ in range(20))
    are_there, results, waits = threading.Event(), [], []
    sender = threading.Thread(target=lambda: results.append(burst(port, count, path, are_there)))
    sender.start()
    are_there.wait()
    while sender.is_alive():
        waits.append(page_ms(port))
        time.sleep(0.02)
    sender.join()
    answers, all_ms = results[0]
    worst_ms = max(waits)
    print(
        f"{worst_ms:9.0f} ms{worst_ms / at_rest:9.0f} times{worst_ms / all_ms:9.2f}    "
        f"{dict(answers)}"
    )


def main() -> None:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("load_published", verbosity=0, stdout=StringIO())
    print(f"{'':8}{'longest wait':>12}{'than at rest':>14}{'of all':>9}    answers")
    for _ in range(options.rounds):
        for server in ("before", "own") if options.before else ("own",):
            with running_server(server, options) as (port, _):
                print(f"{server:8}", end="", flush=True)
                measure(port, options.connections, options.path)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    parser = argparse.ArgumentParser(description="Others beside a burst of connections.")
    parser.add_argument("--before", default="", help="another checkout, beside this one")
    parser.add_argument("--connections", type=int, default=1500)
    parser.add_argument("--path", default=PAGE)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    options.programs = ""
    with (
        suppress(KeyboardInterrupt),
        tempfile.TemporaryDirectory(prefix="fsbench-burst-") as options.folder,
    ):
        os.environ["DATABASE_URL"] = f"sqlite:///{options.folder}/burst.sqlite3"
        os.environ.setdefault("FSBENCH_TEST_DATA", options.folder)
        main()
