"""Real runs of workloads on loop LUNs, by the local executor as root."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from fsbench_web.core.workloads import presets
from fsbench_web.studies.models import Run
from runner.executors.local import LocalExecutor
from runner.worker import Host
from tests.runner.conftest import (  # noqa: F401 (fixtures)
    _quick,
    carry_out,
    lun_file,
    make_host,
    sparse_lun,
    submitted,
    write_luns,
)


@pytest.fixture
def tiny_lun(lun_file: Path, tmp_path: Path) -> None:  # noqa: F811
    """A LUN that is soon full; to be asked for by ``usefixtures``, which come before the host."""
    write_luns(lun_file, sparse_lun(tmp_path / "scratch.img", size="48 MiB"))


class Measure(Protocol):
    def __call__(self, filesystem: str, preset: str, **parameters: Any) -> Run: ...


@pytest.fixture
def measure(
    make_host: Callable[..., Host],  # noqa: F811
    submitted: Callable[..., Run],  # noqa: F811
    carry_out: Callable[[Run, Host], Run],  # noqa: F811
) -> Measure:
    """``measure("ext4", "postmark-small", files=100)`` runs it for real and gives the ended run."""
    host = make_host(LocalExecutor())

    def run(filesystem: str, preset: str, **parameters: Any) -> Run:
        chosen = presets()[preset]
        queued_run = submitted(
            host,
            filesystem,
            tool=chosen.tool,
            parameters={**chosen.parameters, **parameters},
            scheduler="none",
        )
        return carry_out(queued_run, host)

    return run


@pytest.fixture
def measure_own(
    make_host: Callable[..., Host],  # noqa: F811
    submitted: Callable[..., Run],  # noqa: F811
    carry_out: Callable[[Run, Host], Run],  # noqa: F811
) -> Callable[[str, str, dict[str, Any]], Run]:
    """``measure_own("ext4", "own-fio", parameters)``: the same for a workload without a preset."""

    def run(filesystem: str, tool: str, parameters: dict[str, Any]) -> Run:
        host = make_host(LocalExecutor())
        queued_run = submitted(host, filesystem, tool=tool, parameters=parameters, scheduler="none")
        return carry_out(queued_run, host)

    return run
