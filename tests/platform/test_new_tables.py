"""The tables of an app made at once are those that its migration names, one by one."""

from importlib import import_module

import pytest
from django.db.migrations.state import ProjectState

from fsbench_web.platform.new_tables import CreateTables


@pytest.mark.parametrize(
    ("app", "name"),
    [
        ("accounts", "0001_squashed_0007_submitting"),
        ("catalog", "0001_squashed_0011_mount_luns"),
        ("compare", "0001_squashed_0012_permalink_views"),
        ("imports", "0001_squashed_0003_mappings_of_authors"),
        ("studies", "0001_squashed_0043_alike_series"),
    ],
)
def test_all_tables_are_one_operation_and_the_same(app: str, name: str) -> None:
    migration = import_module(f"fsbench_web.{app}.migrations.{name}").Migration(name, app)
    first, *others = migration.operations
    assert isinstance(first, CreateTables)
    assert [*first.tables, *others] == type(migration).operations
    assert not any(type(operation).__name__ == "CreateModel" for operation in others)
    each = ProjectState()
    for operation in type(migration).operations:
        operation.state_forwards(app, each)
    assert migration.mutate_state(ProjectState()) == each
