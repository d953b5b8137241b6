"""What a guest prints, put together to lines and kept, whatever it prints. Stdlib only."""

from collections.abc import Callable

from runner.agent.guest import kernel_log

CONSOLE = "console.log"
CONSOLE_BYTES = 4 * 1024 * 1024
CONSOLE_LOG_LINES = 2000
LINE_CHARACTERS = 2000
# A kernel's own lines are at most 1 KiB (LOG_LINE_MAX of kernel/printk).
LONGEST_LINE = 16 * 1024
# So much of a piece is in the next one as well: what the kernel says across its end is seen.
OVERLAP = 1024


class Lines:
    """Puts bytes together to lines. Longer ones come in pieces that share ``overlap`` bytes."""

    def __init__(self, longest: int, overlap: int = 0) -> None:
        self.longest, self.overlap = longest, overlap
        self._rest = bytearray()
        self._is_further = False

    def feed(self, data: bytes) -> "list[tuple[bytes, bool]]":
        """The lines and pieces that are complete with ``data``, each with ``is_further``."""
        pieces: list[tuple[bytes, bool]] = []
        *ends, rest = data.split(b"\n")
        for end in ends:
            pieces += self._add(end)
            pieces.append((bytes(self._rest), self._is_further))
            self._rest.clear()
            self._is_further = False
        pieces += self._add(rest)
        return pieces

    def end(self) -> "list[tuple[bytes, bool]]":
        """What came without an end of line."""
        pieces = [(bytes(self._rest), self._is_further)] if self._rest else []
        self._rest.clear()
        return pieces

    def _add(self, data: bytes) -> "list[tuple[bytes, bool]]":
        self._rest += data
        pieces = []
        while len(self._rest) > self.longest:
            pieces.append((bytes(self._rest[: self.longest]), self._is_further))
            del self._rest[: self.longest - self.overlap]
            self._is_further = True
        return pieces


class Console:
    """What the guest's kernel prints: kept, passed on, and watched for trouble.

    It keeps the first CONSOLE_BYTES, and the first crash or I/O error. ``on_line`` gets short
    lines.
    """

    def __init__(self, on_line: "Callable[[str], None]") -> None:
        self.on_line = on_line
        self.kept_output = bytearray()
        self.first_trouble = ""
        self.last_line = ""
        self._printed = 0
        self._later: list[str] = []
        self._lines = Lines(LONGEST_LINE, OVERLAP)
        self._passed_on = 0

    def feed(self, data: bytes) -> None:
        self._printed += len(data)
        self.kept_output += data[: max(CONSOLE_BYTES - len(self.kept_output), 0)]
        for piece in self._lines.feed(data):
            self._line(*piece)

    def end(self) -> None:
        """Nothing follows: the last words may lack the end of their line."""
        for piece in self._lines.end():
            self._line(*piece)

    def _line(self, piece: bytes, is_further: bool) -> None:
        line = kernel_log.plain_line(piece.decode("utf-8", "replace"))
        if not line:
            return
        self.last_line = line
        kind = kernel_log.kind_of(line)
        if kind in kernel_log.FATAL and not self.first_trouble:
            self.first_trouble = kind
        if self.is_cut and self.first_trouble and len(self._later) < kernel_log.MOST_LINES:
            self._later.append(line[-LINE_CHARACTERS:])
        if is_further:
            return
        self._passed_on += 1
        if self._passed_on == CONSOLE_LOG_LINES:
            line = f"Further lines of the console are in {CONSOLE} only."
        if self._passed_on <= CONSOLE_LOG_LINES:
            self.on_line(shortened(line))

    @property
    def is_cut(self) -> bool:
        """Whether it printed more than is kept."""
        return self._printed > len(self.kept_output)

    @property
    def text(self) -> str:
        """What is kept, and that the rest is not."""
        lines = self.kept_output.decode("utf-8", "replace").replace("\r", "").split("\n")
        text = "\n".join(kernel_log.TERMINAL.sub("", line) for line in lines)
        if not self.is_cut:
            return text
        notice = (
            f"[fsbench: the console printed {self._printed:,} bytes; kept are the first "
            f"{len(self.kept_output):,}"
            f"{', and what follows of a crash or I/O error' * bool(self._later)}]"
        )
        return "\n".join([text, notice, *self._later, ""])


def shortened(line: str) -> str:
    """A line for the log, which says where one is cut."""
    if len(line) <= LINE_CHARACTERS:
        return line
    notice = f" [cut here: the line is longer; {CONSOLE} has more of it]"
    return line[: LINE_CHARACTERS - len(notice)] + notice
