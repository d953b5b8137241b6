"""External journals on real loop devices, and file systems that this kernel may not know.

Measured by the real IOzone where something is measured; where nothing may be erased, the devices
are compared byte by byte.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from fsbench_web.catalog.configurations.commands.filesystem import journal_command, mkfs_command
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.journals import MIB, JournalLun
from fsbench_web.catalog.configurations.options import PROFILE_LEAST_LUNS
from fsbench_web.studies.models import Lease, MeasurementBlock, Run, RunState
from runner.execution import execute, places
from runner.executors.base import Executor, OnMessage, Outcome, ShouldStop
from runner.executors.docker import DockerExecutor
from runner.executors.local import LocalExecutor
from runner.plan import RunPlan
from runner.safety import blockdev, checks, signatures
from runner.safety.locks import device_lock
from runner.safety.luns import LunEntry
from runner.safety.marks import OWN_LABEL
from runner.worker import Host
from tests.measured import measured
from tests.packaged import PACKAGED
from tests.runner import fake
from tests.runner.conftest import sparse_lun, tool, write_luns, written_on
from tests.runner.fake import FakeExecutor

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]


@pytest.fixture
def lun_file(tmp_path: Path) -> Path:
    """An allow-list with ``scratch`` of 400 MiB, and ``log`` of 100 MiB for journals."""
    path = tmp_path / "luns.toml"
    write_luns(
        path,
        sparse_lun(tmp_path / "scratch.img"),
        sparse_lun(tmp_path / "log.img", name="log", size="100 MiB", role="journal"),
    )
    return path


@pytest.fixture(params=["docker", "local"])
def executor(request: pytest.FixtureRequest) -> Executor:
    if request.param == "local":
        return LocalExecutor()
    image = request.getfixturevalue("runner_image")
    monkeypatch = request.getfixturevalue("monkeypatch")
    monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("docker_host"))
    return DockerExecutor(image, "test")


def device_of(host: Host, name: str) -> str:
    return host.device(host.entry(name))


def verdict(host: Host, name: str) -> str:
    entry = host.entry(name)
    return checks.problem(checks.verify(entry, host.config.lun_file, host.device(entry)))


@pytest.mark.parametrize(
    ("filesystem", "options"),
    [("ext3", {"block_size": "1024"}), ("ext4", {"journal_mode": "journal"}), ("xfs", {})],
)
def test_it_measures_with_the_journal_on_another_lun(
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    executor: Executor,
    filesystem: str,
    options: dict[str, str],
) -> None:
    host = make_host(executor)
    log = device_of(host, "log")
    number = blockdev.device_number(log)
    assert number is not None
    run = submitted(host, filesystem, options=options, journal="log", scheduler="mq-deadline")
    assert run.series.configuration.label.endswith("_mq-deadline_xj")
    written = writes(number)
    carry_out(run, host)
    assert run.state == RunState.DONE, run.reason
    assert len(measured(run, test="write")) == 4
    assert run.series.journal_lun.name == "log"  # type: ignore[union-attr]
    # The journal was really written there, and by more than mkfs of an empty device.
    assert writes(number) > written
    assert [command["exit_code"] for command in run.commands] == [0] * len(run.commands)
    named = host.named_device(host.entry("log"), log)
    assert any(word.endswith(named) for command in run.commands for word in command["argv"])
    assert run.environment is not None
    assert ["Name", "log"] in run.environment.facts["Journal LUN"]
    mounted = dict(run.environment.facts["File system"])["Mount options in effect"]
    assert filesystem != "xfs" or f"logdev={named}" in mounted.split(",")
    # Both are known as fsbench's own again, so that the next run may erase them.
    assert (verdict(host, "scratch"), verdict(host, "log")) == ("", "")
    assert not Lease.objects.exclude(run=None).exists()


def writes(number: int) -> int:
    """Sectors of 512 bytes written so far (Documentation/block/stat.rst)."""
    return int((blockdev.sys_folder(number) / "stat").read_text().split()[6])


def test_all_that_keep_journals_follow_each_other_on_the_same_luns(
    make_host: MakeHost, submitted: Submit
) -> None:
    """Whatever the run before left on both LUNs is recognised: no run on them is refused."""
    host = make_host(LocalExecutor())
    names = ["xfs", "ext4", "xfs", "ext3", "ext4"]
    runs = [submitted(host, name, journal="log") for name in names] + [submitted(host, "xfs")]
    execute.work_on(runs[0].pk, host)
    for run in runs:
        run.refresh_from_db()
        assert run.state == RunState.DONE, (run, run.reason)


def test_a_container_gets_both_devices_and_no_third(
    make_host: MakeHost,
    submitted: Submit,
    other_loop: str,
    runner_image: str,
    docker_host: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    client = docker.DockerClient(docker_host)
    executor = DockerExecutor(runner_image, "test")
    devices: list[str] = []
    create = executor._create

    def look(plan: RunPlan, target: object) -> object:
        container = create(plan, target)  # type: ignore[arg-type]
        devices.extend(
            f"{device['PathOnHost']} {device['PathInContainer']}"
            for device in container.attrs["HostConfig"]["Devices"]
        )
        assert container.labels["fsbench.journal"] == "log"
        return container

    monkeypatch.setattr(executor, "_create", look)
    host = make_host(executor)
    run = submitted(host, "ext4", journal="log")
    execute.work_on(run.pk, host)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.reason
    assert devices == [
        f"{device_of(host, 'scratch')} /dev/fsbench/scratch",
        f"{device_of(host, 'log')} /dev/fsbench/log",
    ]
    assert other_loop not in " ".join(devices)
    assert client.containers.list(all=True) == []
    client.close()


# ---- refused before anything is erased ----
@pytest.fixture
def digests(make_host: MakeHost) -> tuple[Host, Callable[[], list[str]]]:
    """A host that would erase (its agent is played), and what is on both LUNs."""
    host = make_host(FakeExecutor())

    def digest() -> list[str]:
        return [written_on(host, name) for name in ("scratch", "log")]

    return host, digest


def assert_refused(run: Run, host: Host, *words: str) -> None:
    assert run.state == RunState.FAILED
    for word in words:
        assert word in run.reason
    assert host.executor.plans == []  # type: ignore[attr-defined]
    assert not MeasurementBlock.objects.exists()
    assert not Lease.objects.exclude(run=None).exists()


def test_a_mounted_journal_lun_is_not_erased(
    digests: tuple[Host, Callable[[], list[str]]],
    submitted: Submit,
    carry_out: CarryOut,
    tmp_path: Path,
) -> None:
    host, _ = digests
    run = submitted(host, "ext4", journal="log")
    point = tmp_path / "mounted"
    point.mkdir()
    tool("mkfs.ext4", "-q", "-F", "-L", "fsbench", device_of(host, "log"))
    tool("mount", device_of(host, "log"), str(point))
    (point / "precious").write_text("kept")
    try:
        carry_out(run, host)
        assert_refused(run, host, "log was not erased. It is mounted on", str(point))
        assert (point / "precious").read_text() == "kept"
    finally:
        tool("umount", str(point))


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_the_journal_of_another_mounted_file_system_is_not_erased(
    digests: tuple[Host, Callable[[], list[str]]],
    submitted: Submit,
    carry_out: CarryOut,
    tmp_path: Path,
    filesystem: str,
) -> None:
    """The log's device is in no list of mounts: the kernel holds it, and says so."""
    host, _ = digests
    run = submitted(host, "ext4", journal="log")
    other = tmp_path / "elsewhere.img"
    other.touch()
    os.truncate(other, 400 * MIB)
    loop = tool("losetup", "--find", "--show", str(other))
    point = tmp_path / "mounted"
    point.mkdir()
    log = JournalLun(device_of(host, "log"), 100 * MIB)
    commands = [journal_command(filesystem, {}, log), mkfs_command(filesystem, {}, loop, log)]
    for command in filter(None, commands):
        tool(*command)
    flags = ["-o", f"logdev={log.device},nouuid"] if filesystem == "xfs" else []
    tool("mount", *flags, loop, str(point))
    try:
        carry_out(run, host)
        assert_refused(run, host, "log was not erased", "It is in use")
        (point / "still works").write_text("kept")
    finally:
        tool("umount", str(point))
        tool("losetup", "--detach", loop)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (["mkfs.ext4", "-q", "-F", "-L", "home", "{log}"], "ext4 “home”"),
        (["mke2fs", "-q", "-F", "-O", "journal_dev", "-L", "theirs", "{log}"], "jbd “theirs”"),
        (["mkfs.exfat", "-L", "camera", "{log}"], "exfat “camera”"),
        (["mkntfs", "-q", "-Q", "-F", "-L", "windows", "{log}"], "ntfs “windows”"),
        (["mkfs.jfs", "-q", "-J", "journal_dev", "-L", "theirs", "{log}"], "jfs_external_log"),
        (["mkfs.xfs", "-q", "-f", "-l", "logdev={log}", "{other}"], "xfs_external_log"),
        (["mkfs.reiserfs", "-q", "-ff", "-l", "mail", "-j", "{other}", "{log}"], "reiserfs “mail”"),
    ],
    ids=["ext4", "ext journal", "exfat", "ntfs", "jfs journal", "xfs log", "reiserfs"],
)
def test_what_somebody_else_wrote_on_the_journal_lun_is_not_erased(
    digests: tuple[Host, Callable[[], list[str]]],
    submitted: Submit,
    carry_out: CarryOut,
    tmp_path: Path,
    make: list[str],
    named: str,
) -> None:
    host, digest = digests
    run = submitted(host, "ext4", journal="log")
    other = tmp_path / "elsewhere.img"
    other.touch()
    os.truncate(other, 400 * MIB)
    loop = tool("losetup", "--find", "--show", str(other))
    try:
        tool(*(word.format(log=device_of(host, "log"), other=loop) for word in make))
    finally:
        tool("losetup", "--detach", loop)
    before = digest()
    carry_out(run, host)
    assert_refused(run, host, "log was not erased. It holds data that fsbench did not write", named)
    assert digest() == before


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ([{}], "lists no LUN “log”"),
        ([{}, {"name": "log", "role": "data"}], "log is listed for data and keeps no journal"),
        ([{"role": "journal"}, {"name": "log", "role": "journal"}], "set aside for external"),
    ],
)
def test_the_host_decides_which_lun_keeps_journals(
    digests: tuple[Host, Callable[[], list[str]]],
    submitted: Submit,
    carry_out: CarryOut,
    lun_file: Path,
    lists: list[dict[str, str]],
    words: str,
) -> None:
    host, _ = digests
    run = submitted(host, "ext4", journal="log")
    sizes = {"log": "100 MiB"}
    folder = lun_file.parent
    write_luns(
        lun_file,
        *(
            sparse_lun(
                folder / f"{lun.get('name', 'scratch')}.img",
                **({"size": sizes[lun["name"]]} if lun.get("name") in sizes else {}),
                **lun,
            )
            for lun in lists
        ),
    )
    carry_out(run, host)
    assert_refused(run, host, words)


