from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "fsbench_web.studies"
