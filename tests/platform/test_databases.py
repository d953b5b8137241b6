"""SQLite runs a part of the database tests: each app, model and migration is in it.

PostgreSQL runs all of them. The part is ``ON_SQLITE_TOO`` in tests/conftest.py, and the tests that
need root or Docker: SQLite alone runs these.
"""

import re

import pytest
from django.apps import apps
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader

from tests.conftest import ON_SQLITE_TOO, TESTS

pytestmark = pytest.mark.django_db
MODELS = [
    model for model in apps.get_models() if model._meta.app_config.name.startswith("fsbench_web.")
]
FILES = [
    path
    for path in sorted(TESTS.rglob("test_*.py"))
    if str(path.relative_to(TESTS)).startswith((*ON_SQLITE_TOO, "runner/"))
]


def test_every_migration_is_applied() -> None:
    loader = MigrationLoader(connection)
    assert loader.disk_migrations.keys() <= set(loader.applied_migrations)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_database_has_every_column(model: type[models.Model]) -> None:
    rows = model._base_manager.all()
    assert list(rows.order_by(*[field.name for field in model._meta.concrete_fields])) == []
    rows.delete()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_some_test_of_the_part_uses_it(model: type[models.Model]) -> None:
    name = re.compile(rf"\b{model.__name__}\b")
    assert any(name.search(path.read_text()) for path in FILES)


@pytest.mark.parametrize("app", sorted({model._meta.app_label for model in MODELS}))
def test_each_app_has_files_in_the_part(app: str) -> None:
    assert any(path.relative_to(TESTS).parts[0] == app for path in FILES)
