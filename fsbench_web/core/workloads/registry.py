"""All workloads: fsbench's own, and those that installed packages bring as entry points."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points

from fsbench_web.core.workloads.applications.archives import Archives
from fsbench_web.core.workloads.applications.container_image import ContainerImage
from fsbench_web.core.workloads.applications.git import GitTree
from fsbench_web.core.workloads.applications.mail_spool import MailSpool
from fsbench_web.core.workloads.applications.mariadb import MariadbOltp
from fsbench_web.core.workloads.applications.postgres import Pgbench
from fsbench_web.core.workloads.applications.rocksdb import RocksDb
from fsbench_web.core.workloads.applications.sqlite import SqliteTransactions
from fsbench_web.core.workloads.applications.sysbench_files import SysbenchFiles
from fsbench_web.core.workloads.base import ParameterError, Preset, Workload
from fsbench_web.core.workloads.file_creation import FileCreation
from fsbench_web.core.workloads.filemark import Filemark
from fsbench_web.core.workloads.fio_depths import FioDepths
from fsbench_web.core.workloads.iozone import Iozone
from fsbench_web.core.workloads.kernel_build import KernelBuild
from fsbench_web.core.workloads.mongo import Mongo
from fsbench_web.core.workloads.multiuser import Multiuser
from fsbench_web.core.workloads.own import OwnCommand, OwnFio
from fsbench_web.core.workloads.pgmeter import Pgmeter
from fsbench_web.core.workloads.postmark import PostMark
from fsbench_web.core.workloads.random_access import RandomAccess
from fsbench_web.core.workloads.source_copy import SourceCopy

logger = logging.getLogger("fsbench.workloads")
ENTRY_POINTS = "fsbench.workloads"
BUILTIN: tuple[type[Workload], ...] = (
    Iozone,
    PostMark,
    Pgmeter,
    Filemark,
    Multiuser,
    RandomAccess,
    Mongo,
    KernelBuild,
    SourceCopy,
    FileCreation,
    FioDepths,
    Pgbench,
    MariadbOltp,
    SqliteTransactions,
    RocksDb,
    SysbenchFiles,
    MailSpool,
    GitTree,
    Archives,
    ContainerImage,
)


# Made by users: their presets are in the database.
UPLOADED: tuple[type[Workload], ...] = (OwnFio, OwnCommand)


@cache
def workload_types() -> Mapping[str, type[Workload]]:
    """Workload classes by tool. A package that cannot be loaded is logged and left out."""
    kinds = {kind.tool: kind for kind in (*BUILTIN, *UPLOADED)}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            kind = entry.load()
        except Exception:
            logger.exception("the workload %s of another package cannot be loaded", entry.name)
            continue
        problem = _refusal(kind, kinds)
        if problem:
            logger.error("the entry point %s is left out: %s", entry.name, problem)
            continue
        kinds[kind.tool] = kind
    return kinds


def _refusal(kind: object, kinds: Mapping[str, type[Workload]]) -> str:
    """Why an entry point's object conflicts with earlier ones, or ""."""
    if not (isinstance(kind, type) and issubclass(kind, Workload)):
        return "it is no subclass of Workload"
    if kind.tool in kinds:
        return f"the name {kind.tool} is taken"
    taken = {preset.slug for other in kinds.values() for preset in other.presets}
    for preset in kind.presets:
        if preset.slug in taken:
            return f"the preset {preset.slug} is taken"
        try:
            kind(**preset.parameters)
        except (ParameterError, TypeError) as error:
            return f"its preset {preset.slug} cannot be: {error}"
    return ""


@cache
def presets() -> Mapping[str, Preset]:
    """Presets by slug, in the order in which they are offered."""
    return {
        preset.slug: replace(preset, kind=kind)
        for kind in workload_types().values()
        for preset in kind.presets
    }


def tools() -> dict[str, str]:
    """Every program that a workload calls, with the Debian package it comes from."""
    return {
        program: package
        for kind in workload_types().values()
        for program, package in kind.programs.items()
    }


def check_changes(tool: str, changes: Mapping[str, object]) -> None:
    """Raise ParameterError where a job changes what belongs to its preset alone."""
    for parameter in workload_types()[tool].parameters:
        if parameter.fixed and parameter.key in changes:
            raise ParameterError(
                f"{parameter.label} belongs to the workload itself: a job cannot change it."
            )


def workload_of(tool: str, parameters: Mapping[str, object]) -> Workload:
    """The workload of stored parameters. Raises ParameterError for what it cannot be."""
    kind = workload_types().get(tool)
    if kind is None:
        names = ", ".join(sorted(workload_types()))
        raise ParameterError(f'fsbench cannot run "{tool}"; it runs {names}.')
    return kind(**parameters)
