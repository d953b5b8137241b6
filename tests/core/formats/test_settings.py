"""Which outputs are of one workload: settings that a tool prints, and its command line."""

from collections.abc import Callable

import pytest

from fsbench_web.core.formats import UnreadableFile, parse
from fsbench_web.core.formats.iozone.log import settings_of
from fsbench_web.core.formats.values import differences, settings_of_command

Sample = Callable[[str], bytes]


def modes(data: bytes) -> set[str]:
    return set(parse("x", data).modes)


def test_options_of_a_command_are_settings_whatever_their_order() -> None:
    first = settings_of_command(
        "./ior -t 1m -e -o /a/b -G -312789882 -i2 -O log=/x", ("-o", "-G", "-i", "-O log")
    )
    other = settings_of_command(
        "/opt/ior -e -o=/c -t1m -O log=/y -i 3", ("-o", "-G", "-i", "-O log")
    )
    assert first == other == ("-e", "-t 1m")
    assert settings_of_command("mdtest '-F' '-w' '3901' '--log=/x'", ("--log",)) == (
        "-F",
        "-w 3901",
    )
    assert settings_of_command("it's -n 5", ()) == ("-n 5",)


def test_mdtest_easy_and_hard_are_two_workloads(sample: Sample) -> None:
    easy, hard = (parse("x", sample(f"mdtest-3.4-{name}-stat")) for name in ("easy", "hard"))
    assert [set(settings) for settings in differences([easy, hard])] == [
        {"-L", "-u"},
        {"-e 3901", "-t", "-w 3901"},
    ]
    # Another run of the same, another day, in another folder.
    again = sample("mdtest-3.4-easy-stat").replace(b"2020.10.22-11.54.15", b"2020.10.23-09.00.00")
    assert differences([easy, parse("x", again)]) == [[], []]


def test_ior_with_other_options_is_another_workload(sample: Sample) -> None:
    data = sample("ior-3.4-no-summary")
    assert modes(data) - modes(data.replace(b" -k -e -o", b" -k -o")) == {"-e"}
    assert modes(data.replace(b" -r -R ", b" -B -r -R ")) - modes(data) == {"-B"}
    moved = data.replace(b"-G=-1384951481", b"-G=27").replace(b"/ofs2/", b"/ofs3/")
    assert modes(moved) == modes(data)


def test_dbench_with_sync_is_another_workload(sample: Sample) -> None:
    data = sample("dbench-4.00")
    # dbench -s -S says it so (its source, and logs of linux-btrfs).
    synced = data.replace(b" MB/sec  ", b" MB/sec (sync open) (sync dirs)  ")
    assert synced != data
    assert modes(synced) - modes(data) == {"sync open", "sync dirs"}


def test_loops_of_fs_mark_are_another_workload_than_one(sample: Sample) -> None:
    data = sample("fs_mark-3.3-loops")
    assert {"-L 2", "-n 40", "-s 1024"} <= modes(data)
    assert modes(data.replace(b"-L  2", b"-L  3")) != modes(data)
    assert modes(data.replace(b"/mnt/lun", b"/mnt/lun2")) == modes(data)


def test_postmark_of_other_sizes_is_another_workload(sample: Sample) -> None:
    data = sample("postmark-1.51-show")
    assert {"The base number of files is 50", "Transactions: 200"} <= modes(data)
    assert "Files range between 500 bytes and 19.53 kilobytes in size" in modes(data)
    assert modes(data.replace(b"seed is 7", b"seed is 8").replace(b"/mnt/lun", b"/a")) == modes(
        data
    )
    assert modes(data.replace(b"19.53 kilobytes", b"9.77 kilobytes")) != modes(data)
    place = b"\t/mnt/lun (weight=1)"
    two = data.replace(place, place + b"\n\t/mnt/other (weight=3)")
    assert modes(two) - modes(data) == {"Locations of weight 1, 3"}


