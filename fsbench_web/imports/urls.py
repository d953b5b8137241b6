"""Imports."""

from django.urls import path

from fsbench_web.imports import views

app_name = "imports"
urlpatterns = [
    path("reread/<int:artefact_id>/", views.reread, name="reread"),
    path("new/", views.new, name="new"),
    path("<int:import_id>/", views.show, name="show"),
    path("<int:import_id>/check/", views.check, name="check"),
    path("<int:import_id>/files/<int:file_id>/columns/", views.mapping, name="mapping"),
    path("<int:import_id>/commit/", views.commit, name="commit"),
    path("<int:import_id>/discard/", views.discard, name="discard"),
]
