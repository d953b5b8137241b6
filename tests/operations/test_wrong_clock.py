"""The clock of one host is wrong: what is to go, and what is noted, goes by that of all."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from fsbench_web.accounts import audit
from fsbench_web.accounts.models import AuditEntry
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.permalinks import sharing
from fsbench_web.imports import uploads
from fsbench_web.imports.models import Import
from fsbench_web.operations import chores
from fsbench_web.operations.models import Chore
from fsbench_web.platform import clock
from fsbench_web.studies.models import Study

pytestmark = pytest.mark.django_db
DAYS = timedelta(days=60)

SetClock = Callable[[], None]


@pytest.fixture
def put_clock_ahead(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """From then on this host's clock is 60 days ahead of the database's."""

    def put_ahead() -> None:
        right = timezone.now()
        monkeypatch.setattr(clock, "now", lambda: right)
        monkeypatch.setattr(timezone, "now", lambda: right + DAYS)

    return put_ahead


def test_a_permalink_whose_last_day_has_not_come_stays(put_clock_ahead: SetClock) -> None:
    last_day = timezone.localdate() + timedelta(days=20)
    snapshot = json.dumps({"run_ids": []})
    link = Permalink.objects.create(key="k", query="", snapshot=snapshot, expires_on=last_day)
    put_clock_ahead()
    assert not sharing.is_over(link)
    sharing.run_maintenance()
    assert Permalink.objects.filter(pk=link.pk).exists()


def test_an_upload_of_this_minute_stays(put_clock_ahead: SetClock, admin_user: User) -> None:
    row = Import.objects.create(target={}, created_by=admin_user)
    put_clock_ahead()
    uploads.remove_expired()
    assert Import.objects.filter(pk=row.pk).exists()


def test_an_upload_that_such_a_host_takes_is_of_this_minute(
    put_clock_ahead: SetClock, admin_user: User
) -> None:
    """It stayed for two months, and its page said a day that has not come."""
    put_clock_ahead()
    row = Import.objects.create(target={}, created_by=admin_user)
    assert row.created_at == clock.now()
    assert Study.objects.create(slug="own", title="Own").created_at == clock.now()


def test_audit_log_and_chores_have_the_time_of_all(put_clock_ahead: SetClock) -> None:
    put_clock_ahead()
    audit.note("worker:lab1", "LUN erased", "LUN lab1/disk1")
    chores.run_chore("Work", lambda: None)
    with pytest.raises(ValueError, match="x"):
        chores.run_chore("Other work", lambda: int("x"))
    assert AuditEntry.objects.get().at == clock.now()
    assert Chore.objects.get(name="Work").done_at == clock.now()
    assert Chore.objects.get(name="Other work").failed_at == clock.now()
