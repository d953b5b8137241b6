from django.apps import AppConfig


class RunnerConfig(AppConfig):
    """Installed for its commands alone (``worker``, ``luns``); it has no models and no pages."""

    name = "runner"
