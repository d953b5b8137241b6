"""Source trees that workloads copy and build: which there are, and what they need."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fsbench_web.core.file_features import CASE, SYMBOLIC_LINKS
from fsbench_web.core.formats.result import load_text
from fsbench_web.core.workloads.base import (
    BUILD,
    KB,
    BenchmarkCommand,
    Kind,
    Parameter,
    Place,
    Workload,
    include_sync,
)

# Beside the file system that is measured, and kept for later runs (runner/agent/workloads/tree.py).
FOLDER = "/var/tmp/fsbench.source"  # noqa: S108 (the agent checks whose it is)
GIVEN = "/usr/src/fsbench-tree"
GB = KB**3

SOURCE = Parameter(
    "source",
    "Source tree",
    Kind.CHOICE,
    default="linux-source",
    choices=(
        ("linux-source", "Linux, of Debian's package linux-source"),
        ("given", f"a configured kernel source in {GIVEN}"),
        ("generated", "C files that fsbench writes"),
    ),
    help="Where the run happens: in the benchmark image, or on the host of a worker without "
    f"containers. It is kept in {FOLDER} there.",
    paper="the Linux kernel",
)
FILES = Parameter(
    "files",
    "C files",
    default=500,
    minimum=1,
    maximum=100_000,
    help="Of the tree that fsbench writes; the others have the files they have.",
)
CONFIG = Parameter(
    "config",
    "Kernel configuration",
    Kind.CHOICE,
    default="defconfig",
    choices=(
        ("defconfig", "defconfig"),
        ("tinyconfig", "tinyconfig"),
        ("allnoconfig", "allnoconfig"),
    ),
    help="Of the kernel that is unpacked from linux-source. A given tree is taken as it is.",
    paper="does not say",
)
READS = Parameter(
    "reads",
    "Reads before",
    default=2,
    maximum=100,
    help="So often the tree is read before it is copied, so that it comes from the cache.",
    paper="a couple of times",
)


@dataclass(frozen=True)
class SourceTree:
    """A tree as the parameters above name it."""

    source: str
    files: int
    config: str = "defconfig"

    @property
    def is_kernel(self) -> bool:
        return self.source != "generated"

    @property
    def folder(self) -> str:
        """Where it is when ``preparation`` is done."""
        if self.source == "given":
            return GIVEN
        name = self.config if self.is_kernel else str(self.files)
        return f"{FOLDER}/{self.source}-{name}"

    @property
    def load(self) -> str:
        """What tells values of it from those of a kernel: they are no repeats of each other."""
        return "" if self.is_kernel else load_text(files=self.files)

    @property
    def title(self) -> str:
        return {
            "linux-source": f"linux-source, {self.config}",
            "given": f"the tree in {GIVEN}",
            "generated": f"{self.files:,} C files",
        }[self.source]

    def preparation(self, reads: int) -> list[BenchmarkCommand]:
        """Have it there, and in the cache."""
        commands = []
        if self.source != "given":
            argument = self.config if self.is_kernel else str(self.files)
            commands.append(BenchmarkCommand(("fsbench-tree", self.source, self.folder, argument)))
        # Once of no times still says that it is missing.
        return [*commands, BenchmarkCommand(("fsbench-tree", "read", self.folder, str(reads)))]

    def timed(
        self, test: str, *argv: str, sync: str = "", cpu_load: bool = False
    ) -> tuple[str, ...]:
        """A command with seconds as values of ``test``; ``sync`` is a folder to write through."""
        return (
            *("fsbench-timed", test),
            *(("--load", self.load) if self.load else ()),
            *(("--sync", sync) if sync else ()),
            *(("--cpu-load",) if cpu_load else ()),
            *("--", *argv),
        )

    @property
    def demands(self) -> frozenset[str]:
        """A kernel's tree has links, and pairs like xt_DSCP.h and xt_dscp.h."""
        return frozenset({SYMBOLIC_LINKS, CASE}) if self.is_kernel else frozenset()

    def space_bytes(self, is_built: bool) -> int:
        """Room for a copy of it; more where it is built there. A kernel's is that of today's."""
        if self.is_kernel:
            return (4 if is_built else 2) * GB
        return self.files * (24 if is_built else 12) * KB + 4 * KB * KB


def sync_of_steps(paper: str = "does not say") -> Parameter:
    """``include_sync`` of a workload of several timed steps."""
    return include_sync(
        "Each step ends when the file system has written all of it to the disk; "
        "otherwise the kernel may still be at it when the next one begins.",
        paper,
    )


class TreeWorkload(Workload):
    """Timed commands on a source tree; its parameters have SOURCE, CONFIG, FILES, READS and
    ``include_sync``.
    """

    question = BUILD

    @property
    def tree(self) -> SourceTree:
        return SourceTree(self.source, self.files, self.config)

    @property
    def sync_title(self) -> str:
        """For the title, with a comma before it."""
        return ", written through" if self.include_sync else ""

    @property
    def demands(self) -> frozenset[str]:
        return self.tree.demands

    def steps(
        self,
        place: Place,
        argvs: Mapping[str, tuple[str, ...]],
        is_remounted: Callable[[str], bool],
    ) -> list[BenchmarkCommand]:
        """A timed command for each step, with an output of its name."""
        sync = place.work if self.include_sync else ""
        return [
            BenchmarkCommand(
                self.tree.timed(step, *argv, sync=sync),
                output=f"{step}.txt",
                remount=is_remounted(step),
            )
            for step, argv in argvs.items()
        ]
