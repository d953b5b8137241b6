"""Imports."""

from django.urls import path

from fsbench_web.imports import mapping_views, reread_views, views

app_name = "imports"
urlpatterns = [
    path("reread/<int:artefact_id>/", reread_views.reread, name="reread"),
    path("new/", views.new, name="new"),
    path("<int:import_id>/", views.show, name="show"),
    path("<int:import_id>/progress/", views.progress, name="progress"),
    path("<int:import_id>/check/", views.check, name="check"),
    path("<int:import_id>/files/<int:file_id>/columns/", mapping_views.mapping, name="mapping"),
    path("<int:import_id>/commit/", views.commit, name="commit"),
    path("<int:import_id>/discard/", views.discard, name="discard"),
]
