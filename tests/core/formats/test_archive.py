"""Archives: what is in them, and that no hostile one costs time or memory."""

import gzip
import io
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.formats import UnreadableFile
from fsbench_web.core.formats.archive import MAX_MEMBERS, Member, is_archive, members

LIMIT = 8 * 1024 * 1024


def read(data: bytes, name: str = "x.zip", limit: int = LIMIT) -> list[Member]:
    return list(members(name, io.BytesIO(data), limit))


def refusal(data: bytes, limit: int = LIMIT) -> str:
    with pytest.raises(UnreadableFile) as refused:
        read(data, limit=limit)
    return refused.value.problems[0].message


def zipped(*files: tuple[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", kind) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return packed.getvalue()


def tarred(*files: tuple[str, bytes], form: int = tarfile.PAX_FORMAT, mode: str = "w:gz") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


FILES = [("ext4/run1.txt", b"one"), ("xfs/run1.txt", b"two" * 5000), ("xfs/é.txt", b"")]


@pytest.mark.parametrize(
    "data",
    [
        zipped(*FILES),
        zipped(*FILES, kind=zipfile.ZIP_STORED),
        tarred(*FILES),
        tarred(*FILES, form=tarfile.GNU_FORMAT),
        tarred(*FILES, form=tarfile.USTAR_FORMAT, mode="w"),
    ],
)
def test_it_gives_files_with_their_folders(data: bytes) -> None:
    assert is_archive(data[:4096])
    assert [(member.path, member.data) for member in read(data)] == FILES


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names_of_tar_are_read(form: int) -> None:
    name = "/".join(["folder" * 4] * 8) + "/run.txt"
    assert [m.path for m in read(tarred((name, b"x"), ("b", b"y"), form=form))] == [name, "b"]


def test_a_single_compressed_file_is_one_file() -> None:
    assert read(gzip.compress(b"text"), "run.txt.gz") == [Member("run.txt", b"text")]


def test_what_desktops_add_is_left_out() -> None:
    data = zipped(("__MACOSX/._a.txt", b"1"), ("x/.DS_Store", b"2"), ("x/", b""), ("x/a.txt", b"3"))
    assert [member.path for member in read(data)] == ["x/a.txt"]


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize(
    "name", ["../../etc/cron.d/x", "/etc/passwd", "a/../../b", "..\\x", "C:\\x.txt"]
)
def test_a_path_out_of_the_archive_is_a_problem(pack: object, name: str) -> None:
    [bad, good] = read(pack((name, b"1"), ("good.txt", b"2")))  # type: ignore[operator]
    assert "a path out of the archive" in bad.problem
    assert ".." not in bad.path.split("/")
    assert not bad.path.startswith("/")
    assert good == Member("good.txt", b"2")


def test_links_and_devices_are_problems() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            entry = tarfile.TarInfo(f"entry{kind!r}")
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    assert [m.problem[:25] for m in read(packed.getvalue())] == ["It is a link or a device,"] * 4
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr(link, "/etc/passwd")
    assert "symbolic link" in read(packed.getvalue())[0].problem


@pytest.mark.parametrize(
    "inner", [zipped(("a", b"1")), gzip.compress(b"x", mtime=0), tarred(("a", b"1"), mode="w")]
)
def test_an_archive_in_an_archive_is_a_problem(inner: bytes) -> None:
    [bad] = read(zipped(("inner", inner)))
    assert "archive inside an archive" in bad.problem


def test_an_encrypted_file_is_a_problem() -> None:
    data = bytearray(zipped(("a.txt", b"1")))
    for sign, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(sign) + place] |= 1
    assert "encrypted" in read(bytes(data))[0].problem


def test_a_file_with_a_wrong_checksum_is_a_problem() -> None:
    data = zipped(("a.txt", b"unpacked text"), ("b.txt", b"2"), kind=zipfile.ZIP_STORED)
    [bad, good] = read(data.replace(b"unpacked", b"Unpacked"))
    assert "damaged" in bad.problem
    assert good.data == b"2"


@pytest.mark.parametrize(
    "make",
    [
        lambda: zipped(("bomb", bytes(40 * 1024 * 1024))),
        lambda: zipped(*[(f"part{n}", bytes(1024 * 1024)) for n in range(40)]),
        lambda: tarred(("bomb", bytes(40 * 1024 * 1024))),
        lambda: gzip.compress(bytes(40 * 1024 * 1024)),
    ],
    ids=["zip", "zip of many", "tar", "gzip"],
)
def test_a_bomb_is_refused_while_it_unpacks(make: Callable[[], bytes]) -> None:
    bomb = make()  # not while tests are collected, in every process
    tracemalloc.start()
    try:
        assert "unpacks to more than" in refusal(bomb)
        assert "times its size" in refusal(bomb, limit=1024**3)
        assert "more than 3 MB" in refusal(bomb, limit=3 * 1024**2)
        assert tracemalloc.get_traced_memory()[1] < 60 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_header_that_claims_more_than_is_there_is_refused() -> None:
    entry = tarfile.TarInfo("a.txt")
    entry.size = 2**40
    assert "damaged or not complete" in refusal(entry.tobuf() + b"x" * 512)
    pax = tarfile.TarInfo("././@PaxHeader")
    pax.type, pax.size = tarfile.XHDTYPE, 2**33
    assert "a header is too long" in refusal(pax.tobuf(format=tarfile.GNU_FORMAT) + b"x" * 512)


def test_too_many_files_are_refused() -> None:
    many = [(f"{n}.txt", b"") for n in range(MAX_MEMBERS + 1)]
    assert f"more than {MAX_MEMBERS} files" in refusal(zipped(*many))
    assert f"more than {MAX_MEMBERS} files" in refusal(tarred(*many))


def test_a_zip_with_a_huge_directory_is_not_even_read() -> None:
    record = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, 2**31, 0, 0)
    assert "files: import it in parts" in refusal(zipped(("a", b"1"))[:-22] + record)


@pytest.mark.parametrize("whole", [zipped(*FILES), tarred(*FILES), tarred(*FILES, mode="w")])
def test_an_archive_that_was_cut_off_is_refused(whole: bytes) -> None:
    for length in (5, 30, 100, len(whole) // 2, len(whole) - 1):
        if length == len(whole) - 1 and not whole.startswith((b"PK", b"\x1f")):
            continue  # tar has its end marker before its end
        assert "Make it again" in refusal(whole[:length])


def test_an_empty_zip_has_no_files() -> None:
    assert read(zipped()) == []


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([zipped(*FILES), tarred(*FILES), tarred(*FILES, mode="w")]),
    st.lists(
        st.tuples(st.integers(0, 6000), st.integers(0, 30), st.binary(max_size=20)), max_size=5
    ),
)
def test_damaged_archives_give_files_or_a_sentence(
    data: bytes, edits: list[tuple[int, int, bytes]]
) -> None:
    for place, length, piece in edits:
        start = place % (len(data) + 1)
        data = data[:start] + piece + data[start + length :]
    try:
        unpacked = read(data)
    except UnreadableFile as error:
        unpacked = [Member("x", problem=error.problems[0].message)]
    assert sum(len(member.data) for member in unpacked) <= LIMIT
    assert all(member.path and ".." not in member.path.split("/") for member in unpacked)
