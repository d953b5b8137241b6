"""Spreadsheets: what their cells hold, and that no hostile one costs time or memory."""

import io
import re
import tracemalloc
import zipfile
from datetime import date, datetime
from xml.sax.saxutils import escape, quoteattr

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core.formats import UnreadableFile, parse
from fsbench_web.core.formats.tables import spreadsheet
from fsbench_web.core.formats.tables.grid import MAX_CELL
from fsbench_web.core.formats.tables.mapping import Mapping, NeedsMapping
from fsbench_web.core.formats.tables.spreadsheet import MAX_ROWS, grids_of, parse_mapped, text_of

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
CONTENT_TYPES = (
    f'<Types xmlns="{PACKAGE}/content-types">'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/sharedStrings.xml" ContentType="{_KIND}.sharedStrings+xml"/>'
    "</Types>"
)
Cell = str | float | None


def sheet_xml(rows: list[list[Cell]], strings: list[str]) -> str:
    """Texts as shared strings, as spreadsheet programs write them."""
    text = f'<?xml version="1.0"?><worksheet xmlns="{MAIN}"><sheetData>'
    for number, row in enumerate(rows, start=1):
        text += f'<row r="{number}">'
        for column, cell in enumerate(row):
            place = f"{chr(65 + column)}{number}"
            if isinstance(cell, str):
                strings.append(cell)
                text += f'<c r="{place}" t="s"><v>{len(strings) - 1}</v></c>'
            elif cell is not None:
                text += f'<c r="{place}" s="3"><f>1+1</f><v>{cell!r}</v></c>'
        text += "</row>"
    return text + "</sheetData></worksheet>"


def book(sheets: dict[str, list[list[Cell]]], hidden: str = "", **parts: str | bytes) -> bytes:
    strings: list[str] = []
    files: dict[str, str | bytes] = {"[Content_Types].xml": CONTENT_TYPES}
    listed = linked = ""
    for number, (name, rows) in enumerate(sheets.items(), start=1):
        files[f"xl/worksheets/sheet{number}.xml"] = sheet_xml(rows, strings)
        state = ' state="hidden"' if name == hidden else ""
        listed += f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="rId{number}"{state}/>'
        linked += (
            f'<Relationship Id="rId{number}" Type="{RELATIONS}/worksheet" '
            f'Target="worksheets/sheet{number}.xml"/>'
        )
    files["xl/workbook.xml"] = (
        f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{listed}</sheets></workbook>'
    )
    files["xl/_rels/workbook.xml.rels"] = (
        f'<Relationships xmlns="{PACKAGE}/relationships">{linked}</Relationships>'
    )
    files["xl/sharedStrings.xml"] = (
        f'<sst xmlns="{MAIN}">'
        + "".join(
            f'<si><r><t>{escape(text)}</t></r><rPh sb="0" eb="1"><t>no</t></rPh></si>'
            for text in strings
        )
        + "</sst>"
    )
    files |= {name.replace("__", "/") + ".xml": data for name, data in parts.items()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


HEAD: list[Cell] = ["test", "record_size_kb", "file_size_kb", "value", "unit"]
LONG: list[list[Cell]] = [
    HEAD,
    ["write", 4, 64, 1234.5, "KB/s"],
    [],
    ["Random read", 4.0, 64, 99.5, "KB/s"],
    ["read", 4, 64, None, "KB/s"],
]


def refusal(data: bytes) -> str:
    with pytest.raises(UnreadableFile) as refused:
        parse("x", data)
    return refused.value.problems[0].message


def test_a_long_sheet_is_read_with_its_row_numbers() -> None:
    result = parse("x.xlsx", book({"Data": LONG}))
    assert [(v.test, v.record_size_kb, v.value, v.line) for v in result.numbers.values()] == [
        ("write", 4, 1234.5, 2),
        ("random_read", 4, 99.5, 4),
    ]


def test_a_matrix_a_sheet_takes_its_test_from_the_sheets_name() -> None:
    matrix: list[list[Cell]] = [[None, 4, 8], [64, 1, 2], [128, 3, None]]
    data = book({"Write (KB/s)": matrix, "Re-read (KB/s)": matrix})
    assert [
        (v.test, v.record_size_kb, v.value, v.line) for v in parse("x", data).numbers.values()
    ] == [
        ("write", 4, 1, 3),
        ("write", 8, 2, 3),
        ("write", 4, 3, 4),
        ("reread", 4, 1, 7),
        ("reread", 8, 2, 7),
        ("reread", 4, 3, 8),
    ]


def test_a_sheet_can_be_chosen_by_a_mapping() -> None:
    matrix: list[list[Cell]] = [["lab 3"], ["speed", 4, 8], [64, 1, 2], [128, 3, None]]
    data = book({"first": matrix, "second": [["nothing here"]]})
    with pytest.raises(NeedsMapping):
        parse("x", data)
    mapping = Mapping(
        "matrix",
        header_line=3,
        delimiter="",
        constants={"unit": "KB/s", "test": "write"},
        sheet="Write (KB/s)",
    )
    assert [(v.value, v.line) for v in parse_mapped(data, mapping).numbers.values()] == [
        (1, 4),
        (2, 4),
        (3, 5),
    ]


def test_sheets_are_read_together_and_one_without_a_table_is_named() -> None:
    other: list[list[Cell]] = [HEAD, ["read", 4, 64, 7, "KB/s"]]
    data = book({"One": LONG, "Notes": [["ask Ann"]], "Two": other, "Old": LONG}, hidden="Old")
    result = parse("x", data)
    assert [v.test for v in result.numbers.values()] == ["write", "random_read", "read"]
    lines = text_of(data)
    assert [lines[v.line - 1].split("\t")[0] for v in result.numbers.values()] == [
        *("write", "Random read", "read")
    ]
    assert any('"Notes" holds no table' in warning.message for warning in result.warnings)


def test_the_same_cell_in_two_sheets_is_refused() -> None:
    assert "already given in line" in refusal(book({"One": LONG, "Two": LONG}))


def test_problems_point_to_their_cell() -> None:
    with pytest.raises(UnreadableFile) as refused:
        parse("x", book({"Data": [HEAD, ["write", 4, 64, "#DIV/0!", "KB/s"]]}))
    [problem] = refused.value.problems
    assert (problem.line, problem.column) == (2, 4)


def test_entities_are_refused_before_they_grow() -> None:
    laughs = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {chr(98 + n)} "{("&" + chr(97 + n) + ";") * 10}">' for n in range(9)
    )
    for part in ("xl__workbook", "xl__sharedStrings", "xl__worksheets__sheet1"):
        bomb = f"{laughs}]><x>&j;</x>"
        assert "document type" in refusal(book({"Data": LONG}, **{part: bomb}))
    outside = '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>'
    assert "document type" in refusal(book({"Data": LONG}, xl__workbook=outside))


