from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "fsbench_web.accounts"
