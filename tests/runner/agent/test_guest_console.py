"""Whatever a guest prints, it takes no memory, and what is left out is said."""

import tracemalloc

import pytest

from runner.agent.guest import guest, kernel_log

console = guest.guest_console
PIECE = b"x" * 65536
ERROR = "I/O error, dev vda, sector 8 op 0x1:(WRITE)"


def of(*data: bytes) -> "tuple[console.Console, list[str]]":
    lines: list[str] = []
    guest_console = console.Console(lines.append)
    for piece in data:
        guest_console.feed(piece)
    guest_console.end()
    return guest_console, lines


def test_a_line_without_end_takes_no_memory_and_is_said_to_be_cut() -> None:
    lines: list[str] = []
    guest_console = console.Console(lines.append)
    tracemalloc.start()
    try:
        for _ in range(512):
            guest_console.feed(PIECE)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 3 * console.CONSOLE_BYTES
    [line] = lines
    assert len(line) == console.LINE_CHARACTERS
    assert line.endswith("[cut here: the line is longer; console.log has more of it]")
    assert guest_console.text.endswith(
        "\n[fsbench: the console printed 33,554,432 bytes; kept are the first 4,194,304]\n"
    )


@pytest.mark.parametrize("before", [100, 16 * 1024 - 5, 16 * 1024, 40_000, 16 * 1024 - 40])
def test_a_panic_on_a_line_without_end_is_seen(before: int) -> None:
    guest_console, _ = of(b"x" * before + b"[ 1.0] Kernel panic - not syncing: VFS: no\nmore\n")
    assert guest_console.first_trouble == kernel_log.PANIC
    problem = kernel_log.problem_in(guest_console.text)
    assert problem is not None
    assert problem.kind == kernel_log.PANIC


def test_what_the_kernel_says_behind_what_is_kept_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the disk after much noise was forgotten, and its run counted."""
    monkeypatch.setattr(console, "CONSOLE_BYTES", 1000)
    guest_console, _ = of(b"spam\n" * 400, f"[ 9.0] {ERROR}\nand more\n".encode(), b"spam\n" * 400)
    assert "first 1,000, and what follows of a crash or I/O error]\n" + ERROR in guest_console.text
    assert len(guest_console.text) < 3000
    problem = kernel_log.problem_in(guest_console.text)
    assert problem is not None
    assert problem.kind == kernel_log.IO_ERROR


def test_lines_come_as_they_are_and_the_last_one_without_its_end() -> None:
    guest_console, lines = of(b"a\r\n\nb", b"c\n", b"d")
    assert lines == ["a", "bc", "d"]
    assert guest_console.last_line == "d"
    assert guest_console.text == "a\n\nbc\nd"


def test_pieces_of_a_long_line_overlap_and_say_that_they_go_on() -> None:
    lines = console.Lines(longest=4, overlap=1)
    assert lines.feed(b"0123456") == [(b"0123", False)]
    assert lines.feed(b"789\nab\n") == [(b"3456", True), (b"6789", True), (b"ab", False)]
    assert lines.end() == []
    assert lines.feed(b"rest") == []
    assert lines.end() == [(b"rest", False)]
