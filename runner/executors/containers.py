"""What is said to a Docker daemon about one container, and what it says of its own troubles."""

import contextlib
import io
import os
import signal
import socket
import tarfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.types import LogConfig
from docker.utils.socket import frames_iter
from requests.exceptions import RequestException

from fsbench_web.core.numbers import size
from fsbench_web.studies.causes import Cause
from runner.executors.base import STOPPED, WORKER_SILENT
from runner.host import control_groups, swap
from runner.safety import blockdev

ERRORS = (DockerException, RequestException)
# What docker-py and what is below it say of a stream that is closed under whoever reads it.
_CLOSED = (*ERRORS, OSError, ValueError, AttributeError)
END_WAIT_S = 60
# Whatever the daemon does with logs of its own accord: these can be read back, and end.
KEPT_LOGS = LogConfig(type="json-file", config={"max-size": "32m"})
_NOT_LIMITED = (
    "The Docker daemon cannot limit {}, since this host's kernel has no control groups for that. "
    "“docker info” names what is missing; of memory the kernel may want cgroup_enable=memory. "
    "Leave the limit out."
)
_RATES = {
    "read_bps": "BlkioDeviceReadBps",
    "write_bps": "BlkioDeviceWriteBps",
    "read_iops": "BlkioDeviceReadIOps",
    "write_iops": "BlkioDeviceWriteIOps",
}
_MEDDLING = {
    "pause": "The container was paused from outside: what it measures includes that.",
    "update": "The container's limits were changed from outside while it measured.",
}
_STREAMS = {1: "stdout", 2: "stderr"}
NOT_ALLOWED = "this user may not use that socket"
_SILENCES: dict[type[OSError], str] = {
    FileNotFoundError: "there is no such socket",
    PermissionError: NOT_ALLOWED,
    ConnectionRefusedError: "nothing listens there",
    TimeoutError: "it does not answer in time",
}


def devices_in(pairs: list[tuple[str, str]]) -> list[Any]:
    """As Docker wants devices: read and write, no mknod; not as one text, for names with colons."""
    return [
        {"PathOnHost": outside, "PathInContainer": inside, "CgroupPermissions": "rw"}
        for outside, inside in pairs
    ]


def rates_in(devices: list[str], rates: Mapping[str, int]) -> dict[str, Any]:
    """As Docker wants the limits of each device: a partition's is that of its disk."""
    names = {
        "read_bps": "device_read_bps",
        "write_bps": "device_write_bps",
        "read_iops": "device_read_iops",
        "write_iops": "device_write_iops",
    }
    disks = [blockdev.disk_path(device) for device in devices] if rates else []
    return {
        names[name]: [{"Path": disk, "Rate": rate} for disk in dict.fromkeys(disks)]
        for name, rate in rates.items()
    }


class NotLimited(Exception):
    """The daemon made a container without a limit that was asked for; a sentence."""


def check_limits(
    container: Container, memory_bytes: int | None, cpus: str | None, rates: Mapping[str, int]
) -> None:
    """Raises NotLimited where the daemon discarded one and only warned."""
    host_config = container.attrs["HostConfig"]
    discarded = [
        *(["memory"] if memory_bytes and host_config.get("Memory") != memory_bytes else []),
        *(["processors"] if cpus and host_config.get("CpusetCpus") != cpus else []),
        *(["rates"] if any(not host_config.get(_RATES[name]) for name in rates) else []),
    ]
    if discarded:
        raise NotLimited(_NOT_LIMITED.format(" and ".join(discarded)))


def limits_swap(container: Container, memory_bytes: int) -> bool:
    """Whether its limit is one of memory and swap together: a daemon that cannot do that says
    "Memory limited without swap" and makes the container.
    """
    return bool(container.attrs["HostConfig"].get("MemorySwap") == memory_bytes)


def info_of(client: docker.DockerClient) -> Mapping[str, Any]:
    """What the daemon says of itself; nothing where a proxy before its socket lets nobody ask."""
    try:
        info: Mapping[str, Any] = client.info()
    except APIError:
        return {}
    return info


