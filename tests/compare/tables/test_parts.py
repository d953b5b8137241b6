"""A part of a comparison is shown as it stands in the whole, to the last bit."""

import random
from dataclasses import replace

import pytest

from fsbench_web.catalog.workers.machines import EMULATED, Machine
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.tables.delta_tables import comparison, delta_tables
from fsbench_web.studies.models import Score, Series
from tests.compare.conftest import make_run, make_score, printed

pytestmark = pytest.mark.django_db

TESTS = {"write": "KB/s", "read": "KB/s", "mkfs": "s", "odd": "furlongs"}
CATEGORIES = ("maximum", "overall")


@pytest.fixture(scope="module")
def lab(module_db):
    """Forty series with all that a verdict depends on, drawn by a fixed seed.

    Equal scores, missing and empty scatter, units of either direction and of none, a negative rate,
    the same labels in two studies, kernels, printed scores, and emulated ones.
    """
    chance = random.Random(5)
    for number in range(40):
        study = "lab" if number % 3 else "other"
        series = {"study": study, "kernel": f"6.{number % 2}"}
        label = f"{'ext4' if number % 2 else 'xfs'}_{number // 2}"
        for test, unit in TESTS.items():
            if chance.random() < 0.1:
                continue
            for category in CATEGORIES:
                value = round(chance.uniform(80, 130))
                score = make_score(
                    label,
                    -1.0 if number == 7 and category == "overall" and test == "read" else value,
                    test=test,
                    unit=unit,
                    category=category,
                    repeats=chance.choice([1, 2, 5]),
                    published=printed(number == 4, "1.00", "-2.00") if number in (4, 5) else None,
                    **series,
                )
                interval = {
                    "mean": value + chance.uniform(-1, 1),
                    "half_width": chance.choice([0.0, chance.uniform(0.001, 30.0)]),
                    "count": chance.choice([2, 3, 7, 120]),
                    "of": "repeats",
                }
                if chance.random() < 0.8:
                    Score.objects.filter(pk=score.pk).update(interval=interval)
        make_run(score.series)
    emulated = Machine("6.12", EMULATED, 2**30, 1).stored()
    few = Series.objects.filter(configuration__label__in=("ext4_1", "xfs_2"))
    assert few.update(machine=emulated) >= 2


SPECS = [
    "",
    "study=lab",
    "margin=2",
    "baseline=ext4_3",
    "emulated=with&baseline=xfs_4",
    "emulated=only",
    "min_runs=2&cells=",
    "kernel=6.1&filesystem=ext4",
    "test=write&test=mkfs&category=overall",
]
PARTS = [
    {"part_tests": ("write",)},
    {"part_tests": ("mkfs", "odd"), "part_categories": ("overall",)},
    {"part_categories": ("maximum",)},
]


def unjudged(tables):
    """Without what depends on the other tables that are shown: the family of the verdicts."""
    return [replace(table, rows=tuple(map(_unjudged, table.rows))) for table in tables]


def _unjudged(row):
    return row._replace(
        **{
            name: verdict and (verdict.ratio, verdict.p_value, verdict.p_holm, verdict.tested)
            if verdict is None or len(verdict.against) == 1
            else None
            for name in ("verdict", "change_verdict")
            for verdict in [getattr(row, name)]
        }
    )


@pytest.mark.parametrize("by", ["configuration", "kernel"])
def test_it_has_the_very_tables_of_the_whole(lab, by):
    for query in SPECS:
        spec = replace(ComparisonSpec.from_query(query), by=by)
        whole = delta_tables(spec)
        assert whole, query
        for chosen in PARTS:
            part = replace(spec, **chosen)
            expected = [table for table in whole if part.shows(table.test, table.category)]
            assert unjudged(delta_tables(part)) == unjudged(expected), (query, chosen)
            assert comparison(part).tables == delta_tables(part), (query, chosen)


def test_the_lab_has_verdicts_of_every_kind(lab):
    spec = ComparisonSpec(by="configuration", emulated="with", margin=2.0, baseline="ext4_3")
    rows = [row for table in delta_tables(spec) for row in table.rows]
    verdicts = {row.verdict.status for row in rows if row.verdict}
    changes = {row.change_verdict.status for row in rows if row.change_verdict}
    assert verdicts == changes == {"significant", "tie", "unknown"}
    by_ratio = replace(spec, margin=10.0, rule="")
    rows = [row for table in delta_tables(by_ratio) for row in table.rows if row.verdict]
    assert {row.verdict.status for row in rows} == {"significant", "equal", "tie", "unknown"}


def test_a_matched_part_is_that_of_the_matched_whole(lab):
    spec = ComparisonSpec(by="configuration", matched=True)
    part = replace(spec, part_tests=("read",))
    whole = [table for table in delta_tables(spec) if table.test == "read"]
    assert unjudged(delta_tables(part)) == unjudged(whole)


def test_its_runs_are_those_of_its_rows(lab):
    spec = ComparisonSpec(by="configuration", part_tests=("odd",))
    alone = ComparisonSpec(by="configuration", tests=("odd",))
    assert comparison(spec).run_count == comparison(alone).run_count > 0


def test_a_part_that_nothing_has_is_refused_or_empty(lab):
    spec = ComparisonSpec(by="configuration", studies=("lab",))
    with pytest.raises(SpecError, match='There is no part_test "wirte"'):
        delta_tables(replace(spec, part_tests=("wirte",)))
    assert delta_tables(replace(spec, part_tests=("fread",))) == []
    with pytest.raises(SpecError, match='There is no part_category "median"'):
        ComparisonSpec.from_query("part_category=median")


def test_it_takes_as_many_queries_however_much_there_is(lab, django_assert_num_queries):
    spec = ComparisonSpec(studies=("lab",), by="configuration", part_tests=("write",))
    with django_assert_num_queries(6):  # one more with printed scores
        delta_tables(spec)
    Score.objects.update(published=None)
    with django_assert_num_queries(5):
        delta_tables(spec)
    Score.objects.filter(series__configuration__filesystem="xfs").delete()
    with django_assert_num_queries(5):
        delta_tables(spec)
