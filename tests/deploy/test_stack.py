"""docker-compose.yml as a team would start it: a benchmark goes through, and restarts lose nothing.

The tests use one stack, in this order.
"""

import http.client
import json
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.readers import Readers
from tests.services.compose import Person, Stack
from tests.services.image import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.root]

SMALL = {
    "minimum_record_kb": 4,
    "maximum_record_kb": 8,
    "minimum_file_kb": 64,
    "maximum_file_kb": 128,
}

MINUTES = SMALL | {"maximum_file_kb": 131072, "direct_io": True}


def submit(admin: Person, **changes: Any) -> list[int]:
    body = {
        "study": "Stack",
        "lun": "scratch",
        "confirm": "scratch",
        "configurations": [{"filesystem": "ext4", "options": {}, "scheduler": "none"}],
        "workload": "iozone-small",
        "parameters": SMALL,
        "repeats": 1,
    }
    return [run["id"] for run in admin.send("/runs", body | changes)["runs"]]


def wait_for(stack: Stack, admin: Person, run: int, *states: str) -> dict[str, Any]:
    detail: dict[str, Any] = {}

    def is_there() -> bool:
        detail.update(admin.read(f"/runs/{run}"))
        ended = detail["state"] in ("done", "failed", "cancelled", "lost")
        assert not ended or detail["state"] in states, detail
        return detail["state"] in states

    stack.wait_until(is_there)
    return detail


