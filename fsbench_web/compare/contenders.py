"""What a contender is called: short, lower-case, and never the same for two of them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from fsbench_web.studies.queries import ScoreRow

# What can tell two series with one label apart, in the order in which it is asked.
_CIRCUMSTANCES: tuple[Callable[[ScoreRow], str | None], ...] = (
    lambda row: row.study,
    lambda row: row.hardware,
    lambda row: row.lun,
    lambda row: row.kernel,
    lambda row: row.workload,
    lambda row: row.preparation.replace(",", "") or "not-prepared",
    lambda row: row.distribution,
)


def shown_label(row: ScoreRow) -> str | None:
    """The configuration's label, or None where it says no more than the file system's name.

    An unknown configuration with a label of its own keeps it: an import may name nothing else.
    """
    if not row.configuration_is_known and row.configuration.lower() == row.filesystem.lower():
        return None
    return row.configuration


def configuration_names(rows: Iterable[ScoreRow]) -> dict[int, str]:
    """A name for each series: its label, and where labels repeat what tells them apart.

    ``ext4`` in two studies is ``ext4@first`` and ``ext4@second``. A circumstance joins the name
    when it differs among the series of one label, until all names differ; the number of the
    series is the last resort.
    """
    groups: dict[str, dict[int, ScoreRow]] = defaultdict(dict)
    for row in rows:
        groups[_slug(row.configuration)].setdefault(row.series_id, row)
    names: dict[int, str] = {}
    for label, group in groups.items():
        names |= _told_apart(label, group)
    # An import may bring a label that looks like a name made here.
    taken = Counter(names.values())
    return {
        series_id: name if taken[name] == 1 else f"{name}@{series_id}"
        for series_id, name in names.items()
    }


def _told_apart(label: str, group: dict[int, ScoreRow]) -> dict[int, str]:
    names = dict.fromkeys(group, label)
    for circumstance in _CIRCUMSTANCES:
        if len(set(names.values())) == len(group):
            return names
        values = {series_id: _slug(circumstance(row) or "") for series_id, row in group.items()}
        if len(set(values.values())) > 1:
            names = {
                series_id: f"{name}@{values[series_id] or 'unknown'}"
                for series_id, name in names.items()
            }
    return names


def _slug(text: str) -> str:
    return "-".join(text.lower().split())
