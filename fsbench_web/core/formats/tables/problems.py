"""What can be wrong with a table, by code, and the sentences that say it. Pure.

Programs and tests go by the code and its parameters; the sentence is for people.
"""

from fsbench_web.core.formats.result import Problem

_MOST_OF_PARAMETER = 200

SENTENCES = {
    # The value of a cell.
    "not_a_number": "Found {found}, expected a number such as 1234.5, without separators.",
    "not_a_measurement": (
        "{found} is not a measurement. Leave the value empty if nothing was measured."
    ),
    "too_large": "{found} is too large a number.",
    "too_small": "{found} is too small a number: no measurement is below {least}.",
    "negative": "{found} is negative, and no rate or time is.",
    "other_decimal_sign": "Found {found}, but numbers before have a decimal {sign}.",
    "comma_between_commas": (
        "{found} has a comma in a table that commas separate. "
        "Say on the import page whether it is the decimal sign."
    ),
    "decimal_sign_open": (
        "{found} may be {whole} or a thousandth of it, and no number of the table tells which. "
        "Say the decimal sign on the import page, or write numbers without thousands separators."
    ),
    "beyond_measure": (
        "{found} {unit} is more than can be measured: a counter of the tool ran over."
    ),
    "thousands_of_what": (
        "{found} ends with a k or M, and {unit} is no count. Write the number in full."
    ),
    "units_differ": (
        "{found} is in {unit}, and other numbers of this test are in {other}. "
        "fsbench cannot convert one to the other. Give each number the same unit."
    ),
    "zero": "0 is kept as measured; leave the value empty if nothing was measured.",
    "said_not_measured": "{found} was said to mean that nothing was measured.",
    # What a number is of.
    "no_test_name": (
        "Found {found}, expected the name of a test, such as random_read: "
        "printable text, {most} characters at most."
    ),
    "unit_missing": "The unit is missing (KB/s, ops/s, s, ...).",
    "unit_too_long": "{found} is too long for a unit.",
    "size_without_unit": (
        "{found} has no unit, and may be bytes or KB. Say which on the import page, in the header "
        "(record_size_kb, bs (bytes)), or with each size (4k)."
    ),
    "no_size": "Found {found}, expected a size in KB, such as 64.",
    "no_file_size": (
        "There is a block size and no file size, and a data point has both. "
        "Add a column file_size with what each test worked on, or say it on the import page: "
        "ext4,randread,4k,1g,812 under fs,rw,bs,file_size,bw. "
        "If nobody knows it, write the block size into the test (randread_bs_4k)."
    ),
    "no_block_size": (
        "There is a file size and no block size, and a data point has both. "
        "Add a column bs with the size of each request, or say it on the import page."
    ),
    "file_size_empty": "The file size is missing: give block size and file size, or neither.",
    "block_size_empty": "The block size is missing: give block size and file size, or neither.",
    "no_repeat": "Found {found}, expected a whole number from 0 to {most}.",
    "no_load": "Found {found}, expected how many {field} there were, such as 8.",
    "block_name_too_long": "The name of a block has more than {most} characters.",
    "no_date": (
        "Found {found}, expected a date such as 2024-03-01 or 2024-03-01 10:30. "
        "Correct it, or say on the import page that the column is ignored."
    ),
    "date_open": (
        "{found} may have the day or the month first, and no date of the table tells which. "
        "Write dates as 2024-03-01."
    ),
    "cell_twice": (
        "The same cell was already given in line {first}. Say on the import page that its rows are "
        "repeats in order, or add a column repeat, date or block. "
        "What was measured at other loads needs a column {loads}."
    ),
    "cell_twice_unread": (
        "The same cell was already given in line {first}, and nothing reads {columns}. "
        "Say on the import page what stands there, or that the rows are repeats in order."
    ),
    "cell_twice_in_sheets": "The same cell was already given in line {first}.",
    # Rows, headers and shapes.
    "row_damaged": "The row cannot be read: {reason}.",
    "other_width": (
        "Found {found} fields separated by {separator}, expected {expected} as in the header."
    ),
    "no_header": "There is no header in line {found}.",
    "no_values": "The table has a header and no values.",
    "second_column": "{found} is a second column for {field}: say which one it is.",
    "columns_missing": (
        "This is a table, and it does not say: {missing}. Say which column is what on the import "
        "page, or in the field columns of a call. Or give it a header row with the columns test, "
        "record_size_kb, file_size_kb, value and unit."
    ),
    "contenders_missing": (
        "The columns {columns} hold the numbers of a file system, a set-up or a repeat each. "
        "The table does not say: {missing}. Add it to the header, or say it on the import page or "
        "in the field columns of a call."
    ),
    "header_lacks": "The header has no column {missing}.",
    "scores": (
        "A table with categories holds scores, not measurements: fsbench makes the scores. "
        "Import the measurements they were made of."
    ),
    "no_matrix_row": ("The row is no row of a matrix: a size, then a number for each size above."),
    "no_matrix": "No matrix was found: a row of sizes, and below it rows that begin with a size.",
    "matrix_without_test": "The matrix needs a test: {reason}.",
    "matrix_row_too_long": "Found {found} fields, expected {expected}.",
    "no_size_above": "The number stands under no size.",
    "too_many_values": "The table has more than {most} values: split it.",
    "too_many_runs": "The table holds more than {most} runs: split it.",
    "too_many_tests": "The table has more than {most} tests.",
    "sheet_unread": "The sheet {found} holds no table that says itself what is what.",
    "sheet_beside": "The sheet {found} is not read: the columns are those of another.",
    "column_ignored": "Column {found} is not read, as the import says.",
    # What somebody says of the columns.
    "field_missing": "{field} is missing: choose its column, or say it.",
    "no_shape": "This shape of a table is not known.",
    "no_separator": "The separator is one character, and no letter, digit or quote.",
    "no_decimal_sign": "The decimal sign is a point or a comma.",
    "no_size_unit": "The unit of a size is bytes, KB, MB or GB.",
    "no_column": (
        "There is no such column: the first {most} of a table can hold something. "
        "Make it several tables, or one with a row for each number."
    ),
    "column_twice": "One column is said to be two things.",
    "too_many_names": "More than {most} names of tests cannot be said.",
    "too_many_words": "More than {most} words for not measured cannot be said.",
    "word_is_number": "{found} is a number, and cannot mean that nothing was measured.",
    "no_field": "There is no such field.",
    "no_numbering": "Repeats are numbered in order, or as the table says.",
}


def problem(
    code: str,
    line: int | None = None,
    column: int | None = None,
    *,
    is_note: bool = False,
    **parameters: object,
) -> Problem:
    """A problem of a table with the sentence of its code."""
    words = {name: str(value)[:_MOST_OF_PARAMETER] for name, value in parameters.items()}
    sentence = SENTENCES[code].format(**words)
    return Problem(line, column, sentence, is_note, code, tuple(sorted(words.items())))
