"""What data workloads write: what fio and IOzone really make of the options, and what is stored."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from fsbench_web.core.workloads import Place, presets, workload_of
from fsbench_web.core.workloads.fio.data import EXTENT_BYTES
from runner.agent.workloads import filemark, image_layers, maildir, mariadb, mongo, postgres, sqlite


def left_percent(data: bytes) -> float:
    """How much of it stays, as a file system that compresses takes it."""
    extents = range(0, len(data), EXTENT_BYTES)
    return (
        100
        * sum(len(zlib.compress(data[i : i + EXTENT_BYTES], 1)) for i in extents)
        / max(len(data), 1)
    )


def unique_percent(data: bytes) -> float:
    blocks = [data[i : i + 4096] for i in range(0, len(data), 4096)]
    return 100 * len(set(blocks)) / len(blocks)


def layout_of(folder: Path, **parameters: object) -> bytes:
    """The file as ``fio-depths`` lays it out."""
    small = presets()["fio-4k-small"]
    workload = workload_of(small.tool, {**small.parameters, "file_mb": 4, **parameters})
    make, layout, *_ = workload.commands(Place(str(folder)))
    for command in (make, layout):
        subprocess.run(command.argv, check=True, capture_output=True)
    return next((folder / "fsbench.work").iterdir()).read_bytes()


@pytest.mark.parametrize(
    ("parameters", "least", "most"),
    [({}, 85, 101), ({"compress_percent": 50}, 45, 60), ({"refill_buffers": True}, 98, 101)],
)
def test_fio_writes_data_as_compressible_as_was_asked(
    tmp_path: Path, parameters: dict[str, object], least: float, most: float
) -> None:
    assert least <= left_percent(layout_of(tmp_path, **parameters)) <= most


def test_fio_writes_as_many_duplicates_as_were_asked(tmp_path: Path) -> None:
    assert 30 <= unique_percent(layout_of(tmp_path, dedupe_percent=50)) <= 70


@pytest.mark.parametrize("name", ["fio-4k-small", "pgmeter-small"])
def test_files_are_preallocated_unless_somebody_says_no(name: str) -> None:
    """Runs of before were; Btrfs compresses nothing of what was (fallocate)."""
    preset = presets()[name]
    plain = workload_of(preset.tool, preset.parameters)
    without = workload_of(preset.tool, {**preset.parameters, "preallocate": False})
    place = Place("/mnt")
    before, after = (
        [command.argv for command in workload.commands(place)] for workload in (plain, without)
    )
    assert not any(word.startswith("--fallocate") for argv in before for word in argv)
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    [(layout, written)] = changed
    assert sorted({*written} - {*layout}) == ["--fallocate=none"]
    assert "preallocate" not in plain.values
    assert "not preallocated" in without.title()
    assert (plain.is_preallocated, without.is_preallocated) == (True, False)


@pytest.mark.parametrize(
    ("options", "expected"),
    [("", True), ("fallocate=none\n", False), ("fallocate=keep\n", True)],
)
def test_an_uploaded_job_preallocates_unless_it_says_no(options: str, expected: bool) -> None:
    text = f"[a]\nrw=write\nsize=1m\n{options}"
    parameters = {"name": "a", "version": 1, "space_mb": 1, "text": text}
    assert workload_of("own-fio", parameters).is_preallocated is expected


@pytest.mark.parametrize(("contents", "least", "most"), [("pattern", 0, 2), ("random", 98, 101)])
def test_iozone_writes_the_data_that_were_asked(
    tmp_path: Path, contents: str, least: float, most: float
) -> None:
    sizes = dict.fromkeys(("minimum_record_kb", "maximum_record_kb"), 64)
    sizes |= dict.fromkeys(("minimum_file_kb", "maximum_file_kb"), 1024)
    [command] = workload_of("iozone", {**sizes, "contents": contents}).commands(
        Place(str(tmp_path))
    )
    subprocess.run([*command.argv, "-w"], check=True, capture_output=True)
    assert least <= left_percent((tmp_path / "fsbench.work.iozone").read_bytes()) <= most


PROGRAMS = {
    "fsbench-filemark": filemark,
    "fsbench-mongo": mongo,
    "fsbench-maildir": maildir,
    "fsbench-sqlite": sqlite,
    "fsbench-image_layers": image_layers,
}
SMALL: dict[str, dict[str, object]] = {
    # (preset, what makes it small and its files large enough to be told apart)
    "filemark-small": {
        **{"threads": [1], "files": 20, "smallest_bytes": 60_000, "largest_bytes": 60_000},
    },
    "mongo-small": {"base_bytes": [100_000], "total_kb": 1024},
    "maildir-small": {
        **{"mailboxes": 2, "messages": 10, "processes": [1]},
        **{"smallest_bytes": 40_000, "largest_bytes": 40_000},
    },
    "sqlite-small": {"journal": "wal", "rows": 10_000},
    "container-image-small": {"layers": 2, "files": 20},
}


def made_by_program(folder: Path, slug: str, **parameters: object) -> list[bytes]:
    """The files as the agent's own program makes them, by the workload's own command."""
    preset = presets()[slug]
    workload = workload_of(preset.tool, {**preset.parameters, **SMALL[slug], **parameters})
    for command in workload.commands(Place(str(folder))):
        program, *rest = command.argv
        if program in PROGRAMS:
            argv = [sys.executable, "-I", str(PROGRAMS[program].__file__), *rest]
            subprocess.run(argv, check=True, capture_output=True)
            break
        subprocess.run(command.argv, check=True)
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "state.json"]
    # One of those that are links to the same file.
    return [path.read_bytes() for path in {path.stat().st_ino: path for path in paths}.values()]


@pytest.mark.parametrize(
    ("slug", "parameters", "least", "most"),
    [
        ("filemark-small", {}, 0, 10),
        ("filemark-small", {"refill_buffers": True}, 98, 101),
        ("filemark-small", {"compress_percent": 50}, 48, 60),
        ("filemark-small", {"compress_percent": 80}, 18, 30),
        ("mongo-small", {}, 0, 12),
        ("mongo-small", {"refill_buffers": True}, 98, 101),
        ("mongo-small", {"compress_percent": 50}, 48, 60),
        ("maildir-small", {}, 98, 101),
        ("maildir-small", {"compress_percent": 30}, 68, 80),
        ("container-image-small", {}, 98, 101),
        ("container-image-small", {"compress_percent": 60}, 38, 50),
        ("sqlite-small", {}, 0, 8),
        ("sqlite-small", {"compress_percent": 0}, 85, 101),
        ("sqlite-small", {"compress_percent": 50}, 40, 60),
    ],
)
def test_our_own_programs_write_data_as_compressible_as_was_asked(
    tmp_path: Path, slug: str, parameters: dict[str, object], least: float, most: float
) -> None:
    files = made_by_program(tmp_path, slug, **parameters)
    whole = sum(map(len, files))
    assert whole > 300_000
    percent = sum(left_percent(data) * len(data) for data in files) / whole
    assert least <= percent <= most


@pytest.mark.parametrize("slug", ["filemark-small", "mongo-small", "maildir-small"])
def test_our_own_programs_write_as_many_duplicates_as_were_asked(tmp_path: Path, slug: str) -> None:
    def unique(**parameters: object) -> float:
        folder = tmp_path / "-".join(parameters)
        folder.mkdir()
        files = (
            made_by_program(folder, slug, io_bytes=4096, **parameters) if "mark" in slug else None
        )
        files = files or made_by_program(folder, slug, **parameters)
        # Whole blocks alone: the last of a file is shorter.
        return unique_percent(b"".join(data[: len(data) // 4096 * 4096] for data in files))

    assert unique(refill_buffers=True) == 100
    assert 30 <= unique(dedupe_percent=50) <= 70


def test_sysbench_and_fs_mark_write_data_that_nothing_is_left_of(tmp_path: Path) -> None:
    """They have no option for it: what the review and docs/workloads.md say of them is measured."""
    files = []
    for name, argv in (
        ("sysbench", ("sysbench", "fileio", "--file-total-size=4M", "--file-num=2", "prepare")),
        ("fs_mark", ("fs_mark", "-d", ".", "-n", "20", "-s", "131072", "-k", "-t", "1", "-S", "0")),
    ):
        folder = tmp_path / name
        folder.mkdir()
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)
        sizes = (131072, 2 * 1024 * 1024)
        paths = [
            path for path in folder.rglob("*") if path.is_file() and path.stat().st_size in sizes
        ]
        assert paths, name
        files += paths
    assert all(left_percent(path.read_bytes()) < 1 for path in files)


def test_rows_of_pgbench_are_as_compressible_as_was_asked_on_as_many_pages(tmp_path: Path) -> None:
    """The largest file is that of the accounts."""
    accounts = {}
    for percent in (100, 0):
        folder = tmp_path / str(percent)
        postgres.create(str(folder), 1, {"fsync": "off", "max_wal_size": "1GB"}, percent)
        files = (folder / "data" / "base").rglob("*")
        accounts[percent] = max((path.read_bytes() for path in files if path.is_file()), key=len)
    assert len(accounts[100]) == len(accounts[0]) > 13_000_000
    assert left_percent(accounts[100]) < 6
    assert 54 <= left_percent(accounts[0]) <= 60


@pytest.mark.root
def test_rows_of_sysbench_are_as_compressible_as_is_said(tmp_path: Path) -> None:
    options = argparse.Namespace(
        folder=str(tmp_path / "mariadb"), tables=1, rows=20_000, seed=1, set=[]
    )
    mariadb.create(options)
    [table] = (tmp_path / "mariadb").rglob("sbtest1.ibd")
    data = table.read_bytes()
    pages = [data[at : at + 16384] for at in range(0, len(data), 16384)]
    # Pages that wait for rows are zeros: less than a tenth of a large table, half of this one.
    assert 38 <= left_percent(b"".join(page for page in pages if any(page))) <= 48


@pytest.mark.parametrize(("job", "least", "most"), [("hdd", 1, 2.5), ("readahead", 14, 20)])
def test_stress_ng_writes_what_is_said_of_the_multiuser_mix(
    tmp_path: Path, job: str, least: float, most: float
) -> None:
    """Its files have no names: they are read through its descriptors while it stands still."""
    argv = ("stress-ng", "--temp-path", str(tmp_path), "-q", f"--{job}", "1", f"--{job}-bytes")
    process = subprocess.Popen([*argv, "4m", "--timeout", "60"], start_new_session=True)
    try:
        while (data := opened_data(process.pid, tmp_path)) is None:
            assert process.poll() is None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert least <= left_percent(data) <= most


def opened_data(group: int, folder: Path) -> bytes | None:
    """Four megabytes that a process of the group has open in ``folder``, if there are so many."""
    for process in (group, *descendants(group)):
        # It may be gone while its descriptors are listed.
        with contextlib.suppress(OSError):
            for opened in list(Path(f"/proc/{process}/fd").iterdir()):
                data = data_of(opened, group, folder)
                if data is not None and len(data) >= 4 * 2**20:
                    return data
    return None


def data_of(opened: Path, group: int, folder: Path) -> bytes | None:
    """What a descriptor has in ``folder``, read while the group stands still."""
    with contextlib.suppress(OSError):
        if str(opened.readlink()).startswith(str(folder)):
            os.killpg(group, signal.SIGSTOP)
            try:
                return opened.read_bytes()
            finally:
                os.killpg(group, signal.SIGCONT)
    return None


def descendants(process: int) -> list[int]:
    """The processes that a process began, and those that these did (proc(5))."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
        return [
            descendant
            for child in map(int, text.split())
            for descendant in (child, *descendants(child))
        ]
    return []


