from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "fsbench_web.catalog"
