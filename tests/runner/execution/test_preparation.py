"""What is done to a LUN before a run, on a real loop device; and what is noted of the run."""

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.studies.models import MeasurementBlock, Run, RunState
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.series import series_for
from runner.execution import execute
from runner.executors.local import LocalExecutor
from runner.safety import blockdev, checks, signatures
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.measured import measurement_of
from tests.runner.conftest import SMALL, sparse_lun, tool, write_luns, write_run

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MIB = 2**20
CarryOut = Callable[[Run, Host], Run]


@pytest.fixture
def lun_file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "luns.toml"
    size = getattr(request, "param", "64 MiB")
    write_luns(path, sparse_lun(tmp_path / "scratch.img", size=size))
    return path


@pytest.fixture
def host(make_host: Callable[..., Host]) -> Host:
    return make_host(LocalExecutor())


@pytest.fixture
def prepared(host: Host, submitted: Callable[..., Run]) -> Callable[..., Run]:
    """``prepared(discard=True)``: a queued run with this preparation."""

    def make(filesystem: str = "ext4", **preparation: object) -> Run:
        run = submitted(host, filesystem, scheduler="none")
        old = run.series
        run.series = series_for(
            old.study,
            old.configuration,
            workload=old.workload,
            hardware=old.hardware,
            lun=old.lun,
            kernel=old.kernel,
            distribution=old.distribution,
            preparation=preparation,
        )
        assert run.series != old
        run.save()
        return run

    return make


def allocated(tmp_path: Path) -> int:
    return (tmp_path / "scratch.img").stat().st_blocks * 512


def phases(run: Run) -> list[str]:
    return [command["phase"] for command in run.commands]


def test_discard_empties_the_device_before_mkfs(
    host: Host, prepared: Callable[..., Run], carry_out: CarryOut, tmp_path: Path
) -> None:
    device = host.device(host.entry("scratch"))
    tool("dd", "if=/dev/urandom", f"of={device}", "bs=1M", "count=60", "oflag=direct")
    assert allocated(tmp_path) > 55 * MIB
    run = carry_out(prepared(discard=True), host)
    assert run.state == RunState.DONE, run.reason
    assert phases(run) == ["discard", "mkfs", "mount", "benchmark", "sync", "unmount"]
    assert allocated(tmp_path) < 30 * MIB
    assert run.series.preparation == {"discard": True}


