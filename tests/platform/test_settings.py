"""Settings: every variable is documented, and nonsense is refused with the variable's name."""

import ast
import functools
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from fsbench_web.platform import env

ROOT = Path(settings.BASE_DIR)
DOCUMENT = (ROOT / "docs" / "settings.md").read_text()
# Read by Django, Python, a library or the operating system, not by fsbench.
NOT_OURS = {
    *("TERM", "XDG_CONFIG_HOME"),
    *(
        "DJANGO_SETTINGS_MODULE",
        "MALLOC_ARENA_MAX",
        "PYTHONUNBUFFERED",
        "NO_COLOR",
        "PROMETHEUS_MULTIPROC_DIR",
    ),
    *("LISTEN_PID", "LISTEN_FDS", "CELERY_SKIP_CHECKS", "OPENBLAS_NUM_THREADS", "MPLCONFIGDIR"),
}


def _tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def _variables_read(source: str) -> set[str]:
    """Names given to the readers of fsbench_web.platform.env, to os.environ and to os.getenv."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        first: ast.expr | None = None
        if isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value)
            if owner in ("env", "os.environ") or ast.unparse(node.func) == "os.getenv":
                first = node.args[0]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            first = node.slice
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            names.add(first.value)
    return names


@functools.cache
def _used_variables() -> set[str]:
    names: set[str] = set()
    for path in _tracked("*.py"):
        if path.relative_to(ROOT).parts[0] not in ("tests", "benchmarks"):
            source = path.read_text()
            # All that is looked for has it in its name; most files have nothing of the kind.
            names |= _variables_read(source) if "env" in source else set()
    for path in _tracked("Makefile", "*.sh", "deploy/*", "runner/image/*", "docker-compose.yml"):
        names |= set(re.findall(r"\bFSBENCH_[A-Z_]+\b", path.read_text()))
    return names - NOT_OURS


def _documented_variables() -> set[str]:
    return set(re.findall(r"^\| `([A-Z][A-Z_0-9]+)`", DOCUMENT, re.M))


def test_every_variable_is_documented() -> None:
    assert _used_variables() - _documented_variables() == set()


def test_every_documented_variable_is_used() -> None:
    assert _documented_variables() - _used_variables() == set()


def test_the_search_sees_how_variables_are_read() -> None:
    source = 'env.flag("A", 1); os.environ.get("B"); os.environ["C"]; os.getenv("D"); x.get("E")'
    assert _variables_read(source) == {"A", "B", "C", "D"}


# The settings are what every process of fsbench reads first; the rest of a command takes ten times
# as long.
READ = ("-c", "import fsbench_web.settings")


def _start(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command of ``manage.py``, or of Python (``-c``)."""
    clean = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, *(command if command[0] == "-c" else ("manage.py", *command))],
        cwd=ROOT,
        env=clean | {"FSBENCH_DATA": str(folder)} | variables,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FSBENCH_DEBUG", "no"),
        ("FSBENCH_LOG_FORMAT", "xml"),
        ("FSBENCH_METRICS_TOKEN", "short"),
        ("FSBENCH_HTTPS", "1"),
        ("FSBENCH_SECRET_KEY", "short"),
        ("FSBENCH_WORKER_HEARTBEAT_S", "often"),
        ("FSBENCH_WORKER_HEARTBEAT_S", "0"),
        ("FSBENCH_WORKER_SILENT_AFTER_S", "5"),
        ("FSBENCH_MAX_UPLOAD_MB", "1e9"),
        ("FSBENCH_DATA", "/dev/null/here"),
        ("FSBENCH_TIME_ZONE", "Mars/Olympus"),
        ("DATABASE_URL", "nosql://somewhere"),
        ("CELERY_BROKER_URL", "pigeon://coop"),
        ("FSBENCH_EMAIL_URL", "pigeon://coop"),
        ("FSBENCH_EMAIL_URL", "smtp://"),
        ("FSBENCH_EMAIL_URL", "smtp://user:pass/word@mail.example"),
        ("FSBENCH_EMAIL_URL", "smtp://mail.example:99999"),
        ("FSBENCH_WEBHOOK_PRIVATE", "yes"),
        ("FSBENCH_LOG_DAYS", "1_0"),
        ("FSBENCH_LOG_DAYS", "٣"),
        ("FSBENCH_DATA", " "),
        ("FSBENCH_ALLOWED_HOSTS", " , "),
        ("FSBENCH_ALLOWED_HOSTS", "https://fsbench.example"),
        ("FSBENCH_ALLOWED_HOSTS", "fsbench.example:8000"),
        ("FSBENCH_TRUSTED_PROXIES", ","),
        ("FSBENCH_TRUSTED_PROXIES", "a\nb"),
        ("FSBENCH_TRUSTED_ORIGINS", "fsbench.example"),
        ("FSBENCH_TRUSTED_ORIGINS", "*"),
        ("FSBENCH_TRUSTED_ORIGINS", "https://a b"),
        ("FSBENCH_EMAIL_FROM", "nobody"),
        ("FSBENCH_EMAIL_FROM", "fsbench@lab.example\nBcc: all@lab.example"),
        ("DATABASE_URL", "mysql://user:hushhush@host/name"),
        ("DATABASE_URL", "oracle://user:hushhush@host/name"),
        ("DATABASE_URL", "sqlite://"),
        ("CELERY_BROKER_URL", "redis://:hushhush@host:99999/0"),
        ("CELERY_BROKER_URL", "redis://:hushhush@[host/0"),
        ("FSBENCH_CACHE_URL", "redis://:hushhush@host:port/0"),
        ("FSBENCH_CACHE_URL", "redis://:hushhush@[host/0"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(tmp_path: Path, name: str, value: str) -> None:
    done = _start(tmp_path, "check", **{name: value})
    assert done.returncode == 1
    assert name in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "hushhush" not in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FSBENCH_ALLOWED_HOSTS", ".lab.example, *, 10.0.0.1, [::1], fsbench_1"),
        ("FSBENCH_TRUSTED_ORIGINS", "https://fsbench.example:8443, https://*.lab.example"),
        ("FSBENCH_EMAIL_FROM", "Benchmarks <fsbench@lab.example>"),
        ("DATABASE_URL", "postgresql://user:hush@/name?host=/run/postgresql"),
        ("CELERY_BROKER_URL", "redis+socket:///run/redis.sock"),
        ("CELERY_BROKER_URL", "rediss://:hush@host:6379/0?ssl_cert_reqs=CERT_REQUIRED"),
        ("FSBENCH_CACHE_URL", "redis://[::1]:6379/1"),
        ("FSBENCH_LOG_DAYS", " 30 "),
    ],
)
def test_what_makes_sense_is_taken(tmp_path: Path, name: str, value: str) -> None:
    done = _start(tmp_path, *READ, **{name: value})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("url", ["postgresql://ada:hushhush@127.0.0.1:9/fsbench", ""])
