"""The clients of a site under load, and what they see: browsers and uploads."""

import gzip
import html
import http.client
import json
import random
import re
import threading
import time
from dataclasses import dataclass, field
from io import StringIO

READS_S = (5.0, 10.0)
# A server closes a connection after 5 s without a request, and a browser then opens another.
KEEPS_CONNECTION_S = 4.0
COMPARE, CHART, UPLOAD = "compare page", "charts of a test", "upload"
CHARTS = re.compile(
    rb'(?:hx-get="|data-fetch="tables"><a href=")(/compare/(?:charts|tests)/[^"]+)"'
)
"""What comes when somebody opens the row of a test."""
CELLS = [(record, size) for size in (64, 128, 256, 512) for record in (4, 8, 16, 32, 64)]


@dataclass
class RequestLog:
    """What the clients saw: the ms that requests took, by kind; a sentence for each failure."""

    requests: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    uploaded: dict[int, float] = field(default_factory=dict)  # run -> its first value
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, took_s: float) -> None:
        with self.lock:
            self.requests.setdefault(kind, []).append(took_s * 1000)

    def fail(self, sentence: str) -> None:
        with self.lock:
            self.failures.append(sentence)


class Client:
    """One connection that is kept, as a browser keeps it."""

    def __init__(self, port: int, seen: RequestLog) -> None:
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
        sent_headers = {"Accept-Encoding": "gzip"} | (headers or {})
        method, began = ("GET" if body is None else "POST"), time.perf_counter()
        try:
            self._connection.request(method, path, body, sent_headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self._seen.fail(f"{kind} {path}: {type(error).__name__} {error}")
            return None
        self._seen.note(kind, time.perf_counter() - began)
        self._used = time.monotonic()
        if answer.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        if answer.status != wanted:
            self._seen.fail(f"{kind} {path}: {answer.status} {content[:200]!r}")
            return None
        return content


def browse(port: int, studies: list[str], seen: RequestLog, end: threading.Event) -> None:
    """Look at comparisons until the ``end``."""
    client, chance = Client(port, seen), random.Random(threading.get_ident())
    end.wait(chance.uniform(0, READS_S[1]))
    while not end.is_set():
        page = client.ask(COMPARE, f"/compare/?study={chance.choice(studies)}")
        offered = CHARTS.findall(page or b"")
        if offered:
            client.ask(CHART, html.unescape(chance.choice(offered).decode()))
        end.wait(chance.uniform(*READS_S))


def upload(
    port: int,
    token: str,
    number: int,
    start: threading.Barrier,
    seen: RequestLog,
    end: threading.Event,
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


def send_table(client: Client, token: str, number: int, turn: int, seen: RequestLog) -> None:
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


def tokens_of(count: int) -> list[str]:
    """A token of an account of its own for each client that uploads."""
    from django.contrib.auth.models import User
    from django.core.management import call_command

    tokens = []
    for number in range(count):
        User.objects.create_superuser(f"load-{number}")
        printed = StringIO()
        call_command("create_token", f"load-{number}", stdout=printed)
        tokens.append(printed.getvalue().strip())
    return tokens


def share(values: list[float], part: float) -> float:
    """The percentile ``part`` (0 to 1) of the values."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]
