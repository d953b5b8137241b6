"""LUNs, workers and hardware. Included at the root: these addresses are a contract."""

from django.urls import path

from fsbench_web.catalog import views

app_name = "catalog"
urlpatterns = [
    path("luns/", views.luns, name="luns"),
    path("hardware/", views.hardware_list, name="hardware_list"),
    path("hardware/<slug:slug>/", views.hardware, name="hardware"),
]