def test_a_device_that_takes_no_discard_is_refused_before_anything_is_erased(
    host: Host, prepared: Callable[..., Run], carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = prepared(discard=True)
    monkeypatch.setattr(blockdev, "can_discard", lambda number: False)
    carry_out(run, host)
    assert run.state == RunState.FAILED
    assert run.reason == "Refused: scratch takes no discard (TRIM): leave it out of the job."
    assert run.commands == []


def test_the_worker_announces_what_takes_discard(host: Host) -> None:
    assert host.announcement().luns[0].can_discard
    announce(host.announcement())
    assert Lun.objects.get().can_discard


def test_the_whole_device_is_written_once_and_told_on_the_way(
    host: Host, prepared: Callable[..., Run], carry_out: CarryOut, tmp_path: Path
) -> None:
    assert allocated(tmp_path) == 0
    run = carry_out(prepared(precondition=True), host)
    assert run.state == RunState.DONE, run.reason
    assert phases(run) == ["precondition", "mkfs", "mount", "benchmark", "sync", "unmount"]
    assert allocated(tmp_path) >= 63 * MIB
    (dd,) = [line for line in commands_of(run) if line["phase"] == "precondition"]
    assert f"{63 * MIB} bytes" in dd["stderr"]
    assert "\r" not in dd["stderr"]


def test_the_file_system_is_filled_with_files(
    host: Host, prepared: Callable[..., Run], carry_out: CarryOut
) -> None:
    run = carry_out(prepared(fill_percent=50), host)
    assert run.state == RunState.DONE, run.reason
    assert phases(run) == ["mkfs", "mount", "fill", "benchmark", "sync", "unmount"]
    (fill,) = [line for line in commands_of(run) if line["phase"] == "fill"]
    assert fill["argv"] == ["fsbench-agent", "--fill", "50", "/mnt/fsbench/fsbench.fill"]
    words = fill["stdout"].split()
    assert words[1] == "files"
    used = float(words[words.index("written;") + 1].rstrip("%"))
    assert 49.5 <= used <= 52


def test_a_file_system_without_room_left_is_said_so(
    host: Host, prepared: Callable[..., Run], carry_out: CarryOut
) -> None:
    run = prepared(fill_percent=90)
    run.series.workload.parameters = SMALL | {"maximum_file_kb": 16384}
    run.series.workload.save()
    carry_out(run, host)
    assert run.state == RunState.FAILED
    assert "or fill it less" in run.reason
    assert not MeasurementBlock.objects.exists()


def commands_of(run: Run) -> list[dict[str, object]]:
    text = ingest.artefact_bytes(run.artefacts.get(name="commands.jsonl")).decode()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("filesystem", ["ext4", "ext2"])
def test_mkfs_and_mount_are_measured_and_lead_back_to_their_line(
    host: Host, prepared: Callable[..., Run], carry_out: CarryOut, filesystem: str
) -> None:
    run = carry_out(prepared(filesystem, fill_percent=1), host)
    assert run.state == RunState.DONE, run.reason
    lines = commands_of(run)
    for test in ("mkfs", "mount"):
        measured = measurement_of(run, test=test)
        assert measured.unit == "s"
        assert measured.record_size_kb is None
        assert 0.0005 < measured.value < 20
        assert measured.artefact.name == "commands.jsonl"
        line = lines[measured.line - 1]
        assert line["phase"] == test
        assert line["exit_code"] == 0
        assert line["duration_s"] == measured.value
        score = run.series.scores.get(test=test)
        assert (score.category, score.unit, score.value) == ("mean", "s", measured.value)


def test_a_study_has_a_table_of_file_system_creation(
    host: Host, submitted: Callable[..., Run], carry_out: CarryOut, client: Client
) -> None:
    for filesystem in ("ext4", "ext2"):
        run = carry_out(submitted(host, filesystem, scheduler="none"), host)
        assert run.state == RunState.DONE, run.reason
    html = client.get("/studies/tests/?tab=tests").content.decode()
    for test, label in (("mkfs", "File system creation"), ("mount", "Mounting")):
        assert re.search(f'id="test-{test}[^>]*>.*{label}', html, re.S), test
    tables = client.get("/api/v1/deltas?study=tests&test=mkfs").json()["tables"]
    (table,) = tables
    assert (table["unit"], table["lower_is_better"], table["category"]) == ("s", True, "mean")
    assert {row["contender"] for row in table["rows"]} == {"ext2", "ext4"}
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "File system creation" in page
    assert client.get("/studies/tests/matrix/").status_code == 200
    assert client.get("/studies/tests/matrix/?test=mkfs").status_code == 404


def test_what_held_for_the_run_is_noted_beside_what_always_holds(
    host: Host, submitted: Callable[..., Run], carry_out: CarryOut, client: Client
) -> None:
    first = carry_out(submitted(host, scheduler="mq-deadline"), host)
    second = carry_out(submitted(host, scheduler="mq-deadline"), host)
    assert first.state == second.state == RunState.DONE
    assert first.environment == second.environment
    assert first.environment is not None
    facts = first.environment.facts
    assert facts["Kernel command line"] == [
        ["Command line", Path("/proc/cmdline").read_text().strip()]
    ]
    assert "Processor frequency" in facts
    assert dict(facts["LUN"])["Path on the host"].endswith("scratch.img")
    assert dict(facts["LUN"])["Size"] == f"{64 * MIB} bytes"
    folder = Path("/sys/devices/system/cpu/vulnerabilities")
    if folder.is_dir():
        mitigations = dict(facts["Processor vulnerabilities and mitigations"])
        assert mitigations["meltdown"] == (folder / "meltdown").read_text().strip()

    before, device = first.conditions["before"], first.conditions["device"]
    assert before["scheduler"] == "mq-deadline"
    assert before["caches_dropped"] is host.config.drops_caches
    assert len(before["load"]) == 3
    assert 0 < before["memory_free_bytes"] < before["memory_total_bytes"]
    written = device["after"]["sectors_written"] - device["before"]["sectors_written"]
    assert written * 512 > 128 * 1024
    assert first.conditions != second.conditions
    html = client.get(f"/runs/{first.pk}/").content.decode()
    assert "Conditions of this run" in html
    assert "I/O scheduler, read back" in html
    assert "Load average" in html


# Large enough that its writing is still going on when somebody cancels.
@pytest.mark.parametrize("lun_file", ["2048 MiB"], indirect=True)
def test_a_run_that_is_stopped_while_the_lun_is_written_leaves_a_lun_that_is_known(
    host: Host, prepared: Callable[..., Run], carry_out: CarryOut, lun_file: Path
) -> None:
    """Between the first written block and mkfs the label of the run before has to hold."""
    device = host.device(host.entry("scratch"))
    tool("mkfs.ext4", "-q", "-F", "-L", "fsbench", device)
    run = prepared(precondition=True)
    beat = lifecycle.heartbeat

    def cancel_then_beat(handle: lifecycle.LeaseHandle, **values: object) -> bool:
        if values.get("phase") == "precondition":
            lifecycle.cancel(handle.run_id, "somebody")
        return beat(handle, **values)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lifecycle, "heartbeat", cancel_then_beat)
        patch.setattr("runner.execution.record.HEARTBEAT_EVERY_S", 0.05)
        patch.setattr("runner.execution.record.FLUSH_EVERY_S", 0.02)
        carry_out(run, host)
    assert run.state == RunState.CANCELLED, run.reason
    assert phases(run) == ["precondition"]
    (signature,) = signatures.of(device)
    assert signature.label == "fsbench"
    assert checks.problem(checks.verify(read_luns(lun_file)[0], lun_file, device)) == ""


