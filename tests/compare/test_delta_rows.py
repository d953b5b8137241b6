"""Rows are put together from text: nothing that an import named may become markup."""

from dataclasses import replace

import pytest

from fsbench_web.compare.rows import DeltaRow, DeltaTable
from fsbench_web.compare.templatetags.delta_rows import delta_rows, study_rows
from fsbench_web.scoring.confidence import Interval
from fsbench_web.scoring.significance import Verdict

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
        replace(ROW, study="other", flags=(), best=False, is_baseline=True, runs=None),
    ),
)


@pytest.mark.parametrize(
    "html",
    [delta_rows(TABLE, ""), study_rows(TABLE, "filesystem", False)],
    ids=["compare", "study"],
)
def test_no_name_is_taken_for_markup(html) -> None:
    assert "<b>" not in html
    assert "&lt;b&gt;&quot;&#x27;&amp;" in html
    assert "± &lt; 0.1%" in html


def test_what_is_missing_is_not_zero() -> None:
    assert '<td class="num folds">–</td>' in delta_rows(TABLE, "")
    assert 'title="Not stated">–' in study_rows(TABLE, "filesystem", False)
