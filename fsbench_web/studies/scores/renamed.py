"""Tests that reading files again gave other names, so that old addresses lead to them."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from fsbench_web.core.identity import of_fio_name
from fsbench_web.core.scoring import testnames
from fsbench_web.studies.models import RenamedTest, Score


def note(pairs: Iterable[tuple[str, str]]) -> None:
    """Keep (old name, new name) of tests with their loads. What led to an old name follows it."""
    for old, new in (pair for pair in pairs if not _is_lasting(pair[0])):
        before = RenamedTest.objects.filter(new=old).exclude(old=new).values_list("old", flat=True)
        RenamedTest.objects.bulk_create(
            [RenamedTest(old=name, new=new) for name in (old, *before)], ignore_conflicts=True
        )


def names_today(tests: Collection[str]) -> dict[str, list[str]]:
    """What tests were renamed to, by their old names; an old name that is still used among them.

    No query for names that no reading changes: IOzone's, and those that say what was done.
    """
    # No name has a NUL, and PostgreSQL takes none.
    asked = [test for test in tests if "\x00" not in test and not _is_lasting(test)]
    if not asked:
        return {}
    found: dict[str, list[str]] = defaultdict(list)
    for old, new in RenamedTest.objects.filter(old__in=asked).values_list("old", "new"):
        found[old].append(new)
    used = Score.objects.filter(test__in=list(found)).order_by().values_list("test", flat=True)
    for test in set(used) if found else ():
        found[test].append(test)
    return dict(found)


def names_seen(tests: Collection[str]) -> dict[str, list[str]]:
    """The same, of names that have scores which the caller may see."""
    found = names_today(tests)
    names = {name for today in found.values() for name in today}
    scores = Score.objects.filter(test__in=names).order_by()
    seen = set(scores.values_list("test", flat=True).distinct()) if names else set()
    kept = {old: [name for name in today if name in seen] for old, today in found.items()}
    return {old: today for old, today in kept.items() if today}


def _is_lasting(test: str) -> bool:
    name, load = testnames.parts(test)
    return name in testnames.IOZONE_TESTS or of_fio_name(name, load) is not None
