"""Every export is read back by somebody else's reader, and nothing in it is taken for code."""

import csv
import io
import json
import re
from datetime import UTC, datetime
from decimal import Decimal

import openpyxl
import pytest

from fsbench_web.compare.exports import latex, markdown
from fsbench_web.compare.exports.document import Document, one_line
from fsbench_web.compare.exports.formats import FORMATS
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.report.views import content_of
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.stats.intervals import Interval
from fsbench_web.core.stats.verdicts import Verdict
from fsbench_web.studies.models import Study
from tests.compare.conftest import make_run, make_score

HOSTILE = [
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    r"\input{/etc/passwd}",
    "a|b\n| c | d |",
    "100% & $x_1^2$ #~{}",
    "Grüße, 日本語, \u202eabc",
    "[5pt] starts like an option",
    "x" * 10_000,
    "nul\x00 bell\x07",
]


def row(contender: str, score: float = 1.5, **columns: object) -> DeltaRow:
    values: dict[str, object] = {
        "contender": contender,
        "configuration": contender,
        "score": score,
        "best": False,
        "delta1_percent": 12.345678,
        "delta2_percent": -14.1,
        "runs": 3,
        "published": None,
        "flags": (),
        "filesystem": "ext4",
        "study": "lab",
        "study_title": "Lab",
        "hardware": None,
        "workload": None,
        "kernel": None,
        "distribution": None,
        "origin": "computed",
        "run_ids": (1, 2),
    }
    return DeltaRow(**values | columns)  # type: ignore[arg-type]


def document(*rows: DeltaRow, title: str = "A title", tables: int = 1) -> Document:
    table = DeltaTable("write", "maximum", "KB/s", False, rows)
    address = "http://lab.example/compare/?study=a%26b&test=write"
    return Document(
        title, "What it shows.", address, datetime(2026, 5, 4, tzinfo=UTC), [table] * tables
    )


def workbook(content: bytes) -> openpyxl.Workbook:
    return openpyxl.load_workbook(io.BytesIO(content))


def test_a_workbook_has_all_digits_of_a_number():
    """Some numbers need 17, and xlsxwriter by itself writes 16."""
    scores = [0.1 + 0.2, 12345678901234.678, 1e-14 / 3, 5e9, 7.0]
    rows = [row(f"c{place}", score) for place, score in enumerate(scores)]
    book = workbook(FORMATS["xlsx"].write(document(*rows)))
    column = next(cell.column for cell in book["All rows"][1] if cell.value == "score")
    written_scores = [line[column - 1] for line in book["All rows"].iter_rows(2, values_only=True)]
    assert written_scores == scores


def test_a_leader_without_a_verdict_is_marked_as_one_in_papers_and_wikis():
    open_verdict = Verdict("unknown", method="unpaired")
    rows = [row("xfs"), row("ext4", 2.0, best=True, verdict=open_verdict)]
    assert "| ext4 (top score) |" in markdown.write(document(*rows)).decode()
    assert "\next4 (top score) &" in re.sub(r"\n +", "\n", latex.write(document(*rows)).decode())


@pytest.mark.parametrize("suffix", ["md", "tex", "xlsx"])
def test_files_say_where_scores_are_of_different_data_points(suffix):
    def exported_text(*cells):
        rows = [row(f"c{place}", cells=count) for place, count in enumerate(cells)]
        written = FORMATS[suffix].write(document(*rows))
        if suffix == "xlsx":
            return str([list(line) for line in workbook(written).worksheets[2].values])
        return written.decode()

    assert "different numbers of data points" in exported_text(3, 2)
    assert "different numbers of data points" not in exported_text(3, 3)


