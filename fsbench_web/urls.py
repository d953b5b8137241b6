"""All addresses. Pages that other programs link to are a contract (docs/architecture.md)."""

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("account/", include("fsbench_web.accounts.urls")),
]
