"""What workloads and file systems need is declared once, and everything reads it there."""

import re
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.core import requirements
from fsbench_web.core.workloads.registry import BUILTIN, UPLOADED, workload_types
from runner.image import inputs

ROOT = Path(settings.BASE_DIR)


def test_workloads_and_file_systems_have_their_programs_from_there() -> None:
    assert {kind.tool for kind in (*BUILTIN, *UPLOADED)} == set(requirements.WORKLOADS)
    for tool, programs in requirements.WORKLOADS.items():
        assert dict(workload_types()[tool].programs) == dict(programs), tool
    assert set(FILESYSTEMS) == set(requirements.FILESYSTEMS)
    for slug, spec in FILESYSTEMS.items():
        needed = requirements.FILESYSTEMS[slug]
        assert (spec.mkfs[0], spec.tool_package) == (needed.mkfs, needed.package)
        assert spec.kernel_name == needed.kernel_name


def test_the_image_has_all_packages_and_no_list_of_its_own() -> None:
    every = {*requirements.workload_programs().values(), *requirements.HEADERS.values()}
    every |= {filesystem.package for filesystem in requirements.FILESYSTEMS.values()}
    assert every <= {*requirements.image_packages(), *requirements.optional_packages()}
    assert not set(requirements.image_packages()) & set(requirements.optional_packages())
    for name in ("runner/image/Dockerfile", "tests/services/install.sh", "deploy/install_tools.py"):
        code = re.sub(r'(?s)""".*?"""|(?m:#.*$)', "", (ROOT / name).read_text())
        words = set(re.findall(r"[a-z0-9][a-z0-9+-]+", code))
        # make and gcc are words, too.
        assert not words & (every - {"make", "gcc"}), name


@pytest.mark.parametrize("part", ["image", "image-optional", "programs"])
def test_any_python_reads_it_before_there_is_an_environment(part: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["python3", "-I", "-S", str(ROOT / "fsbench_web/core/requirements.py"), part],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert {
        "image": "postmark",
        "image-optional": "jfsutils",
        "programs": "iozone iozone3",
    }[part] in lines


def test_only_file_systems_that_the_kernel_mounts_want_their_tools() -> None:
    has = {*requirements.WORKER, *requirements.workload_programs()} - {"postmark"}
    missing = requirements.missing_packages(has.__contains__, {"xfs", "reiserfs"}.__contains__)
    headers = {name for path, name in requirements.HEADERS.items() if not Path(path).exists()}
    assert set(missing) - headers == {"postmark", "xfsprogs", "reiserfsprogs"}


def test_the_image_has_another_digest_when_anything_in_it_changes(tmp_path: Path) -> None:
    def copied() -> str:
        for path in inputs.context_files():
            target = tmp_path / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        return inputs.digest(tmp_path)

    assert copied() == inputs.digest()
    for name in (
        "runner/image/Dockerfile",
        "runner/agent/agent.py",
        "runner/agent/guest/guest_boot.sh",
    ):
        (tmp_path / name).write_text("other")
        assert inputs.digest(tmp_path) != inputs.digest(), name
        copied()
    (tmp_path / "runner/agent/workloads/new.py").write_text("")
    assert inputs.digest(tmp_path) != inputs.digest()


def test_a_package_that_is_added_changes_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    before = inputs.digest()
    monkeypatch.setattr(
        requirements, "WORKLOADS", {**requirements.WORKLOADS, "dbench": {"dbench": "dbench"}}
    )
    assert inputs.digest() != before