@pytest.mark.django_db
def test_every_format_has_every_score(client, published_studies):
    expected = {
        (table.test, table.category, row.contender): row.score
        for table in delta_tables(ComparisonSpec(studies=("unisys-2005",)))
        for row in table.rows
    }
    assert len(expected) == 210
    files = {}
    for suffix in FORMATS:
        answer = client.get(f"/compare/deltas.{suffix}?study=unisys-2005")
        assert answer.status_code == 200
        assert f'filename="fsbench-deltas.{suffix}"' in answer["Content-Disposition"]
        files[suffix] = answer.content

    def of(rows: list[dict[str, object]]) -> dict[tuple[object, ...], float]:
        return {
            (row["test"], row["category"], row["contender"]): float(str(row["score"]))
            for row in rows
        }

    assert of(list(csv.DictReader(io.StringIO(files["csv"].decode())))) == expected
    content = json.loads(files["json"])
    assert of([row | table for table in content["tables"] for row in table["rows"]]) == expected
    book = workbook(files["xlsx"])
    header, *rows = book["All rows"].iter_rows(values_only=True)
    assert of([dict(zip(header, cells, strict=True)) for cells in rows]) == expected
    assert len(book.sheetnames) == 2 + 42
    for text in (files["md"].decode(), files["tex"].decode()):
        printed = {Decimal(number.replace(",", "")) for number in re.findall(r"[\d,]+\.\d\d", text)}
        assert {Decimal(f"{score:.2f}") for score in expected.values()} <= printed


@pytest.mark.django_db
def test_a_sheet_is_one_table_with_numbers(client, published_studies):
    answer = client.get("/compare/deltas.xlsx?study=unisys-2005&test=write&category=maximum")
    book = workbook(answer.content)
    assert book.sheetnames == ["About", "All rows", "Write maximum"]
    rows = list(book["Write maximum"].iter_rows(values_only=True))
    assert rows[0][0] == "Write: maximum, KB/s, more is better"
    best = next(row for row in rows if "best" in row)
    assert best[0] == "xfs"
    assert 692055 in best
    about = {row[0]: row[1] for row in book["About"].iter_rows(values_only=True)}
    assert about["Address"].endswith("/compare/?study=unisys-2005&test=write&category=maximum")
    assert about["As of"]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("suffix", FORMATS)
def test_no_format_takes_a_name_for_code(suffix, text):
    export = document(row("ext4"), row(text, flags=(text,), study_title=text), title=text)
    content = FORMATS[suffix].write(export)
    if suffix == "xlsx":
        for sheet in workbook(content):
            for cells in sheet.iter_rows():
                assert not [cell for cell in cells if cell.data_type == "f" or cell.hyperlink]
        return
    decoded = content.decode()
    if suffix == "json":
        assert json.loads(decoded)["tables"][0]["rows"][1]["contender"] == text
    elif suffix == "csv":
        header, *rows = csv.reader(io.StringIO(decoded))
        assert [len(cells) for cells in rows] == [len(header)] * 2
        assert not any(cell.startswith(("=", "+", "@", "\t")) for cells in rows for cell in cells)
    else:
        assert "\x00" not in decoded
        assert "\x07" not in decoded


@pytest.mark.parametrize("text", HOSTILE)
def test_a_markdown_table_keeps_its_columns(text):
    lines = markdown.write(document(row(text), row("b"))).decode().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 4
    cells = [re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1] for line in table]
    assert {len(line) for line in cells} == {6}
    # Undoing the escapes gives the text back; nothing of it is markup.
    assert re.sub(r"\\(.)", r"\1", cells[2][0]).strip() == one_line(text)
    assert not re.search(r"(?<!\\)[<>`*_]", cells[2][0])


@pytest.mark.parametrize("text", HOSTILE)
def test_latex_is_balanced_and_runs_no_command_of_a_name(text):
    plain = latex.escaped(text)
    escapes = r"\\(textbackslash|textasciicircum|textasciitilde|textless|textgreater|textbar"
    escapes += r"|textquotedbl|textasciigrave|textquotesingle|ldots)\{\}|\\[{}$&#%_]"
    rest = re.sub(escapes, "", plain)
    rest = re.sub(
        r"\$(-|\\pm|\\times|\\mu|\\cdot|\\leq|\\geq|\\approx|\\rightarrow|\\Delta)\$", "", rest
    )
    rest = rest.replace("{[}", "").replace("{*}", "").replace("{}", "")
    assert not set(rest) & set(r"\{}$&#%_^~"), rest
    lines = latex.write(document(row(text), title=text)).decode().splitlines()
    text_lines = "\n".join(line for line in lines if not line.startswith("%"))
    braces = re.sub(r"\\[{}]", "", text_lines)
    assert braces.count("{") == braces.count("}")
    # A title with line breaks stays within its comment.
    assert next(line for line in lines if line)[0] == "%"
    assert lines.index(r"\begin{table}[htbp]") == next(
        place for place, line in enumerate(lines) if line and not line.startswith("%")
    )


