"""A small study to seal: two series, three runs, a table and the output of fio."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fsbench_web.core.number_tables import COLUMNS, OF_RUN
from fsbench_web.core.sealed import container, verifying
from fsbench_web.core.sealed.numbers import TODAY
from tests.core.formats.conftest import SAMPLES

TABLE = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,%d.5,KB/s\ncreate,,,7,1/s\n"
FIO = SAMPLES / "fio-3.33-json.txt"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))


def raw_files(rate: int = 100) -> dict[str, bytes]:
    return {
        "raw/1-r.csv": TABLE % rate,
        "raw/2-r.csv": TABLE % (rate + 10),
        "raw/3-fio.json": FIO.read_bytes(),
    }


def inputs_of(raw: dict[str, bytes]) -> dict[str, Any]:
    """As a site signs them."""
    runs, series = [], []
    for number, path in enumerate(raw, start=1):
        run: dict[str, Any] = dict.fromkeys(OF_RUN)
        run |= {"run": number, "series": 1 + (number > 2), "repeat": number, "block": ""}
        run |= {"filesystem": "ext4", "configuration": "ext4", "kernel": "6.1"}
        run["date"] = f"2026-11-0{number}T12:00:00+00:00"
        runs.append(run | {"numbers": [{"raw": path}], "environment": {}})
    for number in (1, 2):
        facts: dict[str, Any] = {"configuration": f"ext{number}", "configuration_id": number}
        facts |= {"configuration_is_known": False, "filesystem": "ext4", "series_id": number}
        facts |= {"study": "lab", "study_title": "Lab", "workload": None, "workload_title": None}
        facts |= {"hardware": None, "hardware_name": None, "lun": None, "kernel": "6.1"}
        facts |= {"tool": None, "distribution": ""}
        basis = {"tool": "", "is_direct": False, "limit_kb_s": None, "limit_from": ""}
        basis |= {"memory_kb": None, "unsound": [], "blocks": [], "unsteady": [], "bounds": None}
        series.append({"facts": facts, "expected_cells": {}, "basis": basis})
    files = [
        {"path": path, "run": number, "name": path[6:], "media_type": "text/plain", "read": {}}
        for number, path in enumerate(raw, start=1)
    ]
    study = {"slug": "lab", "title": "Lab", "licence": "CC-BY-4.0"}
    return {
        **{"fsbench": "1", "rules": TODAY, "tables": list(COLUMNS), "study": study, "jobs": {}},
        **{"series": series, "runs": runs, "raw": files},
    }


def sealed(rate: int = 100, key: Ed25519PrivateKey = KEY) -> bytes:
    raw = raw_files(rate)
    return verifying.seal(inputs_of(raw), raw, key)


@pytest.fixture(scope="session")
def whole() -> bytes:
    return sealed()


@pytest.fixture
def members(whole: bytes) -> dict[str, bytes]:
    return container.read(whole)
