"""Studies and runs. Included at the root: these addresses are a contract."""

from django.urls import path

from fsbench_web.studies.views import artefacts, events, new_run, runs, study

app_name = "studies"
urlpatterns = [
    path("studies/", study.studies, name="list"),
    path("studies/<slug:slug>/matrix/", study.matrix, name="matrix"),
    path("runs/", runs.runs, name="runs"),
    path("runs/new/", new_run.new_run, name="new_run"),
    path("runs/new/review/", new_run.review, name="review_run"),
    path("runs/<int:run_id>/", runs.run, name="run"),
    path("runs/<int:run_id>/artefacts/<int:artefact_id>/", artefacts.artefact, name="artefact"),
    path(
        "runs/<int:run_id>/artefacts/<int:artefact_id>/lines/",
        artefacts.lines,
        name="artefact_lines",
    ),
    path("runs/<int:run_id>/cancel/", runs.cancel, name="cancel_run"),
    path("runs/<int:run_id>/events/", events.events, name="run_events"),
]
