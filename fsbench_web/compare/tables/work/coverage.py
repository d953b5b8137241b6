"""How much of a work profile each contender has, and why some have no score."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from fsbench_web.compare.selection.profiles import RequestedProfile
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.work.entries import Entry
from fsbench_web.core.scoring.profiles.coverage import (
    MOST_NAMED,
    SMALLER_DATA_SET,
    Coverage,
    PartWords,
    WorkAnswer,
    cells_were,
)
from fsbench_web.core.scoring.profiles.definition import RequiredCell


def why_incomplete(entry: Entry) -> str:
    """Why an entry that lacks cells has no score, without the end of the sentence; "" of others."""
    total, apart = len(entry.demands), len(entry.other_workloads)
    gone = len(entry.missing) - apart
    titles = list(
        dict.fromkeys(title for workloads in entry.other_workloads.values() for title in workloads)
    )
    more = len(titles) - MOST_NAMED
    named = "; ".join(titles[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
    parts = [f"{gone} of {total} {cells_were(total)} not measured"] if gone else []
    if apart:
        parts.append(
            f"{apart} of {total} {cells_were(total)} measured by another workload alone ({named}), "
            "which measures in another way or does not say how"
        )
    return ", and ".join(parts)


def _missing_cells(entry: Entry, others: Collection[RequiredCell]) -> list[str]:
    """The cells without a number in words; ``others`` were measured of the contender elsewhere."""
    parts = []
    for demand in entry.missing[:MOST_NAMED]:
        if demand in entry.other_workloads:
            parts.append(
                f"{demand.words}, measured by {' and '.join(entry.other_workloads[demand][:2])}"
            )
        elif demand in others:
            parts.append(f"{demand.words}, measured under other circumstances")
        else:
            parts.append(demand.words)
    return parts


def work_answer(
    requested: RequestedProfile,
    entries: Sequence[Entry],
    why: Mapping[int, str],
    scored: Collection[str],
    baseline: str,
    spec: ComparisonSpec,
) -> WorkAnswer:
    """What is said of everything that was asked; ``why`` an entry has no score, by its id."""
    profile, fullest = requested.profile, fullest_of(entries)
    total = len(profile.demands)
    by_any = {demand for entry in entries for demand in (*entry.measured, *entry.other_workloads)}
    by_all = set(profile.demands).intersection(
        *(set(_measured_cells(entries, name)) for name in fullest)
    )
    coverage = [
        Coverage(
            name,
            entry.value.label,
            entry.lead.configuration,
            len(entry.measured),
            total,
            tuple(_missing_cells(entry, _measured_cells(entries, name))),
            "" if name in scored else why.get(id(entry), "it has no score"),
        )
        for name, entry in fullest.items()
    ]
    return WorkAnswer(
        title=profile.title,
        name=profile.name,
        together=profile.together,
        test=requested.test,
        category=requested.category,
        parts=tuple(
            PartWords(
                part.words,
                profile.percent_of(part),
                sum(demand in by_any for demand in part.demands),
                len(part.demands),
            )
            for part in profile.parts
        ),
        measured=len(by_any),
        of=total,
        by_all=len(by_all) if fullest else 0,
        scored=len(scored),
        contenders=len(fullest),
        coverage=tuple(sorted(coverage, key=lambda row: (row.measured, row.contender))),
        baseline=baseline,
        is_baseline_chosen=bool(baseline) and baseline == spec.baseline,
        baseline_missing=bool(spec.baseline) and spec.baseline not in scored,
        source=profile.source,
        notes=(SMALLER_DATA_SET,) if any(entry.has_smaller_data for entry in entries) else (),
        apart=sum(bool(entry.other_workloads) for entry in fullest.values()),
    )


def fullest_of(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Of each contender the entry with most cells; of equal ones the newest."""
    fullest: dict[str, Entry] = {}
    for entry in entries:
        previous = fullest.get(entry.value.slug)
        if previous is None or len(entry.measured) >= len(previous.measured):
            fullest[entry.value.slug] = entry
    return fullest


def _measured_cells(entries: Iterable[Entry], name: str) -> list[RequiredCell]:
    return [demand for entry in entries if entry.value.slug == name for demand in entry.measured]
