"""The ledger of a LUN: what its runs did to it, and what it does alone."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Schema
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.router import Router
from fsbench_web.api.protocol.schemas import Derived, With, value_at
from fsbench_web.catalog.models import Lun
from fsbench_web.studies.runs import ledger
from fsbench_web.studies.runs.ledger import Totals

router = Router()


class TotalsOut(Derived, of=Totals):
    """Of the runs that you may see: ``known`` of them were counted by the kernel before and after,
    preparation and mkfs included.
    """

    is_cut: bool = Field(description="there are older runs, which are not added up")


class FigureOut(Schema):
    name: str
    iops: float
    kb_s: float


class LunProbeOut(Schema):
    """What the LUN did alone, at its best depth; those that were measured. ``run`` made it,
    null where it is gone or not to be seen; ``sure`` of ``points`` are known to 3% or better.
    """

    at: datetime
    run: int | None
    state: dict[str, Any] = Field(
        description="what kernel, disk and smartctl said before: write_cache, temperature_c, health"
    )
    figures: list[FigureOut]
    sure: int
    points: int


class DriftOut(Schema):
    name: str = value_at("label")
    since: datetime = value_at("at")
    change_percent: float = value_at("change.change_percent")
    p_value: float = value_at("change.p_value")


class LedgerOut(Schema):
    """``probes`` are the latest, 200 at most, the latest first."""

    id: int
    name: str
    worker: str = value_at("worker.name")
    size_bytes: int | None
    totals: TotalsOut
    times_written: float | None = Field(description="of its whole size")
    probes: list[LunProbeOut]
    drift: list[DriftOut]


@router.get("/luns/{int:lun_id}/ledger", response=LedgerOut, summary="The ledger of a LUN")
@requires(Action.READ)
def get_ledger(request: HttpRequest, lun_id: int) -> With:
    """What was written to it in all, and what it does alone over time. Its runs: `/runs`."""
    lun = Lun.objects.select_related("worker").filter(pk=lun_id).first()
    if lun is None:
        raise Refused(404, [("lun_id", f"There is no LUN {lun_id}.")])
    lun_ledger = ledger.ledger(lun)
    names = [label for label, *_ in ledger.KEY_FIGURES]
    return With(
        lun,
        totals=lun_ledger.totals,
        times_written=lun_ledger.totals.times(lun.size_bytes),
        probes=[
            With(
                row,
                figures=[
                    {"name": name, "iops": figure[0], "kb_s": figure[1]}
                    for name, figure in zip(names, row.figures, strict=True)
                    if figure is not None
                ],
            )
            for row in lun_ledger.probes
        ],
        drift=lun_ledger.drifts,
    )
