"""The tables that the page of a study shows, and of which of them it is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict
from django.urls import reverse

from fsbench_web.compare.pictures.sections import Section, sections
from fsbench_web.compare.selection.settings import CONTENDERS
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError, units_of
from fsbench_web.compare.selection.values import unknown
from fsbench_web.compare.tables import bounds
from fsbench_web.compare.tables.delta_tables import tables_and_notice
from fsbench_web.compare.tables.emulation import Notice
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.compare.views import study_tabs
from fsbench_web.studies.models import Study

MOST_ROWS_HERE = 60
"""Rows of tables that stand in the page of a measured study: 30 KB. Of more each test is fetched
when it is opened, so that a page is as light with a hundred tests."""
_OF_OTHER_TABS = ("tab", "of", "part", "configurations")


@dataclass(frozen=True)
class StudyTables:
    """``tables`` of the part of the study that is shown: all, or of each test the headline alone
    where ``all_categories`` is off. ``problems`` say what of the address is nowhere, and was taken
    as if nothing had been asked for.
    """

    by: str
    limited: bounds.BoundedComparison
    emulated: Notice | None
    all_categories: bool
    tables: list[DeltaTable]
    sections: list[Section]
    is_published: bool
    problems: tuple[str, ...] = ()

    @property
    def has_tables_here(self) -> bool:
        """Whether the page holds them, and fetches charts alone: of papers, and where few are."""
        return self.is_published or sum(len(table.rows) for table in self.tables) <= MOST_ROWS_HERE


def of_query(study: Study, query: QueryDict, tests: Sequence[str] = ()) -> StudyTables:
    """Of the address of a page; nonsense in it asks for nothing, and what is nowhere is said.

    ``tests`` are shown whatever part the address asks for, if the study has them.
    """
    section: Mapping[str, Any] = next(
        (section for section in study.sections if section["kind"] == "tables"), {}
    )
    by = query.get("by") or section.get("by")
    by = by if by in CONTENDERS else "filesystem"
    whole = bounds.BoundedComparison(
        ComparisonSpec(studies=(study.slug,), by=by, units=units_of(query))
    )
    limited = whole if study.is_published else _shown_part(whole.spec, query)
    part_tests = tuple(test for test in tests if limited.part and test in limited.part.tests)
    if part_tests and limited.part is not None:
        limited = bounds.by_rows(
            bounds.BoundedComparison(replace(limited.part.whole, part_tests=part_tests)),
            query.getlist("filesystem"),
        )
    problems: tuple[str, ...] = ()
    all_categories = study_tabs.shows_categories(query, is_published=study.is_published)
    try:
        every_table, emulated = _read(limited, all_categories=all_categories)
    except SpecError as error:  # a test that was renamed, or never was
        problems = tuple(error.problems)
        limited = _shown_part(whole.spec, QueryDict())
        every_table, emulated = _read(limited, all_categories=all_categories)
    if not problems and _unknown_names(limited.spec, limited, every_table):
        requested_spec = limited.spec
        if not every_table:
            limited = _shown_part(whole.spec, QueryDict())
            every_table, emulated = _read(limited, all_categories=all_categories)
        problems = _unknown_names(requested_spec, limited, every_table)
    tables = study_tabs.shown_tables(every_table, all_categories=all_categories)
    test_sections = sections(tables, section.get("tests", {}))
    return StudyTables(
        *(by, limited, emulated, all_categories, tables, test_sections),
        is_published=study.is_published,
        problems=problems,
    )


def _read(
    limited: bounds.BoundedComparison, *, all_categories: bool
) -> tuple[list[DeltaTable], Notice | None]:
    """The tables, and of others than headlines only where they are shown or asked for."""
    only = not all_categories and not limited.spec.part_categories
    return tables_and_notice(limited.spec, limited.known_facts, headlines_only=only)


def _unknown_names(
    requested_spec: ComparisonSpec, limited: bounds.BoundedComparison, tables: Sequence[DeltaTable]
) -> tuple[str, ...]:
    """Which tests and categories are asked for and the study has not, in words."""
    part = limited.part
    tests = part.tests if part else [table.test for table in tables]
    categories = (part.categories if part else ()) or [table.category for table in tables]
    return (
        *unknown("test", requested_spec.part_tests, tests),
        *unknown("category", requested_spec.part_categories, categories),
    )


def address(study: Study, query: QueryDict) -> str:
    """Where the tables of the tests of this page are: ``of=`` is to be added for those of one."""
    parameters = query.copy()
    for name in _OF_OTHER_TABS:
        parameters.pop(name, None)
    encoded = parameters.urlencode()
    return f"{reverse('studies:study_test', args=[study.slug])}?{encoded}{'&' if encoded else ''}"


def _shown_part(spec: ComparisonSpec, query: QueryDict) -> bounds.BoundedComparison:
    """The part of a measured study that is shown."""
    requested_spec = replace(spec, **_part(query))
    return bounds.by_rows(bounds.BoundedComparison(requested_spec), query.getlist("filesystem"))


def _part(query: QueryDict) -> dict[str, Any]:
    """Which part the address asks for; nonsense asks for nothing. Older links say it as filters."""
    return {
        f"part_{plural}": tuple(query.getlist(f"part_{singular}") or query.getlist(singular))
        for singular, plural in (("test", "tests"), ("category", "categories"))
    } | {
        name: int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
        for name in ("from_test", "from_row")
        for text in (query.get(name, ""),)
    }
