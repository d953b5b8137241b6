"""All addresses. Pages that other programs link to are a contract (docs/architecture.md)."""

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