def limit_problems(info: Mapping[str, Any]) -> dict[str, str]:
    """Which limits this daemon would discard (runner.executors.base)."""
    warnings = " ".join(info.get("Warnings") or [])
    is_lacking = {
        "rates": "No blkio throttle" in warnings or "No io.max" in warnings,
        "memory": info.get("MemoryLimit") is False,
    }
    space = swap.space_bytes() if info.get("SwapLimit") is False else 0
    return {
        **{
            name: _NOT_LIMITED.format(name) if is_missing else ""
            for name, is_missing in is_lacking.items()
        },
        "swap": swap.NOT_LIMITED.format(size(space)) if space else "",
    }


def why_failed(error: BaseException) -> tuple[str, Cause]:
    """A sentence on what the daemon says to a starting run, and who caused it."""
    if isinstance(error, ImageNotFound):
        return (
            "The benchmark image was removed from outside while the run began "
            f"({error_line(error)}): build it again (make image).",
            Cause.KILLED,
        )
    if isinstance(error, NotFound) and "No such container" in error_line(error):
        return "The container was removed from outside.", Cause.KILLED
    cause = Cause.BENCHMARK if isinstance(error, APIError) else Cause.DAEMON
    return f"Docker failed: {error_line(error)}", cause


def connect(address: str, timeout_s: float) -> None:
    """Connect once to a socket of this host, and to nothing else. Raises OSError."""
    path = address.removeprefix("unix://")
    if path.startswith("/"):
        with socket.socket(socket.AF_UNIX) as tried:
            tried.settimeout(timeout_s)
            tried.connect(path)


def why_silent(error: BaseException) -> str:
    """Why there is no connection, in words: docker, requests and urllib3 each wrap the reason."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        exception = waiting.pop()
        if not isinstance(exception, BaseException) or id(exception) in seen:
            continue
        seen.add(id(exception))
        for kind, words in _SILENCES.items():
            if isinstance(exception, kind):
                return words
        waiting += [exception.__cause__, exception.__context__, *exception.args]
    return error_line(error).rstrip(".")


def error_line(error: BaseException) -> str:
    """What the daemon says, in one line and without the full stop of a sentence."""
    text = str(getattr(error, "explanation", None) or error)
    return text.splitlines()[0][:300].rstrip(".") if text else type(error).__name__


def archive(files: Mapping[str, bytes]) -> bytes:
    """Files that everybody may read, by name, as Docker takes them into a container."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), 0o444, int(time.time())
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def terminate(container: Container, pid: int) -> None:
    """Have its first process end on its own, as a daemon that may not answer would."""
    if not _send_signal(pid, str(container.id), signal.SIGTERM):
        # It may have ended by itself in this moment; removing it follows in any case.
        with contextlib.suppress(*ERRORS):
            container.kill(signal="SIGTERM")


def end(container: Container, pid: int) -> None:
    """End it now. Thaws it through the daemon too: frozen processes do not end."""
    end_process(pid, str(container.id))
    with contextlib.suppress(*ERRORS):
        container.kill(signal="SIGKILL")


def first_process(container: Container) -> int:
    """The container's first process, as this host counts; 0 where unknown."""
    try:
        container.reload()
        return int(container.attrs["State"]["Pid"])
    except (*ERRORS, KeyError, ValueError):
        return 0


def end_process(pid: int, container_id: str) -> bool:
    """End the first process, and with it all of the container and its mounts. True when it did."""
    return _send_signal(pid, container_id, signal.SIGKILL)


def _send_signal(pid: int, container_id: str, number: signal.Signals) -> bool:
    """Send a signal to the first process without the daemon; True if it was done.

    Only if its control group bears the container's id (cgroups(7)).
    """
    with contextlib.suppress(OSError):
        if pid and container_id in Path(f"/proc/{pid}/cgroup").read_text():
            os.kill(pid, number)
            return True
    return False