def script(stack: Stack, name: str, *arguments: str) -> str:
    """A script of deploy/ on this stack; what it printed."""
    done = subprocess.run(
        [str(ROOT / "deploy" / name), *arguments],
        env=stack.environment | {"COMPOSE": " ".join(stack.command)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_every_service_is_healthy(the_stack: Stack) -> None:
    for service in ("postgres", "redis", "web", "worker"):
        the_stack.wait_until(
            lambda name=service: (  # type: ignore[misc]
                the_stack.inspect(name, "{{.State.Health.Status}}") == "healthy"
            )
        )
        assert the_stack.inspect(service, "{{.RestartCount}}") == "0"
    assert the_stack.inspect("migrate", "{{.State.Status}} {{.State.ExitCode}}") == "exited 0"


def test_no_secret_is_on_a_command_line(the_stack: Stack) -> None:
    values = [
        line.partition("=")[2]
        for line in (the_stack.folder / "stack.env").read_text().splitlines()
        if len(line) > 64 and "/" not in line  # a folder is no secret
    ]
    assert len(values) == 3
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            lines.append(path.read_text(errors="replace"))
    assert not any(value in line for value in values for line in lines)


def test_the_web_has_no_rights(the_stack: Stack) -> None:
    script = "id -u; grep CapEff /proc/self/status; ls /var/run/docker.sock; touch /app/x; true"
    output = the_stack.run(*the_stack.inside("web", "sh", "-c", f"({script}) 2>&1"))
    assert output.splitlines()[:2] == ["1000", "CapEff:\t0000000000000000"]
    assert output.count("No such file") == 1
    assert "Read-only file system" in output


def test_a_benchmark_goes_through(the_stack: Stack, admin: Person) -> None:
    configurations = [
        {"filesystem": name, "options": {}, "scheduler": "none"} for name in ("ext4", "xfs")
    ]
    runs = submit(admin, configurations=configurations)
    for run in runs:
        wait_for(the_stack, admin, run, "done")
    deltas = admin.read("/deltas?study=stack&test=write&category=overall")
    (table,) = deltas["tables"]
    assert {row["contender"] for row in table["rows"]} == {"ext4", "xfs"}
    assert table["rows"][-1]["delta1_percent"] == 0
    assert table["rows"][0]["score"] > 0
    page = admin.get("/compare/?study=stack").decode()
    assert "ext4" in page
    assert "xfs" in page


def test_the_disk_of_the_host_is_refused(the_stack: Stack) -> None:
    """Inside the container ``/`` is an image; what counts is what the host stands on."""
    root = subprocess.run(
        ["findmnt", "--noheadings", "--nofsroot", "--output", "SOURCE", "--target", "/"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert root.startswith("/dev/"), "these tests need a host whose / is on a block device"
    listed = f'[[lun]]\nname = "root"\nkind = "device"\npath = "{root}"\n'
    script = (
        "umask 077; cat >/tmp/luns.toml; FSBENCH_LUNS=/tmp/luns.toml python manage.py luns check"
    )
    done = subprocess.run(
        the_stack.inside("worker", "sh", "-c", script),
        env=the_stack.environment,
        input=listed,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout
    assert "FAIL root disk" in done.stdout, done.stdout
    assert "FAIL mounts" in done.stdout


def web_processes(stack: Stack) -> set[str]:
    output = stack.run("docker", "top", stack.container("web"), "-eo", "pid,args")
    return {line.split()[0] for line in output.splitlines() if "fsbench_web.serving.web" in line}


def test_new_web_processes_lose_no_request(the_stack: Stack) -> None:
    before = web_processes(the_stack)
    assert len(before) == 2
    with Readers(the_stack.port) as readers:
        time.sleep(1)
        the_stack.compose("kill", "-s", "HUP", "web")
        the_stack.wait_until(lambda: "were restarted" in the_stack.logged("web"), every_s=1)
        so_far = readers.answers
        the_stack.wait_until(lambda: readers.answers > so_far + 20)
    assert readers.failures == []
    after = web_processes(the_stack)
    assert len(after) == 2
    assert not after & before


def test_a_stopping_web_answers_what_it_began(the_stack: Stack) -> None:
    """An upload of which half has arrived when the container is told to stop."""
    body = b"x" * 200_000
    connection = http.client.HTTPConnection("127.0.0.1", the_stack.port, timeout=60)
    connection.putrequest("POST", "/api/v1/imports")
    connection.putheader("Content-Type", "multipart/form-data; boundary=end")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body[:100_000])
    time.sleep(0.5)
    stopping = threading.Thread(target=the_stack.compose, args=("stop", "web"))
    stopping.start()
    time.sleep(1.5)
    connection.send(body[100_000:])
    answer = connection.getresponse()
    # Nobody signed in: refused, but answered to the end.
    assert answer.status in (401, 403), answer.read()
    assert json.loads(answer.read())["detail"]
    stopping.join()
    assert the_stack.inspect("web", "{{.State.ExitCode}}") == "0"
    the_stack.compose("start", "web")
    the_stack.wait_until(the_stack.is_healthy)


def test_a_new_worker_loses_no_run(the_stack: Stack, admin: Person) -> None:
    """The run under way ends as done, the one that waits is done by the new worker."""
    runs = submit(admin, study="Restarted", repeats=2, parameters=SMALL | {"maximum_file_kb": 4096})
    wait_for(the_stack, admin, runs[0], "leased", "preparing", "running", "collecting", "done")
    began = the_stack.inspect("worker", "{{.State.StartedAt}}")
    output = script(the_stack, "restart-worker")
    assert "takes runs" in output
    assert the_stack.inspect("worker", "{{.State.StartedAt}}") != began
    for run in runs:
        wait_for(the_stack, admin, run, "done")
    states = {run["state"] for run in admin.read("/runs?study=restarted")["runs"]}
    assert states == {"done"}


def test_a_worker_that_is_just_stopped_says_so_and_the_run_can_be_had_again(
    the_stack: Stack, admin: Person
) -> None:
    (run,) = submit(admin, study="Stopped", parameters=MINUTES)
    wait_for(the_stack, admin, run, "running")
    the_stack.compose("restart", "worker")
    ended = wait_for(the_stack, admin, run, "failed")
    assert "worker was stopped" in ended["reason"]
    assert ended["cause"] == "worker-stopped"
    the_stack.wait_until(the_stack.is_healthy)
    # It is run again by itself, which takes minutes here.
    by_itself = ended["retried_as"]
    assert admin.read(f"/runs/{by_itself}")["retry_of"] == run
    admin.send(f"/runs/{by_itself}/cancel", {})
    wait_for(the_stack, admin, by_itself, "cancelled")
    (again,) = submit(admin, study="Stopped")
    wait_for(the_stack, admin, again, "done")


def test_the_stack_is_backed_up_and_brought_back(
    the_stack: Stack, admin: Person, tmp_path: Path
) -> None:
    file = tmp_path / "backup.tar"
    before = admin.read("/deltas?study=stack")
    assert before["tables"]
    # Named as whoever called it can open it; what is said of it is in the database by then.
    assert f":{file}: " in script(the_stack, "backup", str(file))
    noted = (
        "from fsbench_web.operations.models import Backup as b; made = b.objects.get();"
        "print(made.is_whole, made.place)"
    )
    ask = the_stack.inside("web", "python", "manage.py", "shell", "--no-imports", "-c", noted)
    assert f"True {socket.gethostname()}:{file}" in the_stack.run(*ask)
    assert file.stat().st_mode & 0o777 == 0o600
    (later,) = submit(admin, study="Later")
    wait_for(the_stack, admin, later, "done")
    script(the_stack, "restore", str(file), "--overwrite", "fsbench")
    the_stack.wait_until(the_stack.is_healthy)
    assert admin.read("/deltas?study=stack") == before
    assert "later" not in {study["slug"] for study in admin.read("/studies")}
    # Nothing is erased until somebody has looked at what waits.
    (worker,) = admin.read("/workers")["workers"]
    assert worker["state"] == "drained"


def test_nothing_can_be_installed_in_the_image(the_stack: Stack) -> None:
    script = (
        "import importlib.util as found\n"
        "print([name for name in ('pip', 'setuptools', 'wheel') if found.find_spec(name)])"
    )
    assert the_stack.run(*the_stack.inside("web", "python", "-c", script)).strip() == "[]"


def test_the_first_password_is_said_once(the_stack: Stack, admin: Person) -> None:
    again = the_stack.compose("run", "--rm", "-T", "migrate")
    assert "you chose" in again
    # A container that was made anew has no old lines.
    assert the_stack.compose("logs", "migrate").count("user admin, password ") <= 1
