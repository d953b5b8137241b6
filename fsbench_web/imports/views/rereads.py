"""Read stored output again: what would change, then changing it."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.imports import rereads as rereading
from fsbench_web.imports.problems import ImportProblem, ImportRefused
from fsbench_web.imports.views.uploads import user_of
from fsbench_web.studies.models import Artefact

CHANGES_SHOWN = 200


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.IMPORT)
def reread(request: HttpRequest, artefact_id: int) -> HttpResponse:
    """The difference; a POST with its digest applies it."""
    artefact = Artefact.objects.select_related("run__series").filter(pk=artefact_id).first()
    if artefact is None:
        raise Http404(f"There is no raw output {artefact_id}; it may have gone with its run.")
    problems: list[ImportProblem] = []
    comparison = None
    if request.method == "POST":
        try:
            rereading.apply(artefact_id, request.POST.get("digest", ""), user_of(request))
        except ImportRefused as error:
            problems = error.problems
        else:
            messages.success(
                request, f"{artefact.name} was read again; its measurements and scores are new."
            )
            return redirect("studies:run", run_id=artefact.run_id)
    try:
        comparison = rereading.difference(artefact)
    except ImportRefused as error:
        problems = problems or error.problems
    context: dict[str, Any] = {"artefact": artefact, "found": comparison, "problems": problems}
    if comparison is not None:
        kinds = (rereading.CHANGED, rereading.ADDED, rereading.REMOVED)
        context["counts"] = {kind: comparison.total(kind) for kind in (*kinds, rereading.MOVED)}
        context["groups"] = [
            (
                kind.capitalize(),
                comparison.total(kind),
                comparison.changes[kind][:CHANGES_SHOWN],
                comparison.total(kind) - CHANGES_SHOWN,
            )
            for kind in kinds
            if comparison.total(kind)
        ]
    return render(request, "imports/reread.html", context, status=422 if problems else 200)
