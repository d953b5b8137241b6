"""The page that says what differs most between the contenders of a table."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.explanations.contenders import CAUTION, explanations
from fsbench_web.core.explanation import ALIKE_PERCENT

_LONGEST = 200


@require_safe
@requires(Action.READ)
def page(request: HttpRequest) -> HttpResponse:
    """The fastest of the series in the address against each of the others."""
    series_ids = [
        int(text)
        for text in request.GET.getlist("series")
        if text.isascii() and text.isdigit() and len(text) < 19
    ]
    test = request.GET.get("test", "")[:_LONGEST].replace("\x00", "")
    category = request.GET.get("category", "")[:_LONGEST].replace("\x00", "")
    explained = explanations(series_ids, test, category)
    if explained is None:
        raise Http404(
            "An explanation needs two configurations that can be seen here: come from a table."
        )
    context = {"found": explained, "caution": CAUTION, "alike_percent": ALIKE_PERCENT}
    return render(request, "compare/explanations.html", context)
