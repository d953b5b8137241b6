from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "fsbench_web.studies"

    def ready(self) -> None:
        from fsbench_web.studies.runs import hooks  # it needs the models

        hooks.register()
