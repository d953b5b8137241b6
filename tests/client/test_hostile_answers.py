"""A site that answers nonsense: nothing of it reaches the terminal, and it is never a verdict."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import Command

EVIL = "\x1b]0;title\x07\x1b[2J\u202e\x9b31m\rnice"
ANSWERS: dict[str, tuple[int, Any]] = {
    "fields": (
        200,
        {
            **{name: [{"id": EVIL, "state": EVIL}] for name in ("runs", "studies", "watches")},
            "tables": [{"test": EVIL, "rows": [{"contender": EVIL}]}],
            "lines": [{"series": EVIL, "configuration": EVIL}],
            **{"username": EVIL, "role": EVIL, "teams": [EVIL], "luns": [EVIL]},
            "token": {"name": EVIL, "scopes": [EVIL], "expires_at": EVIL},
        },
    ),
    "problem": (422, {"detail": EVIL, "errors": [{"field": EVIL, "message": EVIL}]}),
    "list": (200, [EVIL]),
    "text": (200, EVIL),
    "null": (200, None),
    "no problems": (422, {"detail": "no", "errors": "none"}),
    "odd problems": (422, {"detail": "no", "errors": [1, None, {}]}),
    "nested": (200, "[" * 100_000),
    "nested problem": (400, "[" * 100_000),
    "wait": (429, {"detail": "no"}),
    "endless": (
        200,
        {
            "tables": [
                {
                    **{"test": "write", "category": "mean", "unit": "KB/s"},
                    "rows": [
                        {
                            **{"contender": "a", "is_baseline": False, "score": 10**400},
                            **{"change_percent": None, "change_verdict": None, "flags": []},
                        }
                    ],
                }
            ],
            "by": "study",
        },
    ),
}
COMMANDS = [
    "whoami",
    "list studies",
    "check --study x --along date",
    "check --study x --by study --baseline a",
    "permalinks list",
    "watch 3",
]


@pytest.fixture(params=ANSWERS)
def hostile(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Command]:
    status, answer = ANSWERS[request.param]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_raw = isinstance(answer, str) and answer.startswith("[")
            body = (answer if is_raw else json.dumps(answer)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if status == 429:
                self.send_header("Retry-After", "\N{SUPERSCRIPT TWO}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Command(f"http://127.0.0.1:{server.server_port}", tmp_path, "fsb_x")
        finally:
            server.shutdown()
            thread.join()


def test_nothing_of_it_is_obeyed_or_taken_for_a_verdict(hostile: Command) -> None:
    for command in COMMANDS:
        done = hostile(*command.split())
        output = done.stdout + done.stderr
        assert not set("\x1b\x07\u202e\x9b") & set(output), (command, output)
        assert "Traceback" not in output, (command, output)
        assert done.returncode != 1, (command, output)
        if command.startswith("check"):
            assert done.returncode in (3, 4), (command, output)
