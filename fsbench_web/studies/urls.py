"""Studies and runs. Included at the root: these addresses are a contract."""

from django.urls import path

from fsbench_web.studies.views import (
    access,
    artefacts,
    documents,
    events,
    new_run,
    reproduce,
    runs,
    search,
    study,
    sweep,
)

app_name = "studies"
urlpatterns = [
    path("studies/", study.studies, name="list"),
    path("studies/<slug:slug>/matrix/", study.matrix, name="matrix"),
    path("studies/<slug:slug>/reproduce/", reproduce.reproduce, name="reproduce"),
    path("studies/<slug:slug>/access/", access.access, name="access"),
    path("runs/", runs.runs, name="runs"),
    path("runs/new/", new_run.new_run, name="new_run"),
    path("runs/new/possible/", new_run.possible, name="possible_runs"),
    path("runs/new/review/", new_run.review, name="review_run"),
    path("runs/new/document/", documents.document_run, name="document_run"),
    path("runs/<int:run_id>/", runs.run, name="run"),
    path("runs/<int:run_id>/artefacts/<int:artefact_id>/", artefacts.artefact, name="artefact"),
    path(
        "runs/<int:run_id>/artefacts/<int:artefact_id>/lines/",
        artefacts.lines,
        name="artefact_lines",
    ),
    path("runs/<int:run_id>/cancel/", runs.cancel, name="cancel_run"),
    path("runs/<int:run_id>/events/", events.events, name="run_events"),
    path("runs/<int:run_id>/retry/", sweep.retry_run, name="retry_run"),
    path("search/", search.page, name="search"),
    path("sweeps/", sweep.sweep_list, name="sweeps"),
    path("sweeps/<int:order_id>/", sweep.sweep, name="sweep"),
    path("sweeps/<int:order_id>/cancel/", sweep.cancel, name="cancel_sweep"),
    path(
        "sweeps/<int:order_id>/document.yaml",
        documents.sweep_document_file,
        name="sweep_document",
    ),
    path("sweeps/<int:order_id>/pause/", sweep.pause, name="pause_sweep"),
    path("sweeps/<int:order_id>/priority/", sweep.priority, name="sweep_priority"),
    path("sweeps/<int:order_id>/resume/", sweep.resume, name="resume_sweep"),
    path("sweeps/<int:order_id>/retry/", sweep.retry, name="retry_sweep"),
]
