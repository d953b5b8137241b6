from django.apps import AppConfig


class ServeConfig(AppConfig):
    name = "fsbench_web.serving"