def test_a_journal_that_somebody_else_has_locked_is_not_used(
    digests: tuple[Host, Callable[[], list[str]]],
    submitted: Submit,
    carry_out: CarryOut,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "LOCK_WAIT_S", 0.2)
    host, _ = digests
    run = submitted(host, "ext4", journal="log")
    with device_lock(Path(device_of(host, "log"))):
        carry_out(run, host)
    assert_refused(run, host, "Another process on this host holds block-")


def _number(device: str) -> int:
    number = blockdev.device_number(device)
    assert number is not None
    return number


# ---- sizes ----
@pytest.fixture
def loops(tmp_path: Path) -> Iterator[Callable[[int], str]]:
    """``loops(bytes)`` is a loop device of this size."""
    paths: dict[str, Path] = {}

    def make(size: int) -> str:
        path = tmp_path / f"loop{len(paths)}.img"
        path.touch()
        os.truncate(path, size)
        device = tool("losetup", "--find", "--show", str(path))
        paths[device] = path
        return device

    yield make
    for device, path in paths.items():
        tool("losetup", "--detach", device)
        path.unlink()  # some tools make a large one of 8 GiB on the disk


WITH_JOURNAL = [slug for slug, spec in FILESYSTEMS.items() if spec.journal]


@pytest.mark.parametrize("slug", WITH_JOURNAL)
@pytest.mark.parametrize("is_large", [False, True], ids=["smallest", "8 GiB"])
def test_mkfs_accepts_the_smallest_journal_and_a_large_one(
    loops: Callable[[int], str], slug: str, is_large: bool
) -> None:
    spec = FILESYSTEMS[slug]
    assert spec.journal is not None
    size = 8 * 1024 * MIB if is_large else spec.journal.minimum_bytes
    data, log = loops(400 * MIB), JournalLun(loops(size), size)
    for command in (journal_command(slug, {}, log), mkfs_command(slug, {}, data, log)):
        if command:
            tool(*command)
    entries = [
        LunEntry(name, "device", Path(device), role)
        for name, device, role in (("d", data, "data"), ("j", log.device, "journal"))
    ]
    for entry in entries:
        ok, message = checks._signature(entry, _number(str(entry.path)), str(entry.path))
        assert ok, message


