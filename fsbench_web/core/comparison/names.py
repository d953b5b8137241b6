"""Names of entries for people: without what all of them share. Addresses keep the names. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.stats.verdicts import Verdict

SCHEDULER = "none"


def shown_names(names: Iterable[str]) -> dict[str, str]:
    """Each name as pages show it: ``ext4`` for ``ext4_none`` if all have the scheduler ``none``."""
    full = sorted(set(names))
    short = [_without_scheduler(name) for name in full]
    is_clear = all(short) and len(set(short)) == len(full)
    return dict(zip(full, short if is_clear else full, strict=True))


def _without_scheduler(name: str) -> str:
    """The name without its scheduler; "" where it has another or none at all."""
    label, at, circumstances = name.partition("@")
    filesystem, *words = label.split("_")
    if SCHEDULER not in words:
        return ""
    words.remove(SCHEDULER)
    return "_".join([filesystem, *words]) + at + circumstances


def with_shown_names(table: DeltaTable) -> DeltaTable:
    """The same table with the names of its entries and configurations as pages show them."""
    names = shown_names(row.contender for row in table.rows)
    labels = shown_names(row.configuration for row in table.rows if row.configuration)
    rows = tuple(
        row._replace(
            contender=names[row.contender],
            configuration=row.configuration and labels[row.configuration],
            label=row.label and labels.get(row.label, row.label),
            verdict=row.verdict and _renamed(row.verdict, names),
            change_verdict=row.change_verdict and _renamed(row.change_verdict, names),
        )
        for row in table.rows
    )
    return replace(table, rows=rows)


def _renamed(verdict: Verdict, names: Mapping[str, str]) -> Verdict:
    return verdict._replace(against=tuple(names.get(name, name) for name in verdict.against))
