"""What `serve` takes away after a time, so that nothing grows for years."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.utils import timezone

from fsbench_web.operations.models import Chore
from fsbench_web.serving import housekeeping
from fsbench_web.serving.data_folder import remove_arriving

pytestmark = pytest.mark.django_db


def test_sessions_that_are_over_go_and_others_stay() -> None:
    current, over = SessionStore(), SessionStore()
    for session in (current, over):
        session["who"] = "ann"
        session.create()
    Session.objects.filter(pk=over.session_key).update(
        expire_date=timezone.now() - timedelta(seconds=1)
    )
    housekeeping.do_chores()
    assert list(Session.objects.values_list("pk", flat=True)) == [current.session_key]
    assert Chore.objects.get(name="Sessions that ended").done_at is not None


def test_a_chore_that_cannot_be_done_keeps_no_other_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor does it end the site, whose supervisor does it."""
    done: list[str] = []

    def broken() -> None:
        raise ValueError("no log")

    monkeypatch.setattr(
        housekeeping, "CHORES", (("One", broken), ("Another", lambda: done.append("another")))
    )
    housekeeping.do_chores()
    assert done == ["another"]
    assert Chore.objects.get(name="One").problem == "ValueError: no log"


def test_what_a_killed_process_left_of_an_upload_goes(tmp_path: Path) -> None:
    handler = TemporaryFileUploadHandler()
    handler.new_file("file", "large.txt", "text/plain", 0)
    arriving: Any = handler.file
    path = Path(arriving.temporary_file_path())
    assert path.parent == settings.DATA_DIR / "arriving"
    arriving.close()
    (tmp_path / path.name).touch()
    (tmp_path / "anything").touch()
    remove_arriving(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["anything"]