@pytest.mark.django_db(transaction=True)
def test_two_luns_of_a_host_at_once_contend(
    make_host: Callable[..., Host], lun_file: Path, tmp_path: Path
) -> None:
    write_luns(
        lun_file,
        *(
            sparse_lun(tmp_path / f"{name}.img", name=name, size="64 MiB")
            for name in ("one", "two")
        ),
    )
    host = make_host(LocalExecutor())
    worker = announce(host.announcement(has_started=True))
    parameters = SMALL | {"maximum_file_kb": 16384}
    runs = [
        write_run(worker, "ext4", lun=name, parameters=parameters, scheduler="none")
        for name in ("one", "two")
    ]
    began = threading.Barrier(2)

    def work(run: Run) -> None:
        from django.db import connection

        began.wait(60)
        try:
            execute.work_on(run.pk, host)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for run, other in (runs, reversed(runs)):
        run.refresh_from_db()
        assert run.state == RunState.DONE, run.reason
        assert run.is_contended
        assert [entry["run"] for entry in run.conditions["others"]] == [other.pk]
    # The one that ended first was scored when it was known already that it was not alone.
    for run in runs:
        assert all("contended" in score.flags for score in run.series.scores.all())


def test_it_is_aged_and_what_that_did_is_kept(
    host: Host, prepared: Callable[..., Run], carry_out: CarryOut, client: Client
) -> None:
    run = carry_out(prepared(fill_percent=40, age_rounds=2), host)
    assert run.state == RunState.DONE, run.reason
    assert phases(run) == [
        *("mkfs", "mount", "fill", "layout", "unmount", "mount", "benchmark", "sync", "layout"),
        "unmount",
    ]
    (fill,) = [line for line in commands_of(run) if line["phase"] == "fill"]
    assert "% of the file system in use" in fill["stdout"]
    before, after = run.conditions["layout"]["before"], run.conditions["layout"]["after"]
    assert before["files"] > 10
    assert before["extents"] >= before["files"]
    assert after["files"] == before["files"]  # IOzone removes its own
    looked_at = run.artefacts.get(name="layout-before.txt")
    assert b"HISTOGRAM OF FREE EXTENT SIZES" in ingest.artefact_bytes(looked_at)
    assert "extents a file" in client.get(f"/runs/{run.pk}/").content.decode()