def test_a_bomb_is_refused_while_it_unpacks(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = sparse(
        "".join(f'<row r="{n}"><c r="A{n}"><v>1</v></c></row>' for n in range(1, 30_000))
    )
    monkeypatch.setattr(spreadsheet, "MAX_CELLS", 20_000)
    monkeypatch.setattr(spreadsheet, "MAX_UNPACKED_BYTES", 16 * 1024 * 1024)
    huge = f'<worksheet xmlns="{MAIN}">'.encode() + b" " * (17 * 1024 * 1024)
    data = [book({"D": LONG}, xl__worksheets__sheet1=part) for part in (cells, huge)]
    tracemalloc.start()
    try:
        assert "more than 20000 cells" in refusal(data[0])
        assert "more than 16 MiB" in refusal(data[1])
        assert tracemalloc.get_traced_memory()[1] < 80 * 1024 * 1024
    finally:
        tracemalloc.stop()


def sparse(cells: str) -> str:
    return f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'


WIDE = "".join(f'<row r="{n}"><c r="KN{n}"><v>1</v></c></row>' for n in range(1, 40_001))
# One text in many cells; what ends in a blank is not the text that they share.
REPEATED = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 10_001))
LONG_TEXT = f'<sst xmlns="{MAIN}"><si><t>{"x" * 9999} </t></si></sst>'


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (book({"D": LONG}, xl__worksheets__sheet1=sparse(WIDE)), "empty places"),
    ],
    ids=["far to the right"],
)
def test_a_small_file_does_not_become_a_large_table(data: bytes, words: str) -> None:
    assert len(data) < 500_000
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableFile, match=words):
            text_of(data)
        assert tracemalloc.get_traced_memory()[1] < 60 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_text_that_many_cells_share_is_kept_once() -> None:
    part = sparse(
        REPEATED.split("</row>")[0] + "</row>" + "<row r='9'><c r='A9' t='s'><v>0</v></c></row>"
    )
    [grid] = grids_of(book({"D": LONG}, xl__worksheets__sheet1=part, xl__sharedStrings=LONG_TEXT))
    first, second = (row.words[0] for row in grid.rows)
    assert first == "x" * MAX_CELL
    assert first is second


