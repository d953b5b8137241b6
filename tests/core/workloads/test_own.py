"""Uploaded workloads: what is let through, what is not, and real runs of both kinds."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fsbench_web.core.workloads import ParameterError, Place, presets, workload_of
from fsbench_web.core.workloads.fio.jobs import FLAGS, OPTIONS, checked_job
from fsbench_web.core.workloads.own import checked_words
from fsbench_web.studies.models import RunState
from fsbench_web.studies.scores.ingest import artefact_bytes
from runner.host import allowed_programs
from tests.measured import measured
from tests.runner.fake import FakeExecutor

JOB = """\
; random reads of a file that is laid out first
[global]
ioengine=psync
bs = 4k
size=2m

[small-reads]
rw=randread
time_based
runtime=1
"""


def fio(text: str, **changes: Any) -> dict[str, Any]:
    return {"name": "Mine", "version": 1, "text": text, "space_mb": 16, **changes}


def command(text: str, **changes: Any) -> dict[str, Any]:
    return {**fio(text), "parser": "iozone", **changes}


def test_a_job_is_written_anew_below_the_folder_that_fsbench_sets() -> None:
    mkdir, run = workload_of("own-fio", fio(JOB)).commands(Place("/m"))
    assert mkdir.argv == ("mkdir", "/m/fsbench.work")
    assert run.argv == ("fio", "--output-format=json+", "--eta=never", "-")
    assert run.stdin.splitlines() == [
        *("[global]", "directory=/m/fsbench.work"),
        *("[global]", "ioengine=psync", "bs=4k", "size=2m"),
        *("[small-reads]", "rw=randread", "time_based", "runtime=1"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "exec_prerun=reboot",
        "exec_postrun=reboot",
        "filename=/dev/sda",
        "filename=../../etc/passwd",
        "filename_format=/etc/$jobname",
        "directory=/etc",
        "opendir=/etc",
        "ioengine=external:/tmp/evil.so",
        "ioengine=external",
        "ioengine=libhdfs",
        "ioengine=net",
        "ioengine=psync\texec_prerun=reboot",
        "write_bw_log=/etc/cron.d/x",
        "write_lat_log",
        "write_iolog=/etc/passwd",
        "read_iolog=/etc/shadow",
        "replay_redirect=/dev/sda",
        "mem=mmaphuge:/etc/passwd",
        "verify_state_save=1",
        "cgroup=x",
        "include /etc/passwd",
        "include=/etc/passwd",
        "bs=${HOME}",
        "size=$mb_memory",
        "bs=`reboot`",
        "bs=4k;reboot",
        "bs=4k # x",
        "size=100%",
        "size=-1",
        "numjobs=99999",
        "rw=randread:/x",
        "EXEC_PRERUN=reboot",
        "exec_prerun = reboot",
        "--exec_prerun=reboot",
        "bs=٤k",
        "bs=4k\x0bexec_prerun=reboot",
        "bs=4k\u2028exec_prerun=reboot",
        "bs=4k\rexec_prerun=reboot",
        "bs=4k\x00",
        "bs",
        "=",
        "[../../etc]",
        "[a b]",
        "[]",
        "[$jobname]",
        "description=x",
    ],
)
def test_hostile_lines_of_a_job_are_refused_with_their_number(line: str) -> None:
    with pytest.raises(ParameterError, match=r"^Line 2: "):
        checked_job(f"[job]\n{line}\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no job"),
        ("[global]\nbs=4k\n", "no job"),
        ("bs=4k\n[job]\n", "before the first"),
        ("[a]\nrw=read\n[a]\nrw=read\n", "each of its own name"),
        ("[a]\n" + "bs=4k\n" * 9000, "32 KiB at most"),
        ("".join(f"[j{n}]\n" for n in range(65)), "64 jobs at most"),
    ],
)
def test_a_job_file_that_is_none_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        checked_job(text)


def test_no_option_that_is_let_through_takes_a_path_or_a_program() -> None:
    for name in OPTIONS:
        assert name in FLAGS or name not in ("filename", "directory", "exec_prerun", "include")
        for value in ("/etc/passwd", "../x", "$(reboot)", "a b", "x\ny", "external:/x.so", ""):
            with pytest.raises(ParameterError):
                checked_job(f"[job]\n{name}={value}\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/bin/sh -c reboot",
        "./x",
        "../x",
        "{folder}/x",
        "-x",
        "iozone\nreboot",
        "iozone 'unfinished",
        "iozone -f /etc/passwd",
        "iozone -f=/etc/passwd",
        "iozone -f../x",
        "iozone -f {folder}/../../etc/passwd",
        "iozone -f {folder}/x:/etc/passwd",
        "iozone -f '{folder}/x /etc/passwd'",
        "iozone -f etc/passwd",
        "printf {folder}n/etc/passwd",
        "printf {folder}n",
        "printf {folder}.old/x",
        "printf {folder},{folder}/x",
        "printf {folder}{folder}",
        "printf '{folder} /x'",
        "printf '{folder}\\n/etc/passwd'",
        "printf '{folder}/x\\n/etc/passwd'",
        "printf '{folder}/\\056\\056/x'",
        "iozone {device}",
        "iozone {folder.__class__}",
        "iozone {0}",
        "iozone \x00",
        "iozone " + "x " * 100,
    ],
)
def test_hostile_commands_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        workload_of("own-command", command(text))


def test_a_command_is_words_and_no_shell() -> None:
    text = "iozone -s 64k -f {folder}/a;reboot '$(reboot)' '|' of={folder}/b"
    assert checked_words(text)[4] == "{folder}/a;reboot"
    assert checked_words("fio {folder} --dir={folder} --files={folder}/a,{folder}/b")
    words = workload_of("own-command", command(text)).commands(Place("/m"))[1].argv
    assert words[4:] == ("/m/fsbench.work/a;reboot", "$(reboot)", "|", "of=/m/fsbench.work/b")


@pytest.mark.parametrize(
    "changes",
    [
        {"parser": "nosuch"},
        {"parser": ""},
        {"version": 0},
        {"space_mb": 0},
        {"name": ""},
        {"name": "a\nb"},
        {"text": 5},
        {"text": "iozone " + "x" * 5000},
        {"extra": 1},
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        workload_of("own-command", command("iozone") | changes)


def test_a_program_is_allowed_by_the_host_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = workload_of("own-command", command("iozone -s 64k")).needs
    monkeypatch.delenv(allowed_programs.VARIABLE, raising=False)
    refused = FakeExecutor().probe().refusal("ext4", True, needs)
    assert refused == "This host's FSBENCH_OWN_PROGRAMS does not name iozone."
    monkeypatch.setenv(allowed_programs.VARIABLE, "fio, iozone")
    assert FakeExecutor().probe().refusal("ext4", True, needs) == ""
    for bad in ("/bin/sh", "../x", "a b", "-x"):
        monkeypatch.setenv(allowed_programs.VARIABLE, bad)
        with pytest.raises(Exception, match="names of programs without paths"):
            allowed_programs.allowed_names()


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_a_job_file_is_really_run(measure_own, filesystem: str) -> None:
    run = measure_own(filesystem, "own-fio", fio(JOB))
    assert run.state == RunState.DONE, run.reason
    value = measured(run, unit="KB/s")[0]
    assert value.artefact.name == "fio.json"
    assert str(int(value.value)) in artefact_bytes(value.artefact).decode()


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize(
    ("allowed", "parser", "reason"),
    [
        ("iozone", "iozone", ""),
        ("fio", "iozone", "does not name iozone"),
        ("iozone", "postmark", "it is iozone, and not postmark"),
    ],
)
def test_a_command_is_really_run_where_the_host_allows_it(
    measure_own, monkeypatch: pytest.MonkeyPatch, allowed: str, parser: str, reason: str
) -> None:
    monkeypatch.setenv(allowed_programs.VARIABLE, allowed)
    text = "iozone -i 0 -i 1 -a -n 64k -g 64k -y 4k -q 4k -f {folder}/file"
    run = measure_own("ext4", "own-command", command(text, parser=parser))
    assert run.state == (RunState.FAILED if reason else RunState.DONE), run.reason
    assert reason in run.reason
    assert bool(measured(run, test="write")) == (not reason)


def test_a_job_may_end_when_its_rate_is_steady_by_fios_own_rule(tmp_path: Path) -> None:
    job = checked_job(
        "[one]\nrw=randread\nsize=1m\nbs=4k\ntime_based\nruntime=30\n"
        "steadystate=iops:90%\nsteadystate_duration=2\nsteadystate_ramp_time=0\n"
        "dedupe_percentage=20\nrefill_buffers\n"
    )
    done = subprocess.run(
        ["fio", f"--directory={tmp_path}", "--output-format=json", "-"],
        input=job,
        capture_output=True,
        text=True,
        check=True,
    )
    job_report = json.loads(done.stdout)["jobs"][0]
    assert job_report["error"] == 0
    # It was told to go on for 30 seconds.
    assert job_report["job_runtime"] < 20_000


@pytest.mark.parametrize("rule", ["iops:x", "lat:5%", "iops_slope", "iops:5%;reboot", "/tmp/x"])
def test_a_rule_of_steady_state_that_is_none_is_refused(rule: str) -> None:
    with pytest.raises(ParameterError, match="steadystate"):
        checked_job(f"[one]\nsteadystate={rule}\n")


def test_data_that_compress_are_told_by_the_workload() -> None:
    for text, words in (
        ("[one]\nrw=read\n", ""),
        ("[one]\nrw=write\nbs=128k\n", ""),
        ("[one]\nrw=write\n", "one buffer"),
        ("[one]\nrw=write\nrefill_buffers\n", ""),
        ("[global]\nrefill_buffers=1\n[one]\nrw=randrw\n", ""),
        ("[one]\nrw=randwrite\ndirect=1\n", ""),
        ("[one]\nrw=write\ndirect=1\nioengine=libaio\niodepth=32\n", ""),
        ("[one]\ndedupe_percentage=30\n", "30% duplicates"),
        ("[one]\nbuffer_compress_percentage=50\n", "by 50%"),
        ("[one]\nzero_buffers\n", "compress."),
    ):
        own = workload_of("own-fio", {"name": "own", "version": 1, "text": text})
        assert words in own.data_warning() if words else own.data_warning() == ""
    assert "0.5%" in presets()["iozone-small"].workload().data_warning()
    assert workload_of("file-creation", {}).data_warning() == ""
