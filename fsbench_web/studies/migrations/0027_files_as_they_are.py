"""PostgreSQL does not try to compress files that are compressed already: it takes a third of the
time to store one. What is stored stays as it is.
"""

from typing import Any

from django.db import migrations


def _external(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            "ALTER TABLE studies_artefact ALTER COLUMN content_gzip SET STORAGE EXTERNAL"
        )


class Migration(migrations.Migration):
    dependencies = [("studies", "0026_races")]
    operations = [migrations.RunPython(_external, migrations.RunPython.noop)]
