"""Reading raw output again with today's parsers: what would change, and storing it."""

from django.http import HttpRequest
from ninja import Schema
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.imports.routes import REFUSALS
from fsbench_web.api.imports.schemas import ImportRefusal, WarningOut
from fsbench_web.api.protocol.errors import Error
from fsbench_web.api.protocol.router import Router, user_of
from fsbench_web.api.protocol.schemas import Strict, With, found
from fsbench_web.imports import rereads as rereading
from fsbench_web.studies.models import Artefact

router = Router()
MOST_LISTED = 500


class RereadOut(Schema):
    """What today's parsers make of stored output. ``digest`` is what POST must repeat."""

    artefact: int
    is_empty: bool
    changed: int
    added: int
    removed: int
    moved: int
    dated: int = Field(description="runs that get another date of measuring")
    new_runs: int
    changed_runs: list[int]
    digest: str | None
    warnings: list[WarningOut] | None = Field(
        description="of the import as they would be; null: they stay"
    )


class RereadIn(Strict):
    digest: str = Field(max_length=64)


@router.get(
    "/artefacts/{int:artefact_id}/reread",
    response={200: RereadOut, 422: ImportRefusal | Error},
    summary="What reading raw output again would change",
)
@requires(Action.IMPORT)
def preview_reread(request: HttpRequest, artefact_id: int) -> With:
    """Compares what is stored with what today's parsers read. Changes nothing."""
    artefact = _artefact(artefact_id)
    return _difference(artefact, rereading.difference(artefact))


@router.post(
    "/artefacts/{int:artefact_id}/reread",
    response={200: RereadOut, **REFUSALS},
    summary="Read raw output again",
)
@requires(Action.IMPORT)
def apply_reread(request: HttpRequest, artefact_id: int, wanted: RereadIn) -> With:
    """Stores what GET showed, if it is still that, and makes new scores."""
    artefact = _artefact(artefact_id)
    return _difference(artefact, rereading.apply(artefact_id, wanted.digest, user_of(request)))


def _artefact(artefact_id: int) -> Artefact:
    rows = Artefact.objects.select_related("run__series").filter(pk=artefact_id)
    return found(rows, f"There is no raw output {artefact_id}.")


def _difference(artefact: Artefact, difference: rereading.Difference) -> With:
    kinds = (rereading.CHANGED, rereading.ADDED, rereading.REMOVED)
    runs = {run for kind in kinds for run, count in difference.counts[kind].items() if count}
    return With(
        difference,
        artefact=artefact.pk,
        **{kind: difference.total(kind) for kind in (*kinds, rereading.MOVED)},
        dated=len(difference.dated),
        changed_runs=sorted(runs)[:MOST_LISTED],
    )