@pytest.mark.parametrize("slug", ["ext3", "ext4", "xfs", "reiser3"])
def test_a_journal_below_the_smallest_is_not_accepted_by_the_tools(
    loops: Callable[[int], str], slug: str, tmp_path: Path
) -> None:
    """The bound is not made up: less is refused by mkfs, or, with ext, by mount."""
    spec = FILESYSTEMS[slug]
    assert spec.journal is not None
    size = spec.journal.minimum_bytes // 2
    data, log = loops(400 * MIB), JournalLun(loops(size), size)
    point = tmp_path / "point"
    point.mkdir()
    commands = [journal_command(slug, {}, log), mkfs_command(slug, {}, data, log)]
    commands.append(["mount", "-t", spec.kernel_name, data, str(point)])
    codes = [subprocess.run(c, capture_output=True).returncode for c in commands if c]
    if codes[-1] == 0:
        tool("umount", str(point))
    assert any(codes)


# ---- file systems that the kernel may not know ----
@pytest.mark.parametrize("slug", PACKAGED)
def test_every_mkfs_is_accepted_and_recognised_as_own(
    loops: Callable[[int], str], slug: str
) -> None:
    spec = FILESYSTEMS[slug]
    device = loops(spec.minimum_bytes)
    tool(*mkfs_command(slug, {}, device))
    recognised = signatures.of(device)
    assert recognised
    assert {signature.label for signature in recognised} == {OWN_LABEL}
    entry = LunEntry("d", "device", Path(device))
    assert checks._signature(entry, _number(device), device)[0]


