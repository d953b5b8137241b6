"""The job file of docs/api.md, which has every key: a job as it stands there can be submitted."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from tests.guest.conftest import NEW, guests
from tests.studies.conftest import USABLE, worker_announcement

PAGE = Path(settings.BASE_DIR) / "docs" / "api.md"
GIB = 1024**3
LAYERS = ["dm_crypt", "xts", "algif_skcipher", "md_mod", "raid0", "raid1"]
# Times on paper are past.
MOMENTS = r'(?m)^(start_at|stop_before): "[^"]+"'


def documented() -> str:
    (document,) = re.findall(r"```yaml\n(study: .*?)```", PAGE.read_text(), re.S)
    return document


def disk(name: str, role: str = "data") -> LunAnnouncement:
    return LunAnnouncement(
        name=name,
        role=role,
        kind="device",
        device=f"/dev/{name}",
        size_bytes=64 * GIB,
        schedulers=["none", "mq-deadline"],
        can_discard=True,
    )


@pytest.fixture
def bench(db: None) -> None:
    """bench-1, which has all that the job file names."""
    plain = worker_announcement()
    kernels = [
        {**NEW, "name": name, "filesystems": {**NEW["filesystems"], "btrfs": USABLE}}
        for name in re.findall(r"debian-[\d.]+", documented())
    ]
    for kernel in kernels:
        kernel["layers"] = LAYERS
    programs = ("iozone", "postmark", "fio", "mdadm", "cryptsetup")
    announce(
        worker_announcement(
            name="bench-1",
            capabilities={
                **plain.capabilities,
                "tools": {name: {"usable": True, "version": "1"} for name in programs},
                "tracing": {"requests": USABLE},
                "guest": guests(kernels=kernels),
            },
            luns=[*map(disk, ("lun0", "lun1", "lun2", "lun3")), disk("log0", "journal")],
        )
    )


def test_it_is_a_job(bench: None, client: Client) -> None:
    document = re.sub(MOMENTS, "", documented())
    assert document.count("\n") == documented().count("\n")
    _, token = tokens.create(User.objects.create_superuser("ada"), "docs")
    response = client.post(
        "/api/v1/sweeps/preview",
        {"document": document},
        "application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert response.status_code == 200, [error["message"] for error in response.json()["errors"]]
