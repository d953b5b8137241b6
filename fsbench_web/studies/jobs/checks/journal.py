"""What is wrong with the journals of a job. No HTTP here."""

from collections.abc import Iterator, Mapping

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.studies.jobs.spec import ConfigurationSpec


def neighbours(lun: Lun | None) -> dict[str, Lun]:
    """The LUNs of the same worker by name: one of them may keep a journal. One query."""
    if lun is None:
        return {}
    return {one.name: one for one in lun.worker.luns.select_related("worker")}


def journal_problems(
    wanted: ConfigurationSpec, lun: Lun, neighbours: Mapping[str, Lun], is_own: bool = True
) -> Iterator[str]:
    """Why this configuration cannot keep its journal where it is to be kept.

    ``is_own``: by the worker's own executor; in a guest both disks have its kernel's schedulers.
    """
    if not wanted.journal:
        return
    journal = neighbours.get(wanted.journal)
    if journal is None:
        names = ", ".join(one.name for one in availability.journal_luns(lun.worker))
        yield (
            f'The worker {lun.worker.name} has no LUN "{wanted.journal}" for journals: '
            + (f"choose one of {names}, " if names else "list one in its LUN file, ")
            + "or keep the journal on the LUN itself."
        )
        return
    yield from availability.journal_problems(lun, journal, wanted.filesystem)
    if is_own and journal.schedulers and wanted.scheduler not in ("", *journal.schedulers):
        yield (
            f'{journal.name} has no I/O scheduler "{wanted.scheduler}", which is set on both LUNs: '
            f"choose one of {', '.join(journal.schedulers)}."
        )
