from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "fsbench_web.operations"
