"""How long the delta tables of one study take: `.venv/bin/python -m benchmarks.delta_table`.

Uses a database of its own in a temporary folder, with the published studies. Prints milliseconds
(best and median of the repeats) of the tables alone, of the page, and of the JSON, with their
queries. The limit for a page over one study is 100 ms of server time on two cores.
"""

import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable

REPEATS = 30
QUERY = "study=unisys-2005"


def measure(name: str, call: Callable[[], object]) -> None:
    """Print the best and median time of ``call`` and the number of its queries."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(
        connection,
    ) as queries:
        call()
    count = len(queries)  # The log is emptied by the next request.
    times_ms = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        call()
        times_ms.append((time.perf_counter() - started) * 1000)
    print(
        f"{name:28} best {min(times_ms):6.1f} ms   median {statistics.median(times_ms):6.1f} ms   "
        f"{count} queries"
    )


def main() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("load_published", verbosity=0, stdout=io.StringIO())

    from django.test import Client

    from fsbench_web.compare.selection.spec import ComparisonSpec
    from fsbench_web.compare.tables.delta_tables import delta_tables

    client = Client(SERVER_NAME="localhost")
    measure("delta tables", lambda: delta_tables(ComparisonSpec.from_query(QUERY)))
    for path in ("/compare/", "/compare/deltas.csv", "/api/v1/deltas", "/compare/charts/write/"):
        assert client.get(f"{path}?{QUERY}").status_code == 200
        measure(path, lambda path=path: client.get(f"{path}?{QUERY}"))  # type: ignore[misc]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="fsbench-benchmark-") as folder:
        os.environ["FSBENCH_TEST_DATA"] = folder
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/benchmark.sqlite3"
        main()
