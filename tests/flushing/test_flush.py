"""What a test with transactions of its own leaves behind: nothing, and what Django itself wrote."""

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import connection

from tests.compare.conftest import make_run, make_score
from tests.flushing.management.commands.flush import KEPT

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_table_is_empty_and_permissions_are_there() -> None:
    before = Permission.objects.count()
    assert before
    User.objects.create_user("ada").user_permissions.add(Permission.objects.earliest("pk"))
    make_run(make_score(workload="small", hardware="lab").series)
    call_command("flush", verbosity=0, interactive=False)
    for model in apps.get_models(include_auto_created=True):
        if model._meta.managed and model._meta.db_table not in KEPT:
            assert model._base_manager.count() == 0, model
    assert Permission.objects.count() == before
    connection.check_constraints()