def test_a_long_text_in_many_cells_takes_little_memory() -> None:
    data = book({"D": LONG}, xl__worksheets__sheet1=sparse(REPEATED), xl__sharedStrings=LONG_TEXT)
    tracemalloc.start()
    try:
        assert {len(row.words[0]) for grid in grids_of(data) for row in grid.rows} == {MAX_CELL}
        assert tracemalloc.get_traced_memory()[1] < 60 * 1024 * 1024
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (f'<row r="{MAX_ROWS + 1}"><c r="A1"><v>1</v></c></row>', "rows"),
        ('<row r="1"><c r="ZZZ1"><v>1</v></c></row>', "columns"),
        ('<row r="2"><c r="A2"><v>1</v></c></row><row r="1"/>', "comes after row 2"),
        ('<row r="1"><c r="B1"><v>1</v></c><c r="A1"><v>2</v></c></row>', "out of order"),
        ('<row r="1"><c r="A1"><v>1</v></c><c r="A1"><v>2</v></c></row>', "out of order"),
    ],
)
def test_places_beyond_any_table_or_out_of_order_are_refused(row: str, words: str) -> None:
    part = f'<worksheet xmlns="{MAIN}"><sheetData>{row}</sheetData></worksheet>'
    assert words in refusal(book({"D": LONG}, xl__worksheets__sheet1=part))


def test_a_damaged_spreadsheet_is_refused() -> None:
    whole = book({"Data": LONG})
    for data in (whole[:-40], whole[:200], book({"Data": LONG}, xl__workbook="<a><b></a>")):
        assert "spreadsheet" in refusal(data) or "damaged" in refusal(data)
    assert "no cells" in refusal(book({"Empty": []}))
    assert "no cells" in refusal(book({}))


@settings(max_examples=120, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 900),
            st.integers(0, 25),
            st.sampled_from(["", "<v>", '"', "<row>", "&lt;", "t='s'", "9" * 20, "<c>", "\x00"]),
        ),
        max_size=4,
    )
)
def test_damaged_sheets_give_numbers_of_the_sheet_or_a_problem(
    edits: list[tuple[int, int, str]],
) -> None:
    strings: list[str] = []
    part = sheet_xml(LONG, strings)
    for place, length, piece in edits:
        start = place % (len(part) + 1)
        part = part[:start] + piece + part[start + length :]
    try:
        result = parse("x", book({"D": LONG}, xl__worksheets__sheet1=part))
    except UnreadableFile as error:
        assert error.problems  # noqa: PT017
        return
    printed = {float(text) for text in re.findall(r"[0-9]+(?:\.[0-9]+)?", part)}
    for value in result.numbers.values():
        assert value.value == 99.5 or value.value in printed


def test_rows_of_several_sheets_keep_their_order() -> None:
    grids = grids_of(book({"A": [["x", 1]], "B": [["y", 2], ["z", 3]]}))
    assert [(row.line, row.words) for grid in grids for row in grid.rows] == [
        (2, ["x", "1"]),
        (4, ["y", "2"]),
        (5, ["z", "3"]),
    ]
    assert [(grid.name, grid.title_line) for grid in grids] == [("A", 1), ("B", 3)]


def test_dates_and_merged_headers_of_a_spreadsheet_program() -> None:
    saved = openpyxl.Workbook()
    sheet = saved.active
    assert sheet is not None
    sheet.append(["test", "ext4", None, "date"])
    sheet.append([None, "run 1 (s)", "run 2 (s)", None])
    sheet.append(["untar", 1.5, 2, date(2024, 3, 2)])
    sheet.append(["sync", 3, 4, datetime(2024, 3, 1, 10, 30)])
    sheet.merge_cells("B1:C1")
    packed = io.BytesIO()
    saved.save(packed)
    result = parse("x.xlsx", packed.getvalue())
    assert [(v.test, v.filesystem, v.repeat, v.value) for v in result.numbers.values()] == [
        *(("untar", "ext4", 1, 1.5), ("untar", "ext4", 2, 2)),
        *(("sync", "ext4", 1, 3), ("sync", "ext4", 2, 4)),
    ]
    assert {found.text for found in result.dates.values()} == {"2024-03-01 10:30:00"}
