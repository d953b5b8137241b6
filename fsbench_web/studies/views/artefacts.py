"""Raw output, for download."""

import gzip

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from fsbench_web.studies.models import Artefact


@require_GET
def artefact(request: HttpRequest, run_id: int, artefact_id: int) -> HttpResponse:
    """The output as it came. Always plain text to keep: nothing of it may run in a browser."""
    found = Artefact.objects.filter(pk=artefact_id, run_id=run_id).first()
    if found is None:
        raise Http404(f"Run {run_id} has no raw output {artefact_id}; its page lists what it has.")
    response = HttpResponse(
        gzip.decompress(found.content_gzip), content_type="text/plain; charset=utf-8"
    )
    disposition = content_disposition_header(as_attachment=True, filename=found.name)
    response["Content-Disposition"] = disposition
    response["X-Content-Type-Options"] = "nosniff"
    return response