def test_the_same_test_with_other_settings_in_one_file_is_no_repeat(sample: Sample) -> None:
    easy, hard = (sample(f"mdtest-3.4-{name}-stat") for name in ("easy", "hard"))
    with pytest.raises(UnreadableFile, match="measured again with other settings"):
        parse("x", easy + hard)
    slower = easy.replace(b"468706.967", b"468706.000")
    assert {value.repeat for value in parse("x", easy + slower).values} == {1, 2}


# A sample, what differs between repeats of it, and what makes another workload: each as the words
# in the sample and those in their place.
SAME = [
    ("bonnie-2.00a-report", "1795243808", "1795243809"),
    ("dd-9.1", "0.427196 s", "0.5 s"),
    ("elbencho-3.1-mix-json", "r3.txt", "r4.txt"),
    ("fio-3.33-json", '"bs" : "4k"', '"bs" : "4k", "randseed" : "7", "directory" : "/mnt/b"'),
    ("iozone-3.489-direct-io", " -f t", " -f /mnt/other"),
    ("iozone-3.489-tests-0-1-2", "-n 64k -g 256k", "-n 64k -g 128k"),
    ("sysbench-0.4.12", "--num-threads=16", "--num-threads=16 --rand-seed=7"),
    ("sysbench-0.4.12", " run", " --percentile=99 run"),
]
OTHERS = [
    ("bonnie-2.00a-report", "64M,,8192,5", "64M,,8192,3"),
    ("bonnie-2.00a-report", ",1,,,,,519", ",1,1024,0,4,,519"),
    ("dd-9.1", "200+0 records", "400+0 records"),
    ("db_bench-7.8.3", "Entries:    5000", "Entries:    6000"),
    ("elbencho-3.1-mix-json", "--sync", "--fadv seq"),
    ("elbencho-3.1", '""-w""', '""-w"" ""--backward""'),
    ("filebench-1.4.9", "Run took 60", "Run took 120"),
    ("fio-3.33-json", '"bs" : "4k"', '"bs" : "4k", "thread" : "1"'),
    ("fio-3.33-json", '"bs" : "4k"', '"bs" : "4k", "stonewall" : "1"'),
    ("fio-3.33-json", '"bs" : "4k"', '"bs" : "4k", "filesize" : "1g"'),
    ("fio-3.33-normal", "ioengine=libaio", "ioengine=psync"),
    ("iozone-3.489-tests-0-1-2", " -f t", " -f t -j 5"),
    ("iozone-3.489-throughput", " -F a b", " -J 10 -F a b"),
    ("phoronix-pgbench", "pts/pgbench-1.15.0", "pts/pgbench-1.14.0"),
    ("sysbench-0.4.12", "10000\n", "20000\n"),
    ("sysbench-0.4.12", " run", " --max-time=60 run"),
    (
        "sysbench-1.0.20-oltp-read-write",
        "sysbench 1",
        "$ sysbench oltp_a --tables=9 run\nsysbench 1",
    ),
    ("vdbench-5.0-flatfile", "100.0000    10.0000", " 50.0000    10.0000"),
]


@pytest.mark.parametrize(("name", "old", "new"), SAME)
def test_what_may_differ_between_repeats(sample: Sample, name: str, old: str, new: str) -> None:
    data = sample(name)
    changed = data.replace(old.encode(), new.encode())
    assert changed != data
    assert modes(changed) == modes(data)


@pytest.mark.parametrize(("name", "old", "new"), OTHERS)
def test_everything_else_makes_another_workload(
    sample: Sample, name: str, old: str, new: str
) -> None:
    data = sample(name)
    changed = data.replace(old.encode(), new.encode())
    assert changed != data
    assert modes(changed) != modes(data)


