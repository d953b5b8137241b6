"""The report of a study: every table and every command, on one page."""

import html
import re

import pytest

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.core import numbers
from fsbench_web.studies.models import Run, RunState, Study
from tests.compare.conftest import make_run, make_score, make_series, make_study

pytestmark = pytest.mark.django_db
CHAPTERS = [
    "Executive summary",
    "Methodology",
    "Comparative analysis",
    "Appendix A: tables",
    "Appendix B: how to repeat it",
]
HOSTILE = [
    "<script>alert(1)</script>",
    '<img src="http://evil.example/x.png"/>',
    '"><a href="#nowhere">&amp;',
    r"\input{/etc/passwd} =cmd()",
    "Grüße 日本語 \u202e\u0007",
    "y" * 200,
]


def words(text: str) -> str:
    return " ".join(text.split())


def measured(slug: str = "lab") -> Study:
    study = make_study(slug, summary="What we wanted to know.")
    for label, value in (("ext4_noatime", 100.0), ("xfs", 250.5)):
        score = make_score(label, value, study=slug, repeats=2, workload="small", kernel="6.1.0")
        run = make_run(score.series)
        run.commands = [
            {"phase": "mkfs", "argv": ["mkfs.x", "-L", "fsbench", f"/dev/my disk {label}"]},
            {"phase": "run", "argv": ["iozone", "-a", "-f", "/mnt/a;rm -rf"]},
        ]
        run.save()
    make_run(make_series("btrfs", study=slug), RunState.FAILED)
    return study


def test_the_paper_study_has_every_row_of_its_tables(client, published_studies):
    text = client.get("/studies/unisys-2005/report/").content.decode()
    appendix = text[text.index('id="tables"') :]
    tables = delta_tables(ComparisonSpec(studies=("unisys-2005",)))
    assert len(tables) == 42
    for table in tables:
        for row in table.rows:
            assert numbers.number(row.score) in appendix
            assert numbers.percent(row.delta1_percent) in appendix
    assert appendix.count("KB/s, more is better") == 36
    assert appendix.count("sum of the six categories, more is better") == 6


def test_the_address_of_the_pdf_leads_to_the_page(client):
    answer = client.get("/studies/lab/report.pdf?by=kernel")
    assert (answer.status_code, answer["Location"]) == (301, "/studies/lab/report/?by=kernel")


def test_the_page_has_all_tables_and_charts_without_a_script(client, published_studies):
    text = client.get("/studies/unisys-2005/report/").content.decode()
    for chapter in CHAPTERS:
        assert f">{chapter}</h2>" in text
    # The answer's chart; no script draws it.
    assert text.count('<svg class="answer-chart"') == 1
    assert len(re.findall(r'id="table-\d+"', text)) == 42
    assert "plotly" not in text
    assert "692,055.00" in text
    for target in set(re.findall(r'href="#([^"]+)"', text)):
        assert f'id="{target}"' in text


@pytest.mark.parametrize("slug", ["freenix-2002", "galli-2001", "hilzinger-2006", "sun-2004"])
def test_every_published_study_can_be_printed(client, published_studies, slug):
    assert client.get(f"/studies/{slug}/report/").status_code == 200


def test_a_measured_study_says_how_and_how_again(client):
    study = measured()
    text = words(html.unescape(client.get("/studies/lab/report/").content.decode()))
    for expected in (study.summary, "250.50", "6.1.0"):
        assert expected in text
    # As they would be typed: quoted for a shell.
    assert "mkfs.x -L fsbench '/dev/my disk xfs'" in text
    assert "iozone -a -f '/mnt/a;rm -rf'" in text
    assert "Imported or unfinished: btrfs." in text
    assert "http://testserver/api/v1/deltas.csv?study=lab" in text
    run = Run.objects.filter(state=RunState.DONE).latest("pk")
    assert f'href="/runs/{run.pk}/"' in text


def test_its_sentences_are_of_the_category_that_the_page_of_the_study_shows(client):
    """Of a matrix another can come first in the sum of all categories."""
    make_study("lab")
    for category, ext4, xfs in (("total_average", 100.0, 140.0), ("overall", 900.0, 700.0)):
        make_score("ext4", ext4, test="reread", category=category)
        make_score("xfs", xfs, test="reread", category=category)
    report = client.get("/studies/lab/report/").content.decode()
    summary_text = words(report.split('id="summary"')[1].split('id="methodology"')[0])
    sentences = re.findall(r"<li>(.*?)</li>", summary_text)
    assert any("Reread" in sentence and "xfs" in sentence for sentence in sentences)
    assert not any("overall" in sentence for sentence in sentences)
    # Each table is there as before.
    assert len(re.findall(r'id="table-\d+"', report)) == 2


def test_a_study_without_runs_says_so(client):
    make_study("empty")
    text = client.get("/studies/empty/report/").content.decode()
    assert "No scores yet" in text
    assert "There are no runs." in text


def test_one_of_a_thing_is_one(client):
    make_score("ext4", 7.0, test="copy", category="mean")
    text = words(client.get("/studies/lab/report/").content.decode())
    assert "1 table of 1 test, all from published figures." in text


def test_tables_of_costs_are_told_apart_from_those_that_findings_count(client):
    for test in ("copy", "write_amplification"):
        make_score("ext4", 7.0, test=test, category="mean")
    text = words(client.get("/studies/lab/report/").content.decode())
    assert "2 tables of 2 tests, 1 of them of costs, all from published figures." in text


def test_by_says_what_is_ranked(client):
    measured()
    text = client.get("/studies/lab/report/?by=configuration").content.decode()
    assert "study=lab&amp;by=configuration" in text or "study=lab&#x26;by=configuration" in text
    assert client.get("/studies/lab/report/?by=nonsense").status_code == 200


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_is_taken_for_markup(client, text):
    Study.objects.update_or_create(
        slug="lab", defaults={"title": text[:200], "summary": text * 30, "authors": text}
    )
    make_score("ext4", 1, flags=[text])
    series = make_series("ext4_x", workload="w")
    series.workload.title = text
    series.workload.save()
    make_run(series)
    page = client.get("/studies/lab/report/")
    assert page.status_code == 200
    for tag in ("<script>alert", "<img src=", '"><a href="#nowhere'):
        assert tag not in page.content.decode()


def test_an_unknown_study_is_a_helpful_404(client):
    answer = client.get("/studies/nope/report/")
    assert answer.status_code == 404
    assert "There is no study &quot;nope&quot;" in answer.content.decode()


def test_the_report_takes_a_constant_number_of_queries(client, django_assert_max_num_queries):
    measured()
    with django_assert_max_num_queries(16):
        client.get("/studies/lab/report/")
    for number in range(20):
        make_run(make_score(f"ext4_{number}", 5, study="lab").series)
    with django_assert_max_num_queries(16):
        client.get("/studies/lab/report/")
