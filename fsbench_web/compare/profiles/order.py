"""From what a work profile lacks to the form of a job that measures it."""

from collections import Counter
from collections.abc import Sequence

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.answers import plain_refusal
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.tables.bounds import bounded
from fsbench_web.compare.tables.work.ranking import Lacking, lacking
from fsbench_web.core.workloads.measuring import measuring
from fsbench_web.studies.jobs.spec import WorkloadSpec
from fsbench_web.studies.models import Series
from fsbench_web.studies.views.run_details import measure_together

MOST_CONFIGURATIONS = 12
LEFT_NAMED = 3


@login_required
@require_GET
@requires(Action.RUN)
def order(request: HttpRequest) -> HttpResponse:
    """The New-run form with a workload that measures the cells that contenders lack, for each of
    them. The query is that of a comparison by a profile or a range.
    """
    try:
        spec = bounded(ComparisonSpec.from_query(request.GET)).spec
        found = lacking(spec) if spec.is_of_work else Lacking((), ())
    except SpecError as error:
        return plain_refusal(error)
    wanted = measuring(found.demands)
    if not found.demands:
        messages.info(request, "Nothing is missing: every contender has every cell.")
    if wanted.left:
        named = "; ".join(demand.words for demand in wanted.left[:LEFT_NAMED])
        more = len(wanted.left) - LEFT_NAMED
        messages.warning(
            request,
            f"No workload of fsbench measures {named}{f' and {more} more' if more > 0 else ''}: "
            "upload a job file of fio for it, or import a measurement.",
        )
    workloads = [WorkloadSpec(slug, dict(given)) for slug, given in wanted.workloads.items()]
    if not workloads:
        return redirect(f"{reverse('compare:page')}?{spec.to_query()}")
    query = measure_together(_alike(found.series_ids), workloads)
    return redirect(f"{reverse('studies:new_job')}?{query}")


def _alike(series_ids: Sequence[int]) -> list[Series]:
    """Of the series those that one job can measure: of the study and LUN that most are of."""
    related = ("study", "configuration", "journal_lun")
    rows = Series.objects.select_related(*related).in_bulk(list(series_ids))
    found = [rows[pk] for pk in series_ids if pk in rows]
    if not found:
        return []
    places = Counter((one.study_id, one.lun_id) for one in found)
    place = places.most_common(1)[0][0]
    some = {one.configuration_id: one for one in found if (one.study_id, one.lun_id) == place}
    return list(some.values())[:MOST_CONFIGURATIONS]
