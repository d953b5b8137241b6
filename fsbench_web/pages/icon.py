"""The icon of the site."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires


@require_safe
@cache_control(public=True, max_age=3600)
@requires(Action.OPEN)
def icon(request: HttpRequest) -> HttpResponse:
    """Where the icon is that pages name; browsers ask for this address by themselves."""
    return HttpResponseRedirect(static("img/fsbench.svg"))