@contextlib.contextmanager
def watch_meddling(client: docker.DockerClient, container: Container) -> Iterator[list[str]]:
    """Sentences on what others do to the container that makes its numbers wrong, as they do it.
    ``client`` must wait long.
    """
    interference: list[str] = []
    try:
        events = client.events(
            filters={"container": str(container.id), "event": list(_MEDDLING)}, decode=True
        )
    except APIError:
        yield interference  # a proxy before the daemon's socket lets nobody ask
        return

    def listen() -> None:
        # It ends with the daemon, or when this is over.
        with contextlib.suppress(*_CLOSED):
            for event in events:
                interference.append(_MEDDLING[str(event["Action"])])

    threading.Thread(target=listen, daemon=True, name="container-events").start()
    try:
        yield interference
    finally:
        with contextlib.suppress(*_CLOSED):
            events.close()


def exit_code_of(container: Container) -> int | None:
    """Of one with an ended stream: the agent has ended too, unless the daemon went away (None)."""
    try:
        return int(container.wait(timeout=END_WAIT_S)["StatusCode"])
    except (*ERRORS, KeyError):
        return None


def why_ended(container: Container, exit_code: int | None, was_stopped: bool) -> tuple[str, Cause]:
    """A sentence where the agent said none of its own, and whether it was its own doing."""
    if exit_code == STOPPED and not was_stopped:
        # A daemon that is stopped asks what runs in its containers to end.
        return "The container was stopped from outside.", Cause.KILLED
    if exit_code == WORKER_SILENT:
        return "", Cause.SILENT
    if exit_code in (0, STOPPED):
        return "", Cause.BENCHMARK
    try:
        container.reload()
    except ERRORS as error:
        if exit_code == 1:  # the agent has said why
            return "", Cause.BENCHMARK
        if isinstance(error, NotFound):
            return "The container was removed from outside.", Cause.KILLED
        return f"The Docker daemon went away during the run: {error_line(error)}.", Cause.DAEMON
    state = container.attrs["State"]
    if state.get("OOMKilled"):
        limit = container.attrs.get("HostConfig", {}).get("Memory")
        return control_groups.out_of_memory(limit), Cause.BENCHMARK
    if exit_code == 1:
        return "", Cause.BENCHMARK
    if exit_code is None:
        # It was not told how the container ended, and is answered again: it was away.
        return "The Docker daemon went away during the run.", Cause.DAEMON
    if exit_code > 128:
        number = exit_code - 128
        return f"The container was killed from outside (signal {number}).", Cause.KILLED
    problem = str(state.get("Error") or "").rstrip(".")
    how = f"exit status {exit_code}{': ' + problem if problem else ''}"
    return f"The container ended with {how}.", Cause.BENCHMARK


def is_labelled(container: Container) -> bool:
    """Whether it has labels of fsbench that its image has not: a committed image keeps them all.
    Raises DockerException, RequestException.
    """
    try:
        of_image = container.image.labels if container.image else {}
    except NotFound:  # removed meanwhile: the container, or its image by force
        return True
    return any(
        name.startswith("fsbench.") and of_image.get(name) != value
        for name, value in container.labels.items()
    )


def remove(container: Container) -> None:
    """With what runs in it and its volumes; one that is gone already is removed."""
    for _ in range(3):
        try:
            container.remove(force=True, v=True)
        except NotFound:
            return
        except APIError as error:
            # 409: its removal is under way already.
            if error.status_code != 409:
                raise
            time.sleep(0.5)
        else:
            return


def attach(client: docker.DockerClient, container: Container) -> Any:
    """A connection that carries what it prints and what it reads. It is the last thing that holds
    its standard input open (StdinOnce), so that this ends when the worker does, however it does.
    """
    streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
    return client.api.attach_socket(str(container.id), params=streams)


def chunks(connection: Any) -> Iterator[tuple[str, bytes]]:
    """(stream, what came on it)."""
    for number, data in frames_iter(connection, tty=False):
        yield _STREAMS.get(number, "stderr"), data


def write(connection: Any, data: bytes) -> None:
    """Have the container read this. Raises OSError and ValueError once the connection is over."""
    if hasattr(connection, "sendall"):  # docker-py gives a socket of TLS itself
        connection.sendall(data)
    else:
        os.write(connection.fileno(), data)