def test_a_database_that_is_away_or_empty_is_one_sentence(tmp_path: Path, url: str) -> None:
    """Of any command; with --traceback there is one."""
    done = _start(tmp_path, "create_token", "admin", DATABASE_URL=url)
    assert done.returncode == 1
    assert "The database cannot be used" in done.stderr
    assert re.search(r"[.?] Check DATABASE_URL", done.stderr)
    assert len(done.stderr.splitlines()) == 1
    assert "hushhush" not in done.stderr
    done = _start(tmp_path, "create_token", "admin", "--traceback", DATABASE_URL=url)
    assert "Traceback" in done.stderr


def test_no_password_of_the_mail_server_is_in_an_error(tmp_path: Path) -> None:
    done = _start(tmp_path, "check", FSBENCH_EMAIL_URL="smtp://ada:hush/hush@mail.example")
    assert done.returncode == 1
    assert "hush" not in done.stderr


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp://ada:a%40b@mail.example", ("mail.example", 587, "ada", "a@b", True, False)),
        ("smtps://mail.example", ("mail.example", 465, "", "", False, True)),
        ("smtp+plain://localhost:2525", ("localhost", 2525, "", "", False, False)),
    ],
)
def test_a_mail_server_is_said_in_one_address(
    monkeypatch: pytest.MonkeyPatch, url: str, expected: tuple[object, ...]
) -> None:
    monkeypatch.setenv("FSBENCH_EMAIL_URL", url)
    mail_settings = env.email("FSBENCH_EMAIL_URL", 10)
    names = ("HOST", "PORT", "HOST_USER", "HOST_PASSWORD", "USE_TLS", "USE_SSL")
    assert tuple(mail_settings[f"EMAIL_{name}"] for name in names) == expected


