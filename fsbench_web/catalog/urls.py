"""LUNs, workers and hardware. Included at the root: these addresses are a contract."""

from django.urls import path

from fsbench_web.catalog import views
from fsbench_web.catalog.workloads import views as own_workloads

app_name = "catalog"
urlpatterns = [
    path("luns/", views.luns, name="luns"),
    path("workers/", views.workers, name="workers"),
    path("workers/<slug:name>/", views.worker, name="worker"),
    path(
        "workers/<slug:name>/drain/", views.set_drained, {"is_drained": True}, name="drain_worker"
    ),
    path(
        "workers/<slug:name>/resume/",
        views.set_drained,
        {"is_drained": False},
        name="resume_worker",
    ),
    path("workers/<slug:name>/guest-kernel/", views.fetch_kernel, name="fetch_kernel"),
    path("workloads/new/", own_workloads.new_own_workload, name="new_own_workload"),
    path("workloads/<int:workload_id>/", own_workloads.own_workload, name="own_workload"),
    path(
        "workloads/<int:workload_id>/withdraw/",
        own_workloads.withdraw,
        name="withdraw_own_workload",
    ),
    path("hardware/", views.hardware_list, name="hardware_list"),
    path("hardware/<slug:slug>/", views.hardware, name="hardware"),
    path("hardware/<slug:slug>/device-rate/", views.set_device_rate, name="device_rate"),
]
