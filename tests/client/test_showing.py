"""show, log and download: a run in full, what it says while it runs, and what it left."""

import gzip
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.utils import timezone

from fsbench_web.studies.models import Artefact, LogLine, Run, RunState, Score
from tests.api.conftest import announced
from tests.client.conftest import Command
from tests.client.test_run import DOCUMENT
from tests.studies.conftest import complete

Measured = Callable[..., None]


def make_artefact(run: Run, name: str, content: bytes) -> Artefact:
    return Artefact.objects.create(
        run=run,
        name=name,
        sha256=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        content_gzip=gzip.compress(content),
    )


def write_log(run: Run, *texts: str) -> None:
    for text in texts:
        LogLine.objects.create(run=run, at=timezone.now(), stream="stdout", text=text)


@pytest.fixture
def run(measured: Measured) -> Run:
    measured("Lab", ext4=[100, 101])
    return Run.objects.order_by("pk")[0]


def test_a_run_is_shown_with_a_score_of_each_test(fsbench: Command, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(reason="Imported \x1b[2J from here")
    done = fsbench("show", run.pk)
    assert done.returncode == 0, done.stderr
    head, address, *facts = done.stdout.splitlines()
    assert (head, address) == (f"Run {run.pk}", f"{fsbench.site}/runs/{run.pk}/")
    assert "state" in facts[0]
    assert any(line.split() == ["configuration", "ext4"] for line in facts)
    assert "raw output" in done.stdout
    assert "not stated: its date is that of the import" in done.stdout
    (score,) = [line for line in facts if line.startswith("write ")]
    assert score.split()[1] == "overall"
    assert "\x1b" not in done.stdout
    whole = json.loads(fsbench("show", run.pk, "--json").stdout)
    assert (whole["id"], len(whole["scores"])) == (run.pk, 7)
    assert fsbench("show", 4711).returncode == 3
    Run.objects.filter(pk=run.pk).update(measured_at=datetime(2005, 8, 9, 10, 12, tzinfo=UTC))
    (dated,) = [line for line in fsbench("show", run.pk).stdout.splitlines() if "2005" in line]
    assert dated.split()[:3] == ["measured", "(UTC)", "2005-08-09"]


def test_a_run_says_that_its_guest_was_emulated(fsbench: Command, run: Run) -> None:
    assert "guest" not in fsbench("show", run.pk).stdout
    machine = {"executor": "guest", "kernel": "debian-6.1", "memory_bytes": 2**31, "cpus": 2}
    for accelerator, word in (("kvm", "KVM"), ("emulated", "emulated")):
        run.series.machine = machine | {"accelerator": accelerator}
        run.series.save()
        (line,) = [
            line
            for line in fsbench("show", run.pk).stdout.splitlines()
            if line.startswith("guest ")
        ]
        assert word in line


def test_a_run_is_shown_with_the_interval_of_its_page(fsbench: Command, run: Run) -> None:
    Score.objects.filter(category="overall").update(
        half_width_percent=None,
        interval={"mean": 200.0, "half_width": 5.0, "count": 30, "of": "samples"},
    )
    (score,) = [
        line for line in fsbench("show", run.pk).stdout.splitlines() if line.startswith("write ")
    ]
    assert "2.5% of samples" in score


def test_a_job_is_shown_with_its_runs(fsbench: Command, tmp_path: Path) -> None:
    announced("bench-1")
    path = tmp_path / "job.yaml"
    path.write_text(DOCUMENT % "lun0")
    job = json.loads(fsbench("submit", path, "--yes-erase", "lun0", "--json").stdout)
    done = fsbench("show", "--job", job["id"])
    assert done.returncode == 0, done.stderr
    assert "2: 0 done, 0 failed or lost, 0 cancelled, 0 running, 2 waiting" in done.stdout
    assert sum("queued" in line for line in done.stdout.splitlines()) == 2
    assert "submitted by     ada" in done.stdout


def test_a_log_is_printed_and_followed_to_the_end(fsbench: Command, run: Run) -> None:
    write_log(run, "one", "", "evil \x1b]0;owned\x07\x9b31m text")
    done = fsbench("log", run.pk)
    assert done.returncode == 0, done.stderr
    first, empty, evil = done.stdout.splitlines()
    assert first.endswith(" stdout  one")
    assert empty.endswith(" stdout")
    assert not set("\x1b\x07\x9b") & set(evil)
    entries = fsbench("log", run.pk, "--json").stdout.splitlines()
    assert [json.loads(line)["text"] for line in entries[:2]] == ["one", ""]
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    following = subprocess.Popen(
        [
            *(sys.executable, "-m", "fsbench", "log", str(run.pk), "--follow"),
            *("--interval", "0.05"),
        ],
        env=fsbench.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    assert following.stdout.readline().endswith(" one\n")
    write_log(run, "later")
    lines = [following.stdout.readline() for _ in range(3)]
    assert lines[-1].endswith(" later\n")
    write_log(run, "last")
    Run.objects.filter(pk=run.pk).update(state=RunState.FAILED)
    rest, _ = following.communicate(timeout=60)
    assert rest.endswith(" last\n")
    assert following.returncode == 5


def test_raw_output_is_downloaded_byte_by_byte_into_a_folder_of_its_own(
    fsbench: Command, run: Run, tmp_path: Path
) -> None:
    Artefact.objects.all().delete()
    evil = b"\x1b[2J\x00\xff raw"
    first = make_artefact(run, "../../.bashrc", evil)
    second = make_artefact(run, "iozone.txt", b"write 4")
    third = make_artefact(run, "iozone.txt", b"read 5")
    folder = tmp_path / "there"
    done = fsbench("download", run.pk, "-o", folder)
    assert done.returncode == 0, done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "_bashrc": evil,
        "iozone.txt": b"write 4",
        f"{third.pk}-iozone.txt": b"read 5",
    }
    # Again is fine; what is there and something else is never written over.
    assert fsbench("download", run.pk, "-o", folder).returncode == 0
    (folder / "iozone.txt").write_text("mine")
    other = fsbench("download", run.pk, "-o", folder)
    assert (other.returncode, "exists with other content" in other.stderr) == (2, True)
    assert (folder / "iozone.txt").read_text() == "mine"
    listed = fsbench("download", run.pk, "--list")
    assert second.sha256 in listed.stdout
    piped = subprocess.run(
        [
            *(sys.executable, "-m", "fsbench", "download", str(run.pk)),
            *("--artefact", str(first.pk), "-o", "-"),
        ],
        env=fsbench.environment(),
        capture_output=True,
    )
    assert (piped.returncode, piped.stdout) == (0, evil)
    both = fsbench("download", run.pk, "-o", "-")
    assert (both.returncode, "choose one with --artefact" in both.stderr) == (2, True)
    none = fsbench("download", run.pk, "--artefact", "nothing.txt")
    assert (none.returncode, "There is no output nothing.txt" in none.stderr) == (2, True)
    Artefact.objects.filter(pk=first.pk).update(sha256="0" * 64)
    changed = fsbench("download", run.pk, "--artefact", first.pk, "-o", tmp_path / "new")
    assert (changed.returncode, "arrived damaged" in changed.stderr) == (3, True)
    assert list((tmp_path / "new").iterdir()) == []


def test_a_race_is_submitted_and_shown_with_who_leads(fsbench: Command) -> None:
    announced("bench-1")
    words = ("submit", "--study", "Race", "--lun", "lun0", "--workload", "iozone-small")
    both = ("--filesystem", "ext4", "--filesystem", "xfs")
    ours = (*words, *both, "--scheduler", "none", "--yes-erase", "lun0")
    submitted = fsbench(*ours, "--best-within", 8)
    assert submitted.returncode == 0, submitted.stderr
    job = Run.objects.all()[0].job_id
    speeds = {"ext4": 1000.0, "xfs": 800.0}
    for run in Run.objects.order_by("pk"):
        complete(run, speeds[run.series.configuration.filesystem])
    text = fsbench("show", "--job", job).stdout
    assert "Race by write, total_average: confirming after 1 round, " in text
    assert " is ahead so far." in text
    with subprocess.Popen(
        [sys.executable, "-m", "fsbench", "watch", "--job", str(job)],
        env=fsbench.environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        line = watching.stdout.readline()
        watching.terminate()
    pattern = r"job \d+  \w+  50%  2 of 4 runs planned so far, ext4_\w+ leads\n"
    assert re.fullmatch(pattern, line), line
    (xfs,) = [line for line in text.splitlines() if line.startswith("xfs") and "%" in line]
    assert xfs.split()[1:4] == ["left", "1", "-20.0%"]
    assert json.loads(fsbench("show", "--job", job, "--json").stdout)["race"]["budget_s"] == 28800
    done = fsbench(*ours, "--best-within", 8, "--repeats", 3)
    assert (done.returncode, "leave --repeats out" in done.stderr) == (2, True)
