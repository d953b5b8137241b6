"""All addresses. Pages that other programs link to are a contract (docs/architecture.md)."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.main import urls as api_urls
from fsbench_web.compare.report import views as report_views
from fsbench_web.compare.views import compare, study_page
from fsbench_web.pages.glossary import glossary
from fsbench_web.pages.guide import guide, picture
from fsbench_web.pages.home import home
from fsbench_web.pages.icon import icon
from fsbench_web.pages.search import search
from fsbench_web.studies.urls import urlpatterns as study_urls

# A study's page shows delta tables, and studies must not import compare: they meet here.
study_urls = [
    *study_urls,
    path("studies/<slug:slug>/", study_page.study, name="study"),
    path("studies/<slug:slug>/tests/", compare.tables_of_tests, name="study_test"),
]


class _PermanentRedirect(RedirectView):
    permanent = True
    query_string = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """308: a form of before is sent again as it was; 301 would make a GET of it."""
        response = self.get(request, *args, **kwargs)
        response.status_code = 308
        return response


def _moved(address: str) -> Callable[..., HttpResponseBase]:
    """The view of an address that was given up: it leads on for good, to ``address`` with the
    parts of the old one (``%(rest)s``) and its query string.
    """
    return requires(Action.READ)(_PermanentRedirect.as_view(url=address))


urlpatterns: list[URLPattern | URLResolver] = [
    # First, because addresses are looked for in this order, and programs ask most often.
    path("api/v1/", api_urls),
    path("", home, name="home"),
    path("favicon.ico", icon, name="icon"),
    path("glossary/", glossary, name="glossary"),
    path("search/", search, name="search"),
    path("words/", _moved("/glossary/")),
    re_path(r"^sweeps/(?P<rest>[0-9a-z/.]*)$", _moved("/jobs/%(rest)s")),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/beside/(?P<rest>[-\w/.]*)$",
        _moved("/studies/%(slug)s/papers/%(rest)s"),
    ),
    path("guide/", guide, name="guide"),
    path("guide/<slug:name>/", guide, name="guide_page"),
    path("guide/images/<str:name>", picture, name="guide_picture"),
    path("", include((study_urls, "studies"))),
    path("studies/<slug:slug>/report/", report_views.html, name="report"),
    path("studies/<slug:slug>/report.pdf", _moved("/studies/%(slug)s/report/")),
    path("", include("fsbench_web.catalog.urls")),
    path("", include("fsbench_web.operations.urls")),
    path("", include("fsbench_web.compare.urls")),
    path("imports/", include("fsbench_web.imports.urls")),
    path("", include("fsbench_web.accounts.people.urls")),
    path("account/", include("fsbench_web.accounts.urls")),
]

handler400 = "fsbench_web.platform.http.error_pages.bad_request"
handler403 = "fsbench_web.platform.http.error_pages.permission_denied"
handler404 = "fsbench_web.platform.http.error_pages.page_not_found"
handler500 = "fsbench_web.platform.http.error_pages.server_error"