@pytest.mark.parametrize(
    ("slug", "options"),
    [
        (slug, {option.key: choice.value})
        for slug in PACKAGED
        for option in FILESYSTEMS[slug].options
        if option.stage == "mkfs"
        for choice in (option.choices or (option.choice(option.minimum),))
    ],
)
def test_every_mkfs_option_is_accepted(
    loops: Callable[[int], str], slug: str, options: dict[str, str]
) -> None:
    profiles = [value for key, value in options.items() if key.endswith("_profile")]
    least = max([PROFILE_LEAST_LUNS[value] for value in profiles], default=1)
    device, *further = [loops(400 * MIB) for _ in range(least)]
    tool(*mkfs_command(slug, options, device, further=further))


@pytest.mark.parametrize("slug", ["jfs", "reiser3", "f2fs", "nilfs2", "exfat", "ntfs3", "bcachefs"])
def test_a_file_system_that_this_kernel_does_not_know_is_refused_with_the_reason(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, slug: str, lun_file: Path
) -> None:
    spec = FILESYSTEMS[slug]
    host = make_host(LocalExecutor())
    supported = Path("/proc/filesystems").read_text().split()
    ability = host.capabilities.filesystems[slug]
    assert ability["usable"] == (spec.kernel_name in supported)
    if ability["usable"]:
        run = carry_out(submitted(host, slug), host)
        assert run.state == RunState.DONE, run.reason
        return
    before = written_on(host, "scratch")
    run = carry_out(submitted(host, slug), host)
    assert run.state == RunState.FAILED
    assert f"cannot mount {spec.name}" in run.reason
    assert run.commands == []
    assert written_on(host, "scratch") == before


@pytest.mark.parametrize("slug", ["jfs", "reiser3", "f2fs", "nilfs2", "exfat", "ntfs3", "bcachefs"])
def test_missing_tools_are_named_with_their_package(
    monkeypatch: pytest.MonkeyPatch, slug: str
) -> None:
    spec = FILESYSTEMS[slug]
    executor = LocalExecutor()
    environment = dict(executor._environment())
    environment["tools"] = environment["tools"] | {spec.mkfs[0]: {"path": "", "version": ""}}
    monkeypatch.setattr(executor, "_environment", lambda: environment)
    for filesystems in (["ext4"], ["ext4", spec.kernel_name]):
        environment["filesystems"] = filesystems
        reason = executor.probe().filesystems[slug]["reason"]
        assert spec.tool_package in reason
        assert ("cannot mount" in reason) == (spec.kernel_name not in filesystems)


def test_a_played_run_erases_both_luns_only_after_all_checks(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, str]] = []
    verify = checks.verify

    def note(entry: LunEntry, *arguments: Any) -> list[checks.Check]:
        events.append(("verified", entry.name))
        return verify(entry, *arguments)

    def script(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        events.append(("ran", plan.journal_device))
        return fake.succeed(plan, on_message, should_stop)

    host = make_host(FakeExecutor(script))
    run = submitted(host, "ext3", journal="log")
    monkeypatch.setattr(checks, "verify", note)
    carry_out(run, host)
    assert run.state == RunState.DONE, run.reason
    assert events == [
        # Also once more when the database was asked whether the run may still begin.
        *(("verified", "scratch"), ("verified", "log")) * 3,
        ("ran", "/dev/fsbench/log"),
    ]
