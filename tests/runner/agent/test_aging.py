"""Ageing a file system, and how its files lie: the programs by themselves, on a folder."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from runner.agent.preparation import aging, layout
from runner.execution.results import facts


def test_sizes_follow_from_the_seed_and_are_bounded(tmp_path: Path) -> None:
    first, again = (aging.Aging(str(tmp_path), random.Random(7), 10**8) for _ in range(2))
    sizes = [first.size() for _ in range(2000)]
    assert sizes == [again.size() for _ in range(2000)]
    assert min(sizes) >= 1
    assert max(sizes) <= 10**8 // aging.LARGEST_SHARE
    # Half of all files are below exp(9.48), about 13 KB.
    assert 0.45 < sum(size < 13095 for size in sizes) / len(sizes) < 0.55


def test_what_is_created_rewritten_and_deleted_is_counted(tmp_path: Path) -> None:
    workload = aging.Aging(str(tmp_path), random.Random(1), 10**7)
    for _ in range(20):
        workload.create()
    workload.rewrite()
    workload.delete()
    paths = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(paths) == 19 == len(workload.files)
    assert sum(path.stat().st_size for path in paths) == workload.used_bytes
    assert workload.written_bytes > workload.used_bytes


def test_extents_are_those_of_files_with_data(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "full").write_bytes(bytes(range(256)) * 4096)
    (tmp_path / "link").symlink_to("full")
    printed = subprocess.run(
        [sys.executable, "-I", layout.__file__, str(tmp_path), "/dev/x", "nosuch"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    counts = json.loads(printed.splitlines()[0])["fsbench-layout"]
    assert (counts["files"], counts["bytes"]) == (1, 2**20)
    assert counts["extents"] >= 1
    assert "No tool of nosuch" in printed
    assert facts.layouts_in({"layout-after.txt": printed.encode()}) == {"after": counts}


@pytest.mark.parametrize(
    "printed", ["", "[]", "{", '{"fsbench-layout": null}', '{"fsbench-layout": {"files": "x"}}']
)
def test_what_is_no_layout_is_none(printed: str) -> None:
    assert facts.layouts_in({"layout-before.txt": printed.encode()}) == {}
