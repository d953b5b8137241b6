"""``fsbench import`` of more than the site stores within a request: it waits, and says the end."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from fsbench_web.imports import queue
from fsbench_web.platform import limits
from fsbench_web.studies.models import Run
from tests.client.conftest import Command


@pytest.fixture
def importer() -> Iterator[None]:
    """What the site's own importer does, beside the test."""
    stopping = threading.Event()

    def work() -> None:
        while not stopping.wait(0.1):
            while (row := queue.claim()) is not None:
                queue.work_on(row, stopping)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stopping.set()
    thread.join()


def test_it_waits_until_the_importer_has_stored_it(
    fsbench: Command, importer: None, tmp_path: Path
) -> None:
    path = tmp_path / "many.csv"
    many = limits.MOST_RUNS_STORED + 1
    rows = [f"untar,{number}.5,s,{number},xfs,xfs" for number in range(1, many + 1)]
    path.write_text("\n".join(["test,value,unit,repeat,filesystem,configuration", *rows]) + "\n")
    done = fsbench("import", path, "--study", "Lab")
    assert (done.returncode, f": {many:,} runs stored." in done.stdout) == (0, True), done.stderr
    assert "the site stores it in the background" in done.stderr
    assert Run.objects.count() == many
    refused = fsbench("import", path, "--study", "Lab")
    assert (refused.returncode, "already there" in refused.stderr) == (3, True)
    assert Run.objects.count() == many
