"""The report that IOzone -R prints for spreadsheets: one table a test, files by records."""

import re

from fsbench_web.core.formats.result import MAX_VALUES, ParsedValue, Problem, too_many_values
from fsbench_web.core.formats.text import quoted

MISSING = (
    "0 is printed for a cell that was not run, or for less than one unit; the cell stays empty."
)
_TITLES = {
    "writer report": "write",
    "re-writer report": "rewrite",
    "reader report": "read",
    "re-reader report": "reread",
    "random read report": "random_read",
    "random write report": "random_write",
    "backward read report": "backward_read",
    "record rewrite report": "record_rewrite",
    "stride read report": "stride_read",
    "fwrite report": "fwrite",
    "re-fwrite report": "refwrite",
    "fread report": "fread",
    "re-fread report": "refread",
}
_TITLE = re.compile(r'^\s*"([A-Za-z -]+ report)"\s*$', re.IGNORECASE)
_SIZES = re.compile(r'^\s*"[0-9]{1,9}"(\s+"[0-9]{1,9}")*\s*$')
_ROW = re.compile(r'^\s*"([0-9]{1,12})"\s+([^\s"].*)$')


def is_report_title(line: str) -> bool:
    """Whether a table of the report starts here."""
    title = _TITLE.match(line)
    return title is not None and title[1].lower() in _TITLES


def test_of_title(title: str) -> str:
    """The test that a table's title names, as in "Re-reader Report"; empty for any other."""
    return _TITLES.get(title.strip().lower(), "")


def parse_report(
    lines: list[str], start: int, unit: str, problems: list[Problem], warnings: list[Problem]
) -> tuple[list[ParsedValue], bool]:
    """All values from line index ``start`` on, and whether no table is shorter than the others.

    Other tables (CPU utilisation) are passed over. Adds to ``problems`` and ``warnings``.
    """
    values: list[ParsedValue] = []
    rows: dict[str, int] = {}
    test = ""
    records: list[int] = []
    for index in range(start, len(lines)):
        line, number = lines[index], index + 1
        if len(values) + len(warnings) > MAX_VALUES:
            problems.append(too_many_values(number))
            break
        if line.strip().lower().endswith('report"') or "utilization" in line:
            title = _TITLE.match(line)
            test = _TITLES.get(title[1].lower(), "") if title else ""
            records = []
            if test in rows:
                problems.append(Problem(number, None, f"A second {quoted(line)} starts here."))
                test = ""
            elif test:
                rows[test] = 0
        elif not test or not line.strip():
            continue
        elif not records and _SIZES.match(line):
            records = [int(size) for size in re.findall("[0-9]+", line)]
        elif records and (row := _ROW.match(line)) is not None:
            is_last = index == len(lines) - 1
            file_kb = int(row[1])
            words = _row_words(row[2], len(records), number, problems, cut=is_last)
            rows[test] += 1
            for record_kb, word in zip(records, words, strict=False):
                if int(word) == 0:
                    message = f"{test} of {record_kb} KB records in {file_kb} KB files: {MISSING}"
                    warnings.append(Problem(number, None, message, is_note=True))
                elif record_kb and file_kb:
                    values.append(ParsedValue(test, record_kb, file_kb, float(word), unit, number))
    return values, len(set(rows.values())) == 1


def _row_words(
    text: str, width: int, number: int, problems: list[Problem], *, cut: bool
) -> list[str]:
    """The numbers of a row, as printed; none when the row cannot be read."""
    words = text.split()
    wrong = next((word for word in words if not re.fullmatch("[0-9]{1,15}", word)), None)
    if wrong is not None:
        problems.append(Problem(number, None, f"Found {quoted(wrong)}, expected a whole number."))
        return []
    if len(words) > width:
        message = f"{len(words)} values stand under {width} record sizes."
        problems.append(Problem(number, None, message))
        return []
    # IOzone ends a row with a space; one that ends otherwise is cut, maybe within a number.
    return words[:-1] if cut and text == text.rstrip() else words
