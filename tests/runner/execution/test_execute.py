"""From claim to result, with an agent that is played: what is stored, and what never is."""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from fsbench_web.accounts.models import AuditEntry
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.workers.machines import EMULATED, MIB, Machine
from fsbench_web.studies.models import Lease, LogLine, MeasurementBlock, Run, RunState, Score
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.scores import ingest
from runner.execution import client_results, execute, last_checks, places
from runner.execution.tracing import Tracing
from runner.executors.base import Capabilities, OnMessage, Outcome, ShouldStop, Target
from runner.guests.executor import GuestExecutor
from runner.plan import RunPlan
from runner.safety import checks
from runner.safety.luns import read_luns
from runner.worker import Host
from tests.measured import measured
from tests.runner import fake
from tests.runner.conftest import sparse_lun, tool, write_luns
from tests.runner.fake import FakeExecutor, message
from tests.studies.conftest import after_silence

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]


def assert_not_measured(run: Run) -> None:
    """No measurement, no score, and the LUN free for the next run."""
    assert not MeasurementBlock.objects.exists()
    assert not Score.objects.exists()
    assert not Lease.objects.filter(run=run).exists()
    assert run.ended_at is not None


def dropped() -> int:
    """How often this machine's page cache was dropped since it booted."""
    counters = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(counters["drop_pagecache"])


