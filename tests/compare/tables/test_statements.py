"""What the Unisys text states, set against its own tables."""

import re

import pytest
from django.test import Client

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables import statements
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.compare.tables.statements import CONFIRMED, DIFFERS, UNCHECKED, CheckedStatement
from fsbench_web.studies.models import Study
from fsbench_web.studies.published.data import published_studies
from tests.compare.tables.verdicts.test_significance import row, table

STATED = next(
    section
    for study in published_studies()
    if study.slug == "unisys-2005"
    for section in study.sections
    if section["kind"] == "statements"
)["items"]
SCORE = {"kind": "score", "test": "write", "category": "overall", "filesystem": "jfs"}


def checked_statement(check: dict[str, object], *tables: object) -> CheckedStatement:
    [statement] = statements.check(
        [{"text": "T", "place": "P", "check": check}],
        tables,  # type: ignore[arg-type]
    )
    return statement


def text_of(statement: CheckedStatement) -> str:
    return "".join(part.text for part in statement.parts)


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [("100.00", CONFIRMED), ("100.01", DIFFERS), ("99.99", DIFFERS)],
)
def test_a_stated_score_is_right_to_the_printed_digit(stated: str, verdict: str) -> None:
    statement = checked_statement(
        {**SCORE, "score": stated}, table(row("xfs", 80), row("jfs", 100))
    )
    assert statement.verdict == verdict
    assert "100.00" in text_of(statement) or verdict == CONFIRMED


def test_a_score_that_no_table_has_cannot_be_checked() -> None:
    assert checked_statement({**SCORE, "score": "1"}, table(row("xfs", 80))).verdict == UNCHECKED


def test_a_configuration_behind_the_best_cannot_be_checked_and_one_ahead_differs() -> None:
    check = {**SCORE, "kind": "other_configuration"}
    delta_table = table(row("jfs", 100))
    assert checked_statement({**check, "score": "90"}, delta_table).verdict == UNCHECKED
    assert checked_statement({**check, "score": "110"}, delta_table).verdict == DIFFERS
    times = table(row("jfs", 100), lower=True, unit="s")
    assert checked_statement({**check, "score": "90"}, times).verdict == DIFFERS


@pytest.mark.django_db
def test_the_statements_of_the_paper(published_studies: None) -> None:
    tables = delta_tables(ComparisonSpec(studies=("unisys-2005",)))
    checked_statements = statements.check(STATED, tables)
    assert [item.verdict for item in checked_statements].count(CONFIRMED) == 8
    assert [item.text for item in checked_statements if item.verdict == DIFFERS] == [
        "The overall score is the sum of “the five above mentioned categories”."
    ]
    by_text = {item.text: text_of(item) for item in checked_statements}
    # By hand: 1,147,056.63 / 1,145,665.21 - 1 = 0.1215%.
    first = by_text["jfs_noatime has an overall score of 1,147,056.63 in write."]
    assert "the best of its table, 0.12% faster than xfs" in first
    # ext3 is second in read: (6,177,114.22 - 6,152,515.24) / 6,177,114.22 = 0.3982%.
    second = by_text["ext3_wb_noatime_dl has an overall score of 6,152,515.24 in read."]
    assert "with ext2 ahead: it is 0.40% slower than the best" in second
    assert "646,027.27" in by_text["jfs_xj_dl has an overall score of 639,206.53 in rewrite."]
    assert "30 of the 30 overall scores are above" in next(
        text_of(item) for item in checked_statements if item.verdict == DIFFERS
    )
    assert any("29 of the 30 overall scores are below" in words for words in by_text.values())
    assert all(item.place for item in checked_statements)


@pytest.mark.django_db
def test_the_study_page_sets_them_side_by_side(client: Client, published_studies: None) -> None:
    html = client.get("/studies/unisys-2005/").content.decode()
    section = html[html.index('id="findings"') :].split("</section>")[0]
    assert section.count("cannot be checked</span>") == 3
    assert section.count("confirmed</span>") == 8
    assert section.count("differs</span>") == 1
    assert "Text on random write" in section
    anchors = set(re.findall(r'href="#([^"]+)"', section))
    assert anchors <= set(re.findall(r'id="([^"]+)"', html)), "every link leads somewhere"
    assert "significant against" not in section, "a paper without repeats claims nothing here"


@pytest.mark.django_db
def test_a_study_without_statements_has_no_such_table(
    client: Client, published_studies: None
) -> None:
    assert "Check against the text" not in client.get("/studies/galli-2001/").content.decode()
    assert Study.objects.filter(slug="galli-2001").exists()


def test_every_check_in_the_files_exists() -> None:
    for item in STATED:
        assert ("check" in item) != ("why" in item)
        assert "check" not in item or item["check"]["kind"] in statements.KINDS
