"""Runs the agent in a container that has the leased LUNs and nothing else of the host.

No network, no folder, no capability but SYS_ADMIN (mount); the device cgroup forbids other disks.
"""

import json
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, ContainerError, NotFound
from docker.models.containers import Container
from docker.types import LogConfig, Mount

from fsbench_web.studies.causes import Cause
from runner.executors import containers
from runner.executors.base import (
    Capabilities,
    ExecutorAway,
    OnMessage,
    Outcome,
    ShouldStop,
    Target,
    capabilities_from,
    load_modules,
    probed_tools,
    why_in_guests_alone,
)
from runner.executors.containers import ERRORS, archive, error_line
from runner.executors.stream import LastWords, follow, signs_of_life
from runner.host import swap
from runner.host.tuning import processors
from runner.image import inputs
from runner.plan import RunPlan

logger = logging.getLogger("fsbench.worker")

API_TIMEOUT_S = 30
ANSWER_S = 5
PROBE_LIMIT_S = 60
# So long a daemon that is away may take to come back before a run ends without it.
REMOVE_WAIT_S = 10
SILENCE_S = 40 * 24 * 3600
# Of the kernel, not of a container: the same wherever one kernel runs (random(4)).
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True)
class FoundImage:
    """What the daemon has under the image's name. ``inputs``: the digest of the files that
    ``runner/image/build`` made it of (runner.image.inputs), or "".
    """

    id: str
    inputs: str
    labels: Mapping[str, str]


