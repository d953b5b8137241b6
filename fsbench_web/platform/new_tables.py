"""Migrations that make the tables of an app at once.

Django renders every model that has to do with a table anew for each table that is made: with all
of fsbench's, that was most of what an empty database took.
"""

from collections.abc import Sequence
from itertools import takewhile

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import CreateModel, Migration
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class GroupedMigration(Migration):
    """The ``CreateModel`` that its operations begin with are one operation."""

    def __init__(self, name: str, app_label: str) -> None:
        super().__init__(name, app_label)
        tables = list(
            takewhile(lambda operation: isinstance(operation, CreateModel), self.operations)
        )
        self.operations = [  # type: ignore[misc]
            CreateTables(tables),
            *self.operations[len(tables) :],
        ]


class CreateTables(Operation):
    """Several ``CreateModel`` whose models are rendered once, when all of them are known."""

    reduces_to_sql = True

    def __init__(self, tables: Sequence[Operation]) -> None:
        self.tables = tables

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        vars(state).pop("apps", None)  # what is rendered: else it is renewed for each of them
        for table in self.tables:
            table.state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for table in self.tables:
            table.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for table in reversed(self.tables):
            table.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return "; ".join(table.describe() for table in self.tables)
