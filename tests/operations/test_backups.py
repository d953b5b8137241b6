"""What the page of operations and the metrics say of backups."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from fsbench_web.operations import backups
from fsbench_web.operations.models import Backup
from fsbench_web.platform.version import VERSION
from fsbench_web.serving.backup import BackupError, BackupFile, Manifest
from fsbench_web.serving.management.commands import backup as command
from fsbench_web.studies.models import Study
from tests.operations.test_metrics import scrape

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def whole(age: timedelta, **values: object) -> Backup:
    began = timezone.now() - age
    return Backup.objects.create(
        **{"began_at": began, "ended_at": began, "place": "nas:/b", "version": "0.9.0"} | values
    )


def problems() -> str:
    return "\n".join(backups.read_backups(timezone.now()).problems)


@pytest.fixture
def page() -> str:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client.get("/operations/").content.decode().replace("\xa0", " ")


def test_a_site_with_nothing_of_its_own_is_not_warned() -> None:
    assert problems() == ""
    Study.objects.create(slug="own", title="Own")
    assert "No backup of this site is known. Make one (manage.py backup FOLDER," in problems()


class TestOnThePage:
    @pytest.fixture(autouse=True)
    def backups(self) -> None:
        whole(3 * DAY, size_bytes=5 << 30)
        whole(DAY, problem="No space left on <device>", place="nas:/c")

    def test_it_says_when_where_how_large_and_what_failed(self, page: str) -> None:
        for text in ("nas:/b", "0.9.0", "5 GiB", "is 3 days old", "No space left on &lt;device"):
            assert text in page
        assert "to nas:/c failed: No space left" in page


class TestWithNone:
    @pytest.fixture(autouse=True)
    def study(self) -> None:
        Study.objects.create(slug="own", title="Own")

    def test_the_way_to_one_is_a_link(self, page: str) -> None:
        (warning,) = (
            line for line in page.splitlines() if "No backup of this site is known. " in line
        )
        assert '<a href="/guide/deployment/#backup">/guide/deployment/#backup</a>.' in warning


def test_the_metrics_say_so_too(settings: Settings) -> None:
    samples = scrape(settings)
    assert samples["fsbench_backup_failed", ()] == 0
    assert not samples.has("fsbench_backup_age_seconds")
    whole(DAY, size_bytes=1000)
    whole(DAY / 2, problem="x")
    samples = scrape(settings)
    assert samples["fsbench_backup_age_seconds", ()] == pytest.approx(86400, abs=60)
    assert samples["fsbench_backup_size_bytes", ()] == 1000
    assert samples["fsbench_backup_failed", ()] == 1


@pytest.mark.parametrize(
    ("every", "last", "warned"),
    [(None, 7, False), (None, 9, True), (1, 1.5, False), (1, 3, True), (7, 7.5, False)],
)
def test_usual_is_what_was_until_now(every: float | None, last: float, warned: bool) -> None:
    for number in range(4 if every else 1, 0, -1):
        whole(DAY * last + DAY * (every or 0) * (number - 1))
    assert ("days old" in problems()) == warned


def test_one_that_ended_without_a_word_failed() -> None:
    whole(DAY / 4, ended_at=None)
    assert problems() == ""  # it may be under way
    whole(DAY / 8)
    assert problems() == ""
    Backup.objects.all().delete()
    whole(1.5 * DAY, ended_at=None)
    assert "ended without a report" in problems()


def test_few_are_kept_and_the_last_whole_one_always() -> None:
    kept = whole(30 * DAY)
    for _ in range(backups.KEPT + 5):
        begun = backups.begin("nas:/d")
        assert begun is not None
        backups.end(begun, "full")
    assert Backup.objects.count() == backups.KEPT + 1
    assert Backup.objects.filter(pk=kept.pk).exists()


class TestTheCommand:
    @pytest.fixture(autouse=True)
    def nothing_is_dumped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def take(folder: Path) -> object:
            if folder.exists():
                raise BackupError(f"{folder} is there already.")
            return Manifest(
                version=VERSION,
                taken_at="",
                database="sqlite",
                migrations=[],
                files=[BackupFile(path="x.y", size_bytes=7, sha256="")],
            )

        monkeypatch.setattr(command, "take", take)

    def test_it_notes_what_it_made(self, tmp_path: Path) -> None:
        call_command("backup", str(tmp_path / "new"))
        made = Backup.objects.get()
        assert made.is_whole
        assert (made.size_bytes, made.version) == (7, VERSION)
        assert made.place.endswith(f":{tmp_path}/new")

    def test_and_what_failed(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError):
            call_command("backup", str(tmp_path))
        assert Backup.objects.get().problem == f"{tmp_path} is there already."

    def test_one_that_is_moved_is_whole_at_its_place(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for ending in ("made", "failed"):
            place = f"nas:/{ending}.tar"
            call_command("backup", str(tmp_path / ending), kept_as=Path(place))
            assert capsys.readouterr().out.startswith(f"{place}: sqlite, 7 bytes")
            assert Backup.objects.get(place=place).ended_at is None
            call_command("backup", place, note=ending)
            ended = Backup.objects.get(place=place)
            assert (ended.is_whole, ended.size_bytes) == (ending == "made", 7)
        call_command("backup", "nas:/other.tar", note="failed")  # nobody began it
        assert Backup.objects.count() == 2

    def test_one_by_other_means_is_noted(self) -> None:
        call_command("backup", "pgbackrest on db.lab", note="made")
        assert Backup.objects.get().is_whole
        assert Backup.objects.get().size_bytes is None
