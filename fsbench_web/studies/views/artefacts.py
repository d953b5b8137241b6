"""Raw output: for download, and as numbered lines."""

import gzip

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.core.formats.values import count_of
from fsbench_web.core.scoring.testnames import CREATION_TESTS
from fsbench_web.studies.models import Artefact, MeasurementBlock
from fsbench_web.studies.runs.shown import raw_text


def _artefact(run_id: int, artefact_id: int) -> Artefact:
    """An artefact of the run, or one of another run that holds numbers of this one too."""
    blocks = MeasurementBlock.objects.filter(run_id=run_id, artefact_id=artefact_id)
    output = (
        Artefact.objects.filter(Q(run_id=run_id) | Q(pk__in=blocks.values("artefact_id")[:1]))
        .filter(pk=artefact_id)
        .first()
    )
    if output is None:
        raise Http404(f"Run {run_id} has no raw output {artefact_id}; its page lists what it has.")
    return output


@require_GET
@requires(Action.READ)
def artefact(request: HttpRequest, run_id: int, artefact_id: int) -> HttpResponse:
    """The output as it came. Always plain text to keep: nothing of it may run in a browser."""
    output = _artefact(run_id, artefact_id)
    response = HttpResponse(
        gzip.decompress(output.content_gzip), content_type="text/plain; charset=utf-8"
    )
    disposition = content_disposition_header(as_attachment=True, filename=output.name)
    response["Content-Disposition"] = disposition
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_GET
@requires(Action.READ)
def lines(request: HttpRequest, run_id: int, artefact_id: int) -> HttpResponse:
    """The output with line numbers, a page at a time; ``line`` chooses the page it is on."""
    output = _artefact(run_id, artefact_id)
    line, number = (count_of(request.GET.get(name, "")) or 0 for name in ("line", "page"))
    if line:
        number = -(-line // raw_text.LINES_A_PAGE)
    page = raw_text.page_of(output, number)
    context = {
        "artefact": output,
        "run_id": run_id,
        "page": page,
        "line": line,
        # The record of a run's commands has times, and no parser that could read it again.
        "holds_numbers": any(
            test not in CREATION_TESTS
            for tests in MeasurementBlock.objects.filter(artefact=output)
            .values_list("tests", flat=True)
            .iterator(chunk_size=10)
            for test, *_ in tests
        ),
    }
    return render(request, "studies/raw_lines.html", context)
