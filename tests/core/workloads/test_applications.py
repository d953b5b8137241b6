"""Applications as workloads: what they call, what they refuse, and real runs of all of them."""

import json
import shutil
import subprocess
import time
from contextlib import nullcontext
from fractions import Fraction
from math import ceil
from pathlib import Path
from types import ModuleType

import pytest

from fsbench_web.core import units
from fsbench_web.core.workloads import ParameterError, Place, presets, workload_of
from fsbench_web.core.workloads.applications import container_image
from fsbench_web.studies.models import RunState
from fsbench_web.studies.scores.ingest import artefact_bytes
from runner.agent.workloads import image_layers, latencies, maildir, mariadb, postgres
from tests.core.workloads.conftest import Measure
from tests.measured import measured

SMALL = (
    *("pgbench-small", "mariadb-small", "sqlite-small", "rocksdb-small"),
    *("sysbench-fileio-small", "maildir-small", "git-small", "archives-small"),
    "container-image-small",
)


@pytest.mark.parametrize(
    ("tool", "parameters", "message"),
    [
        ("sysbench-fileio", {"total_mb": 1, "files": 1000, "block_kb": 16}, "a block or more"),
        ("maildir", {"smallest_bytes": 2, "largest_bytes": 1}, "must be 2 bytes or more"),
        ("maildir", {"deliver_percent": 60, "read_percent": 60}, "more than 100 percent"),
        ("maildir", {"deliver_percent": 10, "delete_percent": 20}, "would run empty"),
        ("maildir", {"mailboxes": 4, "processes": [8]}, "a mailbox for each process"),
        ("pgbench", {"script": "; drop table"}, "must be one of"),
        ("rocksdb", {"threads": []}, "list of 1 to"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tool: str, parameters: dict[str, object], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        workload_of(tool, parameters)


def test_what_is_only_for_databases_on_the_disk_is_told_to_the_server() -> None:
    workload = workload_of("pgbench", {"synchronous_commit": "off", "clients": [2, 64]})
    _, create, two, many = workload.commands(Place("/m"))
    for command in (create, two, many):
        assert "synchronous_commit=off" in command.argv
        assert "max_connections=84" in command.argv
    assert "--jobs=4" in many.argv
    assert two.remount


def test_the_layers_sizes_are_those_that_room_is_kept_for() -> None:
    assert container_image.MEAN_BYTES == image_layers.MEAN_BYTES


def test_percentiles_are_latencies_that_were_measured() -> None:
    ordered = list(range(1, 1001))
    assert dict(latencies.percentiles(ordered)) == {
        **{"p50": 500, "p90": 900, "p95": 950, "p99": 990},
        "max": 1000,
    }
    # Of a hundred, one is beyond the 99th: no more than chance.
    assert [name for name, _ in latencies.percentiles(ordered[:100])] == ["p50", "p90", "max"]
    assert dict(latencies.percentiles([])) == {}


@pytest.mark.parametrize(
    ("count", "name", "rank"),
    [(1_000, "p99", 990), (10_000, "p99.9", 9_990), (100_000, "p99.99", 99_990)],
)
def test_a_percentile_is_told_from_ten_latencies_beyond_it(
    count: int, name: str, rank: int
) -> None:
    assert dict(latencies.percentiles(range(1, count + 1)))[name] == rank
    assert name not in dict(latencies.percentiles(range(1, count)))


def test_the_rank_of_a_percentile_is_that_of_whole_numbers() -> None:
    for count in range(20, 30_000, 7):
        percentiles = dict(latencies.percentiles(range(1, count + 1)))
        for name in set(percentiles) - {"max"}:
            share = Fraction(name.removeprefix("p")) / 100
            assert percentiles[name] == ceil(share * count)
            assert count - percentiles[name] >= latencies.LEAST_BEYOND


def test_mail_is_measured_once_the_names_of_all_messages_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of a spool of cold folders on a slow disk that takes longer than any warm-up."""
    folder = str(tmp_path / "spool")
    assert maildir.main(["create", folder, "--mailboxes=4", "--messages=2"]) == 0
    look = maildir.Mailbox.scan

    def slowly(mailbox: maildir.Mailbox) -> None:
        time.sleep(1.0)
        look(mailbox)

    monkeypatch.setattr(maildir.Mailbox, "scan", slowly)
    # Two processes of two mailboxes each: two seconds until they know them.
    options = ["--mailboxes=4", "--processes=2", "--seconds=1"]
    assert maildir.main(["run", folder, *options]) == 0
    first = json.loads(capfd.readouterr().out.splitlines()[0])
    assert first["fsbench"] == "maildir_operations"
    assert float(first["value"]) > 0


def test_a_process_that_fails_ends_all(tmp_path: Path) -> None:
    folder = str(tmp_path / "spool")
    assert maildir.main(["create", folder, "--mailboxes=2"]) == 0
    shutil.rmtree(tmp_path / "spool/000001")
    options = ["--mailboxes=2", "--processes=2", "--seconds=1"]
    assert maildir.main(["run", folder, *options]) == 1


@pytest.mark.django_db
@pytest.mark.root
@pytest.mark.parametrize("preset", SMALL)
def test_it_runs_and_every_number_is_a_line_of_its_output(measure: Measure, preset: str) -> None:
    loads = {"clients", "threads", "processes"} & presets()[preset].workload().values.keys()
    fewer = {name: [2] for name in loads}
    run = measure("ext4", preset, **fewer)
    assert run.state == RunState.DONE, run.reason
    values = measured(run)
    assert run.series.workload is not None
    workload = workload_of(run.series.workload.tool, run.series.workload.parameters)
    expected = {(test, load) for test, load, _, _ in workload.expected()}
    assert expected <= {(value.test, value.load) for value in values}
    for value in values:
        if value.artefact is not None:  # what a run costs is worked out of samples
            assert units.is_known(value.unit), value
            assert value.line is not None
            assert artefact_bytes(value.artefact).decode().splitlines()[value.line - 1].strip()


@pytest.mark.parametrize(
    ("program", "module", "word"),
    [("pgbench", postgres, "--random-seed"), ("sysbench", mariadb, "--rand-seed")],
)
@pytest.mark.parametrize("options", [[], ["--warm-up-seed=2"]])
def test_a_warm_up_with_a_seed_of_its_own_does_not_read_what_is_measured(
    monkeypatch: pytest.MonkeyPatch, program: str, module: ModuleType, word: str, options: list[str]
) -> None:
    """Of 3,000 reads that pgbench made again with the same seed none reached the device."""
    called: list[list[str]] = []

    def run(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        if any(Path(argument).name == program for argument in argv):
            called.append(argv)
        return subprocess.CompletedProcess(argv, 0, "", "")

    monkeypatch.setattr(module.subprocess, "run", run)
    monkeypatch.setattr(module, "server", lambda *_: nullcontext("/run"))
    if module is postgres:
        monkeypatch.setattr(module, "programs", lambda: Path("/bin"))
        monkeypatch.setattr(module, "checkpoints", lambda _: 0)
    assert module.main(["run", "/mnt", "--warm-up=5", "--seed=1", *options]) == 0
    warm_up, measured = (
        [argument for argument in argv if argument.startswith(word)] for argv in called
    )
    assert (warm_up[-1], measured[-1]) == (f"{word}={2 if options else 1}", f"{word}=1")


@pytest.mark.parametrize("name", ["pgbench-tpcb", "pgbench-read-only", "mariadb-oltp"])
def test_presets_warm_up_with_other_rows_and_runs_of_before_stay_what_they_were(name: str) -> None:
    preset = presets()[name]
    before = {key: value for key, value in preset.parameters.items() if key != "fresh_warm_up"}
    of_now, of_then = preset.workload(), workload_of(preset.tool, before)
    assert "fresh_warm_up" not in of_then.values
    assert of_now.title() == f"{of_then.title()}, other rows in the warm-up"
    now, then = (
        [word for command in workload.commands(Place("/mnt")) for word in command.argv]
        for workload in (of_now, of_then)
    )
    assert {*now} - {*then} == {"--warm-up-seed=2"}
    assert {*then} <= {*now}
    last = workload_of(preset.tool, preset.parameters | {"seed": 2**31 - 1})
    # What the tools take as a seed is a whole number of 31 bits.
    assert "--warm-up-seed=1" in [
        word for command in last.commands(Place("/mnt")) for word in command.argv
    ]
