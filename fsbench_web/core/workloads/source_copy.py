"""Copying the kernel source, and the space it takes, as in Hilzinger's article of 2006."""

import re
from collections.abc import Iterator, Mapping

from fsbench_web.core import formats
from fsbench_web.core.formats.result import ParsedResult, ParsedValue, Problem, UnreadableFile
from fsbench_web.core.formats.text import lines_of
from fsbench_web.core.workloads.base import (
    BenchmarkCommand,
    Place,
    Preset,
    include_sync,
    time_limit,
)
from fsbench_web.core.workloads.source_trees import (
    CONFIG,
    FILES,
    READS,
    SOURCE,
    TreeWorkload,
)

COPY, BEFORE, AFTER, DU = "copy.txt", "df-before.txt", "df-after.txt", "du.txt"
_DF = re.compile(r"^\s*([0-9]{1,15})\s*$")
_DU = re.compile(r"^([0-9]{1,15})\t")


class SourceCopy(TreeWorkload):
    """cp -a of a source tree, with df before it, and df and du after it."""

    tool = "source-copy"
    name = "Source copy"
    about = (
        "The kernel source is copied to the file system: seconds, CPU load, and the space that "
        "the same files take on it."
    )
    paper = "Hilzinger 2006"
    parameters = (
        SOURCE,
        CONFIG,
        FILES,
        READS,
        include_sync(
            "The copy ends when the file system has written all of it to the disk; without, "
            "a tree that fits into memory is copied into memory."
        ),
        time_limit(12 * 3600),
    )
    presets = (
        Preset(
            "source-copy-small",
            "Source copy, small",
            "60 C files that fsbench writes: a second, to see that it works.",
            {"source": "generated", "files": 60, "time_limit_s": 600},
        ),
        Preset(
            "source-copy-medium",
            "Source copy, 20,000 files",
            "As many files as the article's kernel had, which fsbench writes: needs no package. "
            "Written to the disk within the time.",
            {"source": "generated", "files": 20000, "include_sync": True},
        ),
        Preset(
            "source-copy-hilzinger",
            "Kernel source copy, Hilzinger 2006",
            "Debian's kernel source of today is copied, as in the article's table 2, and the space "
            "it takes is measured. A minute or more.",
            {},
        ),
    )

    def title(self) -> str:
        return f"Copy of {self.tree.title}{self.sync_title}"

    def space_needed_bytes(self) -> int:
        return self.tree.space_bytes(is_built=False)

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        copy = f"{place.work}/tree"
        df = ("df", "--block-size=1024", "--output=used", place.work)
        sync = BenchmarkCommand(("sync", "-f", place.work))
        timed = self.tree.timed(
            "kernel_source_copy",
            *("cp", "-a", f"{self.tree.folder}/.", copy),
            sync=place.work if self.include_sync else "",
            cpu_load=True,
        )
        return [
            *self.tree.preparation(self.reads),
            BenchmarkCommand(("mkdir", place.work)),
            sync,
            BenchmarkCommand(df, output=BEFORE),
            BenchmarkCommand(timed, output=COPY, remount=True),
            # Before that much of it has no place on the disk yet.
            sync,
            BenchmarkCommand(df, output=AFTER),
            BenchmarkCommand(("du", "--summarize", "--block-size=1024", copy), output=DU),
        ]

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for test in ("kernel_source_copy", "kernel_source_space_df", "kernel_source_space_du"):
            yield test, self.tree.load, None, None

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """The copy's times, and KB of 1024 bytes by df and du."""
        result = formats.parse(COPY, outputs[COPY])
        # The article's name for what took the time.
        result.values = [
            ParsedValue(**{**vars(value), "test": value.test.removesuffix("_real")})
            for value in result.values
        ]
        before, _ = _number(BEFORE, outputs[BEFORE], _DF)
        used, df_line = _number(AFTER, outputs[AFTER], _DF)
        summed, du_line = _number(DU, outputs[DU], _DU)
        if used <= before:
            message = f"df says {used} KB after the copy and {before} KB before it."
            raise UnreadableFile([Problem(df_line, None, message)])
        return {
            COPY: result,
            AFTER: self._space("df", used - before, df_line),
            DU: self._space("du", summed, du_line),
        }

    def _space(self, tool: str, size_kb: int, line: int) -> ParsedResult:
        test = f"kernel_source_space_{tool}"
        value = ParsedValue(test, None, None, float(size_kb), "KB", line, load=self.tree.load)
        return ParsedResult(tool, tool, values=[value])


def _number(name: str, data: bytes, pattern: re.Pattern[str]) -> tuple[int, int]:
    """The number in such a line, and which line it is. Raises UnreadableFile."""
    for number, line in enumerate(lines_of(data), start=1):
        if (match := pattern.match(line)) is not None:
            return int(match[1]), number
    raise UnreadableFile([Problem(None, None, f"{name} has no number of KB.")])