def test_a_spreadsheet_of_iozone_says_its_settings_as_its_text_does(sample: Sample) -> None:
    settings = settings_of(
        "iozone -I -ecp -o -+w 50 -U /mnt/a -a -g 4m -f /mnt/a/t", has_head=False
    )
    assert settings == (
        *("-U", "Dedup activated 50 percent.", "Include close in write timing"),
        *("Include fsync in write timing", "O_DIRECT feature enabled", "Purge Mode On"),
        "SYNC Mode.",
    )
    assert set(settings) > modes(sample("iozone-3.489-direct-io"))
    # -M prints host and kernel.
    assert settings_of("iozone -M -f t", has_head=False) == ()
    head = sample("iozone-3.489-direct-io")
    named = head.replace(b"\tO_DIRECT", b"\tMachine = Linux a 6.1 #1 SMP\n\tO_DIRECT")
    assert named != head
    assert modes(named) == modes(head)


def test_where_nothing_moves_in_a_copy_of_dd_is_part_of_it(sample: Sample) -> None:
    write = b"$ dd if=/dev/zero of=/mnt/a bs=1M\n" + sample("dd-9.1")
    read = b"$ dd if=/mnt/a of=/dev/null bs=1M\n" + sample("dd-9.1")
    assert modes(read) ^ modes(write) == {"if=/dev/zero", "of=/dev/null"}


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("sysbench-0.4.12", "Block size 16Kb", "Block size 4Kb"),
        ("db_bench-7.8.3", "Entries:    5000", "Entries:    6000"),
        ("crystaldiskmark-8.0.1", "512 MiB", "1 GiB"),
        ("bonnie-1.96", ",16G,", ",32G,"),
        ("vdbench-5.0-flatfile", "100.0000    10.0000", " 50.0000    10.0000"),
        ("iozone-3.489-throughput", "-t 2", "-c -t 2"),
        ("ior-4.1-json", '"fsync": 0', '"fsync": 1'),
    ],
)
def test_other_settings_below_each_other_are_refused(
    sample: Sample, name: str, old: str, new: str
) -> None:
    data = sample(name)
    if name.startswith("iozone"):
        old, new = "\tCommand line", "\tInclude close in write timing\n\tCommand line"
    changed = data.replace(old.encode(), new.encode())
    assert changed != data
    with pytest.raises(UnreadableFile, match="measured again with other settings"):
        parse("x", data + b"\n" + changed)


def test_a_suite_of_which_one_profile_failed_is_the_same_workload(sample: Sample) -> None:
    data = sample("phoronix-composite")
    assert modes(data) == set()
    assert ("Profiles", "pts/fio-1.15.0, pts/fs-mark-1.0.3, pts/sqlite-2.1.0") in parse(
        "x", data
    ).facts
    without = data.replace(b"<Scale>Seconds</Scale>", b"<Scale>Score</Scale>")
    assert without != data
    assert modes(without) == set()
    assert modes(sample("phoronix-pgbench")) == {"pts/pgbench-1.15.0"}


def test_as_many_tasks_on_several_nodes_are_another_workload(sample: Sample) -> None:
    for name, nodes in (
        ("mdtest-1.9.3", "2 nodes"),
        ("ior-2.10", "2 nodes"),  # 16 clients, 8 per node
        ("ior-3.2-two-iterations", "184 nodes"),
        ("ior-3.4-no-summary", "10 nodes"),
    ):
        assert nodes in parse("x", sample(name)).modes
    for name in ("mdtest-4.1", "ior-4.0", "ior-4.1-json"):
        assert not any("nodes" in mode for mode in parse("x", sample(name)).modes)
    on_two = sample("ior-4.1-json").replace(b'"nodes": 1', b'"nodes": 2')
    assert "2 nodes" in parse("x", on_two).modes
    data = sample("mdtest-1.9.3")
    with pytest.raises(UnreadableFile, match=r"These differ in \"2 nodes\""):
        parse("x", data + data.replace(b"on 2 node(s)", b"on 1 node(s)"))