def test_postmark_writes_text_that_compresses_to_what_is_said(tmp_path: Path) -> None:
    """It deletes its files in the end: it is stopped while it has some."""
    commands = "set location {}\nset number 5000\nset size 500 10000\nset transactions 9000\nrun\n"
    process = subprocess.Popen(["postmark"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    process.stdin.write(commands.format(tmp_path).encode())
    process.stdin.close()
    while sum(1 for _ in tmp_path.iterdir()) < 200:
        assert process.poll() is None
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    files = [path.read_bytes() for path in tmp_path.iterdir()]
    process.kill()
    process.wait()
    whole = sum(map(len, files))
    percent = sum(left_percent(data) * len(data) for data in files) / whole
    assert whole > 100_000
    assert 80 <= percent <= 88


@pytest.mark.parametrize(
    "slug",
    [
        *("fio-4k", "pgmeter-freenix", "random-access-small", "rocksdb"),
        *("filemark-small", "mongo-small", "maildir-small", "sqlite-small"),
        *("container-image-small", "pgbench-small"),
    ],
)
def test_parameters_that_came_later_are_stored_only_where_they_differ(slug: str) -> None:
    preset = presets()[slug]
    late = [parameter for parameter in preset.kind.parameters if parameter.is_late]
    usual = preset.workload()
    assert late
    for parameter in late:
        assert parameter.key not in usual.values
        assert getattr(usual, parameter.key) == parameter.default
        parameters = {**preset.parameters, parameter.key: parameter.default}
        assert workload_of(preset.tool, parameters) == usual
    changed = workload_of(preset.tool, {**preset.parameters, "compress_percent": 30})
    assert changed.values["compress_percent"] == 30
    assert "30% compressible" in changed.title()
    assert changed.commands(Place("/m")) != usual.commands(Place("/m"))


@pytest.mark.parametrize(
    ("slug", "parameters", "words"),
    [
        ("fio-4k", {}, ""),
        ("fio-4k", {"compress_percent": 40, "dedupe_percent": 5}, "by 40% and have 5% duplicates"),
        ("fio-stream", {}, ""),
        ("fio-stream", {"block_kb": 16}, "one buffer"),
        ("fio-stream", {"block_kb": 16, "refill_buffers": True}, ""),
        ("pgmeter-freenix", {}, "one buffer"),
        ("pgmeter-freenix", {"refill_buffers": True}, ""),
        ("random-access-galli", {}, ""),
        ("iozone-small", {"contents": "random"}, ""),
        ("sysbench-fileio-small", {}, "zeros"),
        ("rocksdb", {}, "by 50%"),
        ("filemark-small", {}, "same 512 bytes"),
        ("filemark-small", {"io_bytes": 16384}, ""),
        ("filemark-small", {"refill_buffers": True}, ""),
        ("mongo-small", {}, "same 4 KiB"),
        ("mongo-small", {"compress_percent": 40, "dedupe_percent": 5}, "by 40% and have 5%"),
        ("maildir-small", {}, ""),
        ("maildir-small", {"compress_percent": 40}, "by 40%"),
        ("sqlite-small", {}, "to 4%"),
        ("sqlite-small", {"compress_percent": 30}, "30% of the text"),
        ("sqlite-small", {"compress_percent": 0}, ""),
        ("postmark-small", {}, "to 84%"),
        ("container-image-small", {}, ""),
        ("container-image-small", {"dedupe_percent": 10}, "10% duplicates"),
        ("pgbench-small", {}, "to 5%"),
        ("pgbench-small", {"compress_percent": 50}, "to 32%"),
        ("mariadb-small", {}, "to 40%"),
        ("multiuser-small", {}, "16 to 19% (readahead"),
    ],
)
def test_a_workload_tells_which_data_a_file_system_would_shrink(
    slug: str, parameters: dict[str, object], words: str
) -> None:
    preset = presets()[slug]
    warning = workload_of(preset.tool, {**preset.parameters, **parameters}).data_warning()
    assert words in warning if words else warning == ""
