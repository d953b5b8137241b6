"""Where a table's explanation is."""

from urllib.parse import urlencode

from django.urls import reverse

from fsbench_web.compare.explanations.contenders import MOST_SERIES
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core.scoring import testnames


def why_address(table: DeltaTable) -> str:
    """The page that explains the table's rows; "" where nothing can have been sampled of two.

    Only runs on a LUN are sampled, and costs are of the benchmark alone. Of many rows it is the
    fastest ones, and the slowest of all.
    """
    if testnames.is_cost(table.test) or table.test in testnames.CREATION_TESTS:
        return ""
    series = [
        row.series_id
        for row in reversed(table.rows)
        if row.series_id is not None and row.lun is not None and row.run_ids
    ]
    if len(series) < 2:
        return ""
    chosen = series if len(series) <= MOST_SERIES else [*series[: MOST_SERIES - 1], series[-1]]
    query = [
        ("test", table.test),
        ("category", table.category),
        *(("series", series_id) for series_id in chosen),
    ]
    return f"{reverse('compare:why')}?{urlencode(query)}"
