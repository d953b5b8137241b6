"""The agent's programs that make source trees and time steps on them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fsbench_web.core import formats
from runner.agent.workloads import timed, tree


def run(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-I", program, *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_same_tree_is_generated_each_time_and_builds(tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert run(tree.__file__, "generated", str(tmp_path / name / "tree"), "25").returncode == 0
    first = tmp_path / "one" / "tree"
    assert content(first) == content(tmp_path / "two" / "tree")
    assert len(list(first.rglob("file*.c"))) == 25
    subprocess.run(["make", "-s", "-C", str(first), "-j2", "CFLAGS=-O0 -I."], check=True)
    subprocess.run([str(first / "program")], check=True)
    subprocess.run(["make", "-s", "-C", str(first), "clean"], check=True)
    assert content(first) == content(tmp_path / "two" / "tree")


def test_a_tree_is_kept_and_one_that_is_only_half_there_is_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "top" / "tree"
    run(tree.__file__, "generated", str(folder), "2")
    (folder / "mark").touch()
    run(tree.__file__, "generated", str(folder), "2")
    assert (folder / "mark").exists()
    # Ended before it was finished: the folder has no stamp.
    folder.with_name("tree.stamp").unlink()
    folder.with_name("tree.part").mkdir()
    run(tree.__file__, "generated", str(folder), "2")
    assert not (folder / "mark").exists()
    assert {path.name for path in folder.parent.iterdir()} == {"tree", "tree.stamp", "lock"}


def test_a_tree_that_was_just_made_is_never_taken_for_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended between the tree and its stamp, as by a run that is killed."""
    folder = tmp_path / "top" / "tree"
    run(tree.__file__, "generated", str(folder), "2")

    def killed(*_: object) -> int:
        raise KeyboardInterrupt

    def fill(part: Path) -> None:
        tree.generate(part, 9)
        monkeypatch.setattr(Path, "write_text", killed)

    with pytest.raises(KeyboardInterrupt):
        tree.ensure_folder(folder, "1 9", fill)
    monkeypatch.undo()
    run(tree.__file__, "generated", str(folder), "2")
    assert len(list(folder.rglob("file*.c"))) == 2


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    top.chmod(0o777)
    done = run(tree.__file__, "generated", str(top / "tree"), "2")
    assert done.returncode == 1
    assert "others may write there: remove it" in done.stderr
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert run(tree.__file__, "generated", str(link / "tree"), "2").returncode == 1


def test_the_newest_kernel_source_is_taken(tmp_path: Path) -> None:
    for name in ("6.1", "6.12", "6.9", "6.9.tar.xz.part"):
        (tmp_path / f"linux-source-{name}.tar.xz").touch()
    assert tree.newest_tarball(tmp_path).name == "linux-source-6.12.tar.xz"
    with pytest.raises(tree.TreeProblem, match="KERNEL_SOURCE=yes"):
        tree.newest_tarball(tmp_path / "none")


def test_a_kernel_source_is_unpacked_and_configured(tmp_path: Path) -> None:
    source = tmp_path / "linux-source-9.9"
    source.mkdir()
    (source / "Makefile").write_text("tinyconfig:\n\techo CONFIG > .config\nwrong:\n\tfalse\n")
    tarball = tmp_path / "linux-source-9.9.tar.xz"
    subprocess.run(["tar", "-C", str(tmp_path), "-cJf", str(tarball), source.name], check=True)
    tree.unpack(tmp_path / "tree", tarball, "tinyconfig")
    assert (tmp_path / "tree" / ".config").read_text() == "CONFIG\n"
    with pytest.raises(tree.TreeProblem, match=r"make -s -C .* wrong failed"):
        tree.unpack(tmp_path / "other", tarball, "wrong")
    tarball.write_bytes(b"no archive")
    with pytest.raises(tree.TreeProblem, match=r"tar -xf .* failed"):
        tree.unpack(tmp_path / "third", tarball, "tinyconfig")


def test_a_tree_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    done = run(tree.__file__, "read", str(tmp_path / "none"), "0")
    assert done.returncode == 1
    assert "There is no source tree in" in done.stderr


def test_a_command_is_timed_with_the_cpu_seconds_of_its_children(tmp_path: Path) -> None:
    work = "sum(range(3_000_000)); import time; time.sleep(0.3)"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"
    done = run(
        timed.__file__,
        *("step", "--load", "files=3", "--cpu-load", "--sync", str(tmp_path)),
        *("--", sys.executable, "-c", child),
    )
    assert done.returncode == 0, done.stderr
    real, cpu, load = formats.parse("x", done.stdout.encode()).values
    assert [value.test for value in (real, cpu, load)] == ["step_real", "step_cpu", "step_cpu_load"]
    assert [value.unit for value in (real, cpu, load)] == ["s", "s", "% CPU"]
    assert real.load == "files=3"
    assert 0.01 < cpu.value < real.value - 0.25
    assert load.value == pytest.approx(100 * cpu.value / real.value, rel=0.01)


def test_what_the_command_prints_comes_first(tmp_path: Path) -> None:
    done = run(timed.__file__, "step", "--", "printf", "no end of line")
    first, *rest = done.stdout.splitlines()
    assert first == "no end of line"
    assert [json.loads(line)["fsbench"] for line in rest] == ["step_real", "step_cpu"]


@pytest.mark.parametrize(
    ("argv", "status"),
    [(("false",), 1), (("sh", "-c", "exit 7"), 7), (("sh", "-c", "kill -9 $$"), 137)],
)
def test_a_command_that_fails_has_no_time(argv: tuple[str, ...], status: int) -> None:
    done = run(timed.__file__, "step", "--", *argv)
    assert (done.returncode, done.stdout) == (status, "")


def test_a_command_that_is_missing_is_named() -> None:
    done = run(timed.__file__, "step", "--", "fsbench-no-such-program")
    assert done.returncode == 1
    assert "fsbench-no-such-program cannot be timed" in done.stderr
    assert os.strerror(2) in done.stderr
