"""Imports."""

from django.urls import path

from fsbench_web.imports.views import mappings, uploads

app_name = "imports"
urlpatterns = [
    path("reread/<int:artefact_id>/", uploads.reread, name="reread"),
    path("new/", uploads.new, name="new"),
    path("<int:import_id>/", uploads.show, name="show"),
    path("<int:import_id>/check/", uploads.check, name="check"),
    path("<int:import_id>/files/<int:file_id>/columns/", mappings.mapping, name="mapping"),
    path("<int:import_id>/commit/", uploads.commit, name="commit"),
    path("<int:import_id>/discard/", uploads.discard, name="discard"),
]
