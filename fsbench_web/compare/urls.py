"""Comparisons and permalinks; included at the root, because /p/ is short."""

from django.urls import path

from fsbench_web.compare import embed, permalink_views, views

app_name = "compare"
urlpatterns = [
    path("compare/", views.page, name="page"),
    path("compare/deltas.csv", views.csv_file, name="csv"),
    path("compare/charts/<str:test>/", views.charts, name="charts"),
    path("compare/pin/", permalink_views.pin, name="pin"),
    path("p/", permalink_views.mine, name="permalinks"),
    path("p/<slug:key>/", permalink_views.show, name="permalink"),
    path("p/<slug:key>/deltas.csv", permalink_views.csv_file, name="permalink_csv"),
    path("p/<slug:key>/charts/<str:test>/", permalink_views.charts, name="permalink_charts"),
    path("p/<slug:key>/snapshot.json", permalink_views.snapshot, name="permalink_snapshot"),
    path("p/<slug:key>/picture.png", permalink_views.picture_png, name="permalink_picture"),
    path("p/<slug:key>/embed/", embed.view, name="permalink_embed"),
    path("p/<slug:key>/edit/", permalink_views.edit, name="permalink_edit"),
    path("p/<slug:key>/delete/", permalink_views.delete, name="permalink_delete"),
]
