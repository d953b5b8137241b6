"""Kernel compilation as in Galli's article of 2001: copy, build, clean and remove a tree.

His numbers are means of three runs on an empty file system: three repeats here.
"""

from collections.abc import Iterator

from fsbench_web.core import requirements
from fsbench_web.core.workloads.base import (
    BenchmarkCommand,
    Parameter,
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


class KernelBuild(TreeWorkload):
    """Four timed commands on a copy of a source tree."""

    tool = "kernel-build"
    name = "Kernel compilation"
    about = (
        "A source tree is copied to the file system, built, cleaned and removed: CPU and real "
        "seconds of each step. Ask for three repeats for the mean of three as in the article."
    )
    paper = "Galli 2001"
    programs = requirements.WORKLOADS["kernel-build"]
    parameters = (
        SOURCE,
        CONFIG,
        FILES,
        Parameter(
            "jobs",
            "Jobs of make",
            default=1,
            minimum=1,
            maximum=1024,
            help="make -j: so many compilers at the same time.",
            paper="does not say: make's default of one",
        ),
        READS,
        sync_of_steps("no"),
        time_limit(24 * 3600),
    )
    presets = (
        Preset(
            "kernel-build-small",
            "Compilation, small",
            "20 C files that fsbench writes: a few seconds, to see that it works.",
            {"source": "generated", "files": 20, "time_limit_s": 600},
        ),
        Preset(
            "kernel-build-tiny",
            "Kernel compilation, tinyconfig",
            "Debian's kernel source, configured as small as can be. Minutes.",
            {"config": "tinyconfig"},
        ),
        Preset(
            "kernel-build-galli",
            "Kernel compilation, Galli 2001",
            "cp -a, make bzImage, make clean and rm -rf of the kernel source, as in the article, "
            "with Debian's kernel of today. An hour or more.",
            {},
        ),
    )

    @property
    def build_step(self) -> tuple[str, str]:
        """The name of the step, and make's target."""
        return ("make_bzimage", "bzImage") if self.tree.is_kernel else ("make_all", "all")

    def title(self) -> str:
        return f"Compilation, {self.tree.title}, make -j {self.jobs}{self.sync_title}"

    def space_needed_bytes(self) -> int:
        return self.tree.space_bytes(is_built=True)

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        copy = f"{place.work}/tree"
        step, target = self.build_step
        make = ("make", "-s", "-C", copy, "-j", str(self.jobs))
        steps = {
            "copy": ("cp", "-a", f"{self.tree.folder}/.", copy),
            step: (*make, target),
            "make_clean": (*make, "clean"),
            "remove": ("rm", "-rf", copy),
        }
        return [
            *self.tree.preparation(self.reads),
            BenchmarkCommand(("mkdir", place.work)),
            # As in the article before each run; what mkfs left is not in the cache then.
            *self.steps(place, steps, lambda step: step == "copy"),
        ]

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for test in ("copy", self.build_step[0], "make_clean", "remove"):
            yield f"{test}_real", self.tree.load, None, None
