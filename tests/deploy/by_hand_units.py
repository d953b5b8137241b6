"""The units of deploy/systemd, run by a real systemd: they start, work, are restarted and crash.

By hand, before a release and after changes of the units (the machine takes minutes to build, which
`make test` has not): .venv/bin/python -m pytest tests/deploy/by_hand_units.py

The tests use one machine, in this order.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.deploy.machine import Machine, build_machine_image, machine
from tests.deploy.readers import Readers
from tests.services.compose import Person
from tests.services.image import build_stack_images

pytestmark = [pytest.mark.docker, pytest.mark.root]

SMALL = {
    "minimum_record_kb": 4,
    "maximum_record_kb": 8,
    "minimum_file_kb": 64,
    "maximum_file_kb": 128,
}
MINUTES = SMALL | {"maximum_file_kb": 131072, "direct_io": True}
UNITS = ("fsbench-web", "fsbench-worker")


@pytest.fixture(scope="module")
def host(docker_host: str) -> Iterator[Machine]:
    build_stack_images(docker_host)
    build_machine_image(docker_host)
    with machine(docker_host) as running_machine:
        yield running_machine


@pytest.fixture(scope="module")
def admin(host: Machine) -> Person:
    return host.administrator()


def submit(admin: Person, **changes: Any) -> list[int]:
    body = {
        "study": "Units",
        "lun": "scratch",
        "confirm": "scratch",
        "configurations": [{"filesystem": "ext4", "options": {}, "scheduler": "none"}],
        "workload": "iozone-small",
        "parameters": SMALL,
        "repeats": 1,
    }
    return [run["id"] for run in admin.send("/runs", body | changes)["runs"]]


def wait_for(host: Machine, admin: Person, run: int, *states: str) -> dict[str, Any]:
    detail: dict[str, Any] = {}

    def is_there() -> bool:
        detail.update(admin.read(f"/runs/{run}"))
        ended = detail["state"] in ("done", "failed", "cancelled", "lost")
        assert not ended or detail["state"] in states, detail
        return detail["state"] in states

    host.wait_until(is_there)
    return detail


def test_they_are_active_and_nothing_was_restarted(host: Machine) -> None:
    for unit in (*UNITS, "fsbench-web.socket"):
        assert host.try_run("systemctl", "is-active", unit) == "active"
        assert host.try_run("systemctl", "is-enabled", unit) == "enabled"
    assert [host.property(unit, "NRestarts") for unit in UNITS] == ["0", "0"]
    assert host.property("fsbench-prepare", "Result") == "success"


def test_the_web_is_nobody_and_the_worker_is_root(host: Machine) -> None:
    pid = host.property("fsbench-web", "MainPID")
    status = host.run("cat", f"/proc/{pid}/status")
    user = host.run("id", "-u", "fsbench").strip()
    assert f"Uid:\t{user}\t{user}" in status
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    pid = host.property("fsbench-worker", "MainPID")
    assert "Uid:\t0\t0" in host.run("cat", f"/proc/{pid}/status")


def test_a_benchmark_goes_through(host: Machine, admin: Person) -> None:
    configurations = [
        {"filesystem": name, "options": {}, "scheduler": "none"} for name in ("ext4", "xfs")
    ]
    for run in submit(admin, configurations=configurations):
        wait_for(host, admin, run, "done")
    (table,) = admin.read("/deltas?study=units&test=write&category=overall")["tables"]
    assert {row["contender"] for row in table["rows"]} == {"ext4", "xfs"}


def test_the_journal_tells_the_story(host: Machine) -> None:
    assert "Worker host-a, executor local" in host.journal("--unit", "fsbench-worker")
    assert "fsbench is ready" in host.journal("--unit", "fsbench-web")


def test_a_restarted_web_refuses_nobody(host: Machine) -> None:
    before = host.property("fsbench-web", "MainPID")
    with Readers(host.port, limit_s=600) as readers:
        host.wait_until(lambda: readers.answers > 5)
        host.run("systemctl", "restart", "fsbench-web")
        so_far = readers.answers
        host.wait_until(lambda: readers.answers > so_far + 20)
    assert readers.failures == [], readers.failures
    assert host.property("fsbench-web", "MainPID") != before


def test_a_reloaded_web_refuses_nobody(host: Machine) -> None:
    before = host.property("fsbench-web", "MainPID")
    with Readers(host.port, limit_s=600) as readers:
        host.run("systemctl", "reload", "fsbench-web")
        host.wait_until(lambda: "were restarted" in host.journal("--unit", "fsbench-web"))
        so_far = readers.answers
        host.wait_until(lambda: readers.answers > so_far + 20)
    assert readers.failures == [], readers.failures
    assert host.property("fsbench-web", "MainPID") == before


def test_a_drained_worker_is_restarted_without_losing_a_run(host: Machine, admin: Person) -> None:
    runs = submit(admin, study="Drained", repeats=2, parameters=SMALL | {"maximum_file_kb": 4096})
    wait_for(host, admin, runs[0], "leased", "preparing", "running", "collecting", "done")
    host.run("/opt/fsbench/deploy/manage", "drain", "host-a", "--wait")
    before = host.property("fsbench-worker", "MainPID")
    host.run("systemctl", "restart", "fsbench-worker")
    assert host.property("fsbench-worker", "MainPID") != before
    host.run("/opt/fsbench/deploy/manage", "drain", "host-a", "--resume")
    for run in runs:
        wait_for(host, admin, run, "done")


def test_a_worker_that_is_just_restarted_says_so(host: Machine, admin: Person) -> None:
    run, waits = submit(admin, study="Stopped", parameters=MINUTES) + submit(admin, study="Stopped")
    wait_for(host, admin, run, "running")
    host.run("systemctl", "restart", "fsbench-worker")
    assert "worker was stopped" in wait_for(host, admin, run, "failed")["reason"]
    wait_for(host, admin, waits, "done")
    assert host.property("fsbench-worker", "Result") == "success"


@pytest.mark.parametrize("unit", UNITS)
def test_a_crash_is_followed_by_a_start(host: Machine, admin: Person, unit: str) -> None:
    runs = submit(admin, study=f"Crash of {unit}", parameters=MINUTES, run_again=0)
    wait_for(host, admin, runs[0], "running")
    pid = host.property(unit, "MainPID")
    host.run("kill", "-KILL", pid)
    host.wait_until(lambda: host.property(unit, "MainPID") not in ("0", pid))
    host.wait_until(host.is_healthy)
    if unit == "fsbench-worker":
        assert wait_for(host, admin, runs[0], "lost")["reason"]
    else:
        admin.send(f"/runs/{runs[0]}/cancel", {})
        wait_for(host, admin, runs[0], "cancelled")
    (after,) = submit(admin, study="Crashed")
    wait_for(host, admin, after, "done")
    assert host.run("findmnt", "--list", "--noheadings", "--types", "ext4", "--output", "SOURCE")


def test_a_database_that_is_away_is_waited_for(host: Machine, admin: Person) -> None:
    host.run("systemctl", "stop", "postgresql@15-main")
    for unit in UNITS:
        host.try_run("systemctl", "restart", unit)
    for unit in UNITS:
        host.wait_until(lambda unit=unit: host.property(unit, "NRestarts") != "0")  # type: ignore[misc]
    host.run("systemctl", "start", "postgresql@15-main")
    host.wait_until(host.is_healthy)


def test_a_preparation_that_fails_does_not_close_the_port(host: Machine) -> None:
    """At once and each time: more often than systemd would try a unit, or a socket its service."""
    place = "/run/systemd/system/fsbench-prepare.service.d"
    host.run("install", "-d", place)
    host.run("tee", f"{place}/fails.conf", stdin="[Service]\nExecStart=\nExecStart=/bin/false\n")
    host.run("systemctl", "daemon-reload")
    host.run("systemctl", "restart", "fsbench-web")
    host.wait_until(host.is_healthy)
    assert host.property("fsbench-prepare", "Result") == "exit-code"
    assert host.try_run("systemctl", "is-active", "fsbench-web.socket") == "active"
    host.run("rm", "-r", place)
    host.run("systemctl", "daemon-reload")


def test_what_is_backed_up_comes_back(host: Machine, admin: Person) -> None:
    before = admin.read("/deltas?study=units")
    assert before["tables"]
    manage = "/opt/fsbench/deploy/manage"
    host.run(manage, "backup", "/srv/backup")
    (later,) = submit(admin, study="Later")
    wait_for(host, admin, later, "done")
    host.run("systemctl", "stop", "fsbench-web.socket", *UNITS)
    host.run(manage, "restore", "/srv/backup", "--overwrite", "fsbench")
    host.run("systemctl", "start", "fsbench-web.socket", *UNITS)
    host.wait_until(host.is_healthy)
    assert admin.read("/deltas?study=units") == before
    assert "later" not in {study["slug"] for study in admin.read("/studies")}
    admin.sign_in("admin", admin.password)  # a restore ends the sessions of all people
    host.run(manage, "drain", "host-a", "--resume")


def test_after_a_boot_all_is_there(host: Machine, admin: Person) -> None:
    host.boot_again()
    host.wait_until(host.is_healthy)
    (run,) = submit(admin, study="Booted")
    wait_for(host, admin, run, "done")
