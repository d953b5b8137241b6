"""Reading raw output again with today's parsers: what would change, and storing it."""

from typing import Any

from django.http import Http404, HttpRequest
from ninja import Schema
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.imports.routes import REFUSALS, ImportRefusal, WarningOut, refusal
from fsbench_web.api.protocol.auth import user_of
from fsbench_web.api.protocol.bodies import Strict
from fsbench_web.api.protocol.errors import Error
from fsbench_web.api.protocol.router import Router
from fsbench_web.imports import rereads as rereading
from fsbench_web.imports.problems import ImportRefused
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
def preview_reread(request: HttpRequest, artefact_id: int) -> dict[str, Any]:
    """Compares what is stored with what today's parsers read. Changes nothing."""
    artefact = _artefact(artefact_id)
    try:
        difference = rereading.difference(artefact)
    except ImportRefused as refused:
        raise refusal(refused) from None
    return _difference(artefact, difference)


@router.post(
    "/artefacts/{int:artefact_id}/reread",
    response={200: RereadOut, **REFUSALS},
    summary="Read raw output again",
)
@requires(Action.IMPORT)
def apply_reread(request: HttpRequest, artefact_id: int, wanted: RereadIn) -> dict[str, Any]:
    """Stores what GET showed, if it is still that, and makes the scores anew."""
    artefact = _artefact(artefact_id)
    try:
        difference = rereading.apply(artefact_id, wanted.digest, user_of(request))
    except ImportRefused as refused:
        raise refusal(refused) from None
    return _difference(artefact, difference)


def _artefact(artefact_id: int) -> Artefact:
    artefact = Artefact.objects.select_related("run__series").filter(pk=artefact_id).first()
    if artefact is None:
        raise Http404(f"There is no raw output {artefact_id}.")
    return artefact


def _difference(artefact: Artefact, difference: rereading.Difference) -> dict[str, Any]:
    kinds = (rereading.CHANGED, rereading.ADDED, rereading.REMOVED)
    runs = {run for kind in kinds for run, count in difference.counts[kind].items() if count}
    return {
        "artefact": artefact.pk,
        "is_empty": difference.is_empty,
        **{kind: difference.total(kind) for kind in (*kinds, rereading.MOVED)},
        "dated": len(difference.dated),
        "new_runs": difference.new_runs,
        "changed_runs": sorted(runs)[:MOST_LISTED],
        "digest": difference.digest,
        "warnings": difference.warnings,
    }
