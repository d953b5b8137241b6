"""The sampler reads the kernel's files as they are, and says what is not there."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from runner.agent import counters, mounted, sampler
from runner.agent.sampler import Sampler

# As Linux 6.18 printed them here; that of version 2 is the kernel's own documentation's form.
STAT = (
    "  16671595 10952113 1621179143  4324495 10887260  9190205 1324066205  8716174        0  "
    "2308796 13911411  7248372      728 1972581432   722293  1749978   148448\n"
)
PROC_STAT = (
    "cpu  48497860 12 11450740 13029260 278370 300 4 97400 0 0\n"
    "cpu0 1 2 3 4 5 6 7 8 9 10\nintr 123 0 9\nctxt 297072599\nbtime 1\n"
)
PRESSURE = (
    "some avg10=0.00 avg60=0.05 avg300=0.02 total=25924176580\n"
    "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n"
)
CPU_STAT = "usage_usec 300\nuser_usec 200\nsystem_usec 100\nnr_periods 0\nnr_throttled 4\n"
IO_STAT = (
    "7:1 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n"
    "7:2 rbytes=1 wbytes=1 rios=1 wios=1 dbytes=1 dios=1\n"
)
MEMORY_STAT = "anon 10\nfile 20\nfile_dirty 3\nfile_writeback 4\nslab 5\n"

Messages = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A kernel's files with one device, 7:1, and a control group of version 2."""
    for name, text in {
        "proc/stat": PROC_STAT,
        "proc/vmstat": "nr_free_pages 5\nnr_dirty 3\nnr_writeback 1\n",
        **{f"proc/pressure/{resource}": PRESSURE for resource in ("cpu", "io", "memory")},
        "proc/self/mountinfo": "30 20 0:26 /mine /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
        "proc/self/cgroup": "0::/mine/inner\n",
        "sys/fs/cgroup/inner/cpu.stat": CPU_STAT,
        "sys/fs/cgroup/inner/io.stat": IO_STAT,
        "sys/fs/cgroup/inner/memory.stat": MEMORY_STAT,
        "sys/fs/cgroup/inner/cgroup.procs": "1\n7\n",
        **{
            f"sys/fs/cgroup/inner/{resource}.pressure": PRESSURE
            for resource in ("cpu", "io", "memory")
        },
        "sys/class/powercap/intel-rapl:0/energy_uj": "900\n",
        "sys/class/powercap/intel-rapl:0/max_energy_range_uj": "1000\n",
        "sys/class/powercap/intel-rapl:0:0/energy_uj": "5\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler.os, "getpid", lambda: 1)


def sampled(root: Path, number: str = "7:1") -> tuple[Sampler, Messages]:
    """A sampler of the device of ``root`` itself, which is made to be ``number``."""
    messages: Messages = []
    device = root.stat().st_dev
    real = f"{sampler.os.major(device)}:{sampler.os.minor(device)}"
    folder = root / "sys/dev/block" / real
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(STAT)
    io_stat = root / "sys/fs/cgroup/inner/io.stat"
    if io_stat.exists():
        io_stat.write_text(IO_STAT.replace(number, real))

    def add_message(kind: str, **values: Any) -> None:
        messages.append((kind, values))

    return Sampler(add_message, [("data", str(root))], root=str(root)), messages


def first(messages: Messages) -> dict[str, int | None]:
    (_, named), (_, sample) = messages[:2]
    return dict(zip(named["fields"], sample["values"], strict=True))


def test_it_reads_every_count_by_its_name(root: Path, alone: None) -> None:
    _, messages = sampled(root)
    sample = first(messages)
    assert sample["data.reads"] == 16671595
    assert sample["data.sectors_written"] == 1324066205
    assert (sample["data.in_flight"], sample["data.flushes"]) == (0, 1749978)
    assert sample["cpu.user_ms"] == 484978720
    assert (sample["cpu.irq_ms"], sample["cpu.context_switches"]) == (3040, 297072599)
    assert sample["memory.dirty_bytes"] == 3 * counters.PAGE
    assert (sample["pressure.io_some_us"], sample["pressure.io_full_us"]) == (25924176580, 17)
    assert (sample["group.cpu_user_usec"], sample["group.cpu_nr_throttled"]) == (200, 4)
    assert sample["group.cpu_throttled_usec"] is None
    assert (sample["group.io_rbytes"], sample["group.io_wios"]) == (4096, 2)
    assert sample["group.memory_file_dirty_bytes"] == 3
    assert sample["group.pressure_memory_some_us"] == 25924176580
    assert messages[0][1]["absent"] == [
        [
            "energy of the device",
            "it has no reading of power (hwmon); what a power state may take is none",
        ]
    ]


@pytest.mark.parametrize("interrupts", [40_000, 200_000])
def test_a_machine_of_many_processors_and_interrupts_is_sampled(
    root: Path, interrupts: int
) -> None:
    """What counts of /proc/stat stands behind its interrupts, and comes to be more meanwhile."""
    running, messages = sampled(root)
    longer = PROC_STAT.replace("intr 123", "intr 123" + " 0" * interrupts)
    (root / "proc/stat").write_text(longer.replace("297072599", "297072600"))
    running.sample()
    place = messages[0][1]["fields"].index("cpu.context_switches")
    assert [sample["values"][place] for _, sample in messages[1:]] == [297072599, 297072600]
    assert first(sampled(root)[1])["cpu.context_switches"] == 297072600


def test_what_the_kernel_leaves_out_is_left_out(root: Path) -> None:
    running, messages = sampled(root)
    (root / "proc/stat").write_text(PROC_STAT.replace("ctxt", "none"))
    running.sample()
    place = messages[0][1]["fields"].index("cpu.context_switches")
    assert [sample["values"][place] for _, sample in messages[1:]] == [297072599, None]


def test_the_energy_goes_on_where_its_counter_begins_again(root: Path) -> None:
    running, messages = sampled(root)
    (root / "sys/class/powercap/intel-rapl:0/energy_uj").write_text("50\n")
    running.sample()
    place = messages[0][1]["fields"].index("energy.package_uj")
    assert [sample["values"][place] for _, sample in messages[1:]] == [0, 150]


def test_power_of_the_device_is_summed_over_time(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = root / "disk"
    power = disk / "device/hwmon3/power1_average"
    power.parent.mkdir(parents=True)
    power.write_text("4000000\n")
    clock = iter([0.0, 1.0, 3.0, 4.0])
    monkeypatch.setattr(counters.time, "monotonic", lambda: next(clock))
    energy = counters.DeviceEnergy([str(disk)])
    assert energy.read() == [4_000_000]
    power.write_text("6000000\n")
    # The mean of both ends, for two seconds.
    assert energy.read() == [14_000_000]
    power.unlink()
    assert energy.read() == [None]


def test_energy_of_the_device_is_a_counter_or_nothing(root: Path) -> None:
    disk = root / "disk"
    counter = disk / "device/hwmon/hwmon0/energy1_input"
    counter.parent.mkdir(parents=True)
    counter.write_text("100\n")
    energy = counters.DeviceEnergy([str(disk)])
    counter.write_text("350\n")
    assert energy.read() == [250]
    with pytest.raises(OSError, match="other"):
        counters.DeviceEnergy([str(disk), str(root / "other")])
    with pytest.raises(OSError, match="no device"):
        counters.DeviceEnergy([])


def test_what_is_not_there_is_absent_with_its_reason(root: Path, alone: None) -> None:
    shutil.rmtree(root / "proc/pressure")
    shutil.rmtree(root / "sys/class")
    (root / "sys/fs/cgroup/inner/memory.stat").unlink()
    (root / "proc/vmstat").write_text("nothing that is known 1 2\n")
    _, messages = sampled(root)
    absent = dict(messages[0][1]["absent"])
    assert absent["pressure (io)"] == "/proc/pressure/io: No such file or directory"
    assert absent["its control group: memory.stat"].endswith("No such file or directory")
    assert absent["dirty pages"] == "/proc/vmstat cannot be read, or says something else"
    assert absent["energy"] == "no RAPL counter can be read here"
    assert not any(
        "pressure.io" in name for name in messages[0][1]["fields"] if "group" not in name
    )


@pytest.mark.parametrize(
    ("processes", "pid"), [("1\n0\n", 1), ("1\n", 7)], ids=["others", "no container"]
)
def test_a_control_group_that_others_share_is_not_the_runs(
    root: Path, processes: str, pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler.os, "getpid", lambda: pid)
    (root / "sys/fs/cgroup/inner/cgroup.procs").write_text(processes)
    _, messages = sampled(root)
    assert "shares its control group" in dict(messages[0][1]["absent"])["its control group"]
    assert not any(name.startswith("group.") for name in messages[0][1]["fields"])


def test_a_mount_whose_name_is_no_text_hides_no_other(root: Path) -> None:
    before = (root / "proc/self/mountinfo").read_bytes()
    foreign = b"36 35 8:1 / /mnt/f\xfcr\xc2\x85zwei\\040drei rw,noatime - ext4 none rw\n"
    (root / "proc/self/mountinfo").write_bytes(foreign + before)
    assert counters.group_folders(str(root))
    first, second = mounted.mounts(str(root))
    assert first == ("/mnt/f\\xfcr\x85zwei drei", "ext4", "rw,noatime")
    assert second[:2] == ("/sys/fs/cgroup", "cgroup2")


def test_version_1_of_control_groups_gives_what_it_has(root: Path, alone: None) -> None:
    (root / "proc/self/mountinfo").write_text(
        "31 20 0:27 / /sys/fs/cgroup/cpuacct ro - cgroup cgroup rw,cpuacct\n"
        "32 20 0:28 /docker/x /sys/fs/cgroup/blkio ro - cgroup cgroup rw,blkio\n"
    )
    (root / "proc/self/cgroup").write_text("2:cpuacct:/docker/x\n1:blkio:/docker/x\n0::/\n")
    number = f"{sampler.os.major(root.stat().st_dev)}:{sampler.os.minor(root.stat().st_dev)}"
    for name, text in {
        "cpuacct/docker/x/cpuacct.stat": "user 7\nsystem 9\n",
        "blkio/blkio.throttle.io_service_bytes": f"{number} Read 512\n{number} Write 1024\n"
        f"{number} Total 1536\n7:9 Read 1\nTotal 1537\n",
        "blkio/blkio.throttle.io_serviced": f"{number} Read 1\n{number} Write 2\n",
    }.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    _, messages = sampled(root)
    sample = first(messages)
    assert (sample["group.cpu_user_ms"], sample["group.cpu_system_ms"]) == (70, 90)
    assert (sample["group.io_rbytes"], sample["group.io_wbytes"]) == (512, 1024)
    assert (sample["group.io_rios"], sample["group.io_wios"]) == (1, 2)
    absent = dict(messages[0][1]["absent"])
    assert absent["its control group (version 1): pressure"] == "version 1 has none"
    assert absent["its control group (version 1): memory.stat"] == "memory: not mounted"


def test_a_folder_on_no_device_is_told(tmp_path: Path) -> None:
    messages: Messages = []
    Sampler(
        lambda kind, **values: messages.append((kind, values)),
        [("data", str(tmp_path / "gone"))],
        root=str(tmp_path),
    )
    assert ["the device of data", "its file system names no device"] in messages[0][1]["absent"]


def test_contents_are_those_of_the_benchmark_alone(tmp_path: Path) -> None:
    (tmp_path / "fsbench.work").mkdir()
    (tmp_path / "fsbench.work/a").write_bytes(b"x" * 100)
    (tmp_path / "fsbench.work/b").hardlink_to(tmp_path / "fsbench.work/a")
    (tmp_path / "fsbench.work/c").symlink_to(tmp_path / "other")
    (tmp_path / "fsbench.work.x").write_bytes(b"x" * 10)
    (tmp_path / "other").write_bytes(b"x" * 1000)
    assert sampler.contents(str(tmp_path), "fsbench.work") == (2, 110)
    assert sampler.contents(str(tmp_path / "gone"), "fsbench.work") is None


@pytest.mark.parametrize(
    ("files", "facts"),
    [
        (
            {"mq/0/cpu_list": "0", "queue/write_cache": "write back\n", "queue/fua": "0\n"},
            {"counts_flushes": True, "write_cache": "write back", "fua": 0},
        ),
        ({"queue/write_cache": "write through\n"}, None),
        ({"partition": "1\n"}, {"counts_flushes": False}),
        ({"mq/0/cpu_list": "0", "queue/fua": "odd\n"}, {"counts_flushes": True}),
    ],
)
def test_it_says_what_cache_the_device_has_and_whether_flushes_count(
    root: Path, files: dict[str, str], facts: dict[str, Any] | None
) -> None:
    device = root.stat().st_dev
    folder = root / f"sys/dev/block/{sampler.os.major(device)}:{sampler.os.minor(device)}"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    _, messages = sampled(root)
    expected = facts or {"counts_flushes": False, "write_cache": "write through"}
    assert messages[0][1]["devices"] == {"data": expected}
