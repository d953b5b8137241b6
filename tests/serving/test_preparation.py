"""The step before the web, sockets that a service manager keeps, and what health checks ask."""

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management.base import CommandError
from pytest_django.fixtures import Settings

from fsbench_web.operations import metrics
from fsbench_web.serving import health_check
from fsbench_web.serving.preparation import collect_static_files, require_static_files
from fsbench_web.serving.supervisor import open_socket

ROOT = Path(settings.BASE_DIR)


def test_the_web_refuses_tables_of_another_version(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "serve", "--prepared", "--port", "0"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "FSBENCH_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "not prepared for this version" in done.stderr
    assert "manage.py prepare" in done.stderr


@pytest.fixture
def one_script(tmp_path: Path, settings: Settings) -> Path:
    """The only static file there is; they are collected in ``collected`` beside it."""
    script = tmp_path / "files/js/one.js"
    script.parent.mkdir(parents=True)
    script.write_text("first()\n")
    settings.DATA_DIR = tmp_path
    settings.STATICFILES_DIRS = [tmp_path / "files"]
    settings.STATIC_ROOT = tmp_path / "collected"
    return script


def test_the_web_refuses_static_files_of_another_version(one_script: Path) -> None:
    """Each page would be an error, or have the scripts of before."""
    with pytest.raises(CommandError, match="not those of this version"):
        require_static_files()
    collect_static_files()
    require_static_files()
    one_script.write_text("second()\n")
    with pytest.raises(CommandError, match=r"one\.js"):
        require_static_files()
    collect_static_files()
    require_static_files()


def test_nobody_elses_files_are_removed_where_static_files_are_collected(
    one_script: Path, settings: Settings, tmp_path: Path
) -> None:
    """FSBENCH_STATIC may name a folder with a site's other files in it."""
    for folder, is_kept in ((tmp_path / "collected", True), (tmp_path / "static", False)):
        settings.STATIC_ROOT = folder
        folder.mkdir()
        (folder / "index.html").touch()
        collect_static_files()
        collect_static_files()
        assert (folder / "index.html").exists() == is_kept
        assert (folder / "js/one.js").exists()


def test_a_socket_that_a_service_manager_keeps_is_taken() -> None:
    """As systemd gives it: file descriptor 3, and two variables."""
    script = (
        "import django, os; django.setup()\n"
        "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')\n"
        "from fsbench_web.serving.supervisor import open_socket\n"
        "print(open_socket('127.0.0.1', 1).getsockname()[1], 'LISTEN_FDS' in os.environ)"
    )
    with socket.create_server(("127.0.0.1", 0)) as inherited:
        done = subprocess.run(
            [
                "bash",
                "-c",
                f'exec 3<&{inherited.fileno()}; exec "$0" -c "$1"',
                sys.executable,
                script,
            ],
            cwd=ROOT,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
            pass_fds=[inherited.fileno()],
            capture_output=True,
            text=True,
        )
        assert done.stdout.split() == [str(inherited.getsockname()[1]), "False"], done.stderr


def test_a_socket_for_somebody_else_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LISTEN_PID", str(os.getpid() + 1))
    monkeypatch.setenv("LISTEN_FDS", "1")
    with open_socket("127.0.0.1", 0) as own:
        assert own.fileno() != 3
        assert own.getsockname()[1] != 0


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """Something that answers as ``status`` says, and notes what it was asked."""
    notes: dict[str, object] = {"status": 200}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            notes.update(path=self.path, host=self.headers["Host"])
            self.send_response(int(str(notes["status"])))
            self.end_headers()
            self.wfile.write(json.dumps({"status": "as told"}).encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("PORT", str(server.server_port))
        monkeypatch.setenv("HOST", "0.0.0.0")
        yield notes
        server.shutdown()
        thread.join()


def test_a_health_check_asks_under_a_name_that_is_allowed(
    site: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSBENCH_ALLOWED_HOSTS", ".lab.example, *, fsbench.example")
    assert health_check.ask("ready")[0]
    assert site["path"] == "/api/v1/health/ready"
    assert site["host"] == "fsbench.example"


@pytest.mark.parametrize("status", [503, 400, 301])
def test_whatever_is_not_well_is_said(site: dict[str, object], status: int) -> None:
    site["status"] = status
    is_well, message = health_check.ask("live")
    assert not is_well
    assert str(status) in message


def test_nobody_there_is_not_well(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    monkeypatch.setenv("PORT", str(port))
    monkeypatch.setenv("HOST", "127.0.0.1")
    is_well, message = health_check.ask("ready")
    assert not is_well
    assert f":{port}/" in message


def test_several_web_processes_count_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        "import django; django.setup(); from fsbench_web.operations import metrics\n"
        "metrics.count_request('home', 'GET', 200, 0.1)"
    )
    for _ in range(2):
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env=os.environ
            | {
                "PROMETHEUS_MULTIPROC_DIR": str(tmp_path),
                "DJANGO_SETTINGS_MODULE": "tests.settings",
            },
            check=True,
        )
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    monkeypatch.setattr(metrics.FromDatabase, "collect", lambda self: iter(()))
    labels = {"route": "home", "method": "GET", "status": "2xx"}
    assert metrics.exposed_registry().get_sample_value("fsbench_http_requests_total", labels) == 2


def test_one_process_counts_by_itself() -> None:
    assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ
    assert metrics.exposed_registry() is metrics.registry
