"""Which outputs are of one workload: settings that a tool prints, and its command line."""

from collections.abc import Callable

import pytest

from fsbench_web.core.formats import UnreadableFile, parse
from fsbench_web.core.formats.settings import differences, of_command

Sample = Callable[[str], bytes]


def modes(data: bytes) -> set[str]:
    return set(parse("x", data).modes)


def test_options_of_a_command_are_settings_whatever_their_order() -> None:
    one = of_command(
        "./ior -t 1m -e -o /a/b -G -312789882 -i2 -O log=/x", ("-o", "-G", "-i", "-O log")
    )
    other = of_command("/opt/ior -e -o=/c -t1m -O log=/y -i 3", ("-o", "-G", "-i", "-O log"))
    assert one == other == ("-e", "-t 1m")
    assert of_command("mdtest '-F' '-w' '3901' '--log=/x'", ("--log",)) == ("-F", "-w 3901")
    assert of_command("it's -n 5", ()) == ("-n 5",)


def test_mdtest_easy_and_hard_are_two_workloads(sample: Sample) -> None:
    easy, hard = (parse("x", sample(f"mdtest-3.4-{name}-stat")) for name in ("easy", "hard"))
    assert [set(one) for one in differences([easy, hard])] == [
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
