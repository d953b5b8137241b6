"""Included at the root."""

from django.urls import path

from fsbench_web.operations import views

app_name = "operations"
urlpatterns = [
    path("operations/", views.operations, name="operations"),
    path("metrics", views.metrics, name="metrics"),
]
