"""The other LUNs of a run, for its journal and its stack: sentences that say what to do."""

from collections.abc import Iterator

from fsbench_web.catalog.configurations.filesystems import (
    FILESYSTEMS,
    OptionError,
    external_journal,
)
from fsbench_web.catalog.configurations.stacks import DATA
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.availability import LISTING, listing_problems
from fsbench_web.core.numbers import size


def journal_luns(worker: Worker) -> list[Lun]:
    """The LUNs of this worker that may keep a journal, by name."""
    return list(worker.luns.filter(role=Lun.Role.JOURNAL, is_listed=True).order_by("name"))


def journal_problems(lun: Lun, journal: Lun, slug: str) -> Iterator[str]:
    """Why a file system (of ``FILESYSTEMS``) on ``lun`` cannot keep its journal on ``journal``."""
    try:
        external = external_journal(slug)
    except OptionError as error:
        yield str(error)
        return
    if lun.is_folder:
        yield (
            f"{lun.name} is a {lun.kind} on a file system that has its journal already: choose a "
            "LUN that is a device or a sparse file, or leave the journal out."
        )
    if journal.role != Lun.Role.JOURNAL:
        yield (
            f"{journal.name} is a LUN for data: choose one that the LUN file of the worker "
            f'{lun.worker.name} lists with role = "journal" ({LISTING}).'
        )
    yield from listing_problems(journal)
    if journal.size_bytes is not None and journal.size_bytes < external.minimum_bytes:
        yield (
            f"A journal of {FILESYSTEMS[slug].name} needs {size(external.minimum_bytes)} or more, "
            f"and {journal.name} has {size(journal.size_bytes)}: choose a larger LUN for it."
        )


def member_luns(lun: Lun) -> list[Lun]:
    """The LUNs of this LUN's worker that a stack on it may have besides, by name."""
    if lun.is_folder:
        return []
    others = lun.worker.luns.filter(is_listed=True).order_by("name")
    return [other for other in others if other.pk != lun.pk and not other.is_folder]


def member_problems(lun: Lun, member: Lun, role: str) -> Iterator[str]:
    """Why ``member`` cannot have this role in a stack on ``lun``."""
    if member.pk == lun.pk:
        yield f"{lun.name} is measured itself: name other LUNs in its stack."
        return
    if lun.is_folder or member.is_folder:
        yield (
            "A stack is made of disks, and one of its LUNs is a directory or mount: choose LUNs "
            "that are devices or sparse files."
        )
        return
    yield from listing_problems(member)
    is_set_aside = member.role == Lun.Role.JOURNAL
    if is_set_aside == (role == DATA):
        wanted = "data" if role == DATA else "journal"
        yield (
            f"{member.name} is listed with the role {member.role}, and a LUN for the {role} of a "
            f'stack must have role = "{wanted}" in the LUN file of the worker {lun.worker.name} '
            f"({LISTING})."
        )