def test_the_secret_key_is_made_once_and_private(tmp_path: Path) -> None:
    assert _start(tmp_path, *READ).returncode == 0
    key = tmp_path / "secret-key"
    first = key.read_text()
    assert len(first) > 40
    assert key.stat().st_mode & 0o777 == 0o600
    assert _start(tmp_path, *READ).returncode == 0
    assert key.read_text() == first


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff" * 5])
def test_a_secret_key_that_is_not_whole_is_refused(tmp_path: Path, content: bytes) -> None:
    """That of a disk that was full: sessions would be signed with nothing."""
    (tmp_path / "secret-key").write_bytes(content)
    done = _start(tmp_path, "check")
    assert done.returncode == 1
    assert "remove it" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_secret_key_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes begin at once, or the disk is full."""
    path = tmp_path / "secret-key"

    def begun_meanwhile(length: int) -> str:
        assert not path.exists()
        path.write_text("k" * 40)
        return "another" * 10

    monkeypatch.setattr(secrets, "token_urlsafe", begun_meanwhile)
    assert env.kept_key("FSBENCH_SECRET_KEY_OF_NOBODY", path) == "k" * 40
    assert [file.name for file in tmp_path.iterdir()] == ["secret-key"]


def test_the_password_of_the_mail_server_is_in_no_log_line(tmp_path: Path) -> None:
    done = _start(
        tmp_path,
        "-c",
        "import django; django.setup(); import logging;"
        "logging.getLogger('fsbench').warning('it said hush%40hush, hush@hush')",
        FSBENCH_EMAIL_URL="smtp://ada:hush%40hush@mail.example",
        DJANGO_SETTINGS_MODULE="fsbench_web.settings",
    )
    assert done.returncode == 0, done.stderr
    assert "it said" in done.stderr
    assert "hush@hush" not in done.stderr


@pytest.mark.root
def test_uploads_arrive_in_a_folder_of_whoever_has_the_data_folder(tmp_path: Path) -> None:
    """Also where root called a command before the site was started."""
    os.chown(tmp_path, 65534, 65534)
    for _ in range(2):
        assert _start(tmp_path, *READ).returncode == 0
    status = (tmp_path / "arriving").stat()
    assert (status.st_uid, status.st_mode & 0o777) == (65534, 0o700)


def test_a_new_data_folder_is_private(tmp_path: Path) -> None:
    assert _start(tmp_path / "new", *READ).returncode == 0
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_behind_https_the_deployment_check_has_nothing_to_say(tmp_path: Path) -> None:
    done = _start(
        tmp_path,
        *("check", "--deploy", "--fail-level", "WARNING"),
        # All that Django's checks ask of settings; they load no page.
        *("--tag", "security", "--tag", "caches", "--tag", "async_support", "--tag", "files"),
        FSBENCH_HTTPS="True",
        FSBENCH_ALLOWED_HOSTS="fsbench.example",
    )
    assert done.returncode == 0, done.stderr
