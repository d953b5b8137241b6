from django.apps import AppConfig


class ImportsConfig(AppConfig):
    name = "fsbench_web.imports"
