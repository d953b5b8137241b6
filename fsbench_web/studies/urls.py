"""Studies and runs. Included at the root: these addresses are a contract."""

from django.urls import path

from fsbench_web.studies.triggers import views as triggers
from fsbench_web.studies.views import (
    access,
    artefacts,
    documents,
    events,
    job,
    lun,
    new_job,
    prefilled_forms,
    reproduce,
    runs,
    study,
    workloads,
)

app_name = "studies"
urlpatterns = [
    path("studies/", study.studies, name="list"),
    path("studies/<slug:slug>/matrix/", study.matrix, name="matrix"),
    path("studies/<slug:slug>/reproduce/", reproduce.reproduce, name="reproduce"),
    path("studies/<slug:slug>/access/", access.access, name="access"),
    path("runs/", runs.runs, name="runs"),
    path("runs/new/", new_job.new_job, name="new_job"),
    path("runs/new/blocks/", prefilled_forms.more_blocks, name="more_blocks"),
    path("runs/new/continue/", prefilled_forms.continue_study, name="continue_study"),
    path("runs/new/possible/", new_job.possible, name="possible_runs"),
    path("runs/new/review/", new_job.review, name="review_job"),
    path("runs/new/document/", documents.document_job, name="document_job"),
    path("runs/<int:run_id>/", runs.run, name="run"),
    path("runs/<int:run_id>/artefacts/<int:artefact_id>/", artefacts.artefact, name="artefact"),
    path(
        "runs/<int:run_id>/artefacts/<int:artefact_id>/lines/",
        artefacts.lines,
        name="artefact_lines",
    ),
    path("runs/<int:run_id>/cancel/", runs.cancel, name="cancel_run"),
    path("runs/<int:run_id>/events/", events.events, name="run_events"),
    path("runs/<int:run_id>/retry/", job.retry_run, name="retry_run"),
    path("luns/<int:lun_id>/", lun.lun_ledger, name="lun"),
    path("hardware/<slug:slug>/price/", lun.state_price, name="hardware_price"),
    path("workloads/", workloads.workloads, name="workloads"),
    path("jobs/", job.job_list, name="jobs"),
    path("jobs/<int:job_id>/", job.job, name="job"),
    path("jobs/<int:job_id>/cancel/", job.cancel, name="cancel_job"),
    path(
        "jobs/<int:job_id>/document.yaml",
        documents.job_document_file,
        name="job_document",
    ),
    path("jobs/<int:job_id>/pause/", job.pause, name="pause_job"),
    path("jobs/<int:job_id>/priority/", job.priority, name="job_priority"),
    path("jobs/<int:job_id>/resume/", job.resume, name="resume_job"),
    path("jobs/<int:job_id>/retry/", job.retry, name="retry_job"),
    path("triggers/", triggers.trigger_list, name="triggers"),
    path("triggers/new/", triggers.new, name="new_trigger"),
    path("triggers/<int:trigger_id>/", triggers.page, name="trigger"),
    path("triggers/<int:trigger_id>/edit/", triggers.edit, name="edit_trigger"),
    path("triggers/<int:trigger_id>/pause/", triggers.pause, name="pause_trigger"),
    path("triggers/<int:trigger_id>/resume/", triggers.resume, name="resume_trigger"),
    path("triggers/<int:trigger_id>/delete/", triggers.delete, name="delete_trigger"),
    path("triggers/<int:trigger_id>/order/", triggers.order_now, name="order_now"),
    path("triggers/<int:trigger_id>/token/", triggers.make_token, name="trigger_token"),
]
