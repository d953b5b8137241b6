"""What the job form ticks before anybody has chosen: only what can run now. No database.

A suggestion stays while it can run. Where nothing can run, one sentence says why.
"""

from collections.abc import Mapping, Sequence

from fsbench_web.catalog.workers.setup import WorkerSetup

# Two, because a comparison is what it is for; those that most people ask about first.
MOST_FILESYSTEMS = 2
# Most workloads need files.
_FOR_THOSE_WHO_ASK = ("raw",)
_FILESYSTEMS = ("ext4", "xfs", "btrfs", "ext3", "ext2")
# What is done in a minute or so at most on any disk, in the order of how many programs it needs.
_WORKLOADS = (
    "iozone-small",
    "filemark-small",
    "mongo-small",
    "source-copy-small",
    "postmark-small",
    "random-access-small",
    "file-creation-small",
    "pgmeter-small",
    "multiuser-small",
)


def filesystems(problems: Mapping[str, Sequence[str]], ticked: Sequence[str] = ()) -> list[str]:
    """The file systems to tick, by slug, of the offered ones that have no problem.

    ``ticked`` were suggested before.
    """
    if ticked and not any(problems.get(slug) for slug in ticked):
        return list(ticked)
    offered = [
        slug
        for slug in dict.fromkeys((*_FILESYSTEMS, *problems))
        if slug in problems and slug not in _FOR_THOSE_WHO_ASK
    ]
    return [slug for slug in offered if not problems[slug]][:MOST_FILESYSTEMS]


def workloads(problems: Mapping[str, Sequence[str]], ticked: Sequence[str] = ()) -> list[str]:
    """The preset to tick, of those that have no problem; none that takes hours."""
    if ticked and all(slug in problems and not problems[slug] for slug in ticked):
        return list(ticked)
    return [slug for slug in _WORKLOADS if slug in problems and not problems[slug]][:1]


def why_nothing_runs(
    place: str, worker: str, setup: WorkerSetup | None, problems: Sequence[str]
) -> str:
    """One sentence: why nothing can run on ``place``, and what to do. The first problem counts."""
    if setup is not None and setup.is_running:
        return (
            f"Nothing can be run on {place} yet: {worker} sets itself up "
            f"({setup.title[:1].lower()}{setup.title[1:]}), and this form shows what can be run "
            "as soon as that has ended."
        )
    if setup is not None and setup.command:
        return (
            f"Nothing can be run on {place} yet: {worker} lacks what the workloads need; run "
            f"`{setup.command}` on its host, and this form shows what can be run then."
        )
    if problems:
        return f"Nothing can be run on {place} now: {problems[0]}"
    return (
        f"Nothing can be run on {place} now, and {worker} does not say why: look at its page "
        f"(/workers/{worker}/), or choose another LUN."
    )
