"""What data fsbench's own programs write: parameters, words. Pure.

The programs do it by runner/agent/workloads/contents.py.
"""

from typing import Any

from fsbench_web.core.workloads.fio.data import COMPRESS, DEDUPE, REFILL
from fsbench_web.core.workloads.parameters import Kind, Parameter

WRITTEN_DATA = (
    Parameter(
        COMPRESS,
        "Data that compress",
        unit="%",
        default=0,
        maximum=100,
        is_late=True,
        help="So much of each 512 bytes that are written is zeros. Above 0 every write has new "
        "data.",
    ),
    Parameter(
        DEDUPE,
        "Duplicates",
        unit="%",
        default=0,
        maximum=100,
        is_late=True,
        help="So many of the blocks of 4 KiB are the same. Above 0 every write has new data.",
    ),
    Parameter(
        REFILL,
        "New random data for each write",
        Kind.FLAG,
        default=False,
        is_late=True,
        help="Without it all files of a process begin with the same random bytes.",
    ),
)


def written_data(values: Any) -> tuple[str, ...]:
    """Options of the program; empty where all are as they were before there were any."""
    options: list[str] = []
    if values.compress_percent:
        options.append(f"--compress-percent={values.compress_percent}")
    if values.dedupe_percent:
        options.append(f"--dedupe-percent={values.dedupe_percent}")
    return (*options, *(("--new-data",) if values.refill_buffers and not options else ()))


def written_data_warning(values: Any, usual: str) -> str:
    """``Workload.data_warning``; ``usual`` is that of the data where nothing is asked."""
    parts = []
    if values.compress_percent:
        parts.append(f"compress by {values.compress_percent}%")
    if values.dedupe_percent:
        parts.append(f"have {values.dedupe_percent}% duplicates")
    if parts:
        return f"The program is asked for data that {' and '.join(parts)}."
    return "" if values.refill_buffers else usual
