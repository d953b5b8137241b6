from django.apps import AppConfig


class CompareConfig(AppConfig):
    name = "fsbench_web.compare"
