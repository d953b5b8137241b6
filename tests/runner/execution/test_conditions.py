from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.studies.models import Run
from runner.execution import conditions, execute
from runner.execution.results.facts import creation_values
from runner.worker import Host


def command(phase: str, duration_s: float, exit_code: int | None = 0) -> dict[str, object]:
    return {"phase": phase, "argv": [phase], "exit_code": exit_code, "duration_s": duration_s}


def test_the_kernels_counts_have_names() -> None:
    text = "  108364      224  1873886     5726   117429    34863 16291151    24391        0\n"
    counts = conditions.parse_statistics(text)
    assert counts["reads"] == 108364
    assert counts["sectors_written"] == 16291151
    assert list(counts)[-1] == "in_flight"
    assert "busy_ms" not in counts


@pytest.mark.parametrize("text", ["", "nonsense", "1 2 x"])
def test_what_is_no_count_is_left_out(text: str) -> None:
    assert conditions.parse_statistics(text) == {}


def test_a_device_that_is_not_there_has_no_counts() -> None:
    assert conditions.device_statistics(None) == {}
    assert conditions.device_statistics(0) == {}


def test_governors_are_told_each_once(tmp_path: Path) -> None:
    assert conditions.governors_in_use(tmp_path) == []
    for number, governor in enumerate(("powersave", "performance", "powersave")):
        folder = tmp_path / f"cpu{number}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{governor}\n")
    assert conditions.governors_in_use(tmp_path) == ["performance", "powersave"]


def test_what_always_holds_is_apart_from_what_holds_now() -> None:
    stable = conditions.system_facts()
    assert stable == conditions.system_facts()
    now = conditions.host_state(True, "bfq")
    assert now["scheduler"] == "bfq"
    assert not {"load", "memory_free_bytes"} & set(stable)
    assert "scheduler" not in conditions.host_state(False, "")


def test_creation_is_timed_by_the_commands_that_did_it() -> None:
    commands = [
        command("precondition", 60.0),
        command("mkfs", 1.25),
        command("mount", 0.031),
        command("benchmark", 99.0),
    ]
    assert creation_values(commands) == [
        ParsedValue("mkfs", None, None, 1.25, "s", 2),
        ParsedValue("mount", None, None, 0.031, "s", 3),
    ]


def test_what_was_not_done_or_failed_has_no_time() -> None:
    assert creation_values([command("benchmark", 1.0)]) == []
    assert creation_values([command("mkfs", 1.0, 1), command("mount", 1.0, None)]) == []


def test_turbo_and_idle_states_are_told_as_the_kernel_has_them(tmp_path: Path) -> None:
    assert conditions.turbo(tmp_path).startswith("not known")
    assert conditions.idle_states(tmp_path).startswith("not known")
    for path, text in {
        "cpufreq/boost": "0\n",
        "cpuidle/current_driver": "intel_idle\n",
        "cpu0/cpuidle/state0/name": "POLL\n",
        "cpu0/cpuidle/state0/disable": "0\n",
        "cpu0/cpuidle/state1/name": "C6\n",
        "cpu0/cpuidle/state1/disable": "1\n",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert conditions.turbo(tmp_path) == "off"
    assert conditions.idle_states(tmp_path) == "POLL, C6 (off) (intel_idle)"
    (tmp_path / "intel_pstate").mkdir()
    (tmp_path / "intel_pstate/no_turbo").write_text("0\n")
    assert conditions.turbo(tmp_path) == "on"


@pytest.mark.django_db
@pytest.mark.parametrize("holds", [True, False])
def test_what_is_held_of_the_processors_stands_with_the_run(
    make_host: Callable[..., Host], submitted: Callable[..., Run], holds: bool
) -> None:
    host = make_host()
    host.config = replace(host.config, holds_processors=holds)
    run = submitted(host, scheduler="none")
    execute.work_on(run.pk, host)
    run.refresh_from_db()
    assert run.state == "done", run.reason
    # What can be held depends on the machine; that it was tried is said in any case.
    assert bool(run.conditions.get("processors")) is holds
    assert not (host.config.processor_notes / "note.json").exists()


def test_the_microcode_of_all_processors_is_named_once() -> None:
    """Intel's and AMD's lines in proc_cpuinfo(5); a virtual processor may have none."""
    cpuinfo = "model name\t: EPYC\nmicrocode\t: 0xa20120a\n\nmicrocode\t: 0xa20120a\n"
    assert conditions.microcode_of(cpuinfo) == "0xa20120a"
    assert conditions.microcode_of(cpuinfo + "microcode\t: 0xa201025\n") == "0xa201025, 0xa20120a"
    assert conditions.microcode_of("model name\t: Cortex-A72\n") == ""
