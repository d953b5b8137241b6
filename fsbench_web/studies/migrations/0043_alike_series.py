from django.db import migrations

INDEX = "studies_series_alike"
# What ``studies.scores.choices`` jumps through, from one group of alike series to the next.
COLUMNS = (
    "kernel, distribution, COALESCE(workload_id, 0), COALESCE(hardware_id, 0), "
    "COALESCE(lun_id, 0), md5(preparation::text), md5(machine::text), id"
)


def make(apps, schema_editor):
    """SQLite has no LATERAL, and puts series into groups by reading them."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"CREATE INDEX {INDEX} ON studies_series ({COLUMNS})")


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX IF EXISTS {INDEX}")


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0042_client_worker_names"),
    ]

    operations = [migrations.RunPython(make, drop)]
