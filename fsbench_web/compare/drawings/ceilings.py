"""What the LUNs of a delta table's rows do by themselves, for its bar charts."""

from collections.abc import Sequence

from fsbench_web.compare.tables.rows import DeltaRow
from fsbench_web.core.scoring.shares import Share
from fsbench_web.figures.ceilings import Ceilings


def _words(share: Share | None) -> str:
    if share is None:
        return ""
    return share.short if share.is_unreliable else f"{share.short} itself"


def ceilings_of(rows: Sequence[DeltaRow], divisor: float = 1.0) -> Ceilings:
    """Those of ``rows``, in their unit divided by ``divisor``; a row without a share has none."""
    shares = [row.share for row in rows]
    subjects = {share.of for share in shares if share is not None}
    return Ceilings(
        tuple(share.ceiling / divisor if share is not None else None for share in shares),
        next(iter(subjects)) if len(subjects) == 1 else "",
        tuple(_words(share) for share in shares),
    )
