"""What a run costs its worker (benchmarks/worker_cost.py): what is counted, and how it is told."""

import pytest
from django.db import connection

from benchmarks.worker_cost import Counts, measure


@pytest.mark.django_db
def test_what_was_asked_for_meanwhile_is_counted_and_told_of_one_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts = Counts()

    def work() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        for event in ("subprocess.Popen", "open", "os.listdir", "import"):
            counts.hear(event, ())

    measure("a visit", 4, work, counts)
    work()  # outside: not counted
    title, _, rest = capsys.readouterr().out.partition(" ms (worker ")
    assert title.startswith("a visit: ")
    assert rest.endswith("1.0 statements, 1.0 programs, 2.0 files and folders opened\n")
    assert counts["programs"] == 4
