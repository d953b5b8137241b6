"""Runs of one file that were made in several places: paths are no settings, and may matter."""

from collections.abc import Callable

import pytest

from fsbench_web.core.formats import UnreadableFile, parse

Sample = Callable[[str], bytes]


@pytest.mark.parametrize("name", ["iozone-3.489-two-places", "fio-3.33-two-places"])
def test_the_same_in_several_places_is_no_repeat(sample: Sample, name: str) -> None:
    data = sample(name)
    with pytest.raises(UnreadableFile) as refused:
        parse("x", data)
    [problem] = refused.value.problems
    assert "/mnt/ext4" in problem.message
    assert "/mnt/xfs" in problem.message
    same = parse("x", data.replace(b"/mnt/xfs", b"/mnt/ext4"))
    assert {value.repeat for value in same.values} == {1, 2}
    assert not same.has_several_places
    assert not any("several places" in str(warning) for warning in same.warnings)


def test_other_tests_in_several_places_are_said_to_be() -> None:
    run = (
        "\tIozone: Performance Test of File I/O\n\tCommand line used: iozone -f {0}\n"
        " kB reclen write rewrite\n {1} 4 100 200\n\niozone test complete.\n"
    )
    result = parse("x", (run.format("/mnt/t", 64) + run.format("/xfs/t", 128)).encode())
    assert result.has_several_places
    assert "(/mnt/t, /xfs/t)" in result.warnings[0].message
    assert not result.warnings[0].is_note


def test_jobs_of_one_report_of_fio_may_have_a_file_each() -> None:
    job = (
        '{"jobname": "%s", "job options": {"filename": "%s"},\n'
        '"read": {"io_bytes": 4096, "bw": 4, "iops": 1.0, "total_ios": 1}}'
    )
    jobs = ",\n".join(job % pair for pair in (("a", "/dev/sda"), ("b", "/dev/sdb")))
    result = parse("x", f'{{"fio version": "fio-3.33",\n"jobs": [\n{jobs}]}}\n'.encode())
    assert not result.has_several_places


def test_the_place_that_ioping_prints(sample: Sample) -> None:
    data = sample("ioping-1.3")
    assert not parse("x", data + data).has_several_places
    title = next(line for line in data.splitlines() if line.startswith(b"---"))
    other = data.replace(title, b"--- /mnt/xfs (xfs /dev/sdb 50.0 GiB) ioping statistics ---")
    with pytest.raises(UnreadableFile, match="/mnt/xfs"):
        parse("x", data + other)


DD = "$ dd if=/dev/zero of={0} bs=1M count=200\n200+0 records in\n200+0 records out\n"
DD += "209715200 bytes (210 MB, 200 MiB) copied, {1} s, {2} MB/s\n"
FIO = (
    "{0}\nj: (groupid=0, jobs=1): err= 0: pid={1}: Mon Jan  1 00:0{1}:00 2024\n"
    "  write: IOPS={1}, BW={1}KiB/s (8kB/s)({1}KiB/1000msec); 0 zone resets\n\n"
    "Run status group 0 (all jobs):\n"
)
POSTMARK = (
    "PostMark v1.51 : 8/14/01\n{0}\npm>run\nTime:\n\t{1} seconds total\n"
    "\t{1} seconds of transactions (500 per second)\n"
)


def pair(text: str, first: str, second: str) -> bytes:
    return (text.format(first, 3, 70) + text.format(second, 4, 52)).encode()


@pytest.mark.parametrize(
    ("text", "first", "second", "difference"),
    [
        (DD, "/mnt/raid", "/mnt/lvm", "of=/mnt/raid of=/mnt/lvm"),
        (FIO, "$ fio -name=j -bs=8k", "$ fio -name=j -bs=256k", "-bs=8k -bs=256k"),
        (FIO, "# sudo fio --name=j", "# sudo fio --name=j --direct=1", "--direct=1"),
        (FIO, "fio j.fio --filename=/dev/sda", "fio j.fio --filename=/dev/sdb", "sda"),
        (FIO, "a@b:~$ fio a.fio", "a@b:~$ fio b.fio", "a.fio b.fio"),
        (FIO, "$ cd /mnt/ext4\n$ fio a.fio", "$ cd /mnt/xfs\n$ fio a.fio", "/mnt/ext4 /mnt/xfs"),
        (FIO, "+ fio --name=j \\\n  --rw=write", "+ fio --name=j \\\n  --rw=read", "--rw"),
        (POSTMARK, "pm>set size 500 9000", "pm>set size 500 10000", "set size 500 10000"),
        (POSTMARK, "set number 500", "set number 1000", "set number 1000"),
        (POSTMARK, "pm>set location /mnt/a", "pm>set location /mnt/b", "/mnt/a /mnt/b"),
        (POSTMARK, "", "set buffering false", "set buffering false"),
    ],
)
def test_what_another_command_measured_is_no_repeat(
    text: str, first: str, second: str, difference: str
) -> None:
    with pytest.raises(UnreadableFile) as refused:
        parse("x", pair(text, first, second))
    assert len(refused.value.problems) == 1
    message = refused.value.problems[0].message
    assert difference in message
    assert "These differ in" in message
    assert message.endswith("import each alone.")
    assert {value.repeat for value in parse("x", pair(text, first, first)).values} == {1, 2}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("$ fio j.fio --output=a.txt", "$ fio j.fio --output b.txt --eta=never"),
        ("$ fio j.fio > a.txt", "$ fio j.fio 2>&1 | tee b.txt"),
        ("root@a:~# fio j.fio", "[root@a mnt]# /usr/bin/fio j.fio"),
        ("$ fio j.fio", "I ran fio again."),
    ],
)
def test_what_a_command_prints_where_makes_no_other_one(first: str, second: str) -> None:
    assert {value.repeat for value in parse("x", pair(FIO, first, second)).values} == {1, 2}


def test_commands_of_postmark_may_stand_above_its_title() -> None:
    above = "set size 500 9000\nset transactions 500\n$ postmark pm.conf\n" + POSTMARK
    result = parse("x", above.format("", 3).encode())
    assert result.modes == ("set size 500 9000", "set transactions 500")
    other = above.replace("9000", "10000")
    with pytest.raises(UnreadableFile, match="set size 500 10000"):
        parse("x", (above.format("", 3) + other.format("", 4)).encode())


@pytest.mark.parametrize("titles", [("== ext4 ==", "== xfs =="), ("## before", "## after")])
def test_a_heading_above_a_run_of_fio_makes_it_no_repeat(titles: tuple[str, str]) -> None:
    with pytest.raises(UnreadableFile) as refused:
        parse("x", pair(FIO, *titles))
    assert titles[1].strip("=# ") in refused.value.problems[0].message
    assert {value.repeat for value in parse("x", pair(FIO, titles[0], titles[0])).values} == {1, 2}


def test_runs_of_fio_too_far_apart_are_no_repeats() -> None:
    """Three volumes in one paste, and nothing says which is which."""
    text = "".join(FIO.format("", rate, 0) for rate in (5783, 10346, 89))
    with pytest.raises(UnreadableFile) as refused:
        parse("x", text.encode())
    assert {problem.line for problem in refused.value.problems} == {13}
    alike = "".join(FIO.format("", rate, 0) for rate in (5783, 10346, 5000))
    assert {value.repeat for value in parse("x", alike.encode()).values} == {1, 2, 3}
