"""The host's allow-list: bad files are refused with file, entry and reason."""

import os
from pathlib import Path

import pytest

from runner.safety.luns import LunEntry, LunFileError, read_luns

GOOD = '[[lun]]\nname = "a"\nkind = "device"\npath = "/dev/disk/by-id/x"\nserial = "S1"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "luns.toml"
    path.write_text(GOOD)
    path.chmod(0o600)
    return path


def refusal(file: Path, text: str) -> str:
    file.write_text(text)
    with pytest.raises(LunFileError) as caught:
        read_luns(file)
    assert str(file) in str(caught.value)
    return str(caught.value)


def test_it_reads_every_key(file: Path) -> None:
    file.write_text(
        GOOD
        + 'wwn = "0x5"\ncontroller = "HBA 1"\noverwrite = true\nrole = "journal"\n'
        + 'size = "1.5 GiB"\n'
        + '[[lun]]\nname = "b"\nkind = "directory"\npath = "/srv/b"\n'
    )
    first, second = read_luns(file)
    assert first == LunEntry(
        name="a",
        kind="device",
        path=Path("/dev/disk/by-id/x"),
        role="journal",
        size_bytes=3 * 2**29,
        serial="S1",
        wwn="0x5",
        controller="HBA 1",
        overwrite=True,
    )
    assert second.is_directory
    assert second.role == "data"
    assert second.overwrite is False


def test_an_empty_list_is_a_list(file: Path) -> None:
    file.write_text("")
    assert read_luns(file) == []


def test_a_missing_file_is_refused_unless_it_may_be_missing(tmp_path: Path) -> None:
    with pytest.raises(LunFileError, match="no such file"):
        read_luns(tmp_path / "nosuch")
    assert read_luns(tmp_path / "nosuch", must_exist=False) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[lun", "Expected ']]'"),
        ('title = "x"\n' + GOOD, "unknown key title"),
        ('[lun]\nname = "a"\n', "two brackets"),
        (GOOD + "overwite = true\n", "unknown key overwite"),
        (GOOD + 'overwrite = "yes"\n', "overwrite must be true or false"),
        (GOOD.replace('"a"', '"A b"'), "name must be"),
        (GOOD.replace('"a"', '"../x"'), "name must be"),
        (GOOD.replace('"a"', "7"), "name must be a text"),
        (GOOD.replace('"device"', '"disk"'), "kind must be one of"),
        (GOOD.replace("/dev/disk", "dev/disk"), "path must be absolute"),
        (GOOD.replace("/dev/disk", "/dev/../etc"), "path must be absolute"),
        (GOOD.replace("/dev/disk", "/srv"), "must be in /dev"),
        (GOOD + 'role = "log"\n', "role must be one of"),
        (GOOD + 'size = "2 GB"\n', "MiB, GiB or TiB"),
        (GOOD + 'size = "0 GiB"\n', "not 0"),
        (GOOD + "size = 5\n", "size must be a text"),
        (GOOD + f'size = "{"9" * 400} TiB"\n', "MiB, GiB or TiB"),
        (GOOD + 'size = "999999999999 TiB"\n', "no device is so large"),
        (GOOD + 'size = "٣ GiB"\n', "MiB, GiB or TiB"),
        (GOOD.replace("by-id/x", "by-id/" + "x" * 300), "300 characters or fewer"),
        (GOOD.replace("by-id/x", "by-id/x\\n"), "without line breaks"),
        ("lun = " + "[" * 20_000 + "]" * 20_000, "too many"),
        ("\ufeff" + GOOD, "byte order mark"),
        (GOOD + GOOD.replace("by-id/x", "by-id/y"), 'two LUNs are named "a"'),
        (GOOD + GOOD.replace('"a"', '"b"'), "are both"),
        ('[[lun]]\nname="a"\nkind="sparse-file"\npath="/srv/x"\n', "needs a size"),
        ('[[lun]]\nname="a"\nkind="sparse-file"\npath="/dev/x"\nsize="1 GiB"\n', "is in /dev"),
        (
            '[[lun]]\nname="a"\nkind="sparse-file"\npath="/srv/x"\nsize="1 GiB"\nserial="1"\n',
            "only a device",
        ),
        ('[[lun]]\nname="a"\nkind="directory"\npath="/srv/x"\noverwrite=true\n', "a directory"),
        ('[[lun]]\nname="a"\nkind="directory"\npath="/srv/x"\nrole="journal"\n', "a directory"),
    ],
)
def test_a_bad_entry_refuses_the_whole_file(file: Path, text: str, words: str) -> None:
    message = refusal(file, text)
    assert words in message


def test_the_entry_is_named(file: Path) -> None:
    message = refusal(file, GOOD + '[[lun]]\nname = "second"\nkind = "x"\n')
    assert "number 2" in message
    assert "second" in message


def test_lines_may_end_as_on_windows(file: Path) -> None:
    file.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert [entry.name for entry in read_luns(file)] == ["a"]


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """It would hold up whoever looks at the LUNs: heartbeats and checks."""
    os.mkfifo(tmp_path / "luns.toml", 0o600)
    with pytest.raises(LunFileError, match="not a file"):
        read_luns(tmp_path / "luns.toml")


def test_bytes_that_are_no_text_are_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(LunFileError):
        read_luns(file)


def test_no_worker_takes_a_file_that_everybody_can_write(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user whom the Docker daemon obeys can have disks erased as root can."""
    monkeypatch.setattr(os, "geteuid", lambda: 65533)
    file.chmod(0o660)
    assert read_luns(file)
    file.chmod(0o602)
    with pytest.raises(LunFileError, match="everybody may write"):
        read_luns(file)


@pytest.mark.root
@pytest.mark.parametrize(("mode", "owner"), [(0o660, 0), (0o602, 0), (0o600, 65534)])
def test_root_refuses_a_file_that_others_can_write(file: Path, mode: int, owner: int) -> None:
    file.chmod(mode)
    os.chown(file, owner, -1)
    with pytest.raises(LunFileError, match="others than root may write"):
        read_luns(file)


def test_two_names_for_one_place_are_found_through_links(tmp_path: Path, file: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    entries = [
        f'[[lun]]\nname = "{name}"\nkind = "directory"\npath = "{tmp_path / name}"\n'
        for name in ("real", "link")
    ]
    assert "are both" in refusal(file, "".join(entries))