def test_the_page_cache_is_dropped_unless_its_host_says_no(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    texts = []
    for drops_caches in (True, False):
        before = dropped()
        host = make_host(name=f"host-{drops_caches}".lower(), drops_caches=drops_caches)
        run = carry_out(submitted(host), host)
        assert run.state == RunState.DONE
        # Other processes of the tests may drop it meanwhile.
        assert dropped() > before or not drops_caches
        lines = LogLine.objects.filter(run=run, text__contains="page cache")
        texts += [line.text for line in lines]
        assert run.conditions["before"]["caches_dropped"] == drops_caches
        host.stop()
    assert texts == [
        "The host's page cache was dropped.",
        "The host's page cache was left as it is (FSBENCH_DROP_CACHES).",
    ]


def test_a_good_run_is_measured_and_scored(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    host = make_host()
    run = carry_out(submitted(host, scheduler="mq-deadline"), host)
    assert (run.state, run.reason) == (RunState.DONE, "24 values measured.")
    assert run.progress == 1
    states = [change.state for change in run.changes.all()]
    assert states == ["queued", "leased", "preparing", "running", "collecting", "done"]
    assert [command["phase"] for command in run.commands] == [
        *("mkfs", "mount", "benchmark", "sync", "unmount")
    ]
    assert len([row for row in measured(run) if row.unit != "s"]) == 24
    assert run.series.scores.filter(test="write", category="maximum").get().value == 1136
    artefact = run.artefacts.get(name="iozone.txt")
    assert b"iozone test complete" in ingest.artefact_bytes(artefact)
    assert run.log_lines.filter(stream="stdout", text__contains="reclen").exists()


def test_a_fake_says_that_it_is_one(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    host = make_host()
    run = carry_out(submitted(host), host)
    assert run.environment is not None
    assert run.environment.kernel == fake.KERNEL
    assert "Fake" in run.environment.facts
    assert ["Executor", "fake"] in run.environment.facts["Execution"]


def test_a_run_moves_to_the_series_of_the_kernel_it_ran_on(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    executor = FakeExecutor(
        capabilities=Capabilities("6.0-old", fake.DISTRIBUTION, *_all_but_names())
    )
    host = make_host(executor)
    run = submitted(host)
    submitted_run = run.series
    carry_out(run, host)
    assert run.state == RunState.DONE
    assert submitted_run.kernel == "6.0-old"
    assert run.series.kernel == fake.KERNEL
    assert run.series.configuration == submitted_run.configuration
    assert run.series.scores.exists()
    assert not submitted_run.scores.exists()


def _all_but_names() -> tuple[object, object]:
    can = fake.all_capabilities()
    return can.filesystems, can.tools


def test_it_runs_what_waits_for_the_lun_the_oldest_first(
    make_host: MakeHost, submitted: Submit
) -> None:
    host = make_host()
    runs = [submitted(host, name) for name in ("xfs", "ext4", "xfs")]
    execute.work_on(runs[2].pk, host)
    for run in runs:
        run.refresh_from_db()
    assert [run.state for run in runs] == [RunState.DONE] * 3
    began = [run.started_at for run in runs]
    assert began == sorted(began)  # type: ignore[type-var]


def test_a_late_or_repeated_message_is_harmless(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    host = make_host()
    run = carry_out(submitted(host), host)
    carry_out(run, host)
    execute.work_on(987654, host)
    assert len(host.executor.plans) == 1  # type: ignore[attr-defined]


def test_the_list_is_read_again_before_anything_is_erased(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, lun_file: Path
) -> None:
    host = make_host()
    run = submitted(host)
    write_luns(lun_file)
    carry_out(run, host)
    assert run.state == RunState.FAILED
    assert "lists no LUN “scratch”. Nothing was erased" in run.reason
    assert host.executor.plans == []  # type: ignore[attr-defined]
    assert_not_measured(run)


def test_a_mounted_lun_is_not_erased(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, lun_file: Path, tmp_path: Path
) -> None:
    host = make_host()
    run = submitted(host)
    device = host.device(read_luns(lun_file)[0])
    point = tmp_path / "mounted"
    point.mkdir()
    tool("mkfs.ext4", "-q", "-F", "-L", "fsbench", device)
    tool("mount", device, str(point))
    (point / "precious").write_text("kept")
    try:
        carry_out(run, host)
        assert run.state == RunState.FAILED
        assert f"was not erased. It is mounted on {point}" in run.reason
        assert host.executor.plans == []  # type: ignore[attr-defined]
        assert (point / "precious").read_text() == "kept"
        assert_not_measured(run)
    finally:
        tool("umount", str(point))


def test_foreign_data_is_not_erased(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, lun_file: Path
) -> None:
    host = make_host()
    run = submitted(host)
    tool("mkfs.ext4", "-q", "-F", "-L", "home", host.device(read_luns(lun_file)[0]))
    carry_out(run, host)
    assert run.state == RunState.FAILED
    assert "fsbench did not write" in run.reason
    assert host.executor.plans == []  # type: ignore[attr-defined]


def test_a_file_system_that_the_kernel_cannot_mount_is_refused(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    can = {slug: {"usable": True, "reason": ""} for slug in FILESYSTEMS}
    can["xfs"] = {"usable": False, "reason": "The kernel cannot mount XFS."}
    tools = fake.all_capabilities().tools
    host = make_host(FakeExecutor(capabilities=Capabilities("k", "d", can, tools)))
    run = carry_out(submitted(host, "xfs"), host)
    assert run.state == RunState.FAILED
    assert run.reason == "Refused: The kernel cannot mount XFS."
    assert host.executor.plans == []  # type: ignore[attr-defined]


def test_a_missing_benchmark_is_refused_before_anything_is_erased(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    missing = {"iozone": {"usable": False, "reason": "Install iozone3."}}
    can = Capabilities("k", "d", fake.all_capabilities().filesystems, missing)
    host = make_host(FakeExecutor(capabilities=can))
    run = carry_out(submitted(host), host)
    assert (run.state, run.reason) == (RunState.FAILED, "Refused: Install iozone3.")


def test_a_journal_lun_takes_no_run(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, lun_file: Path, tmp_path: Path
) -> None:
    host = make_host()
    run = submitted(host)
    write_luns(lun_file, sparse_lun(tmp_path / "scratch.img", role="journal"))
    carry_out(run, host)
    assert "external journals" in run.reason


def test_an_unknown_scheduler_is_refused(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    host = make_host()
    run = carry_out(submitted(host, scheduler="anticipatory"), host)
    assert run.state == RunState.FAILED
    assert "does not offer the I/O scheduler “anticipatory”" in run.reason
    assert host.executor.plans == []  # type: ignore[attr-defined]


def fail_with(reason: str, *outputs: str) -> fake.Script:
    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        on_message(fake.environment())
        on_message(message("phase", phase="benchmark"))
        for text in outputs:
            on_message(message("output", name="iozone.txt", part=0, is_last=True, text=text))
        on_message(message("error", reason=reason))
        on_message(message("done", ok=False))
        return Outcome(1)

    return script


def test_a_failed_run_keeps_its_output_and_measures_nothing(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    whole = fake.iozone_text([(4, 64), (8, 64), (4, 128), (8, 128)])
    host = make_host(FakeExecutor(fail_with("The LUN is full.", whole)))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.FAILED
    assert run.reason == "The LUN is full."
    assert ingest.artefact_bytes(run.artefacts.get()) == whole.encode()
    assert run.environment is not None
    assert_not_measured(run)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (fake.iozone_text([(4, 64), (8, 64), (4, 128)]), "lacks 6 of 24 values, first write"),
        ("nothing that iozone would print", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_an_incomplete_matrix_is_a_failed_run(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, text: str, words: str
) -> None:
    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        on_message(fake.environment())
        on_message(message("phase", phase="benchmark"))
        on_message(message("output", name="iozone.txt", part=0, is_last=True, text=text))
        on_message(message("done", ok=True))
        return Outcome(0)

    host = make_host(FakeExecutor(script))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.FAILED
    assert words in run.reason
    assert ".." not in run.reason
    assert run.artefacts.count() == 1
    assert_not_measured(run)


def test_output_that_breaks_off_is_kept_as_incomplete(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        on_message(fake.environment())
        on_message(message("phase", phase="benchmark"))
        on_message(message("log", stream="stdout", text="  64  4  1 2 3 4 5 6"))
        return Outcome(137, reason="The container was killed from outside (signal 9).")

    host = make_host(FakeExecutor(script))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.FAILED
    assert run.reason.startswith("The container was killed from outside (signal 9).")
    artefact = run.artefacts.get()
    assert artefact.name == "incomplete output.txt"
    assert ingest.artefact_bytes(artefact) == b"  64  4  1 2 3 4 5 6\n"
    assert_not_measured(run)


@pytest.mark.parametrize("exit_code", [1, 137, None])
def test_done_without_a_clean_end_is_not_done(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, exit_code: int | None
) -> None:
    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        fake.succeed(plan, on_message, should_stop)
        return Outcome(exit_code, reason="It was killed.")

    host = make_host(FakeExecutor(script))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.FAILED
    assert_not_measured(run)


def test_messages_that_make_no_sense_go_to_the_log(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        on_message({"type": "nosuch"})
        on_message({"type": "log", "text": "no time"})
        on_message({"type": "command", "phase": "x"})
        on_message({"type": "log", "at": float("inf"), "stream": "stdout", "text": "no time"})
        on_message(message("log", stream="stdout", text="nul \x00 here"))
        return fake.succeed(plan, on_message, should_stop)

    host = make_host(FakeExecutor(script))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.DONE
    strange = run.log_lines.filter(text__startswith="A message that cannot be understood")
    assert strange.count() == 4
    assert run.log_lines.filter(text="nul \ufffd here").exists()


def test_an_executor_that_breaks_off_fails_the_run(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        raise OSError("the socket is gone")

    host = make_host(FakeExecutor(script))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.FAILED
    assert "the socket is gone" in run.reason
    assert_not_measured(run)


def while_running(act: Callable[[], object]) -> fake.Script:
    """Play a benchmark, and do ``act`` (in the run's thread) as soon as it runs."""

    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        act()
        return fake.wait_to_be_stopped(plan, on_message, should_stop)

    return script


def test_a_cancelled_run_stops(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host(FakeExecutor(fake.wait_to_be_stopped))
    run = submitted(host)
    beat = lifecycle.heartbeat

    def cancel_then_beat(handle: lifecycle.LeaseHandle, **values: object) -> bool:
        lifecycle.cancel(handle.run_id, "somebody")
        return beat(handle, **values)  # type: ignore[arg-type]

    monkeypatch.setattr(lifecycle, "heartbeat", cancel_then_beat)
    carry_out(run, host)
    assert run.state == RunState.CANCELLED
    assert run.reason.startswith("Cancelled during ")
    assert_not_measured(run)


def test_a_stopping_worker_ends_its_run_with_the_reason(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    host = make_host()
    host.executor.script = while_running(host.stopping.set)  # type: ignore[attr-defined]
    run, waiting = submitted(host), submitted(host, "xfs")
    carry_out(run, host)
    assert run.state == RunState.FAILED
    assert run.reason.startswith("The worker was stopped during ")
    waiting.refresh_from_db()
    assert waiting.state == RunState.QUEUED
    assert_not_measured(run)


def test_a_worker_that_lost_its_lease_stops_and_writes_nothing(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host(FakeExecutor(fake.wait_to_be_stopped))
    run = submitted(host)
    beat = lifecycle.heartbeat

    def reap_then_beat(handle: lifecycle.LeaseHandle, **values: object) -> bool:
        lifecycle.reap_lost(after_silence())
        return beat(handle, **values)  # type: ignore[arg-type]

    monkeypatch.setattr(lifecycle, "heartbeat", reap_then_beat)
    carry_out(run, host)
    assert run.state == RunState.LOST
    assert run.changes.last().state == RunState.LOST  # type: ignore[union-attr]
    assert not run.artefacts.exists()
    assert_not_measured(run)


def test_a_database_that_is_away_for_a_moment_does_not_end_a_run(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host()
    run = submitted(host)
    failures = [OperationalError("database is locked")] * 2
    append = lifecycle.append_log

    def fail_twice(handle: lifecycle.LeaseHandle, lines: object) -> None:
        if failures:
            raise failures.pop()
        append(handle, lines)  # type: ignore[arg-type]

    monkeypatch.setattr(lifecycle, "append_log", fail_twice)
    carry_out(run, host)
    assert run.state == RunState.DONE
    texts = list(run.log_lines.values_list("text", flat=True))
    assert len([text for text in texts if "Performance Test of File I/O" in text]) == 1


def test_a_database_that_goes_away_between_a_measurement_and_its_end_ends_no_run(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host()
    run = submitted(host)
    failures = [OperationalError("server closed the connection unexpectedly")]
    gathered = client_results.collect_results

    def fail_once(*arguments: Any) -> Any:
        if failures:
            raise failures.pop()
        return gathered(*arguments)

    monkeypatch.setattr(client_results, "collect_results", fail_once)
    carry_out(run, host)
    assert (run.state, failures) == (RunState.DONE, []), run.reason
    assert run.measurement_blocks.exists()


def test_a_result_that_cannot_be_stored_fails_the_run_whole(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host()
    run = submitted(host)

    def refuse(series: object) -> None:
        raise ingest.MixedMeasurements("write was measured in KB/s and in ops/s.")

    monkeypatch.setattr(ingest, "rescore", refuse)
    carry_out(run, host)
    assert run.state == RunState.FAILED
    assert "cannot be stored: write was measured in KB/s and in ops/s." in run.reason
    assert {artefact.name for artefact in run.artefacts.all()} == {"iozone.txt", "commands.jsonl"}
    assert_not_measured(run)


class TestDirectory:
    @pytest.fixture
    def folder(self, lun_file: Path, tmp_path: Path) -> Path:
        folder = tmp_path / "folder"
        folder.mkdir()
        write_luns(lun_file, {"name": "folder", "kind": "directory", "path": str(folder)})
        return folder

    def filesystem_of(self, folder: Path) -> str:
        return tool("findmnt", "--noheadings", "--output", "FSTYPE", "--target", str(folder))

    def test_it_takes_runs_of_the_file_system_it_is_on(
        self, make_host: MakeHost, submitted: Submit, carry_out: CarryOut, folder: Path
    ) -> None:
        host = make_host()
        filesystem = self.filesystem_of(folder)
        assert filesystem in FILESYSTEMS, (
            f"these tests need a disk with a known file system: {filesystem}"
        )
        run = carry_out(submitted(host, filesystem, lun="folder"), host)
        assert run.state == RunState.DONE
        assert [command["phase"] for command in run.commands] == ["benchmark"]
        (lun,) = host.announcement().luns
        assert ["File system", filesystem] in lun.identity
        assert lun.device == str(folder)
        assert lun.schedulers == []

    def test_its_numbers_go_to_no_other_file_system(
        self, make_host: MakeHost, submitted: Submit, carry_out: CarryOut, folder: Path
    ) -> None:
        host = make_host()
        other = next(name for name in FILESYSTEMS if name != self.filesystem_of(folder))
        run = carry_out(submitted(host, other, lun="folder"), host)
        assert run.state == RunState.FAILED
        assert f"not on {other}" in run.reason
        assert_not_measured(run)

    def test_it_has_no_scheduler_and_no_options(
        self, make_host: MakeHost, submitted: Submit, carry_out: CarryOut, folder: Path
    ) -> None:
        host = make_host()
        filesystem = self.filesystem_of(folder)
        run = carry_out(submitted(host, filesystem, lun="folder", scheduler="none"), host)
        assert "no I/O scheduler" in run.reason
        options = {"atime": "noatime"}
        run = carry_out(submitted(host, filesystem, lun="folder", options=options), host)
        assert "no mkfs or mount option" in run.reason


def test_a_lun_that_was_in_use_is_offered_again_with_the_next_heartbeat(
    make_host: Callable[..., Host],
) -> None:
    host = make_host()
    device = host.device(host.entry("scratch"))
    held = os.open(device, os.O_RDONLY | os.O_EXCL)
    try:
        host.refresh()
        assert "in use" in host.announcement().luns[0].problem
        host.recheck_luns()
        assert "in use" in host.announcement().luns[0].problem
    finally:
        os.close(held)
    host.recheck_luns()
    assert host.announcement().luns[0].problem == ""


def test_a_run_that_is_cancelled_while_its_lun_is_checked_erases_nothing(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host()
    run = submitted(host)
    verify = places.verify

    def cancel_then_verify(*arguments: object) -> None:
        lifecycle.cancel(run.pk, "somebody")
        verify(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(places, "verify", cancel_then_verify)
    carry_out(run, host)
    assert run.state == RunState.CANCELLED
    assert run.reason.startswith("Cancelled during preparing.")
    assert run.reason.endswith("Nothing was erased.")
    assert host.executor.plans == []  # type: ignore[attr-defined]
    assert_not_measured(run)


def test_a_run_that_is_cancelled_while_it_waits_for_a_busy_lun_is_cancelled_not_failed(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "SETTLE_S", 600)
    host = make_host()
    run = submitted(host)
    descriptor = os.open(host.device(host.entry("scratch")), os.O_RDONLY | os.O_EXCL)
    verify = checks.verify

    def cancel_then_verify(*arguments: object) -> list[checks.Check]:
        lifecycle.cancel(run.pk, "somebody")
        return verify(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(checks, "verify", cancel_then_verify)
    began = time.monotonic()
    try:
        carry_out(run, host)
    finally:
        os.close(descriptor)
    assert run.state == RunState.CANCELLED
    assert time.monotonic() - began < 120
    assert host.executor.plans == []  # type: ignore[attr-defined]


def test_no_run_is_refused_for_a_daemon_that_is_back(
    make_host: MakeHost, submitted: Submit
) -> None:
    """Its message comes after the daemon, and before the heartbeat that would have told."""

    class Restarted(FakeExecutor):
        away = ""

        def problem(self) -> str:
            return self.away

    executor = Restarted()
    host = make_host(executor)
    run = submitted(host)
    executor.away = "No Docker daemon answers."
    host.check_executor()
    execute.work_on(run.pk, host)
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    executor.away = ""
    execute.work_on(run.pk, host)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.reason


@pytest.mark.parametrize("moment", ["in the checks", "right before the erasing"])
def test_a_worker_that_was_held_up_before_it_erased_erases_nothing(
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    """Its process was stopped (SIGSTOP, a machine that was moved), and its lease ran out."""
    host = make_host()
    run = submitted(host)
    verify, times = places.verify, iter([1, 2])

    def hold_up(*arguments: object) -> None:
        verify(*arguments)  # type: ignore[arg-type]
        if next(times) == (1 if moment == "in the checks" else 2):
            lifecycle.reap_lost(after_silence())

    monkeypatch.setattr(places, "verify", hold_up)
    carry_out(run, host)
    assert run.state == RunState.LOST
    assert host.executor.plans == []  # type: ignore[attr-defined]
    assert_not_measured(run)


def test_a_lun_that_is_taken_while_the_worker_waits_for_the_database_is_not_erased(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host()
    run = submitted(host)
    still_wanted, descriptors = last_checks.still_wanted, []

    def take_meanwhile(*arguments: Any) -> None:
        still_wanted(*arguments)
        descriptors.append(os.open(host.device(host.entry("scratch")), os.O_RDONLY | os.O_EXCL))

    monkeypatch.setattr(last_checks, "still_wanted", take_meanwhile)
    try:
        carry_out(run, host)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    assert run.state == RunState.FAILED
    assert "scratch was not erased" in run.reason
    assert host.executor.plans == []  # type: ignore[attr-defined]
    assert AuditEntry.objects.filter(what="run refused", thing=f"run {run.pk}").exists()
    assert_not_measured(run)


def test_a_lun_that_is_taken_while_a_tracer_is_made_ready_is_not_erased(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host()
    run = submitted(host)

    @contextlib.contextmanager
    def slow(*arguments: Any, **named: Any) -> Iterator[Tracing]:
        device = host.device(host.entry("scratch"))
        descriptor = os.open(device, os.O_RDONLY | os.O_EXCL)
        try:
            yield Tracing()
        finally:
            os.close(descriptor)

    monkeypatch.setattr(execute, "tracing", slow)
    carry_out(run, host)
    assert run.state == RunState.FAILED
    assert "scratch was not erased" in run.reason
    assert host.executor.plans == []  # type: ignore[attr-defined]
    assert_not_measured(run)


def test_nobody_mounts_a_lun_while_a_guest_has_it(
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """What its kernel has mounted, this host's does not know of, and QEMU does not ask for it."""
    point, refused = tmp_path / "point", []
    point.mkdir()

    def boot(self: Any, plan: RunPlan, target: Target, *rest: Any) -> Outcome:
        tool("mkfs.ext2", "-q", str(tmp_path / "scratch.img"), "64M")
        done = subprocess.run(["mount", target.device, point], capture_output=True, check=False)
        refused.append(done.returncode)
        return Outcome(1, reason="It is played.")

    for name, played in {
        **{"run": boot, "refusal": lambda *_: "", "why_wait": lambda *_: ""},
        **{"announcement": lambda _: {}, "facts": lambda _: []},
    }.items():
        monkeypatch.setattr(GuestExecutor, name, played)
    host = make_host(guests=GuestExecutor("none", "test", folder=tmp_path, cache=tmp_path))
    run = submitted(host, machine=Machine("linux-image-6.1", EMULATED, 512 * MIB, 1))
    carry_out(run, host)
    assert "It is played." in run.reason
    assert refused == [32]


def test_an_agent_of_another_version_fails_the_run_and_frees_the_lun(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    """An image that is older than the worker tells an environment without what is needed."""

    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        on_message(message("environment", nothing="known"))
        on_message(message("phase", phase="benchmark"))
        deadline = time.monotonic() + 600
        while not should_stop() and time.monotonic() < deadline:
            time.sleep(0.02)
        return Outcome(3, was_stopped=True)

    host = make_host(FakeExecutor(script))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.FAILED
    assert "make image" in run.reason
    assert run.took_s is not None
    assert run.took_s < 300
    assert_not_measured(run)


def test_text_that_no_file_can_hold_fails_nothing(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    """Half of a surrogate pair, as JSON can say it."""

    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        on_message(message("output", name="half \ud800", part=0, is_last=True, text="\udcff"))
        return fake.succeed(plan, on_message, should_stop)

    host = make_host(FakeExecutor(script))
    run = carry_out(submitted(host), host)
    assert run.state == RunState.DONE
    assert run.artefacts.filter(name="half ?").exists()
