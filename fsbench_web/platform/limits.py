"""How much one answer shows and one request does, whatever was imported.

Answers count what they leave out, and link to it. The limits keep a page below 2 MB, 3 s and
300 MB.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class RowLimits:
    """How many rows in how many tables have room. ``single_rows``: of single configurations."""

    rows: int
    single_rows: int
    tables: int


PAGE = RowLimits(rows=1500, single_rows=600, tables=250)
"""Of a page. A row takes 0.5 kB of it and a table 3.4, with its chart."""
REPORT = RowLimits(rows=1500, single_rows=600, tables=150)
"""Of a report, which people print."""
FILE = RowLimits(rows=5000, single_rows=5000, tables=1000)
"""Of a file that is drawn up (a workbook takes 1 ms a row)."""
PINNED = RowLimits(rows=3000, single_rows=3000, tables=500)
"""Of a permalink, which has one page."""
ANSWER = RowLimits(rows=10_000, single_rows=10_000, tables=10_000)
"""Of ``/api/v1/deltas``, ``/deltas.csv`` and their like, which programs read whole."""

MOST_SCORES = 5000
"""Scores of a comparison without a choice of studies: it takes the latest that fit."""
LATEST_STUDIES = 8
"""So many studies are tried for that."""
MOST_COMPARED = 5000
"""Rows that verdicts are corrected over. Where there are more, each part is its own comparison."""
MOST_COMPARED_SINGLE = 20_000
"""Likewise of single configurations: only those that are shown are read whole."""
WINDOW = 600
"""Scores of one table that is shown piece by piece."""
MOST_LETTERS = 20_000
"""Of the names of the tests of one part, together: every test is named a dozen times."""
MOST_LINKS = 60
"""Links of one kind to other parts; more are reached by "next"."""
MOST_OPTIONS = 200
"""Options of a select box, and boxes of one filter: more nobody scrolls through."""

MOST_NUMBERS = 20_000
"""Measurements of one run on its page; its matrices would be larger than a screen."""
MOST_TESTS = 200
"""Tests of one run, or of one line over time, that a page or an answer lists at once."""
MOST_OUTPUTS = 200
"""Raw outputs of one run that its page lists."""
MOST_OUTPUTS_OF_RUN = 2000
"""Files that one run comes as: as many as an archive may hold."""
MOST_LISTED_SCORES = 2000
"""Scores of one series inside an answer of the API, and on the page of a run."""
MOST_LISTED = 5000
"""Other entries of a list inside an answer of the API: runs, configurations."""

MOST_RUNS_STORED = 1000
"""Runs, or configurations, that are stored within a request: each takes 2 to 4 ms."""
MOST_SCORES_STORED = 20_000
"""Scores that are worked out within a request: tests of each series, in each category."""
MOST_ROWS_STORED = 500_000
"""Numbers that are stored within a request."""
