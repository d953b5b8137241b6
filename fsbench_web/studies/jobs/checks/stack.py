"""What is wrong with the LUNs beside the one that is measured. No HTTP here."""

from collections import Counter
from collections.abc import Iterator, Mapping

from fsbench_web.catalog.configurations.layers import least_cache_bytes
from fsbench_web.catalog.configurations.stacks import CACHE
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.core.numbers import size
from fsbench_web.studies.jobs.spec import ConfigurationSpec


def stack_problems(
    wanted: ConfigurationSpec, lun: Lun, neighbours: Mapping[str, Lun], is_own: bool = True
) -> Iterator[str]:
    """Why this configuration cannot stand on these LUNs.

    ``is_own``: by the worker's own executor; in a guest all disks have its kernel's schedulers.
    """
    members = wanted.stack.members
    if is_own and wanted.stack.layers:
        yield (
            "Layers (md, LVM, dm-crypt, dm-integrity, bcache) are made in guests alone, which have "
            "no disk but the leased LUNs: choose a guest as the executor."
        )
    counts = Counter([*(name for _, name in members), wanted.journal or None])
    for name, count in counts.items():
        if name is not None and count > 1:
            yield f"{name} is in one stack twice: each LUN has one role."
    for role, name in members:
        member = neighbours.get(name)
        if member is None:
            known = ", ".join(one.name for one in availability.member_luns(lun))
            yield (
                f'The worker {lun.worker.name} has no LUN "{name}" for a stack on {lun.name}: '
                + (f"choose of {known}." if known else "list further ones in its LUN file.")
            )
            continue
        yield from availability.member_problems(lun, member, role)
        least = least_cache_bytes(wanted.stack.layers) if role == CACHE else 0
        if member.size_bytes is not None and member.size_bytes < least:
            yield (
                f"bcache needs {size(least)} or more with buckets of this size, and {member.name} "
                f"has {size(member.size_bytes)}: choose a smaller bucket_kb, or a larger LUN."
            )
        if is_own and member.schedulers and wanted.scheduler not in ("", *member.schedulers):
            yield (
                f'{member.name} has no I/O scheduler "{wanted.scheduler}", which is set on all '
                f"LUNs: choose one of {', '.join(member.schedulers)}."
            )
