"""Comparisons and permalinks; included at the root, because /p/ is short."""

from django.urls import path

from fsbench_web.compare.explanations import contenders as explanations
from fsbench_web.compare.exports import views as export_views
from fsbench_web.compare.papers import views as paper_views
from fsbench_web.compare.permalinks import embed
from fsbench_web.compare.permalinks import views as permalink_views
from fsbench_web.compare.pictures import views as pictures_views
from fsbench_web.compare.profiles import order
from fsbench_web.compare.profiles import views as profile_views
from fsbench_web.compare.views import compare, history, images
from fsbench_web.compare.views.chosen_runs import chosen_runs
from fsbench_web.compare.watches import views as watch_views

app_name = "compare"
urlpatterns = [
    path("compare/", compare.page, name="page"),
    path("compare/tests/", compare.tables_of_tests, name="tests"),
    path("compare/deltas.<str:suffix>", export_views.comparison_file, name="file"),
    path("compare/export/", export_views.comparison_page, name="export"),
    path("compare/cells/<path:test>/", compare.cells, name="cells"),
    path("compare/charts/<path:test>/", compare.charts, name="charts"),
    path("compare/pictures/", pictures_views.page, name="pictures"),
    path("compare/pictures.csv", pictures_views.csv_file, name="pictures_csv"),
    path("compare/runs/", chosen_runs, name="runs"),
    path("compare/why/", explanations.page, name="why"),
    path("compare/order/", order.order, name="work_order"),
    path("profiles/", profile_views.listing, name="profiles"),
    path("profiles/new/", profile_views.new, name="profile_new"),
    path("profiles/read/", profile_views.read, name="profile_read"),
    path("profiles/<slug:slug>/", profile_views.page, name="profile"),
    path("profiles/<slug:slug>/edit/", profile_views.edit, name="profile_edit"),
    path("profiles/<slug:slug>/<int:version>/", profile_views.page, name="profile_version"),
    path("compare/slide/", images.slide),
    path("compare/slide.<str:suffix>", images.slide),
    path("compare/image.<str:suffix>", images.comparison_image, name="image"),
    path("compare/pin/", permalink_views.pin, name="pin"),
    path("studies/<slug:slug>/papers/<slug:paper>/", paper_views.page, name="paper_comparison"),
    path(
        "studies/<slug:slug>/papers/<slug:paper>/tables.<str:suffix>",
        paper_views.file,
        name="paper_comparison_file",
    ),
    path("history/", history.page, name="history"),
    path("history/events/", history.add_event, name="event_add"),
    path("history/events/<int:event_id>/delete/", history.delete_event, name="event_delete"),
    path("watches/", watch_views.watch_list, name="watches"),
    path("watches/new/", watch_views.new, name="watch_new"),
    path("watches/changes/", watch_views.triage, name="watch_triage"),
    path("watches/<int:watch_id>/", watch_views.page, name="watch"),
    path("watches/<int:watch_id>/test/", watch_views.test, name="watch_test"),
    path("watches/<int:watch_id>/pause/", watch_views.pause, name="watch_pause"),
    path("watches/<int:watch_id>/resume/", watch_views.resume, name="watch_resume"),
    path(
        "watches/<int:watch_id>/confirmation/",
        watch_views.confirmation,
        name="watch_confirmation",
    ),
    path("watches/<int:watch_id>/delete/", watch_views.delete, name="watch_delete"),
    path("p/", permalink_views.own_permalinks, name="permalinks"),
    path("p/<slug:key>/", permalink_views.show, name="permalink"),
    path("p/<slug:key>/deltas.<str:suffix>", export_views.permalink_file, name="permalink_file"),
    path("p/<slug:key>/export/", export_views.permalink_page, name="permalink_export"),
    path("p/<slug:key>/charts/<path:test>/", permalink_views.charts, name="permalink_charts"),
    path("p/<slug:key>/snapshot.json", permalink_views.snapshot, name="permalink_snapshot"),
    path("p/<slug:key>/image.<str:suffix>", images.permalink_image, name="permalink_image"),
    path("p/<slug:key>/picture.<str:suffix>", images.permalink_slide),
    path("p/<slug:key>/slide/", images.permalink_slide),
    path("p/<slug:key>/slide.<str:suffix>", images.permalink_slide),
    path("p/<slug:key>/embed/", embed.view, name="permalink_embed"),
    path("p/<slug:key>/edit/", permalink_views.edit, name="permalink_edit"),
    path("p/<slug:key>/withdraw/", permalink_views.withdraw, name="permalink_withdraw"),
    path("p/<slug:key>/delete/", permalink_views.delete, name="permalink_delete"),
]
