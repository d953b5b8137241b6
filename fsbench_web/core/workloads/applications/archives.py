"""tar and rsync: a source tree into an archive, out of it, and copied."""

from collections.abc import Iterator

from fsbench_web.core import requirements
from fsbench_web.core.workloads.base import (
    BenchmarkCommand,
    Place,
    Preset,
    time_limit,
)
from fsbench_web.core.workloads.source_trees import (
    CONFIG,
    FILES,
    READS,
    SOURCE,
    TreeWorkload,
    sync_of_steps,
)

STEPS = ("tar_create", "tar_extract", "rsync_copy", "rsync_unchanged", "remove_tree")


class Archives(TreeWorkload):
    """Five timed commands, each on a file system remounted."""

    tool = "archives"
    name = "tar and rsync"
    about = (
        "A source tree is written into a tar file and unpacked from it, copied by rsync, compared "
        "by rsync when nothing has changed, and removed. CPU and real seconds of each step."
    )
    programs = requirements.WORKLOADS["archives"]
    parameters = (
        SOURCE,
        CONFIG,
        FILES,
        READS,
        sync_of_steps(),
        time_limit(6 * 3600),
    )
    presets = (
        Preset(
            "archives-small",
            "tar and rsync, a quick look",
            "200 C files that fsbench writes: a few seconds, to see that it works.",
            {"source": "generated", "files": 200, "time_limit_s": 600},
        ),
        Preset(
            "archives-linux",
            "tar and rsync, the Linux kernel",
            "Debian's kernel source, 80,000 files, each step on the disk. Minutes.",
            {"include_sync": True},
        ),
    )

    def title(self) -> str:
        return f"tar and rsync, {self.tree.title}{self.sync_title}"

    def space_needed_bytes(self) -> int:
        # The archive, the tree out of it, and the copy.
        return 3 * self.tree.space_bytes(is_built=False)

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        archive, tree, copy = (f"{place.work}/{name}" for name in ("tree.tar", "tree", "copy"))
        steps: dict[str, tuple[str, ...]] = {
            "tar_create": ("tar", "-c", "-f", archive, "-C", self.tree.folder, "."),
            "tar_extract": ("tar", "-x", "-f", archive, "-C", tree),
            "rsync_copy": ("rsync", "-a", f"{tree}/", copy),
            "rsync_unchanged": ("rsync", "-a", f"{tree}/", copy),
            "remove_tree": ("rm", "-r", copy),
        }
        return [
            *self.tree.preparation(self.reads),
            BenchmarkCommand(("mkdir", place.work)),
            BenchmarkCommand(("mkdir", tree)),
            *self.steps(place, steps, lambda step: True),
        ]

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        return ((f"{step}_real", self.tree.load, None, None) for step in STEPS)
