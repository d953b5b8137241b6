"""How long the server takes for the pages of the published studies.

    .venv/bin/python -m benchmarks.study_page [REPEATS]

Loads the studies into a database of its own, asks for each page as a browser would, without the
network, and prints the median and the worst time in milliseconds, the queries and the size.
"""

import os
import statistics
import sys
import tempfile
import time

REPEATS = 30


def main(repeats: int) -> None:
    import django
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("load_published", verbosity=0)
    client = Client(headers={"host": "localhost"})
    print(f"{'page':32} {'median ms':>10} {'worst ms':>10} {'queries':>8} {'KB':>6}")
    for slug in ("unisys-2005", "galli-2001", "hilzinger-2006", "freenix-2002", "sun-2004", ""):
        address = f"/studies/{slug}/" if slug else "/studies/"
        with CaptureQueriesContext(connection) as queries:
            response = client.get(address)
        assert response.status_code == 200, address
        count = len(queries)
        times = []
        for _ in range(repeats):
            begin = time.perf_counter()
            client.get(address)
            times.append((time.perf_counter() - begin) * 1000)
        print(
            f"{address:32} {statistics.median(times):10.1f} {max(times):10.1f} "
            f"{count:8} {len(response.content) / 1024:6.0f}"
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="fsbench-benchmark-") as folder:
        # The tests' settings: plain static names, and a folder of their own.
        os.environ["FSBENCH_TEST_DATA"] = folder
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
        main(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS)