def test_latex_makes_a_longtable_of_many_rows():
    text = latex.write(document(*[row(f"c{number}") for number in range(60)])).decode()
    assert r"\begin{longtable}{llrrrr}" in text
    assert text.count(r"\\") == 60 + 3
    assert r"\url{http://lab.example/compare/?study=a%26b&test=write}" in text


def test_a_negative_number_has_a_minus_and_a_name_its_hyphen():
    text = latex.write(document(row("-o noatime"), row("slow", delta2_percent=-5.0))).decode()
    assert "$-$5.00" in text
    assert "-5.00" not in text.replace("$-$", "")
    assert "-o noatime" in text


def test_signs_that_engines_lack_are_commands():
    assert latex.escaped("≤ 3 μs → Δ") == r"$\leq$ 3 $\mu$s $\rightarrow$ $\Delta$"


@pytest.mark.parametrize("rows", [2, 60])
def test_latex_sets_a_wide_table_smaller_and_nothing_after_it(monkeypatch, rows):
    export = document(*[row(f"c{number}") for number in range(rows)])
    assert latex.NARROW not in latex.write(export).decode()
    monkeypatch.setattr(latex, "MANY", 3)
    text = latex.write(export).decode()
    before, _, after = text.partition(latex.NARROW)
    opened, closed = before.splitlines()[-1], after.partition(r"\end{longtable}")[2]
    assert (opened, closed[0]) == ("{", "}") if rows > 40 else r"\end{table}" in after


def test_no_hyphens_become_a_dash():
    assert latex.escaped("a--b---c") == "a-{}-b-{}-{}-c"


def test_sheets_have_short_names_and_none_twice():
    export = document(row("a"), tables=3)
    names = workbook(FORMATS["xlsx"].write(export)).sheetnames
    assert names[2:] == ["Write maximum", "Write maximum (2)", "Write maximum (3)"]
    odd = DeltaTable("a/b[c]:*?" * 10, "maximum", "x", False, (row("a"),))
    export = Document("t", "d", "http://x/", datetime(2026, 1, 1, tzinfo=UTC), [odd, odd])
    for name in workbook(FORMATS["xlsx"].write(export)).sheetnames:
        assert len(name) <= 31
        assert not set(name) & set("[]:*?/\\")


def test_a_workbook_of_very_many_tables_says_what_it_leaves_to_one_sheet():
    book = workbook(FORMATS["xlsx"].write(document(row("a"), tables=230)))
    assert len(book.sheetnames) == 2 + 200
    assert book["All rows"].max_row == 231
    remarks = [
        cells[1] for cells in book["About"].iter_rows(values_only=True) if cells[0] == "Sheets"
    ]
    assert remarks[0].startswith("The first 200 of 230 tables")


@pytest.mark.parametrize(
    ("unit", "base", "score", "half_width", "shown_unit", "text", "width"),
    [
        ("KiB/s", 1024, 16_408_223.6, 5_195.59, "GiB/s", "15.648", "0.005"),
        ("s", None, 0.0174813, 0.00466, "ms", "17", "5"),
        ("ns", None, 3_254_321.0, 12_345.0, "ms", "3.254", "0.012"),
        ("KB/s", None, 692_055.0, 1_000.0, "KB/s", "692,055", "1,000"),
        ("ms", None, 12.5, 0.3, "ms", "12.50", "0.30"),
    ],
)
def test_people_read_numbers_in_the_unit_that_stands_above_them(
    unit, base, score, half_width, shown_unit, text, width
):
    delta_row = row("ext4", score, interval=Interval(score, half_width, 5))
    table = DeltaTable("write", "mean", unit, unit != "KB/s", (delta_row,), unit_base=base)
    export = Document("t", "d", "http://x/", datetime(2026, 1, 1, tzinfo=UTC), [table])
    plain = markdown.write(export).decode()
    assert f"\n{shown_unit}, " in plain
    assert f"| {text} | {text} | {width} |" in plain
    paper = latex.write(export).decode()
    assert f"({shown_unit}, " in paper
    assert f"& {text} & {text} & {width} &" in paper
    # Machines read what is stored, in its own unit.
    heading, *rows = workbook(FORMATS["xlsx"].write(export))["Write mean"].iter_rows(
        values_only=True
    )
    assert f", {unit}, " in heading[0]
    assert (score, score, half_width) == next(cells for cells in rows if cells[0] == "ext4")[3:6]
    [test] = content_of(Study(title="Lab"), [table])["tests"]
    [grid] = test["tables"]
    assert f"({shown_unit}, " in grid.title
    assert tuple(grid.rows[0][3:6]) == (text, text, width)


