"""What the first start makes, and what later starts leave alone."""

import tomllib
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from fsbench_web.serve.admin_account import prepare_admin
from fsbench_web.serve.data_folder import FolderInUse, only_user_of
from fsbench_web.serve.luns_file import MIB, prepare_luns_file, sparse_size
from runner.luns import read_luns


@pytest.mark.django_db
class TestAdmin:
    def test_it_makes_one_with_a_password_that_works(self, tmp_path: Path) -> None:
        line = prepare_admin(tmp_path)
        file = tmp_path / "admin-password"
        password = file.read_text().strip()
        admin = User.objects.get()
        assert admin.username == "admin"
        assert admin.is_superuser
        assert admin.check_password(password)
        assert password in line
        assert file.stat().st_mode & 0o777 == 0o600

    def test_it_keeps_the_password(self, tmp_path: Path) -> None:
        assert prepare_admin(tmp_path) == prepare_admin(tmp_path)
        assert User.objects.count() == 1

    def test_passwords_differ(self, tmp_path: Path) -> None:
        first = prepare_admin(tmp_path)
        User.objects.all().delete()
        assert prepare_admin(tmp_path) != first

    def test_a_changed_password_is_not_printed_and_the_old_one_not_kept(
        self, tmp_path: Path
    ) -> None:
        prepare_admin(tmp_path)
        old = (tmp_path / "admin-password").read_text().strip()
        admin = User.objects.get()
        admin.set_password("a password of my own")
        admin.save()
        line = prepare_admin(tmp_path)
        assert old not in line
        assert "you chose" in line
        assert "changepassword admin" in line
        assert not (tmp_path / "admin-password").exists()

    def test_a_site_without_admin_gets_none_back(self, tmp_path: Path) -> None:
        User.objects.create_user("alice")
        assert "your own account" in prepare_admin(tmp_path)
        assert not User.objects.filter(username="admin").exists()

    def test_a_stale_password_file_of_another_database_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "admin-password").write_text("of another database")
        prepare_admin(tmp_path)
        password = (tmp_path / "admin-password").read_text().strip()
        assert User.objects.get().check_password(password)


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
    with only_user_of(tmp_path), refused, only_user_of(tmp_path):
        pass
    with only_user_of(tmp_path):
        pass
