"""A limit of memory that does not hold for swap is told, where there is any swap."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from docker.models.containers import Container

from fsbench_web.catalog.configurations.limits import MIB, Limits
from runner.executors import containers
from runner.executors.base import Message, Target
from runner.executors.local import LocalExecutor
from runner.host import control_groups, swap
from tests.runner.host.test_control_groups import hierarchies, planned

SWAPS = """Filename\t\t\tType\t\tSize\tUsed\tPriority
/dev/vdb2               partition\t1048576\t0\t-2
/swap\\040file           file\t\t524288\t1024\t-3
"""


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host with swap."""
    monkeypatch.setattr(swap, "PROC", tmp_path)
    (tmp_path / "swaps").write_text(SWAPS)
    (tmp_path / "vmstat").write_text("pgpgin 5\npswpin 1\npswpout 3\nzswpout 2\n")
    return tmp_path


def test_what_the_kernel_says(proc: Path) -> None:
    assert swap.space_bytes() == 1536 * MIB
    assert swap.written_bytes() == 5 * 4096
    (proc / "swaps").write_text(SWAPS.splitlines()[0] + "\n")
    (proc / "vmstat").write_text("nr_free_pages 5\n")
    assert swap.space_bytes() == 0
    assert swap.written_bytes() is None


@pytest.mark.usefixtures("proc")
def test_a_daemon_that_cannot_limit_swap_is_announced_and_refuses_nothing() -> None:
    problems = containers.limit_problems({"MemoryLimit": True, "SwapLimit": False})
    assert (problems["memory"], problems["rates"]) == ("", "")
    assert "cannot limit swap" in problems["swap"]
    assert "1.5 GiB" in problems["swap"]
    assert containers.limit_problems({"MemoryLimit": True, "SwapLimit": True})["swap"] == ""
    assert containers.limit_problems({})["swap"] == ""


def test_a_host_without_swap_has_nothing_to_say(proc: Path) -> None:
    (proc / "swaps").unlink()
    assert containers.limit_problems({"SwapLimit": False})["swap"] == ""
    messages: list[Message] = []
    swap.report_limit(messages.append)
    assert messages == []


@pytest.mark.parametrize(
    ("memory_swap", "is_limited"), [(64 * MIB, True), (-1, False), (None, False)]
)
def test_the_container_that_was_made_says_it(memory_swap: int | None, is_limited: bool) -> None:
    attributes: dict[str, Any] = {"HostConfig": {"Memory": 64 * MIB, "MemorySwap": memory_swap}}
    container = cast(Container, SimpleNamespace(attrs=attributes))
    assert containers.limits_swap(container, 64 * MIB) is is_limited


@pytest.mark.usefixtures("proc")
def test_groups_without_accounting_of_swap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = tmp_path / "memory", tmp_path / "unified"
    group = new / "system.slice"
    for folder in (old, group):
        folder.mkdir(parents=True)
    of_old = hierarchies(b"31 20 0:27 / %s rw - cgroup cgroup rw,memory\n", old, monkeypatch)
    assert "cannot limit swap" in control_groups.swap_problem(of_old)
    (old / "memory.memsw.limit_in_bytes").write_text("5\n")
    assert control_groups.swap_problem(of_old) == ""
    (new / "cgroup.controllers").write_text("memory\n")
    of_new = hierarchies(b"30 20 0:26 / %s rw - cgroup2 cgroup2 rw\n", new, monkeypatch)
    assert control_groups.swap_problem(of_new) == "", "nobody knows yet"
    (group / "memory.max").write_text("max\n")
    assert "cannot limit swap" in control_groups.swap_problem(of_new)
    assert not control_groups.limits_swap([str(group), str(tmp_path)])
    (group / "memory.swap.max").write_text("0\n")
    assert control_groups.swap_problem(of_new) == ""
    assert control_groups.limits_swap([str(tmp_path), str(group)])
    (old / "memory.limit_in_bytes").write_text("7\n")
    assert not control_groups.limits_swap([str(old)])
    (old / "memory.limit_in_bytes").write_text("5\n")
    assert control_groups.limits_swap([str(old)])


@pytest.mark.root
@pytest.mark.usefixtures("proc")
@pytest.mark.parametrize("has_accounting", [True, False])
def test_a_run_in_a_control_group_says_it(
    other_loop: str, has_accounting: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_accounting:
        monkeypatch.setattr(control_groups, "_SWAP_1", "memory.memsw.none")
        monkeypatch.setattr(control_groups, "_SWAP_2", "memory.swap.none")
    elif control_groups.swap_problem():
        pytest.skip("this kernel does not account for swap")
    messages: list[Message] = []
    outcome = LocalExecutor().run(
        planned(other_loop, Limits(memory_mib=256)),
        Target(7, "test groups", "other", other_loop),
        messages.append,
        lambda: False,
    )
    assert outcome.exit_code == 0
    unlimited = [message for message in messages if message["type"] == "unlimited_swap"]
    assert unlimited == ([] if has_accounting else [unlimited[0]])
    assert all(message["space_bytes"] == 1536 * MIB for message in unlimited)