class DockerExecutor:
    """``site`` tells this installation's containers from those of another one on the host."""

    name = "docker"

    def __init__(self, image: str, site: str, is_privileged: bool = False) -> None:
        self.image = image
        self.site = site
        self.is_privileged = is_privileged
        # Why its daemon cannot be used though it answers; known once it was probed.
        self._refusal = ""
        self._limit_problems = {"rates": "", "memory": "", "swap": ""}
        self._client: docker.DockerClient | None = None
        self._asking: docker.DockerClient | None = None
        # The first process of each container that runs, by the container's id.
        self._pids: dict[str, int] = {}

    @property
    def client(self) -> docker.DockerClient:
        if self._client is None:
            self._client = docker.from_env(timeout=API_TIMEOUT_S)
        return self._client

    def setup_problem(self) -> str:
        """Why this executor cannot be used at all, or nothing."""
        try:
            if self.found_image() is None:
                return (
                    f"The Docker daemon has no image {self.image}: run runner/image/build "
                    f"{self.image}"
                )
        except ExecutorAway as error:
            return str(error)
        return ""

    def found_image(self) -> FoundImage | None:
        """The image as the daemon has it now, or None. Quick. Raises ExecutorAway."""
        try:
            # Asked with every heartbeat: a daemon that hangs must not silence the worker.
            if self._asking is None:
                # On most hosts there is none, and a client of it costs milliseconds in vain.
                containers.connect(_address(), timeout_s=ANSWER_S)
                self._asking = docker.from_env(timeout=ANSWER_S)
            self._asking.ping()
        except (*ERRORS, OSError) as error:
            why = containers.why_silent(error)
            # One that runs needs no start, but whoever may ask it is as good as root on its host.
            remedy = "Add this user to its group" if why == containers.NOT_ALLOWED else "Start it"
            raise ExecutorAway(
                f"No Docker daemon answers at {_address()}: {why}. {remedy}, or set DOCKER_HOST."
            ) from None
        try:
            image = self._asking.images.get(self.image)
        except NotFound:
            return None
        except ERRORS as error:
            raise ExecutorAway(f"The Docker daemon does not answer: {error_line(error)}.") from None
        labels = image.labels or {}
        return FoundImage(str(image.id), str(labels.get(inputs.LABEL, "")), labels)

    def probe(self) -> Capabilities:
        reason = self.setup_problem()
        if reason:
            return Capabilities(is_usable=False, reason=reason)
        try:
            self._refusal = self.remote_daemon_problem()
            missing_rights = "" if self._refusal else self.rights_problem()
            if self.is_privileged:
                self._refusal = self._refusal or missing_rights
            if self._refusal:
                return Capabilities(is_usable=False, reason=self._refusal)
            load_modules()
            message = self._environment()
            version = str(self.client.version()["Version"])
            information = containers.info_of(self.client)
            self._limit_problems = containers.limit_problems(information)
            capabilities = capabilities_from(
                message, where=f"in the image {self.image}", filesystem_reason=missing_rights
            )
        except (*ERRORS, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            # Of another image than ours under this name nothing is certain.
            return Capabilities(
                is_usable=False,
                reason=f"The image {self.image} cannot be run: {error_line(error)}",
            )
        folder = str(information.get("DockerRootDir") or "")
        return replace(capabilities, versions={"Docker": version}, folder=folder)

    def problem(self) -> str:
        missing = self.setup_problem()
        if missing:
            self._refusal = ""  # the one that comes back is asked
        return missing or self._refusal

    def rights_problem(self) -> str:
        """Why a container cannot get a run's rights. Raises DockerException, RequestException."""
        try:
            self._output_of(["true"], [], self._rights())
        except APIError as error:
            why = error_line(error).rstrip(".")
            if self.is_privileged:
                return (
                    f"This host refuses privileged containers ({why}): remove "
                    "FSBENCH_DOCKER_PRIVILEGED."
                )
            return (
                f"This host refuses containers that mount ({why}): set "
                "FSBENCH_DOCKER_PRIVILEGED=True, which opens every disk to them, or "
                "FSBENCH_EXECUTOR=local."
            )
        return ""

    def remote_daemon_problem(self) -> str:
        """Why the daemon's containers do not run on this host, or nothing: elsewhere it would erase
        other disks. Raises DockerException, RequestException, OSError, ValueError.
        """
        output = self._output_of(["cat"], [_BOOT_ID])
        if not output.strip():
            raise ValueError("a container of it prints nothing")
        if output.strip() == _boot_id():
            return ""
        return (
            f"The Docker daemon at {_address()} runs its containers on another host or in a "
            "virtual machine, and has other disks than those in this host's list: start a worker "
            "there, or set DOCKER_HOST to a daemon of this host."
        )

    def _environment(self) -> Any:
        return json.loads(self._output_of(None, ["--probe", *probed_tools()]).splitlines()[-1])

    def _output_of(
        self,
        entrypoint: list[str] | None,
        command: list[str],
        rights: Mapping[str, Any] | None = None,
    ) -> bytes:
        """What a command prints in a container that has nothing of the host, and is gone then.

        docker-py's ``containers.run`` depends on the daemon's log driver, pulls images and may
        leave containers. Raises DockerException, RequestException.
        """
        container = self.client.containers.create(
            self.image,
            entrypoint=entrypoint,
            command=command,
            network_mode="none",
            log_config=containers.KEPT_LOGS,
            labels={"fsbench.site": self.site},
            **(rights or {}),
        )
        try:
            container.start()
            status = int(container.wait(timeout=PROBE_LIMIT_S)["StatusCode"])
            if status:
                stderr = container.logs(stdout=False, stderr=True).decode("utf-8", "replace")
                raise ContainerError(container, status, command, self.image, stderr)
            return bytes(container.logs(stdout=True, stderr=False))
        finally:
            self._remove_for_certain(container)

    def device_path(self, lun: str, device: str, role: str = "data", place: int = 0) -> str:
        return f"/dev/fsbench/{lun}"

    def lun_problem(self, kind: str) -> str:
        if kind == "directory":
            return (
                "A container gets no folder of the host: directory LUNs need "
                "FSBENCH_EXECUTOR=local."
            )
        return ""

    def limit_problems(self) -> dict[str, str]:
        return dict(self._limit_problems)

    def facts(self) -> list[list[str]]:
        """The image by name, by its own digest, and by the registry's where it came from one."""
        facts = [["Image", self.image]]
        try:
            attributes = self.client.images.get(self.image).attrs
        except ERRORS:
            return facts
        facts.append(["Image digest", str(attributes.get("Id") or "not known")])
        made_of = (attributes.get("Config", {}).get("Labels") or {}).get(inputs.LABEL)
        if made_of and made_of != inputs.digest():
            facts.append(["Image made of", f"other files than the worker's ({made_of})"])
        return facts + [
            ["Digest in the registry", digest] for digest in attributes.get("RepoDigests") or []
        ]

    def run(
        self, plan: RunPlan, target: Target, on_message: OnMessage, should_stop: ShouldStop
    ) -> Outcome:
        container: Container | None = None
        why_not = why_in_guests_alone(bool(plan.layers), plan.network, plan.is_pool)
        if why_not and plan.guest is None:
            return Outcome(1, reason=why_not, cause=Cause.REFUSED)
        try:
            self._remove({"fsbench.worker": target.worker, "fsbench.lun": target.lun})
            for label, value in target.lun_labels.items():
                self._remove({"fsbench.worker": target.worker, label: value})
            if target.journal_lun:
                self._remove(
                    {"fsbench.worker": target.worker, "fsbench.journal": target.journal_lun}
                )
            container = self._create(plan, target)
            if plan.memory_bytes and not containers.limits_swap(container, plan.memory_bytes):
                swap.report_limit(on_message)
            return self._follow(container, plan.worker_silence_s, on_message, should_stop)
        except containers.NotLimited as error:
            return Outcome(1, reason=str(error), cause=Cause.REFUSED)
        except ERRORS as error:
            reason, cause = containers.why_failed(error)
            return Outcome(None, reason=reason, cause=cause)
        finally:
            if container is not None:
                self._remove_for_certain(container)

    def _rights(self, plan: RunPlan | None = None) -> dict[str, Any]:
        """What the container of a run may do; without a plan, of one that makes a file system."""
        if self.is_privileged:
            return {"privileged": True}
        capabilities = ["SYS_ADMIN"]
        if plan is not None and plan.has_overlay:
            # The work folder of overlayfs has no rights for anybody, and is written to.
            capabilities.append("DAC_OVERRIDE")
        return {
            "cap_drop": ["ALL"],
            # In a folder nothing is mounted: no right but those of whoever owns it.
            "cap_add": [] if plan is not None and plan.own_mark else capabilities,
            "security_opt": ["seccomp=unconfined", "apparmor=unconfined", "no-new-privileges"],
        }

    def _create(self, plan: RunPlan, target: Target) -> Container:
        cpus = _cpus(plan)
        container = self.client.containers.create(
            self.image,
            command=["/fsbench/plan.json"],
            mounts=_folders(plan, target),
            devices=containers.devices_in(_devices(plan, target)),
            network_mode="none",
            stdin_open=True,  # and closed with the worker's connection
            # What it prints goes to the run's log; nothing is to fill the daemon's disk.
            log_config=LogConfig(type="none"),
            mem_limit=plan.memory_bytes,
            memswap_limit=plan.memory_bytes,  # the same: no swap to hide behind
            cpuset_cpus=cpus,
            **containers.rates_in([outside for outside, _ in _devices(plan, target)], plan.rates),
            labels={
                "fsbench.site": self.site,
                "fsbench.worker": target.worker,
                "fsbench.run": str(target.run_id),
                "fsbench.lun": target.lun,
                "fsbench.journal": target.journal_lun,
                **target.lun_labels,
            },
            **self._rights(plan),
        )
        try:
            containers.check_limits(container, plan.memory_bytes, cpus, plan.rates)
            container.put_archive("/fsbench", archive({"plan.json": plan.to_json().encode()}))
        except BaseException:
            self._remove_for_certain(container)
            raise
        return container

    def _follow(
        self,
        container: Container,
        silence_s: float,
        on_message: OnMessage,
        should_stop: ShouldStop,
    ) -> Outcome:
        # Attached before it starts, so that not a line is missed. A benchmark may be silent for
        # hours, so this connection has a time limit of its own.
        client = docker.from_env(timeout=SILENCE_S)
        last_words = LastWords(on_message)
        try:
            with containers.watch_meddling(client, container) as interference:
                connection = containers.attach(client, container)
                if should_stop():  # a daemon may have taken long to answer until here
                    return Outcome(None, was_stopped=True)
                container.start()
                pid = containers.first_process(container)
                self._pids[str(container.id)] = pid
                with signs_of_life(partial(containers.write, connection), silence_s):
                    was_stopped = follow(
                        containers.chunks(connection),
                        last_words.take,
                        lambda: bool(interference) or should_stop(),
                        # By a daemon that hangs each would take half a minute, and a lease less.
                        stop=lambda: containers.terminate(container, pid),
                        kill=lambda: containers.end(container, pid),
                    )
                exit_code = containers.exit_code_of(container)
        finally:
            client.close()
        if interference and not should_stop():
            # Whatever it says of itself: what stood still or was slowed down is not a measurement.
            return Outcome(None, reason=interference[0], cause=Cause.KILLED)
        reason, cause = containers.why_ended(container, exit_code, was_stopped)
        if cause == Cause.BENCHMARK:
            reason = f"{reason} {last_words.reason}".strip()
        return Outcome(exit_code, was_stopped, reason, cause)

    def _remove_for_certain(self, container: Container) -> None:
        """Remove it, or end its processes directly while the daemon is away."""
        pid = self._pids.pop(str(container.id), 0)
        deadline = time.monotonic() + REMOVE_WAIT_S
        while True:
            try:
                containers.remove(container)
            except ERRORS as error:
                is_over = containers.end_process(pid, str(container.id))
                if is_over or time.monotonic() > deadline:
                    logger.warning("container %s stays: %s", container.name, error_line(error))
                    return
                time.sleep(0.5)
            else:
                return

    def clean_up(self, worker: str) -> list[str]:
        try:
            return self._remove({"fsbench.worker": worker})
        except ERRORS as error:
            raise ExecutorAway(f"The Docker daemon does not answer: {error_line(error)}.") from None

    def containers(self) -> list[Container]:
        """All containers of runs of this site, of any worker. Raises ExecutorAway."""
        labels = [f"fsbench.site={self.site}", "fsbench.run"]
        try:
            candidates = self.client.containers.list(all=True, filters={"label": labels})
            return [container for container in candidates if containers.is_labelled(container)]
        except ERRORS as error:
            raise ExecutorAway(f"The Docker daemon does not answer: {error_line(error)}.") from None

    def remove(self, container: Container) -> None:
        """Raises ExecutorAway."""
        try:
            containers.remove(container)
        except ERRORS as error:
            raise ExecutorAway(f"The Docker daemon does not answer: {error_line(error)}.") from None

    def _remove(self, labels: dict[str, str]) -> list[str]:
        label_filters = [
            f"{key}={value}" for key, value in {"fsbench.site": self.site, **labels}.items()
        ]
        candidates = self.client.containers.list(all=True, filters={"label": label_filters})
        left = [container for container in candidates if containers.is_labelled(container)]
        for container in left:
            containers.remove(container)
        return [f"container {container.name}" for container in left]


def _boot_id() -> bytes:
    return Path(_BOOT_ID).read_bytes().strip()


def _address() -> str:
    return os.environ.get("DOCKER_HOST") or "/var/run/docker.sock"


def _cpus(plan: RunPlan) -> str | None:
    """Those next to the device first, then by number."""
    if plan.cpus is None:
        return None
    numbers = sorted(processors.online(), key=lambda number: (number not in plan.near_cpus, number))
    # Of fewer than are asked for the daemon says so.
    chosen = numbers[: plan.cpus] if len(numbers) >= plan.cpus else range(plan.cpus)
    return ",".join(map(str, sorted(chosen)))


def _folders(plan: RunPlan, target: Target) -> list[Mount]:
    """fsbench's own folder on a mount of the host, with private propagation."""
    if not plan.own_mark:
        return []
    return [Mount(plan.mount_point, target.device, type="bind", propagation="rprivate")]


def _devices(plan: RunPlan, target: Target) -> list[tuple[str, str]]:
    """The leased devices and no other: (on the host, in the container)."""
    if plan.own_mark:
        return []
    pairs = [(target.device, plan.device)]
    if target.journal_device:
        pairs.append((target.journal_device, plan.journal_device))
    members = (device for _, device in target.members)
    return [*pairs, *zip(members, plan.member_devices, strict=True)]
