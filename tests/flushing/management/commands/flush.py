"""`flush`, as Django's TransactionTestCase calls it after each test."""

from typing import Any

from django.core.management.commands.flush import Command as DjangosFlush
from django.db import connections, transaction

# Django writes these rows once, after the migrations; no test changes them.
KEPT = {"django_content_type", "auth_permission"}


class Command(DjangosFlush):
    """Deletes from the tables that hold something.

    Django's own truncates all of them, which on PostgreSQL makes every file of every table and
    index anew (0.5 s on a busy machine, 180 times), and writes content types and permissions again.
    """

    def handle(self, **options: Any) -> None:
        connection = connections[options["database"]]
        names = connection.introspection.django_table_names(only_existing=True, include_views=False)
        quoted = [connection.ops.quote_name(name) for name in names if name not in KEPT]
        # A name is a constant of Django's models; %% is none of SQL's here.
        queries = [f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in quoted]
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join(queries))
            # In any order: Django's foreign keys are checked at the end of the transaction.
            for (name,) in cursor.fetchall():
                cursor.execute(f"DELETE FROM {name}")