def test_missing_is_missing():
    export = document(row("ext4", runs=None, delta1_percent=None, configuration=None), row("xfs"))
    lines = markdown.write(export).decode().splitlines()
    assert "| ext4 | – | – | 1.50 | – | -14.10 |" in lines
    rows = list(
        workbook(FORMATS["xlsx"].write(export))["Write maximum"].iter_rows(values_only=True)
    )
    assert rows[4][:6] == ("ext4", None, None, 1.5, None, -14.1)


def test_a_table_that_nobody_can_rank_names_no_direction():
    unranked = document(row("a"), row("b"))
    assert "KB/s, not ranked." in markdown.write(unranked).decode()
    ranked = document(row("a"), row("b", best=True))
    assert "KB/s, more is better." in markdown.write(ranked).decode()


def test_flags_are_footnotes():
    text = markdown.write(
        document(row("a", flags=("partial",)), row("b", flags=("partial", "z")))
    ).decode()
    assert "| a (a) |" in text
    assert "| b (a, b) |" in text
    assert "- (a) partial: The score has fewer data points" in text
    assert "- (b) z: " in text


@pytest.mark.django_db
def test_a_permalink_is_exported_as_it_was(client, jo):
    score = make_score("ext4", 100)
    make_run(score.series)
    make_score("ext4", 5, test="read")
    link = records.pin(ComparisonSpec(), jo, title="Before the update")
    make_score("ext4", 150)
    for suffix in FORMATS:
        answer = client.get(f"/p/{link.key}/deltas.{suffix}")
        assert answer.status_code == 200, suffix
        assert f'filename="fsbench-{link.key}.{suffix}"' in answer["Content-Disposition"]
    content = json.loads(client.get(f"/p/{link.key}/deltas.json").content)
    assert content["title"] == "Before the update"
    assert content["snapshot_sha256"] == link.sha256
    assert {row["score"] for table in content["tables"] for row in table["rows"]} == {100, 5}
    part = json.loads(client.get(f"/p/{link.key}/deltas.json?test=read&category=maximum").content)
    assert [table["test"] for table in part["tables"]] == ["read"]
    assert client.get(f"/p/{link.key}/deltas.json?test=fread").status_code == 404
    page = client.get(f"/p/{link.key}/export/?test=read").content.decode()
    assert f'href="/p/{link.key}/deltas.xlsx?test=read"' in page
    assert "| ext4 |" in page


@pytest.mark.django_db
def test_changed_numbers_are_not_exported(client, jo):
    make_score("ext4", 100)
    link = records.pin(ComparisonSpec(), jo)
    Permalink.objects.update(snapshot=link.snapshot.replace("100.0", "900.0"))
    for path in [*(f"deltas.{suffix}" for suffix in FORMATS), "export/", "image.png", "embed/"]:
        answer = client.get(f"/p/{link.key}/{path}")
        assert answer.status_code == 409, path
        assert b"900" not in answer.content


@pytest.mark.django_db
def test_the_page_of_one_table_has_texts_to_copy(client, published_studies):
    page = client.get("/compare/export/?study=unisys-2005&test=write&category=maximum")
    text = page.content.decode()
    assert "692,055.00" in text
    assert r"\toprule" in text
    for suffix in FORMATS:
        assert f"/compare/deltas.{suffix}?study=unisys-2005&amp;test=write" in text
    assert r"\toprule" not in client.get("/compare/export/?study=unisys-2005").content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["deltas.pdf", "deltas.", "deltas.csv.exe"])
def test_an_unknown_format_is_not_found(client, path):
    assert client.get(f"/compare/{path}").status_code == 404


@pytest.mark.django_db
def test_a_comparison_that_cannot_be_shown_is_refused(client):
    assert client.get("/compare/deltas.xlsx?study=nope").status_code == 400
    assert client.get("/compare/export/?study=nope").status_code == 400


@pytest.mark.django_db
def test_nothing_to_export_is_said(client):
    assert "nothing to export" in client.get("/compare/export/").content.decode()
