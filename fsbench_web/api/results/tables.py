"""All numbers of a study as files for programs that analyse: Parquet and Arrow."""

from typing import Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.router import Router, binary
from fsbench_web.api.protocol.schemas import LARGEST_ID
from fsbench_web.api.results.comparison import refused_as_json
from fsbench_web.api.results.studies import study_or_404
from fsbench_web.renderings import answers
from fsbench_web.studies.scores import tables

router = Router()


@router.get(
    "/studies/{str:slug}/{table}.{suffix}",
    summary="Measurements or scores of a study as a file",
    openapi_extra=binary(*tables.MEDIA_TYPES.values()),
)
@requires(Action.READ)
def export_table(
    request: HttpRequest,
    slug: str,
    table: Literal["measurements", "scores"],
    suffix: Literal["parquet", "arrows"],
    after: int | None = Query(
        None, ge=0, le=LARGEST_ID, description="a part: 0, then as `Link` says; none: all in one"
    ),
) -> HttpResponse:
    """Parquet, or a stream of Arrow. The metadata of a column has its unit. Numbers are those of
    finished runs, which scores are made of; `accelerator` is `emulated` where they are no speeds.
    `samples` are the values of the intervals that a tool prints. One file holds 1,000,000 numbers,
    12 MiB of stored blocks or 20,000 scores. Of more, ask for parts: `after=0`, then by `Link`.
    """
    study = study_or_404(slug)
    rows, behind = tables.part_of(study, table, after or 0)
    if behind is not None and after is None:
        sentence = (
            f"The {table} of {slug} do not fit into one file. Ask for parts with after=0 and "
            "follow Link."
        )
        raise Refused(422, [("after", sentence)])
    name = f"{slug}-{table}{f'-after-{after}' if after else ''}.{suffix}"
    answer = answers.answer(
        request,
        tables.write,
        *(table, suffix, rows),
        media_type=tables.MEDIA_TYPES[suffix],
        disposition=f'attachment; filename="{name}"',
    )
    if behind is not None:
        answer["Link"] = f'<{request.path}?after={behind}>; rel="next"'
    return refused_as_json(answer)
