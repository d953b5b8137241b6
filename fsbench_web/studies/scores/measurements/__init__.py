"""The measurements of runs, read from their blocks and written into them. Nobody else does either.

``numbers`` are those in memory; ``reading`` and ``writing`` are of the database.
"""

from fsbench_web.studies.scores.measurements.numbers import (
    Flags,
    IsWanted,
    Measurement,
    Numbers,
)
from fsbench_web.studies.scores.measurements.reading import (
    StoredBlock,
    count,
    listed,
    listed_of_finished,
    of_finished,
    of_run,
    page,
    read,
    rows,
    rows_of,
    runs_of,
    unreadable,
)
from fsbench_web.studies.scores.measurements.writing import (
    NewBlock,
    coded,
    of_values,
    rewrite,
    store,
    store_values,
    write_flags,
)

__all__ = [
    "Flags",
    "IsWanted",
    "Measurement",
    "NewBlock",
    "Numbers",
    "StoredBlock",
    "coded",
    "count",
    "listed",
    "listed_of_finished",
    "of_finished",
    "of_run",
    "of_values",
    "page",
    "read",
    "rewrite",
    "rows",
    "rows_of",
    "runs_of",
    "store",
    "store_values",
    "unreadable",
    "write_flags",
]
