"""Comparisons and permalinks; included at the root, because /p/ is short."""

from django.urls import path

from fsbench_web.compare import views

app_name = "compare"
urlpatterns = [
    path("compare/", views.page, name="page"),
    path("compare/deltas.csv", views.csv_file, name="csv"),
    path("compare/charts/<str:test>/", views.charts, name="charts"),
    path("compare/pin/", views.pin, name="pin"),
    path("p/<slug:key>/", views.permalink, name="permalink"),
    path("p/<slug:key>/deltas.csv", views.permalink_csv, name="permalink_csv"),
    path("p/<slug:key>/charts/<str:test>/", views.permalink_charts, name="permalink_charts"),
]
