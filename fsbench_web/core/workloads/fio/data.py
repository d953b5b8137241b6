"""What data a workload writes: how far they compress and how many are duplicates. Pure.

fio changes a few bytes of one buffer before each write (``scramble_buffers`` of fio(1)). Measured
with fio 3.33 and zlib level 1 of 128 KiB: writes of 4 KiB compress to 9%, of 8 KiB to 16%, of 128
KiB to 91%. With ``refill_buffers`` it is 99% or more. Of 4 KiB blocks with ``dedupe_percentage=50``
52% are unique.
"""

from typing import Any

from fsbench_web.core.workloads.parameters import Kind, Parameter

COMPRESS = "compress_percent"
DEDUPE = "dedupe_percent"
REFILL = "refill_buffers"
CHUNK_BYTES = 4096
"""Of so many bytes each has its own share that compresses: none spans a whole extent or record."""
EXTENT_BYTES = 128 * 1024
"""What a file system compresses at once: Btrfs's largest compressed extent (btrfs(5)), and the
default record of ZFS."""


def compressible(help_text: str, default: int = 0, maximum: int = 100) -> Parameter:
    """How far the data compress."""
    return Parameter(
        COMPRESS,
        "Data that compress",
        unit="%",
        default=default,
        maximum=maximum,
        is_late=True,
        help=help_text,
    )


def _data(compress: str, dedupe: str, refill: str) -> tuple[Parameter, ...]:
    return (
        compressible(compress),
        Parameter(
            DEDUPE, "Duplicates", unit="%", default=0, maximum=100, is_late=True, help=dedupe
        ),
        Parameter(
            REFILL,
            "New random data for each write",
            Kind.FLAG,
            default=False,
            is_late=True,
            help=refill,
        ),
    )


FIO_DATA = _data(
    "fio's buffer_compress_percentage: so much of each 4 KiB that is written is zeros. Above 0 "
    "every write has new data.",
    "fio's dedupe_percentage: so many of the blocks written are the same as another one. Above 0 "
    "every write has new data.",
    "fio's refill_buffers, which costs processor time. Without it fio changes a few bytes of one "
    "buffer: small writes one after the other then compress together.",
)
WRITTEN_DATA = _data(
    "So much of each 512 bytes that are written is zeros. Above 0 every write has new data.",
    "So many of the blocks of 4 KiB are the same. Above 0 every write has new data.",
    "Without it all files of a process begin with the same random bytes.",
)
PREALLOCATE = Parameter(
    "preallocate",
    "Preallocate the files",
    Kind.FLAG,
    default=True,
    is_late=True,
    help="fio's own default: room for a file is taken (fallocate) before it is written. Of such a "
    "file Btrfs compresses nothing, whatever it is asked for.",
)


def fio_data(values: Any) -> tuple[str, ...]:
    """fio's options for a workload with FIO_DATA; empty where all are as they were before."""
    options: list[str] = []
    if values.compress_percent:
        chunk = f"--buffer_compress_chunk={CHUNK_BYTES}"
        options += [f"--buffer_compress_percentage={values.compress_percent}", chunk]
    if values.dedupe_percent:
        options.append(f"--dedupe_percentage={values.dedupe_percent}")
    if options or values.refill_buffers:
        options.append("--refill_buffers=1")
    return tuple(options)


def written_data(values: Any) -> tuple[str, ...]:
    """Options of fsbench's own program for a workload with WRITTEN_DATA; empty as ``fio_data``."""
    options: list[str] = []
    if values.compress_percent:
        options.append(f"--compress-percent={values.compress_percent}")
    if values.dedupe_percent:
        options.append(f"--dedupe-percent={values.dedupe_percent}")
    return tuple(options or (["--new-data"] if values.refill_buffers else []))


def data_title(values: Any) -> str:
    """For the title of a workload, with a comma before it; "" where nothing was asked."""
    parts = []
    if values.compress_percent:
        parts.append(f"{values.compress_percent}% compressible")
    if values.dedupe_percent:
        parts.append(f"{values.dedupe_percent}% duplicates")
    if values.refill_buffers and not parts:
        parts.append("new random data")
    if PREALLOCATE.key in values.values:
        parts.append("not preallocated")
    return "".join(f", {part}" for part in parts)


def asked_data_warning(program: str, compress_percent: int, dedupe_percent: int) -> str:
    """A sentence on data that the program is asked for; "" where it is asked for none."""
    parts = []
    if compress_percent:
        parts.append(f"compress by {compress_percent}%")
    if dedupe_percent:
        parts.append(f"have {dedupe_percent}% duplicates")
    return f"{program} is asked for data that {' and '.join(parts)}." if parts else ""


def written_data_warning(values: Any, usual: str = "") -> str:
    """``Workload.data_warning``; ``usual`` is that of the data where nothing is asked."""
    asked = asked_data_warning("The program", values.compress_percent, values.dedupe_percent)
    return asked or ("" if values.refill_buffers else usual)


def fio_data_warning(values: Any, at_once_bytes: int | None) -> str:
    """``Workload.data_warning`` of one with FIO_DATA. ``at_once_bytes`` is in flight at the lowest
    load; None: nothing is written that a file system would compress together.
    """
    asked = asked_data_warning("fio", values.compress_percent, values.dedupe_percent)
    return asked or ("" if values.refill_buffers else one_buffer_warning(at_once_bytes))


def one_buffer_warning(at_once_bytes: int | None) -> str:
    """A sentence on small writes from one buffer; "" where a file system could not shrink them."""
    if at_once_bytes is None or at_once_bytes >= EXTENT_BYTES:
        return ""
    return (
        "fio writes one buffer again and again with a few bytes changed: small writes side by side "
        "compress together (4 KiB to 9%, 8 KiB to 16%). Ask for new random data for each write."
    )
