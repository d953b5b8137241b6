"""Git: commit a source tree, clone it, check it out, look what has changed."""

from collections.abc import Iterator

from fsbench_web.core import requirements
from fsbench_web.core.workloads.base import (
    BenchmarkCommand,
    Kind,
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

STEPS = ("git_add", "git_commit", "git_clone", "git_checkout", "git_status", "git_gc")
# Whatever the host's own configuration says: nobody's name, no background work, no questions.
GIT = (
    *("git", "-c", "user.name=fsbench", "-c", "user.email=fsbench@localhost"),
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "safe.directory=*"),
    *("-c", "init.defaultBranch=main", "-c", "advice.detachedHead=false"),
)


class GitTree(TreeWorkload):
    """Six timed commands on a repository of a source tree."""

    tool = "git"
    name = "Git"
    about = (
        "A source tree is added and committed, the repository cloned without its files, checked "
        "out, looked through for changes and packed again: CPU and real seconds of each step."
    )
    programs = requirements.WORKLOADS["git"]
    parameters = (
        SOURCE,
        CONFIG,
        FILES,
        READS,
        Parameter(
            "fsync",
            "core.fsync",
            Kind.CHOICE,
            default="default",
            choices=(
                ("default", "Git's default"),
                ("all", "all: every object is on the disk"),
                ("none", "none"),
            ),
        ),
        sync_of_steps(),
        time_limit(6 * 3600),
    )
    presets = (
        Preset(
            "git-small",
            "Git, a quick look",
            "200 C files that fsbench writes: a few seconds, to see that it works.",
            {"source": "generated", "files": 200, "time_limit_s": 600},
        ),
        Preset(
            "git-linux",
            "Git, the Linux kernel",
            "Debian's kernel source, 80,000 files, each step on the disk. Minutes.",
            {"include_sync": True},
        ),
    )

    def title(self) -> str:
        fsync = "" if self.fsync == "default" else f", core.fsync={self.fsync}"
        return f"Git, {self.tree.title}{fsync}{self.sync_title}"

    def space_needed_bytes(self) -> int:
        # The tree, its objects, the clone's pack and its files.
        return 3 * self.tree.space_bytes(is_built=False)

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        first, second = f"{place.work}/first", f"{place.work}/second"
        git = (*GIT, *(() if self.fsync == "default" else ("-c", f"core.fsync={self.fsync}")))
        steps: dict[str, tuple[str, ...]] = {
            "git_add": (*git, "-C", first, "add", "--all", "--force"),
            "git_commit": (*git, "-C", first, "commit", "--quiet", "-m", "all of it"),
            # As over a network: objects are packed, sent and indexed, not linked.
            "git_clone": (*git, "clone", "--quiet", "--no-checkout", f"file://{first}", second),
            "git_checkout": (*git, "-C", second, "checkout", "--quiet", "main"),
            "git_status": (*git, "-C", second, "status", "--porcelain"),
            "git_gc": (*git, "-C", first, "gc", "--quiet"),
        }
        return [
            *self.tree.preparation(self.reads),
            BenchmarkCommand(("mkdir", place.work)),
            BenchmarkCommand((*git, "init", "--quiet", first)),
            BenchmarkCommand(("cp", "-r", f"{self.tree.folder}/.", first)),
            *self.steps(place, steps, lambda step: step != "git_commit"),
        ]

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        return ((f"{step}_real", self.tree.load, None, None) for step in STEPS)
