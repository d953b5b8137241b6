"""Rows are put together from text: nothing that an import named may become markup."""

from dataclasses import replace

import pytest
from django.template import Context
from django.template.loader import render_to_string

from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.compare.pictures.sections import Section
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.templatetags.compare import export_address
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.stats.intervals import Interval
from fsbench_web.core.stats.verdicts import Verdict
from tests.compare.written import html_of

HOSTILE = "<b>\"'&"
ROW = DeltaRow(
    contender=HOSTILE,
    configuration=f"x{HOSTILE}",
    label=f"label {HOSTILE}",
    score=2.0,
    best=True,
    delta1_percent=0.0,
    delta2_percent=0.0,
    runs=2,
    published=None,
    flags=(HOSTILE,),
    filesystem=HOSTILE,
    study=HOSTILE,
    study_title=HOSTILE,
    hardware=HOSTILE,
    workload=HOSTILE,
    kernel=HOSTILE,
    distribution=HOSTILE,
    origin="computed",
    run_ids=(1, 2),
    configurations=2,
    interval=Interval(2.0, 0.0001, 2),
    verdict=Verdict("tie", ("overlap",), against=(HOSTILE,)),
    change_verdict=Verdict("tie", ("overlap",), against=(HOSTILE,)),
    change_percent=-1.0,
)
TABLE = DeltaTable(
    test=HOSTILE,
    category="mean",
    unit=HOSTILE,
    lower_is_better=False,
    rows=(
        ROW,
        ROW._replace(study="other", flags=(), best=False, is_baseline=True, runs=None),
    ),
)


def test_no_name_is_taken_for_markup() -> None:
    html = html_of(Context(), TABLE)
    assert "<b>" not in html
    assert "&lt;b&gt;&quot;&#x27;&amp;" in html
    assert "± &lt; 0.1%" in html


def test_what_is_missing_is_not_zero() -> None:
    assert '<td class="num folds">–</td>' in html_of(Context(), TABLE)


def test_no_name_around_the_rows_is_taken_for_markup() -> None:
    table = replace(
        TABLE, category=HOSTILE, rows=tuple(r._replace(flags=(HOSTILE,)) for r in TABLE.rows)
    )
    section = Section(HOSTILE, "slug", HOSTILE, [table], [HOSTILE])
    for spec in (ComparisonSpec(baseline=HOSTILE), ""):
        context = Context({"section": section, "spec": spec, "table_form": HOSTILE})
        html = html_of(context, table)
        assert "<b>" not in html
        assert html.count("&lt;b&gt;&quot;&#x27;&amp;") > 4


def test_no_word_about_a_series_is_taken_for_markup() -> None:
    words = ("configuration__label", "preparation", "workload__title", "lun", "kernel")
    shown_series = dict.fromkeys((*words, "hardware__slug", "hardware__name"), HOSTILE) | {
        "configuration__is_known": True,
        "machine": Machine.of({}),
        "repeats": [HOSTILE],
    }
    html = render_to_string("studies/study_series.html", {"series": [shown_series]})
    assert "<b>" not in html
    assert html.count("&lt;b&gt;&quot;&#x27;&amp;") == 8


@pytest.mark.parametrize(
    "spec",
    [
        ComparisonSpec(),
        ComparisonSpec(studies=("test=a", "b&c")),
        ComparisonSpec(studies=("one",), filesystems=("ext4",), baseline="ext4", margin=5.0),
        ComparisonSpec(tests=("write", "read"), categories=("overall",), kernels=("6.1",)),
    ],
)
def test_the_export_of_a_table_is_a_part_of_its_comparison(spec: ComparisonSpec) -> None:
    table = replace(TABLE, test="random read@threads=8", category="overall")
    part = replace(spec, part_tests=(table.test,), part_categories=(table.category,))
    address = export_address(Context({"spec": spec}), table)
    assert address == f"/compare/export/?{part.to_query()}"
    assert ComparisonSpec.from_query(address.partition("?")[2]) == part
