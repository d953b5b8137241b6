"""What the first start makes, and what later starts leave alone."""

import tomllib
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from fsbench_web.accounts.models import GivenPassword
from fsbench_web.serving import preparation
from fsbench_web.serving.data_folder import FolderInUse, exclusive_use
from fsbench_web.serving.management.commands import serve
from fsbench_web.serving.preparation import MIB, prepare_admin, prepare_luns_file, sparse_size
from runner.safety.luns import read_luns


@pytest.mark.django_db
class TestAdmin:
    def test_it_makes_one_with_a_password_that_works(self, tmp_path: Path) -> None:
        line = prepare_admin(tmp_path, is_private=True)
        file = tmp_path / "admin-password"
        password = file.read_text().strip()
        admin = User.objects.get()
        assert admin.username == "admin"
        assert admin.is_superuser
        assert admin.check_password(password)
        assert password in line
        assert file.stat().st_mode & 0o777 == 0o600

    def test_it_keeps_the_password(self, tmp_path: Path) -> None:
        assert prepare_admin(tmp_path, is_private=True) == prepare_admin(tmp_path, is_private=True)
        assert User.objects.count() == 1

    def test_passwords_differ(self, tmp_path: Path) -> None:
        first = prepare_admin(tmp_path, is_private=True)
        User.objects.all().delete()
        assert prepare_admin(tmp_path, is_private=True) != first

    def test_a_changed_password_is_not_printed_and_the_old_one_not_kept(
        self, tmp_path: Path
    ) -> None:
        prepare_admin(tmp_path, is_private=True)
        old = (tmp_path / "admin-password").read_text().strip()
        admin = User.objects.get()
        admin.set_password("a password of my own")
        admin.save()
        line = prepare_admin(tmp_path, is_private=True)
        assert old not in line
        assert "you chose" in line
        assert "changepassword admin" in line
        assert not (tmp_path / "admin-password").exists()

    def test_where_others_read_it_is_printed_once_and_must_be_replaced(
        self, tmp_path: Path, client: Client
    ) -> None:
        line = prepare_admin(tmp_path, is_private=False)
        password = (tmp_path / "admin-password").read_text().strip()
        assert f"user admin, password {password} " in line
        again = prepare_admin(tmp_path, is_private=False)
        assert password not in again
        assert str(tmp_path / "admin-password") in again
        assert "changepassword admin" in again
        sent = {"username": "admin", "password": password}
        client.post("/account/sign-in/", sent)
        assert client.get("/studies/").headers["Location"].startswith("/account/password/")
        assert client.get("/api/v1/studies").status_code == 403
        mine = "a password of my own"
        sent = {"old_password": password, "new_password1": mine, "new_password2": mine}
        client.post("/account/password/", sent)
        assert client.get("/studies/").status_code == 200
        assert "you chose" in prepare_admin(tmp_path, is_private=False)
        assert not (tmp_path / "admin-password").exists()

    def test_one_that_was_private_must_be_replaced_once_others_come(self, tmp_path: Path) -> None:
        password = prepare_admin(tmp_path, is_private=True).rpartition(" ")[2]
        assert not GivenPassword.objects.exists()
        assert password not in prepare_admin(tmp_path, is_private=False)
        assert GivenPassword.objects.get().user == User.objects.get()

    def test_a_second_host_says_that_nobody_chose_a_password_yet(self, tmp_path: Path) -> None:
        for host in ("first", "second"):
            (tmp_path / host).mkdir()
        prepare_admin(tmp_path / "first", is_private=False)
        line = prepare_admin(tmp_path / "second", is_private=False)
        assert "nobody has replaced yet" in line
        assert "you chose" not in line
        assert "changepassword admin" in line

    def test_a_site_without_admin_gets_none_back(self, tmp_path: Path) -> None:
        User.objects.create_user("alice")
        assert "your own account" in prepare_admin(tmp_path, is_private=True)
        assert not User.objects.filter(username="admin").exists()

    def test_a_stale_password_file_of_another_database_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "admin-password").write_text("of another database")
        prepare_admin(tmp_path, is_private=True)
        password = (tmp_path / "admin-password").read_text().strip()
        assert User.objects.get().check_password(password)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("host", "changes", "is_given"),
    [
        ("127.0.0.1", {}, False),
        ("0.0.0.0", {}, True),
        ("127.0.0.1", {"IS_PRODUCTION": True}, True),
        ("127.0.0.1", {"HTTPS": True}, True),
        ("127.0.0.1", {"LOG_FORMAT": "json"}, True),
    ],
)
def test_serve_knows_whether_it_is_alone(
    host: str,
    changes: dict[str, object],
    is_given: bool,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Up to the sign-in; nothing is served."""
    settings.DATA_DIR = tmp_path
    for name, value in changes.items():
        setattr(settings, name, value)
    lines: list[str] = []
    monkeypatch.setattr(preparation, "call_command", lambda *_, **__: None)
    monkeypatch.setattr(serve.Command, "check", lambda *_, **__: None)
    monkeypatch.setattr(serve, "Supervisor", lambda *_, **__: SimpleNamespace(run=lines.extend))
    out = StringIO()
    call_command("serve", "--without-worker", host=host, port=0, stdout=out)
    assert GivenPassword.objects.exists() == is_given
    password = (tmp_path / "admin-password").read_text().strip()
    assert User.objects.get().check_password(password)
    assert any(password in line for line in lines) == ("LOG_FORMAT" not in changes)
    assert password not in out.getvalue()


@pytest.mark.django_db
def test_prepare_prints_it_once(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path
    printed = StringIO()
    call_command("prepare", stdout=printed)
    password = (tmp_path / "admin-password").read_text().strip()
    assert printed.getvalue().count(password) == 1
    call_command("prepare", stdout=printed)
    assert printed.getvalue().count(password) == 1
    assert "which nobody has replaced yet" in printed.getvalue()


class TestLunsFile:
    def test_root_gets_a_sparse_file_that_the_worker_accepts(self, tmp_path: Path) -> None:
        news = prepare_luns_file(tmp_path, is_root=True)
        assert news is not None
        assert "scratch" in news
        (lun,) = read_luns(tmp_path / "luns.toml")
        assert (lun.name, lun.kind) == ("scratch", "sparse-file")
        assert lun.size_bytes is not None
        assert 512 * MIB <= lun.size_bytes <= 4096 * MIB
        assert lun.path.is_relative_to(tmp_path)

    def test_others_get_a_folder_and_the_reason(self, tmp_path: Path) -> None:
        news = prepare_luns_file(tmp_path, is_root=False)
        assert news is not None
        assert "not root" in news
        (lun,) = read_luns(tmp_path / "luns.toml")
        assert lun.kind == "directory"
        assert lun.path.is_dir()

    def test_a_file_that_is_there_is_never_touched(self, tmp_path: Path) -> None:
        file = tmp_path / "luns.toml"
        file.write_text("# mine\n")
        assert prepare_luns_file(tmp_path, is_root=True) is None
        assert file.read_text() == "# mine\n"

    def test_odd_folder_names_are_written_as_they_are(self, tmp_path: Path) -> None:
        folder = tmp_path / 'a "b" \\ ü 💾'
        folder.mkdir()
        prepare_luns_file(folder, is_root=False)
        document = tomllib.loads((folder / "luns.toml").read_text())
        assert document["lun"][0]["path"] == str(folder / "luns" / "scratch")

    @pytest.mark.parametrize(
        ("free_mib", "size_mib"),
        [(0, 0), (1023, 0), (1024, 512), (3000, 1280), (8192, 4096), (10**7, 4096)],
    )
    def test_the_size_leaves_half_of_the_space_free(self, free_mib: int, size_mib: int) -> None:
        assert sparse_size(free_mib * MIB) == size_mib * MIB


def test_a_folder_has_one_user(tmp_path: Path) -> None:
    refused = pytest.raises(FolderInUse, match=r"process \d+.*FSBENCH_DATA")
    with exclusive_use(tmp_path), refused, exclusive_use(tmp_path):
        pass
    with exclusive_use(tmp_path):
        pass
