"""Notes beside kernels, and what a power failure or a full disk leaves of them."""

import subprocess
from pathlib import Path

import pytest

from runner.guests.kernels import read_notes, write_notes


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", None])
def test_a_note_that_is_not_whole_is_none(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "seen.json"
    if content is not None:
        path.write_bytes(content)
    assert read_notes(path) == {}
    write_notes(path, {"version": "6.1"})
    assert read_notes(path) == {"version": "6.1"}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.root
def test_a_note_for_which_there_is_no_room_leaves_the_one_before(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path], check=True)
    try:
        path = tmp_path / "accelerator.json"
        write_notes(path, {"accelerator": "kvm"})
        with pytest.raises(OSError, match="No space left"):
            write_notes(path, {"reason": "x" * 10**6})
        assert read_notes(path) == {"accelerator": "kvm"}
        assert list(tmp_path.iterdir()) == [path]
    finally:
        subprocess.run(["umount", tmp_path], check=True)
